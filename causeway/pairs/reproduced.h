// A record of JSON, compiled again from its Python text alone.
#pragma once

#include "causeway/pairs/backend.h"
#include "causeway/pairs/verify_record.h"

#include <deque>
#include <string_view>
#include <vector>

namespace causeway::pairs {

// With the launches of its input sets.
struct Reproduced {
  Record record;
  Compiled compiled;
  std::deque<Program> programs;  // of the launches, which point to them
  std::vector<Launch> launches;
  std::vector<lang::LaunchForm> forms;  // of its variants
};

// Fills `reproduced` and checks the record as verify_record does. Never throws for a wrong record.
RecordCheck reproduce(std::string_view json, Reproduced& reproduced);

}  // namespace causeway::pairs
