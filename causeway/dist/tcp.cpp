// The TCP transport: a connection between every two ranks. Bytes are sent in frames. A rank that
// leaves sends a final frame; a connection that closes without it means that the rank died.
#include "causeway/core/error.h"
#include "causeway/dist/rendezvous.h"
#include "causeway/dist/transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <poll.h>
#include <sys/socket.h>

namespace causeway::dist {

namespace {

using std::chrono::steady_clock;

enum class FrameKind : std::uint32_t { data = 0x61746164, left, failed, alive };

struct Frame {
  FrameKind kind = FrameKind::data;
  std::uint32_t unused = 0;
  std::uint64_t length = 0;
};

// One direction of an exchange with one rank: the frame header, then its payload.
template <class Byte>
struct Flow {
  Frame frame;
  std::span<Byte> body;
  std::size_t done = 0;  // bytes of header and payload

  bool finished() const { return body.empty() || done == sizeof(Frame) + body.size(); }
  bool torn() const { return done > 0 && !finished(); }
};
using Sending = Flow<const std::byte>;
using Receiving = Flow<std::byte>;

// A heartbeat that is being sent.
struct Beat {
  Frame frame = {FrameKind::alive, 0, 0};
  std::size_t left = 0;  // bytes
};

class Tcp final : public Transport {
 public:
  Tcp(const Launch& launch, const Timeouts& timeouts)
      : Transport(launch, timeouts),
        peers_(connect_ranks(launch, timeouts.join)),
        sending_(peers_.size()),
        receiving_(peers_.size()),
        beats_(peers_.size()) {}

  void exchange(const Outgoing& out, const Incoming& in) override {
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (!peers_[r]) continue;
      sending_[r] = {{FrameKind::data, 0, out[r].size()}, out[r]};
      receiving_[r] = {{}, in[r]};
    }
    const auto begin = steady_clock::now();
    while (wait_for_traffic(begin)) {
      beat();
      for (const pollfd& ready : polled_) {
        if (ready.revents == 0) continue;
        const std::size_t r = rank_of(ready);
        if ((ready.revents & POLLOUT) != 0 && !push(sending_[r], r)) {
          // Its final frame, if any, has still to be read.
          sending_[r] = {};
          if (receiving_[r].finished()) lose(r, EPIPE);
        }
        if ((ready.revents & ~POLLOUT) != 0) pull(receiving_[r], r);
      }
    }
  }

  void check() override {
    beat();
    polled_.clear();
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (peers_[r] && !left_[r]) polled_.push_back({peers_[r].descriptor(), POLLRDHUP, 0});
    }
    if (::poll(polled_.data(), polled_.size(), 0) <= 0) return;
    for (const pollfd& ready : polled_) {
      if (ready.revents == 0) continue;
      const std::size_t r = rank_of(ready);
      if (!has_left(r)) lose(r, 0);
      left_[r] = true;
    }
  }

  void leave(const std::string& failure) noexcept override {
    const Frame frame{failure.empty() ? FrameKind::left : FrameKind::failed, 0, failure.size()};
    const auto deadline = steady_clock::now() + std::chrono::seconds(1);
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      const Socket& peer = peers_[r];
      // No message can be sent in the middle of a frame; closing the connection has to do.
      if (!peer || sending_[r].torn() || beats_[r].left > 0) continue;
      // Failures are ignored: the peer may be gone.
      peer.send(std::as_bytes(std::span(&frame, 1)), deadline) &&
          peer.send(std::as_bytes(std::span(failure)), deadline);
      ::shutdown(peer.descriptor(), SHUT_WR);
    }
    drain(deadline);
  }

 private:
  std::size_t rank_of(const pollfd& entry) const {
    const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const Socket& peer) {
      return peer.descriptor() == entry.fd;
    });
    return static_cast<std::size_t>(found - peers_.begin());
  }

  // Waits until a socket is ready; false when everything is sent and received.
  bool wait_for_traffic(steady_clock::time_point begin) {
    polled_.clear();
    std::vector<std::size_t> awaited;
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (!peers_[r]) continue;
      short events = 0;
      if (!sending_[r].finished()) events |= POLLOUT;
      if (!receiving_[r].finished()) events |= POLLIN;
      if (events == 0) continue;
      polled_.push_back({peers_[r].descriptor(), events, 0});
      awaited.push_back(r);
    }
    if (polled_.empty()) return false;
    check_waiting(begin, awaited);
    constexpr int kPollInterval = 200;  // milliseconds
    ::poll(polled_.data(), polled_.size(), kPollInterval);
    return true;
  }

  // Sends a heartbeat to every rank with which no frame is under way.
  void beat() {
    if (steady_clock::now() - last_beat_ < kBeatInterval) return;
    last_beat_ = steady_clock::now();
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      if (!peers_[r] || left_[r] || sending_[r].torn()) continue;
      if (beats_[r].left == 0) beats_[r].left = sizeof(Frame);
      push_beat(r);  // errors are noticed elsewhere
    }
  }

  // Reads until the other ranks leave too: closing a socket with unread data, such as heartbeats,
  // would discard what this rank has sent.
  void drain(steady_clock::time_point deadline) noexcept {
    std::array<std::byte, 4096> skipped;
    for (const Socket& peer : peers_) {
      while (peer && steady_clock::now() < deadline) {
        pollfd entry{peer.descriptor(), POLLIN, 0};
        constexpr int kPollInterval = 20;  // milliseconds
        if (::poll(&entry, 1, kPollInterval) <= 0) continue;
        const ssize_t got = ::recv(peer.descriptor(), skipped.data(), skipped.size(), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
      }
    }
  }

  // False if the other side accepts no more data; `left` is 0 when all of it is sent.
  bool push_beat(std::size_t r) {
    Beat& beat = beats_[r];
    while (beat.left > 0) {
      const auto rest = std::as_bytes(std::span(&beat.frame, 1)).last(beat.left);
      const ssize_t sent = ::send(peers_[r].descriptor(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      beat.left -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  // False if the other side accepts no more data.
  bool push(Sending& flow, std::size_t r) {
    if (!push_beat(r)) return false;
    if (beats_[r].left > 0) return true;
    while (!flow.finished()) {
      const auto head = std::as_bytes(std::span(&flow.frame, 1));
      const bool in_head = flow.done < head.size();
      const auto piece =
          in_head ? head.subspan(flow.done) : flow.body.subspan(flow.done - head.size());
      const ssize_t sent = ::send(peers_[r].descriptor(), piece.data(), piece.size(),
                                  MSG_NOSIGNAL | (in_head ? MSG_MORE : 0));
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      flow.done += static_cast<std::size_t>(sent);
    }
    return true;
  }

  void pull(Receiving& flow, std::size_t r) {
    // Nothing is expected, so only the end of the connection can have been signalled.
    if (flow.finished()) lose(r, 0);
    while (!flow.finished()) {
      const auto head = std::as_writable_bytes(std::span(&flow.frame, 1));
      const auto piece = flow.done < head.size() ? head.subspan(flow.done)
                                                 : flow.body.subspan(flow.done - head.size());
      const ssize_t got = ::recv(peers_[r].descriptor(), piece.data(), piece.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (got <= 0) throw_lost(r, got == 0 ? 0 : errno);
      note_heartbeat(r);
      flow.done += static_cast<std::size_t>(got);
      if (flow.done != head.size()) continue;
      if (flow.frame.kind == FrameKind::alive) {
        flow.done = 0;
      } else {
        read_head(flow, r);
      }
    }
  }

  void read_head(const Receiving& flow, std::size_t r) {
    if (flow.frame.kind == FrameKind::data && flow.frame.length == flow.body.size()) return;
    if (flow.frame.kind == FrameKind::failed) throw_reason(r, flow.frame.length);
    fail(ErrorKind::distributed, "exchange",
         flow.frame.kind == FrameKind::left
             ? fmt::format(
                   "rank {} has left the group, but rank {} expected more data from it; every "
                   "rank must make the same calls",
                   r, rank())
             : fmt::format("rank {} sent {} bytes where rank {} expected {}", r, flow.frame.length,
                           rank(), flow.body.size()));
  }

  [[noreturn]] void throw_reason(std::size_t r, std::uint64_t length) {
    std::string reason(std::min<std::uint64_t>(length, 4096), '\0');
    const auto deadline = steady_clock::now() + std::chrono::seconds(1);
    peers_[r].receive(std::as_writable_bytes(std::span(reason)), deadline);
    fail(ErrorKind::distributed, "group", fmt::format("rank {} failed: {}", r, reason));
  }

  // Whether a rank left cleanly, between two collectives.
  bool has_left(std::size_t r) const {
    Frame frame;
    const auto read = [&](int flags) {
      return ::recv(peers_[r].descriptor(), &frame, sizeof(frame), flags | MSG_DONTWAIT) ==
             static_cast<ssize_t>(sizeof(frame));
    };
    while (read(MSG_PEEK) && frame.kind == FrameKind::alive) read(0);
    return read(MSG_PEEK) && frame.kind == FrameKind::left;
  }

  // A rank disconnected during a collective, or before one that this rank has yet to start. It may
  // have sent the reason after its last data.
  [[noreturn]] void lose(std::size_t r, int error) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(1);
    Frame frame;
    while (peers_[r].receive(std::as_writable_bytes(std::span(&frame, 1)), deadline)) {
      if (frame.kind == FrameKind::failed) throw_reason(r, frame.length);
      std::array<std::byte, 4096> skipped;
      for (std::uint64_t left = frame.length; left > 0;) {
        const auto piece = std::span(skipped).first(std::min<std::uint64_t>(left, skipped.size()));
        if (!peers_[r].receive(piece, deadline)) throw_lost(r, error);
        left -= piece.size();
      }
    }
    throw_lost(r, error);
  }

  [[noreturn]] static void throw_lost(std::size_t r, int error) {
    fail(ErrorKind::distributed, "group",
         fmt::format("rank {} is lost: its process or machine stopped without leaving the group{}; "
                     "see its output",
                     r, error == 0 ? "" : fmt::format(" ({})", std::strerror(error))));
  }

  std::vector<Socket> peers_;
  std::vector<Sending> sending_;  // of the current or last exchange
  std::vector<Receiving> receiving_;
  std::vector<Beat> beats_;
  std::vector<bool> left_ = std::vector<bool>(peers_.size());
  steady_clock::time_point last_beat_ = steady_clock::now();
  std::vector<pollfd> polled_;
};

}  // namespace

std::unique_ptr<Transport> connect_tcp(const Launch& launch, const Timeouts& timeouts) {
  return std::make_unique<Tcp>(launch, timeouts);
}

}  // namespace causeway::dist
