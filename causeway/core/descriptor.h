// A file descriptor that is closed at the end of its scope.
#pragma once

#include <unistd.h>

namespace causeway {

// For descriptors whose errors on closing do not matter, such as read-only ones.
struct Descriptor {
  int number;  // negative: none
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace causeway
