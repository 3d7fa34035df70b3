#include "causeway/dist/worker.h"

#include <chrono>
#include <utility>

namespace causeway::dist {

namespace {

constexpr std::chrono::milliseconds kPollInterval{100};  // polling interval for the other ranks

}  // namespace

Worker::Worker(const Connect& connect) {
  std::promise<void> connected;
  std::future<void> ready = connected.get_future();
  thread_ = std::thread([this, &connect, promise = std::move(connected)]() mutable {
    serve(connect, std::move(promise));
  });
  try {
    ready.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  more_.notify_all();
  thread_.join();
}

std::future<void> Worker::run(Task task) {
  Entry entry{std::move(task), {}};
  std::future<void> done = entry.done.get_future();
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  more_.notify_all();
  return done;
}

void Worker::check() const {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  throw Error(*failure_);
}

void Worker::watch(std::shared_ptr<DeviceCollectives> device) {
  const std::lock_guard lock(mutex_);
  device_ = std::move(device);
}

void Worker::give_up(const std::string& reason) {
  note_failure(Error(ErrorKind::distributed, reason));
  transport_->interrupt();
}

void Worker::serve(const Connect& connect, std::promise<void> connected) {
  try {
    transport_ = connect();
  } catch (...) {
    connected.set_exception(std::current_exception());
    return;
  }
  connected.set_value();
  while (std::optional<Entry> entry = next()) run_one(*entry);
  transport_->leave(failed_ ? failure_->message() : "");
  transport_.reset();
}

std::optional<Worker::Entry> Worker::next() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!entries_.empty()) {
      Entry entry = std::move(entries_.front());
      entries_.pop_front();
      return entry;
    }
    if (stopping_) return std::nullopt;
    if (more_.wait_for(lock, kPollInterval) == std::cv_status::timeout) {
      lock.unlock();
      check_peers();
      lock.lock();
    }
  }
}

void Worker::run_one(Entry& entry) {
  try {
    check();
    entry.task(*transport_);
    entry.done.set_value();
  } catch (const Error& error) {
    note_failure(error);
    entry.done.set_exception(std::make_exception_ptr(Error(error)));
  } catch (const std::exception& error) {
    const Error named(ErrorKind::internal, std::string("[group] ") + error.what());
    note_failure(named);
    entry.done.set_exception(std::make_exception_ptr(named));
  }
  entry.task = nullptr;  // releases its tensor
}

void Worker::check_peers() {
  if (failed_) return;
  try {
    transport_->check();
    std::shared_ptr<DeviceCollectives> device;
    {
      const std::lock_guard lock(mutex_);
      device = device_;
    }
    const std::string fault = device == nullptr ? "" : device->fault();
    if (!fault.empty()) fail(ErrorKind::distributed, "nccl", fault);
  } catch (const Error& error) {
    note_failure(error);
  }
}

void Worker::note_failure(const Error& error) {
  std::shared_ptr<DeviceCollectives> device;
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    failure_ = error;
    failed_ = true;
    device = device_;
  }
  if (device != nullptr) device->abort();
}

}  // namespace causeway::dist
