// How new data differs from what a tokenizer was fitted on, token by token.
#pragma once

#include "causeway/tokenizer/tokenizer.h"

#include <string>
#include <vector>

namespace causeway::tokenizer {

struct SlotDrift {
  std::string name;
  std::vector<std::int64_t> counts;  // of the new data, one a token
  double missing_rate = 0;
  double unknown_rate = 0;
  double missing_rate_at_fit = 0;
  // The population stability index against the counts at fit: sum (p - q) ln(p / q), shares of 0
  // taken as half a row's. Under 0.1 is little, above 0.25 much. NaN where fit kept no counts.
  double stability_index = 0;
};

std::vector<SlotDrift> drift_of(const Tokenizer& tokenizer, const Table& table);

}  // namespace causeway::tokenizer
