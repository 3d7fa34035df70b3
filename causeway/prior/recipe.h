// From a user's configuration to what the generators take.
#pragma once

#include "causeway/prior/config.h"
#include "causeway/prior/device/dataset.h"

namespace causeway::prior {

// Of a configuration that check() accepts.
Recipe recipe_of(const PriorConfig& config);

}  // namespace causeway::prior
