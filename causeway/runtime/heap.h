// Two-level segregated fit: free blocks are listed by size class (a power of two cut in eight), so
// taking and giving back a block costs a few bit operations whatever the heap holds. A block is
// split on taking and merged with free neighbours on giving. The bookkeeping lives on the host; the
// memory itself is never touched, so it may be a GPU's.
#pragma once

#include "causeway/runtime/stream.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace causeway {

class Heap;

struct Segment {
  std::byte* data = nullptr;
  std::size_t size = 0;
};

struct Block {
  std::byte* data = nullptr;
  std::size_t size = 0;
  Block* before = nullptr;  // neighbours in the segment
  Block* after = nullptr;
  Block* next_free = nullptr;  // neighbours in the size class's list
  Block* previous_free = nullptr;
  Heap* heap = nullptr;
  bool free = false;
  std::uint32_t name = 0;                 // whom the bytes are counted for
  std::size_t requested = 0;              // bytes the user asked for
  std::vector<StreamView> other_streams;  // streams besides the owner's that used it
};

class Heap {
 public:
  static constexpr std::size_t kGranule = 512;  // every size is a multiple of it

  // A remainder smaller than `smallest_split` stays with the block it would be cut from.
  explicit Heap(std::size_t smallest_split = kGranule) : smallest_split_(smallest_split) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // A block of at least `size` bytes (a multiple of kGranule), or nullptr where none is free.
  Block* take(std::size_t size);
  void give(Block* block);

  // Hands the heap fresh memory, as one free block.
  void add_segment(Segment segment);
  // Takes out the segments that are wholly free; the caller releases their memory.
  std::vector<Segment> take_free_segments();

  std::size_t free_bytes() const { return free_bytes_; }

  // A retired heap takes no more requests; its owner releases each segment as it becomes free.
  void retire() { retired_ = true; }
  bool retired() const { return retired_; }

 private:
  static constexpr int kSteps = 8;  // classes to a power of two
  static constexpr int kPowers = 48;
  static constexpr int kClasses = kPowers * kSteps;

  static int class_of(std::size_t size);
  int next_filled_class(int from) const;
  void link(Block* block);
  void unlink(Block* block);
  Block* new_block();
  void drop_block(Block* block);
  void split(Block* block, std::size_t size);

  std::size_t smallest_split_;
  std::size_t free_bytes_ = 0;
  bool retired_ = false;
  std::array<Block*, kClasses> lists_{};
  std::array<std::uint64_t, kClasses / 64> filled_{};
  std::deque<Block> blocks_;   // storage of all block records
  std::vector<Block*> spare_;  // records not in use
};

}  // namespace causeway
