// The tables of causeway/tables, as used by tokenizers.
#pragma once

#include "causeway/tables/table.h"

namespace causeway::tokenizer {

using tables::Table;
using tables::TableColumn;
using tables::Text;
using tables::ValueType;

}  // namespace causeway::tokenizer
