#include "causeway/dist/worker.h"

#include <chrono>
#include <utility>

namespace causeway::dist {

namespace {

constexpr std::chrono::milliseconds kPollInterval{100};  // polling interval for the other ranks
constexpr std::chrono::seconds kAbortLimit{10};          // for graphs that outlive the group

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
  if (!aborting_.joinable()) return;
  if (aborted_.wait_for(kAbortLimit) == std::future_status::ready) {
    aborting_.join();
  } else {
    aborting_.detach();  // it owns the collectives that it aborts
  }
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

void Worker::on_failure(std::function<void(const Error&)> report) {
  const std::lock_guard lock(reporting_);
  report_ = std::move(report);
}

void Worker::give_up(const std::string& reason) {
  if (note_failure(Error(ErrorKind::distributed, reason))) abort_device();
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

// The task releases its tensor before the caller resumes, so that the caller may free or reuse it.
// The caller gets the error before the device is aborted.
void Worker::run_one(Entry& entry) {
  std::optional<Error> problem;
  try {
    check();
    entry.task(*transport_);
  } catch (const Error& error) {
    problem = error;
  } catch (const std::exception& error) {
    problem.emplace(ErrorKind::internal, std::string("[group] ") + error.what());
  }
  entry.task = nullptr;
  if (!problem.has_value()) return entry.done.set_value();
  const bool first = note_failure(*problem);
  if (first) report_failure(*problem);
  entry.done.set_exception(std::make_exception_ptr(*problem));
  if (first) abort_device();
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
    if (!note_failure(error)) return;
    report_failure(error);
    abort_device();
  }
}

bool Worker::note_failure(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (failed_) return false;
  failure_ = error;
  failed_ = true;
  return true;
}

void Worker::report_failure(const Error& error) {
  const std::lock_guard lock(reporting_);
  if (report_) report_(error);
}

// Called once, by the thread that noted the failure.
void Worker::abort_device() {
  const std::lock_guard lock(mutex_);
  if (device_ == nullptr) return;
  std::promise<void> done;
  aborted_ = done.get_future();
  aborting_ = std::thread([device = device_, finished = std::move(done)]() mutable {
    device->abort();
    device.reset();
    finished.set_value();
  });
}

}  // namespace causeway::dist
