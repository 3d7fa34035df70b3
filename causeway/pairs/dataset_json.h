// The fields of a dataset's configuration, as JSON, options and keywords.
#pragma once

#include "causeway/core/config.h"
#include "causeway/pairs/dataset.h"

namespace causeway::pairs {

const ConfigDescription<DatasetConfig>& describe_dataset();

}  // namespace causeway::pairs
