// The CUDA half of a kernel in a build without CUDA. It is never called, because no CUDA stream can
// exist.
#pragma once

#include "causeway/core/error.h"
#include "causeway/runtime/stream.h"

#define CAUSEWAY_ABSENT(name, ...)                                                        \
  void name(StreamView, __VA_ARGS__) {                                                    \
    fail(ErrorKind::device, #name, "this build has no CUDA support; use the cpu device"); \
  }
