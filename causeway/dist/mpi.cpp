// The MPI transport, for ranks started by mpirun. Only the worker thread calls MPI, except for
// finalisation.
#include "causeway/core/error.h"
#include "causeway/dist/mpi_library.h"
#include "causeway/dist/transport.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include <unistd.h>

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
      : Transport(launch, timeouts),
        library_(Library::instance()),
        peers_(static_cast<std::size_t>(launch.size)) {
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
    exchange_processes();
  }

  void exchange(const Outgoing& out, const Incoming& in) override {
    std::vector<Flow> flows;
    flows.reserve(2 * peers_.size());
    try {
      start(flows, out, in);
      finish(flows);
    } catch (...) {
      cancel(flows);
      throw;
    }
  }

  void check() override {
    if (steady_clock::now() - last_check_ < kCheckInterval) return;
    last_check_ = steady_clock::now();
    beat();
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (static_cast<int>(r) != rank()) receive_heartbeats(r);
    }
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      const Peer& peer = peers_[r];
      if (peer.process == 0 || peer.left || ::kill(peer.process, 0) == 0 || errno != ESRCH)
        continue;
      receive_heartbeats(r);  // it may have left since
      if (!peer.left) throw_lost(r);
    }
  }

  void leave(const std::string& failure) noexcept override {
    if (!failure.empty()) {
      library_.set_failed();
      for (Peer& peer : peers_) {  // MPI must not write to this object later
        if (peer.receives) stop(peer.receiving);
      }
      return;
    }
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (static_cast<int>(r) != rank()) announce_leave(r);
    }
    mpi().MPI_Comm_free(&ranks_);
  }

 private:
  static int count(std::size_t bytes) {
    if (bytes > INT_MAX) {
      fail(ErrorKind::distributed, "exchange",
           fmt::format("{} bytes exceed the size limit of an MPI message", bytes));
    }
    return static_cast<int>(bytes);
  }

  // Messages: data, and heartbeats, of which the last says that a rank leaves.
  enum Tag { kData = 0, kHeartbeat = 1 };
  enum Heartbeat : char { kAlive, kLeft };
  static constexpr std::chrono::milliseconds kCheckInterval{100};
  static constexpr int kTries = 1000;  // of ending a request

  struct Flow {
    Flow(std::size_t of, bool is_incoming) : rank(of), incoming(is_incoming) {}
    std::size_t rank;
    bool incoming;
    bool done = false;
    MPI_Request request{};
  };
  struct Peer {
    ::pid_t process = 0;  // 0: this rank, or one on another machine
    bool left = false;
    char received = kAlive;
    char sent = kAlive;
    bool receives = false;
    bool sends = false;
    MPI_Request receiving{};
    MPI_Request sending{};
  };
  struct Process {
    char machine[96] = "";  // its name
    char scope[32] = "";    // in which process ids are valid: containers have their own
    std::int64_t id = 0;
  };

  // Ranks of one machine monitor each other's processes, whose end MPI does not report.
  void exchange_processes() {
    Process mine;
    ::gethostname(mine.machine, sizeof(mine.machine) - 1);
    mine.id = ::getpid();
    const bool known = ::readlink("/proc/self/ns/pid", mine.scope, sizeof(mine.scope) - 1) > 0;
    std::vector<Process> all(peers_.size());
    const Outgoing out(peers_.size(), std::as_bytes(std::span(&mine, 1)));
    Incoming in;
    for (Process& each : all) in.push_back(std::as_writable_bytes(std::span(&each, 1)));
    exchange(out, in);
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      const bool here = std::memcmp(all[r].machine, mine.machine, sizeof(mine.machine)) == 0 &&
                        std::memcmp(all[r].scope, mine.scope, sizeof(mine.scope)) == 0;
      if (known && here && static_cast<int>(r) != rank()) {
        peers_[r].process = static_cast<::pid_t>(all[r].id);
      }
    }
  }

  // A completed request is null, for which this is true too.
  static bool is_done(MPI_Request& request) {
    int done = 0;
    check_mpi(mpi().MPI_Testall(1, &request, &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    return done != 0;
  }

  void send(std::size_t r, Heartbeat kind) {
    Peer& peer = peers_[r];
    if (peer.sends && !is_done(peer.sending)) return;
    peer.sends = false;
    peer.sent = kind;
    check_mpi(mpi().MPI_Isend(&peer.sent, 1, mpi().byte, static_cast<int>(r), kHeartbeat, ranks_,
                              &peer.sending),
              "MPI_Isend");
    peer.sends = true;
  }

  // Waits until a heartbeat is sent, since MPI reads it from this object.
  void finish_sending(Peer& peer) {
    for (int i = 0; i < kTries && peer.sends && !is_done(peer.sending); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void announce_leave(std::size_t r) noexcept {
    Peer& peer = peers_[r];
    try {
      finish_sending(peer);
      send(r, kLeft);
      finish_sending(peer);
    } catch (const Error&) {
      // The other rank may be gone.
    }
    if (peer.receives) stop(peer.receiving);
  }

  void beat() {
    if (steady_clock::now() - last_beat_ < kBeatInterval) return;
    last_beat_ = steady_clock::now();
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (static_cast<int>(r) != rank() && !peers_[r].left) send(r, kAlive);
    }
  }

  // Receives the heartbeats that have arrived.
  void receive_heartbeats(std::size_t r) {
    Peer& peer = peers_[r];
    while (!peer.left) {
      if (!peer.receives) {
        check_mpi(mpi().MPI_Irecv(&peer.received, 1, mpi().byte, static_cast<int>(r), kHeartbeat,
                                  ranks_, &peer.receiving),
                  "MPI_Irecv");
        peer.receives = true;
      }
      if (!is_done(peer.receiving)) return;
      peer.receives = false;
      peer.left = peer.received == kLeft;
      note_heartbeat(r);
    }
  }

  // Notes each request once MPI has it.
  void start(std::vector<Flow>& flows, const Outgoing& out, const Incoming& in) {
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (static_cast<int>(r) == rank()) continue;
      const int to = static_cast<int>(r);
      if (!in[r].empty()) {
        Flow incoming(r, true);
        check_mpi(mpi().MPI_Irecv(in[r].data(), count(in[r].size()), mpi().byte, to, kData, ranks_,
                                  &incoming.request),
                  "MPI_Irecv");
        flows.push_back(incoming);
      }
      if (!out[r].empty()) {
        Flow outgoing(r, false);
        check_mpi(mpi().MPI_Isend(out[r].data(), count(out[r].size()), mpi().byte, to, kData,
                                  ranks_, &outgoing.request),
                  "MPI_Isend");
        flows.push_back(outgoing);
      }
    }
  }

  // Polls: MPI's own wait has no timeout and occupies a whole core.
  void finish(std::vector<Flow>& flows) {
    const auto begin = steady_clock::now();
    for (int asked = 0;; ++asked) {
      std::vector<std::size_t> awaited;
      for (Flow& flow : flows) {
        flow.done = flow.done || is_done(flow.request);
        if (!flow.done) awaited.push_back(flow.rank);
      }
      if (awaited.empty()) return;
      check();
      check_waiting(begin, awaited);
      constexpr int kEager = 200;
      if (asked < kEager) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  // The memory of an exchange that failed is about to be released: MPI must not write to it.
  static void cancel(std::vector<Flow>& flows) noexcept {
    for (Flow& flow : flows) {
      if (flow.incoming && !flow.done) stop(flow.request);
    }
  }

  // Ends a receive that nothing has arrived for.
  static void stop(MPI_Request& request) noexcept {
    int done = mpi().MPI_Cancel(&request) == MPI_SUCCESS ? 0 : 1;
    for (int i = 0; i < kTries && done == 0; ++i) {
      if (mpi().MPI_Testall(1, &request, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return;
    }
  }

  [[noreturn]] static void throw_lost(std::size_t r) {
    fail(ErrorKind::distributed, "group",
         fmt::format("rank {} is lost: its process ended without leaving the group; see its output",
                     r));
  }

  Library& library_;
  std::vector<Peer> peers_;
  steady_clock::time_point last_check_ = steady_clock::now();
  steady_clock::time_point last_beat_ = steady_clock::now();
  MPI_Comm ranks_{};
};

}  // namespace

std::unique_ptr<Transport> connect_mpi(const Launch& launch, const Timeouts& timeouts) {
  return std::make_unique<Mpi>(launch, timeouts);
}

}  // namespace causeway::dist
