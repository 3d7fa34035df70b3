// The MPI transport, for ranks started by mpirun. Only the worker thread calls MPI, except for
// finalisation.
#include "causeway/core/error.h"
#include "causeway/dist/mpi_library.h"
#include "causeway/dist/transport.h"

#include <climits>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

namespace causeway::dist {

namespace {

using std::chrono::steady_clock;

void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  mpi().MPI_Error_string(status, text, &length);
  fail(ErrorKind::distributed, call, std::string(text, static_cast<std::size_t>(length)));
}

// MPI is initialised once per process and finalised at exit, unless a group has failed: mpirun then
// sees that this rank exited early and stops the others.
class Library {
 public:
  static Library& instance() {
    static Library library;
    return library;
  }
  void set_failed() { failed_ = true; }

 private:
  Library() {
    int running = 0;
    mpi().MPI_Initialized(&running);
    if (running != 0) return;  // initialised elsewhere, which also finalises it
    int provided = 0;
    check_mpi(mpi().MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
              "MPI_Init");
    ours_ = true;
    if (provided < MPI_THREAD_SERIALIZED) {
      fail(ErrorKind::distributed, "MPI_Init",
           "this MPI library does not support threads; use one with MPI_THREAD_SERIALIZED");
    }
  }
  ~Library() {
    int ended = 0;
    mpi().MPI_Finalized(&ended);
    if (ours_ && !failed_ && ended == 0) mpi().MPI_Finalize();
  }

  bool ours_ = false;
  bool failed_ = false;
};

class Mpi final : public Transport {
 public:
  Mpi(const Launch& launch, const Timeouts& timeouts)
      : Transport(launch.rank, launch.size),
        library_(Library::instance()),
        timeout_(timeouts.collective) {
    check_mpi(mpi().MPI_Comm_dup(mpi().world, &ranks_), "MPI_Comm_dup");
    mpi().MPI_Comm_set_errhandler(ranks_, mpi().errors_return);
    int rank_here = 0;
    int size_here = 0;
    mpi().MPI_Comm_rank(ranks_, &rank_here);
    mpi().MPI_Comm_size(ranks_, &size_here);
    if (rank_here != rank() || size_here != size()) {
      fail(ErrorKind::distributed, "group",
           fmt::format(
               "mpirun gives rank {} of {}, but the MPI library rank {} of {}; they belong to "
               "different installations",
               rank(), size(), rank_here, size_here));
    }
  }

  void exchange(const Outgoing& out, const Incoming& in) override {
    std::vector<MPI_Request> requests;
    for (int r = 0; r < size(); ++r) {
      const auto& to = out[static_cast<std::size_t>(r)];
      const auto& from = in[static_cast<std::size_t>(r)];
      if (r == rank()) continue;
      if (!from.empty()) {
        check_mpi(mpi().MPI_Irecv(from.data(), count(from.size()), mpi().byte, r, 0, ranks_,
                                  &requests.emplace_back()),
                  "MPI_Irecv");
      }
      if (!to.empty()) {
        check_mpi(mpi().MPI_Isend(to.data(), count(to.size()), mpi().byte, r, 0, ranks_,
                                  &requests.emplace_back()),
                  "MPI_Isend");
      }
    }
    finish(requests);
  }

  void check() override {}  // mpirun monitors the ranks

  void leave(const std::string& failure) noexcept override {
    if (failure.empty()) {
      mpi().MPI_Comm_free(&ranks_);
    } else {
      library_.set_failed();
    }
  }

 private:
  static int count(std::size_t bytes) {
    if (bytes > INT_MAX) {
      fail(ErrorKind::distributed, "exchange",
           fmt::format("{} bytes exceed the size limit of an MPI message", bytes));
    }
    return static_cast<int>(bytes);
  }

  // Polls: MPI's own wait has no timeout and occupies a whole core.
  void finish(std::vector<MPI_Request>& requests) const {
    const auto begin = steady_clock::now();
    for (int asked = 0;; ++asked) {
      int done = 0;
      check_mpi(mpi().MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                                  MPI_STATUSES_IGNORE),
                "MPI_Testall");
      if (done != 0) return;
      check_waiting(begin, timeout_, "another rank");
      constexpr int kEager = 200;
      if (asked < kEager) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  Library& library_;
  std::chrono::milliseconds timeout_;
  MPI_Comm ranks_{};
};

}  // namespace

std::unique_ptr<Transport> connect_mpi(const Launch& launch, const Timeouts& timeouts) {
  return std::make_unique<Mpi>(launch, timeouts);
}

}  // namespace causeway::dist
