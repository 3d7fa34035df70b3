// The page of a training run from the files in its folder: log.jsonl, config.json, and, where they
// are, model.safetensors, evaluation.json and samples.jsonl.
#pragma once

#include "causeway/report/run_page.h"

#include <filesystem>

namespace causeway::report {

RunPage read_run(const std::filesystem::path& folder);

// Writes folder/report.html. A problem is a warning: it does not make a finished run fail.
void write_run_report(const std::filesystem::path& folder);

}  // namespace causeway::report
