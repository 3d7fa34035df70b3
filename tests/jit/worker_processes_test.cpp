// Worker processes: replies, workers that are lost, the end; and NVRTC in them.
#include "causeway/jit/worker_processes.h"

#include "causeway/jit/nvrtc.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace causeway::jit {
namespace {

using Message = WorkerProcesses::Message;

Message reversed(const Message& request) { return {request.rbegin(), request.rend()}; }

bool exists(pid_t process) { return ::kill(process, 0) == 0; }

TEST(WorkerProcesses, Reply) {
  WorkerProcesses workers(2, reversed);
  const std::string large(3'000'000, 'x');
  const std::string zeros(5, '\0');
  EXPECT_EQ(workers.call({"a", large, "", zeros}), (Message{zeros, "", large, "a"}));
  EXPECT_EQ(workers.call({}), Message{});
}

TEST(WorkerProcesses, ServeManyThreads) {
  WorkerProcesses workers(3, [](const Message& request) {
    return Message{request[0], std::to_string(::getpid())};
  });
  std::mutex mutex;
  std::set<std::string> processes;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          const std::string text = std::to_string(100 * t + i);
          const auto reply = workers.call({text});
          const std::lock_guard lock(mutex);
          ASSERT_TRUE(reply.has_value());
          EXPECT_EQ(reply->at(0), text);
          processes.insert(reply->at(1));
        }
      });
    }
  }
  EXPECT_LE(processes.size(), 3U);
  EXPECT_EQ(processes.count(std::to_string(::getpid())), 0U);
}

TEST(WorkerProcesses, LosesThoseThatCrashThrowOrHang) {
  WorkerProcesses workers(
      4,
      [](const Message& request) -> Message {
        if (request[0] == "crash") std::abort();
        if (request[0] == "throw") throw std::runtime_error("no");
        if (request[0] == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
        return request;
      },
      std::chrono::seconds(1));
  const std::vector<pid_t> processes = workers.process_ids();
  ASSERT_EQ(processes.size(), 4U);
  std::size_t left = 4;
  for (const char* fault : {"crash", "throw", "hang"}) {
    EXPECT_EQ(workers.call({fault}), std::nullopt);
    EXPECT_EQ(workers.process_ids().size(), --left);
    EXPECT_EQ(workers.call({"fine"}), Message{"fine"});
  }
  EXPECT_EQ(workers.call({"crash"}), std::nullopt);
  EXPECT_EQ(workers.call({"fine"}), std::nullopt);  // none is left, and nobody waits for one
  for (const pid_t process : processes) EXPECT_FALSE(exists(process));  // not even as a zombie
}

TEST(WorkerProcesses, EndWithTheObject) {
  std::vector<pid_t> processes;
  {
    WorkerProcesses workers(2, reversed);
    EXPECT_TRUE(workers.call({"a"}));
    processes = workers.process_ids();
    EXPECT_EQ(processes.size(), 2U);
  }
  for (const pid_t process : processes) EXPECT_FALSE(exists(process));
}

TEST(WorkerProcesses, IgnoreCtrlC) {
  WorkerProcesses workers(1, reversed);
  ::kill(workers.process_ids()[0], SIGINT);
  EXPECT_EQ(workers.call({"a"}), Message{"a"});
}

// The pipe stays open at its writing end as long as a process has it.
TEST(WorkerProcesses, EndWithTheirProcessAndLeaveItsFiles) {
  int ids[2];
  int files[2];
  ASSERT_EQ(::pipe(ids), 0);
  ASSERT_EQ(::pipe(files), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::close(files[0]);
    const WorkerProcesses workers(1, reversed);
    const pid_t process = workers.process_ids()[0];
    if (::write(ids[1], &process, sizeof(process)) < 0) ::_exit(1);
    ::raise(SIGKILL);
  }
  ::close(files[1]);
  pid_t worker = 0;
  ASSERT_EQ(::read(ids[0], &worker, sizeof(worker)), static_cast<ssize_t>(sizeof(worker)));
  ::waitpid(parent, nullptr, 0);
  char byte = 0;
  EXPECT_EQ(::read(files[0], &byte, 1), 0);  // the end of the pipe: no process has it
  const std::string status = "/proc/" + std::to_string(worker) + "/stat";
  bool ended = false;
  for (int i = 0; i < 1000 && !ended; ++i) {
    FILE* file = std::fopen(status.c_str(), "r");
    char state = 'Z';
    if (file != nullptr && std::fscanf(file, "%*d %*s %c", &state) != 1) state = 'Z';
    if (file != nullptr) std::fclose(file);
    ended = state == 'Z' || state == 'X';  // its zombie belongs to the first process of the system
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(ended);
  for (const int file : {ids[0], ids[1], files[0]}) ::close(file);
}

TEST(WorkerProcesses, AreNotUsedByAFork) {
  WorkerProcesses workers(1, reversed);
  const pid_t other = ::fork();
  if (other == 0) {
    const bool refused = !workers.call({"a"});
    workers.~WorkerProcesses();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(workers.call({"a"}), Message{"a"});
}

#define REQUIRE_NVRTC() \
  if (const auto status = nvrtc_status(); status.version.empty()) GTEST_SKIP() << status.absence

// A text that no cache has.
CudaSource fresh(const std::string& name, const std::string& body) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return {name + ".cu", "// " + std::to_string(now) + "\nextern \"C\" __global__ void " + name +
                            "(float* x) {\n" + body + "\n}\n"};
}

CudaSource renamed(CudaSource source) {
  source.text += "// not the entry of the cache\n";
  return source;
}

TEST(CompileWorkers, GiveTheSameCode) {
  REQUIRE_NVRTC();
  const auto workers = compile_workers(2);
  for (const CodeKind kind : {CodeKind::cubin, CodeKind::ptx}) {
    CudaOptions options;
    options.kind = kind;
    std::vector<CudaSource> sources;
    std::vector<Bytes> expected;
    for (const char* body : {"x[0] = 1.0f;", "x[1] = sinf(x[0]);", "x[threadIdx.x] *= 2.0f;"}) {
      sources.push_back(fresh("same", body));
      expected.push_back(compile_cuda(renamed(sources.back()), options));
    }
    options.workers = workers.get();
    EXPECT_EQ(compile_cuda(sources, options), expected);
  }
  EXPECT_EQ(workers->process_ids().size(), 2U);
}

TEST(CompileWorkers, ReportRefusals) {
  REQUIRE_NVRTC();
  const auto workers = compile_workers(1);
  const CudaSource bad = fresh("bad", "  nonsense();");
  const auto error_of = [&](WorkerProcesses* where) {
    CudaOptions options;
    options.workers = where;
    try {
      compile_cuda(bad, options);
    } catch (const CudaCompileError& error) {
      return error.what() + error.log();
    }
    return std::string();
  };
  const std::string here = error_of(nullptr);
  EXPECT_NE(here.find("bad.cu(3): error"), std::string::npos);
  EXPECT_EQ(error_of(workers.get()), here);
  EXPECT_EQ(workers->process_ids().size(), 1U);
}

TEST(CompileWorkers, AreReplacedByThisProcessWhenKilled) {
  REQUIRE_NVRTC();
  const auto workers = compile_workers(2);
  CudaOptions options;
  options.workers = workers.get();
  std::vector<CudaSource> sources;
  std::vector<Bytes> expected;
  for (int i = 0; i < 4; ++i) {
    sources.push_back(fresh("killed", "x[" + std::to_string(i) + "] = 1.0f;"));
    expected.push_back(compile_cuda(renamed(sources.back())));
  }
  for (const pid_t process : workers->process_ids()) ::kill(process, SIGKILL);
  EXPECT_EQ(compile_cuda(sources, options), expected);
  EXPECT_TRUE(workers->process_ids().empty());
  EXPECT_EQ(compile_cuda(std::vector{fresh("late", "x[0] = 1.0f;")}, options).size(), 1U);
}

}  // namespace
}  // namespace causeway::jit
