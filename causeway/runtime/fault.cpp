#include "causeway/runtime/fault.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"

#include <array>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

namespace causeway {

namespace {

constexpr int kMaxDevices = 64;
std::array<std::atomic<FaultRecord*>, kMaxDevices> records{};

const char* name_of(FaultSite site) {
  switch (site) {
    case FaultSite::gather: return "gather";
    case FaultSite::scatter: return "scatter";
    case FaultSite::index_select: return "index_select";
    case FaultSite::none: break;
  }
  return "index";
}

}  // namespace

FaultRecord* fault_record(Device device) {
  auto& slot = records.at(static_cast<std::size_t>(device.index));
  if (FaultRecord* record = slot.load()) return record;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (slot.load() == nullptr) {
    void* memory = driver::allocate_pinned(sizeof(FaultRecord));
    if (memory == nullptr) {
      fail(ErrorKind::out_of_memory, "fault_record", "the host has no pinned memory left");
    }
    slot = new (memory) FaultRecord();
  }
  return slot;
}

void check_fault(Device device) {
  FaultRecord* record = records.at(static_cast<std::size_t>(device.index)).load();
  if (record == nullptr || record->site == 0) return;
  const FaultRecord seen = *record;
  *record = FaultRecord();
  throw_fault(seen);
}

void throw_fault(const FaultRecord& record) {
  fail(ErrorKind::invalid_argument, name_of(static_cast<FaultSite>(record.site)),
       fmt::format("index {} is out of range for axis {} of size {}; expected 0 to {}",
                   record.index, record.axis, record.bound, record.bound - 1));
}

}  // namespace causeway
