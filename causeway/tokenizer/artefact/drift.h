// Data drift: how token frequencies differ from those at fit time.
#pragma once

#include "causeway/tokenizer/tokenizer.h"

#include <string>
#include <vector>

namespace causeway::tokenizer {

struct SlotDrift {
  std::string name;
  std::vector<std::int64_t> counts;  // of the new data, per token
  double missing_rate = 0;
  double unknown_rate = 0;
  double missing_rate_at_fit = 0;
  // Population stability index against the counts at fit time: sum (p - q) ln(p / q), with zero
  // frequencies replaced by half a row. Below 0.1 is small, above 0.25 large. NaN if the fit kept
  // no counts.
  double stability_index = 0;
};

std::vector<SlotDrift> drift_of(const Tokenizer& tokenizer, const Table& table);

}  // namespace causeway::tokenizer
