// Merging of partial fits, with errors that explain why some cannot be merged.
#include "causeway/core/error.h"
#include "causeway/tokenizer/options_json.h"
#include "causeway/tokenizer/streaming/streaming.h"

#include <fmt/format.h>

#include <tuple>

namespace causeway::tokenizer {

namespace {

[[noreturn]] void refuse_merge(const std::string& message) {
  fail(ErrorKind::invalid_argument, "tokenizer.merge", message);
}

}  // namespace

bool PartialFit::has_values(const Part& part) const {
  switch (part.column.kind) {
    case ColumnKind::numeric: return part.counted.n_values() > 0;
    case ColumnKind::datetime: return part.times.any;
    default: return part.categories.size() > 0;
  }
}

void PartialFit::merge_counted(Part& mine, const Part& theirs, std::int64_t their_rows) {
  const std::int64_t n_missing = mine.column.n_missing + theirs.column.n_missing;
  const bool same =
      mine.column.kind == theirs.column.kind && mine.column.dtype == theirs.column.dtype &&
      (mine.column.kind != ColumnKind::numeric || mine.counted.dtype() == theirs.counted.dtype());
  if (same) {
    if (mine.column.kind == ColumnKind::numeric) mine.counted.merge(theirs.counted);
    mine.categories.merge(theirs.categories);
    mine.times.merge(theirs.times);
  } else if (has_values(mine) && has_values(theirs)) {
    refuse_merge(
        fmt::format("column \"{}\" is {} of {} in one part and {} of {} in another; declare its "
                    "kind, or use the same "
                    "type, in all of them",
                    mine.column.name, to_string(mine.column.kind), mine.column.dtype,
                    to_string(theirs.column.kind), theirs.column.dtype));
  } else {
    // A part without values has no dtype; of two such parts, one with rows takes precedence.
    const auto word = [&](const Part& part, std::int64_t n_rows) {
      return std::tuple(!has_values(part), n_rows == 0, part.column.kind, part.column.dtype);
    };
    if (word(theirs, their_rows) < word(mine, n_rows_)) mine = theirs;
  }
  mine.column.n_missing = n_missing;
}

void PartialFit::merge(const PartialFit& other) {
  const auto names = [](const PartialFit& fit) {
    std::string all;
    for (const Part& part : fit.parts_) {
      all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", part.column.name);
    }
    return all;
  };
  if (names(*this) != names(other)) {
    refuse_merge(
        fmt::format("parts have different columns: {}; and {}", names(*this), names(other)));
  }
  const std::string differs = options_difference(options_, other.options_);
  if (!differs.empty()) refuse_merge(fmt::format("parts have different options: {}", differs));
  const auto step = [](const PartialFit& fit) {
    return fit.planned_ ? "of the second pass"
           : fit.again_ ? "of another first pass"
                        : "of the first pass";
  };
  if (planned_ != other.planned_ || is_first() != other.is_first()) {
    refuse_merge(fmt::format("one part is {} and another {}; merge parts of the same pass",
                             step(*this), step(other)));
  }
  if (plan_id_ != other.plan_id_) {
    refuse_merge("parts follow different plans; use one plan for all of them");
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& mine = parts_[i];
    const Part& theirs = other.parts_[i];
    if (is_first()) {
      merge_counted(mine, theirs, other.n_rows_);
    } else if (mine.column.kind == ColumnKind::numeric) {
      planned_ ? mine.collected.merge(theirs.collected) : mine.counted.merge(theirs.counted);
    }
  }
  n_seen_ += other.n_seen_;
  if (is_first()) n_rows_ += other.n_rows_;
}

}  // namespace causeway::tokenizer
