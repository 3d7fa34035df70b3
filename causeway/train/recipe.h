// The settings with which the packaged weights were trained.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace causeway::train {

const std::vector<std::string>& recipe_names();

// Settings of `causeway pretrain` as JSON; what they leave out keeps its default. They end a run by
// its steps, never by time, so that the weights do not depend on the speed of the machine. "none"
// has no settings.
std::string_view recipe_settings(std::string_view name);

}  // namespace causeway::train
