#include "causeway/runtime/fault.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/stream.h"

#include <array>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

namespace causeway {

namespace {

constexpr int kMaxDevices = 64;

struct FaultSlot {
  std::atomic<FaultRecord*> record{nullptr};  // set last
  std::int32_t* taken = nullptr;
};
std::array<FaultSlot, kMaxDevices> fault_slots;

// Uses a separate stream: the current one may be capturing.
void clear(Device device, std::int32_t* taken) {
  const Stream stream(device);
  driver::fill_async(device.index, taken, 0, sizeof(*taken), stream.view().handle());
  driver::synchronize(device.index, stream.view().handle());
}

const char* name_of(FaultSite site) {
  switch (site) {
    case FaultSite::gather: return "gather";
    case FaultSite::scatter: return "scatter";
    case FaultSite::index_select: return "index_select";
    case FaultSite::cross_entropy: return "cross_entropy";
    case FaultSite::tokenizer: return "tokenizer.encode";
    case FaultSite::none: break;
  }
  return "index";
}

}  // namespace

FaultReport fault_report(Device device) {
  FaultSlot& slot = fault_slots.at(static_cast<std::size_t>(device.index));
  if (FaultRecord* record = slot.record.load()) return {record, slot.taken};
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (slot.record.load() == nullptr) {
    // Four bytes that live as long as the process, outside of any pool.
    void* host = driver::allocate_pinned(sizeof(FaultRecord));
    void* memory = driver::allocate(device.index, sizeof(std::int32_t));
    if (host == nullptr || memory == nullptr) {
      fail(ErrorKind::out_of_memory, "fault_report", "out of memory for the fault record");
    }
    slot.taken = static_cast<std::int32_t*>(memory);
    clear(device, slot.taken);
    slot.record = new (host) FaultRecord();
  }
  return {slot.record, slot.taken};
}

void check_fault(Device device) {
  FaultSlot& slot = fault_slots.at(static_cast<std::size_t>(device.index));
  FaultRecord* record = slot.record.load();
  if (record == nullptr || record->site == 0) return;
  const FaultRecord seen = *record;
  *record = FaultRecord();
  clear(device, slot.taken);
  throw_fault(seen);
}

void throw_fault(const FaultRecord& record) {
  if (static_cast<FaultSite>(record.site) == FaultSite::tokenizer) {
    fail(ErrorKind::invalid_argument, "tokenizer.encode",
         fmt::format("column {}: the value in row {} is missing, and none was when the column was "
                     "fitted; fit with missing=\"always\" to give it a token",
                     record.axis, record.index));
  }
  fail(ErrorKind::invalid_argument, name_of(static_cast<FaultSite>(record.site)),
       fmt::format("index {} is out of range for axis {} of size {}; expected 0 to {}",
                   record.index, record.axis, record.bound, record.bound - 1));
}

}  // namespace causeway
