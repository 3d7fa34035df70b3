#include "causeway/jit/worker_processes.h"

#include "causeway/core/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <new>

namespace causeway::jit {

namespace {

using Message = WorkerProcesses::Message;

// A message on the socket: the number of strings, then the size and the bytes of each.

bool send_all(int socket, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = ::recv(socket, at, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received;
    size -= static_cast<std::size_t>(received);
  }
  return true;
}

bool send_message(int socket, const Message& message) {
  const auto send_size = [&](std::uint64_t size) { return send_all(socket, &size, sizeof(size)); };
  if (!send_size(message.size())) return false;
  for (const std::string& part : message) {
    if (!send_size(part.size()) || !send_all(socket, part.data(), part.size())) return false;
  }
  return true;
}

std::optional<Message> receive_message(int socket) {
  std::uint64_t size = 0;
  if (!receive_all(socket, &size, sizeof(size))) return std::nullopt;
  Message message(size);
  for (std::string& part : message) {
    if (!receive_all(socket, &size, sizeof(size))) return std::nullopt;
    part.resize(size);
    if (!receive_all(socket, part.data(), size)) return std::nullopt;
  }
  return message;
}

std::optional<Message> exchange(int socket, const Message& request) {
  try {
    return send_message(socket, request) ? receive_message(socket) : std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

// In a new worker: leaves the files and signal handlers of the process it was forked from, except
// for the socket, which is returned. Ctrl-C and the end of a terminal concern that process; the
// worker ends with it.
int isolate(int socket) {
  constexpr int kSocket = 3;
  ::dup2(socket, kSocket);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard < kSocket; ++standard) ::dup2(nothing, standard);
  ::close_range(kSocket + 1, ~0U, 0);
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  return kSocket;
}

[[noreturn]] void serve(int socket, const WorkerProcesses::Work& work) {
  try {
    while (const std::optional<Message> request = receive_message(socket)) {
      if (!send_message(socket, work(*request))) break;
    }
  } catch (...) {  // the caller does the work again and reports the error
  }
  ::_exit(0);  // without destructors and exit handlers, which belong to the other process
}

}  // namespace

WorkerProcesses::WorkerProcesses(int count, const Work& work, std::chrono::seconds patience)
    : owner_(::getpid()) {
  workers_.reserve(static_cast<std::size_t>(count));
  // A signal that arrives in a new worker must not run a handler of this process.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < count; ++i) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) break;
    const pid_t process = ::fork();
    if (process == 0) serve(isolate(sockets[1]), work);
    ::close(sockets[1]);
    if (process < 0) {
      ::close(sockets[0]);
      break;
    }
    const timeval limit{patience.count(), 0};
    ::setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    ::setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    workers_.push_back({process, sockets[0]});
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (Worker& worker : workers_) free_.push_back(&worker);
  n_left_ = workers_.size();
}

WorkerProcesses::~WorkerProcesses() {
  for (Worker& worker : workers_) {
    if (worker.lost) continue;
    if (::getpid() == owner_) {
      end(worker);
    } else {
      ::close(worker.socket);
    }
  }
}

// Workers have nothing to save, and one that is busy would be waited for: they are killed.
void WorkerProcesses::end(Worker& worker) {
  ::kill(worker.process, SIGKILL);
  while (::waitpid(worker.process, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(worker.socket);
  worker.lost = true;
}

std::optional<Message> WorkerProcesses::call(const Message& request) {
  if (::getpid() != owner_) return std::nullopt;
  Worker* worker = nullptr;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !free_.empty() || n_left_ == 0; });
    if (free_.empty()) return std::nullopt;
    worker = free_.back();
    free_.pop_back();
  }
  std::optional<Message> reply = exchange(worker->socket, request);
  {
    const std::lock_guard lock(mutex_);
    if (reply) {
      free_.push_back(worker);
    } else {
      logger::warn("worker process " + std::to_string(worker->process) +
                   " was lost; its work is done in this process");
      end(*worker);
      --n_left_;
    }
  }
  changed_.notify_all();
  return reply;
}

std::vector<pid_t> WorkerProcesses::process_ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> ids;
  for (const Worker& worker : workers_) {
    if (!worker.lost) ids.push_back(worker.process);
  }
  return ids;
}

}  // namespace causeway::jit
