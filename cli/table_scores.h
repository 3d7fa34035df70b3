// Tables that `causeway evaluate` and `causeway pretrain` score a model on.
#pragma once

#include "causeway/models/evaluation.h"

#include <string>

namespace causeway::cli {

using models::mean_score;
using TableReader = tables::LabelledTable;

// Throws where a table cannot be split in two.
void require_two(const std::string& path, const tables::LabelledTable& table, bool regression);

}  // namespace causeway::cli
