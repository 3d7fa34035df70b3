#include "causeway/kernels/attention/attention.h"

namespace causeway::kernels {

std::string_view to_string(AttentionMask mask) {
  switch (mask) {
    case AttentionMask::full: return "full";
    case AttentionMask::causal: return "causal";
  }
  return "mask";
}

std::string_view to_string(AttentionPath path) {
  switch (path) {
    case AttentionPath::automatic: return "automatic";
    case AttentionPath::flash: return "flash";
    case AttentionPath::cudnn: return "cudnn";
    case AttentionPath::small: return "small";
    case AttentionPath::hopper: return "hopper";
  }
  return "path";
}

}  // namespace causeway::kernels
