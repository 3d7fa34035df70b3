// The thread that talks to the other ranks. Tasks run one after the other in the order they were
// given, so that ranks which make the same calls speak of the same thing. Between tasks it looks
// after the other ranks, and after the GPU's collectives.
#pragma once

#include "causeway/core/error.h"
#include "causeway/dist/nccl.h"
#include "causeway/dist/transport.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace causeway::dist {

class Worker {
 public:
  using Connect = std::function<std::unique_ptr<Transport>()>;
  using Task = std::function<void(Transport&)>;

  // Makes the transport in its thread, and throws what that throws.
  explicit Worker(const Connect& connect);
  // Finishes the tasks it has, unless it has failed, and leaves the other ranks.
  ~Worker();

  // The first error ends the task that made it and all after it.
  std::future<void> run(Task task);
  // Throws the first error.
  void check() const;

  // Looks after these too: their faults are errors, and an error aborts them.
  void watch(std::shared_ptr<DeviceCollectives> device);
  // Drops what is to be done, and tells the other ranks why this one ends.
  void give_up(const std::string& reason);

 private:
  struct Entry {
    Task task;
    std::promise<void> done;
  };

  void serve(const Connect& connect, std::promise<void> connected);
  std::optional<Entry> next();  // nothing when it is time to leave
  void run_one(Entry& entry);
  void look_around();
  void note_failure(const Error& error);

  std::unique_ptr<Transport> transport_;
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Entry> entries_;
  std::shared_ptr<DeviceCollectives> device_;
  std::optional<Error> failure_;
  std::atomic<bool> failed_ = false;  // whether failure_ is set, to be asked without the lock
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace causeway::dist
