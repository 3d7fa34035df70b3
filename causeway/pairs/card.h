// The dataset card: README.md with the front matter that Hugging Face reads.
#pragma once

#include "causeway/pairs/dataset.h"

#include <string>

namespace causeway::pairs {

// `result` has the counts of all shards.
std::string dataset_card(const DatasetConfig& config, const DatasetResult& result);

}  // namespace causeway::pairs
