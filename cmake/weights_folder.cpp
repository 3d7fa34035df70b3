// Compiled into programs that link the installed library: where its weights are.
#include <causeway/tables/weights.h>

namespace {

[[maybe_unused]] const bool registered =
    (causeway::tables::add_weights_folder(CAUSEWAY_WEIGHTS_DIR), true);

}  // namespace
