// The communication thread. Tasks run in order of submission, so that ranks that make the same
// calls exchange matching messages. Between tasks it monitors the other ranks and the GPU
// collectives.
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

  // Creates the transport in its thread; rethrows its errors.
  explicit Worker(const Connect& connect);
  // Completes the queued tasks, unless it has failed, and leaves the group.
  ~Worker();

  // The first error fails its task and all later ones.
  std::future<void> run(Task task);
  // Rethrows the first error.
  void check() const;

  // Also monitors these: their faults are errors, and an error aborts them. The abort has its own
  // thread, because it may wait for graphs whose owner waits for a task.
  void watch(std::shared_ptr<DeviceCollectives> device);
  // `report` is called once with the first error that this thread notices, before any task fails.
  void on_failure(std::function<void(const Error&)> report);
  // Drops queued tasks and sends the other ranks the reason.
  void give_up(const std::string& reason);

 private:
  struct Entry {
    Task task;
    std::promise<void> done;
  };

  void serve(const Connect& connect, std::promise<void> connected);
  std::optional<Entry> next();  // nullopt when the thread should exit
  void run_one(Entry& entry);
  void check_peers();
  // Records the first error; false for later ones.
  bool note_failure(const Error& error);
  void report_failure(const Error& error);
  void abort_device();

  std::unique_ptr<Transport> transport_;
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Entry> entries_;
  std::shared_ptr<DeviceCollectives> device_;
  std::optional<Error> failure_;
  std::atomic<bool> failed_ = false;  // whether failure_ is set, readable without the lock
  bool stopping_ = false;
  std::mutex reporting_;  // held while report_ is called
  std::function<void(const Error&)> report_;
  std::thread aborting_;
  std::future<void> aborted_;
  std::thread thread_;
};

}  // namespace causeway::dist
