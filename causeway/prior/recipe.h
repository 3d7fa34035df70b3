// Converts a user's configuration to the generators' parameters.
#pragma once

#include "causeway/prior/config.h"
#include "causeway/prior/device/dataset.h"

namespace causeway::prior {

// Expects a configuration that check() accepts.
Recipe recipe_of(const PriorConfig& config);

}  // namespace causeway::prior
