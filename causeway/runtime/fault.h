// Faults in kernels: a kernel that finds an index out of range, or another invalid value, skips the
// access and writes one fault to a record. The host reads the record at the next synchronisation
// and throws. Unlike after a device-side assertion, the CUDA context stays usable.
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
  std::int32_t site = 0;  // a FaultSite; 0 if there is no fault
  std::int32_t axis = 0;  // the column, for the tokenizer
  std::int64_t index = 0;
  std::int64_t bound = 0;
};

// Where kernels of a CUDA device report faults. The record is in pinned host memory. `taken`, in
// device memory, elects the one thread that writes it, because not every GPU has atomics on host
// memory.
struct FaultReport {
  FaultRecord* record = nullptr;
  std::int32_t* taken = nullptr;
};
FaultReport fault_report(Device device);

// Throws the recorded fault and clears the record; does nothing if there is none.
void check_fault(Device device);

// The error thrown on both devices: "[gather] index 7 is out of range for axis 0 of size 5".
[[noreturn]] void throw_fault(const FaultRecord& record);

}  // namespace causeway
