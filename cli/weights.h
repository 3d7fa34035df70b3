// The weights that come with the program.
#pragma once

#include <string>

namespace causeway::cli {

// The file of the packaged model that tells classes, or numbers. It is looked for in the folder
// that CAUSEWAY_WEIGHTS names, else beside the program: in the package of a build folder, then
// where an installation or a wheel has it. Throws where there is none, saying what was looked for.
std::string packaged_weights(bool regression);

}  // namespace causeway::cli
