#include "cli/table_scores.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

namespace causeway::cli {

void require_two(const std::string& path, const tables::LabelledTable& table, bool regression) {
  if (table.n_rows() >= 2 && (regression || table.n_classes() >= 2)) return;
  fail(ErrorKind::invalid_argument, "evaluate",
       fmt::format("\"{}\" has {} rows and {} classes; two of each are needed", path,
                   table.n_rows(), table.n_classes()));
}

}  // namespace causeway::cli
