// Verifies a record from its JSON alone: nothing is taken from the generator.
#pragma once

#include <string>
#include <string_view>

namespace causeway::pairs {

struct RecordCheck {
  std::string id;       // empty where the record has none
  std::string problem;  // empty where the record is right
};

// Compiles the Python text again and compares every derived text, hash and result with the
// record's; checks the gradients. Never throws for a wrong record.
RecordCheck verify_record(std::string_view json);

}  // namespace causeway::pairs
