// A team of several CPU threads that emulates a GPU block.
#pragma once

#include "causeway/prior/device/team.h"

#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

namespace causeway::prior {

struct Common {
  static constexpr int kStage = 640;  // floats; small, so that most is staged in pieces
  int members;
  std::barrier<> barrier{members};
  std::atomic<std::uint64_t> bits{0};
  float memory[kStage] = {};
};

// Threads that emulate a GPU block, each in place of a warp.
struct Crew {
  static constexpr int kRows = 1;
  static constexpr bool kTraces = false;
  Common* common;
  int member;

  static constexpr int kStage = Common::kStage;
  float* stage() const { return common->memory; }
  int rank() const { return member; }
  int size() const { return common->members; }
  void sync() const { common->barrier.arrive_and_wait(); }
  bool stops() const { return false; }
  template <class F>
  float for_all(const F& f) const {
    return f();
  }
  int count(std::int32_t* counter) const { return std::atomic_ref(*counter).fetch_add(1); }
  void add_wide(std::int32_t* to, std::int64_t value) const {
    std::atomic_ref(*reinterpret_cast<std::int64_t*>(to)).fetch_add(value);
  }
  std::uint64_t any_bits(std::uint64_t own) const {
    if (member == 0) common->bits = 0;
    sync();
    common->bits |= own;
    sync();
    const std::uint64_t all = common->bits;
    sync();
    return all;
  }
  bool any(bool value) const { return any_bits(value ? 1 : 0) != 0; }
  static std::int64_t order_space(int n) { return Solo::order_space(n); }
  void order_of(const float* values, int n, std::uint32_t* order) const {
    if (member == 0) Solo{}.order_of(values, n, order);
    sync();
  }
  template <class F>
  void columns(int n_columns, const F& f) const {
    for (int c = member; c < n_columns; c += common->members) f(c, SoloLanes{});
  }
};

// Calls work(member) for each thread of a crew.
template <class Work>
void run_crew(int members, const Work& work) {
  Common common{members};
  std::vector<std::thread> threads;
  for (int member = 0; member < members; ++member) {
    threads.emplace_back([&, member] { work(Crew{&common, member}); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace causeway::prior
