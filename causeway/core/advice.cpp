#include "causeway/core/advice.h"

#include <atomic>

namespace causeway {

namespace {

std::atomic<FrontEnd> current = FrontEnd::program;

}  // namespace

void set_front_end(FrontEnd front_end) { current = front_end; }

std::string_view advice(std::string_view program, std::string_view python) {
  return current == FrontEnd::python ? python : program;
}

}  // namespace causeway
