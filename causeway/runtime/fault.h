// What a kernel does when it meets an index that is out of range, or another value that must not be
// there: it skips the access and notes one such index in a record
// the host reads at the next synchronisation, which then throws.
// The device's context survives, unlike with a device-side assertion.
#pragma once

#include "causeway/runtime/device.h"

#include <cstdint>

namespace causeway {

enum class FaultSite : std::int32_t {
  none,
  gather,
  scatter,
  index_select,
  cross_entropy,
  tokenizer
};

struct FaultRecord {
  std::int32_t site = 0;  // a FaultSite; 0 while nothing is wrong
  std::int32_t axis = 0;  // the tokenizer's column
  std::int64_t index = 0;
  std::int64_t bound = 0;
};

// Where kernels of a CUDA device report: the record lies in pinned host memory; `taken`, in device
// memory, elects the one thread that writes it (not every GPU has atomics on host memory).
struct FaultReport {
  FaultRecord* record = nullptr;
  std::int32_t* taken = nullptr;
};
FaultReport fault_report(Device device);

// Throws what the record says and clears it; does nothing while it is clear.
void check_fault(Device device);

// The error both devices throw: "[gather] index 7 is out of range for axis 0 of size 5".
[[noreturn]] void throw_fault(const FaultRecord& record);

}  // namespace causeway
