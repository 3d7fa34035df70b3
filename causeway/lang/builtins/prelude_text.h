// The text of the builtins that are written in the language.
#pragma once

#include <string_view>

namespace causeway::lang {

extern const std::string_view kScalarMath;
extern const std::string_view kVectorMath;
extern const std::string_view kQuaternionMath;
extern const std::string_view kRandom;
extern const std::string_view kNoise;

}  // namespace causeway::lang
