// Checks that the ranks of a run compute the same thing. All ranks must call these; in a group of
// one they do nothing.
#pragma once

#include "causeway/dist/group.h"

#include <string>
#include <vector>

namespace causeway::train {

// Throws on all ranks unless the settings, a JSON object, and the version of causeway are equal on
// all of them; the message names the settings that differ.
void require_same_settings(const std::string& operation, dist::Group& group,
                           const std::string& settings);

// Compares sums of the parameters; throws on all ranks if those of one differ from rank 0's.
void require_same_weights(const std::string& operation, dist::Group& group,
                          const std::vector<Tensor>& parameters);

}  // namespace causeway::train
