// Tokens that a small GPT learns in a few steps.
#pragma once

#include "causeway/train/gpt_data.h"

#include <vector>

namespace causeway::train_test {

// 0 to 6, again and again.
inline data::TokenData counting(std::int64_t count) {
  std::vector<data::TokenId> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<data::TokenId>(i % 7));
  return data::TokenData::from(ids);
}

}  // namespace causeway::train_test
