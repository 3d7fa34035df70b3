// A candidate of the stream on its way to a record.
#pragma once

#include "causeway/pairs/stream.h"

#include <optional>

namespace causeway::pairs {

struct Stream::Candidate {
  std::uint64_t number = 0;
  Record record;
  std::optional<Compiled> compiled;
  Rejection rejection = Rejection::none;
};

}  // namespace causeway::pairs
