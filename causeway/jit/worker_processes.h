// Processes that apply a function to messages, for libraries that hold a lock while they work: the
// threads of one process would wait for each other.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace causeway::jit {

class WorkerProcesses {
 public:
  using Message = std::vector<std::string>;  // of any bytes
  using Work = std::function<Message(const Message&)>;

  // Forks processes that compute work(request) for one request after the other, until this object
  // is destroyed or this process ends. No thread may hold a lock that `work` takes. A worker that
  // takes longer than `patience` is killed.
  WorkerProcesses(int count, const Work& work,
                  std::chrono::seconds patience = std::chrono::seconds(120));
  ~WorkerProcesses();
  WorkerProcesses(const WorkerProcesses&) = delete;
  WorkerProcesses& operator=(const WorkerProcesses&) = delete;

  // What a worker computes, on any thread; waits until one is free. Nothing if the worker was lost
  // (it crashed, was killed, or `work` threw) or none is left: the caller then does the work
  // itself. Lost workers are not replaced.
  std::optional<Message> call(const Message& request);

  // Of the workers that are left.
  std::vector<pid_t> process_ids() const;

 private:
  struct Worker {
    pid_t process;
    int socket;
    bool lost = false;
  };
  static void end(Worker& worker);

  pid_t owner_;  // a fork of it has the object, but not the workers
  std::vector<Worker> workers_;
  mutable std::mutex mutex_;  // of free_, n_left_ and Worker::lost
  std::condition_variable changed_;
  std::vector<Worker*> free_;
  std::size_t n_left_ = 0;
};

}  // namespace causeway::jit
