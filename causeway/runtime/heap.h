// Two-level segregated fit: free blocks are listed by size class (eight per power of two), so
// taking and releasing a block costs a few bit operations for any heap size. Blocks are split when
// taken and merged with free neighbours when released. The bookkeeping is on the host and never
// touches the memory itself, which may be a GPU's.
//
// A heap has either segments, or one range of addresses whose pages are mapped as it grows
// (virtual_memory.h). In a range all free neighbours merge, and any free page can be released.
#pragma once

#include "causeway/runtime/stream.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
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
  Block* before = nullptr;  // neighbours in the segment or range
  Block* after = nullptr;
  Block* next_free = nullptr;  // neighbours in the size class's list
  Block* previous_free = nullptr;
  Heap* heap = nullptr;
  bool free = false;
  bool unmapped = false;                  // addresses without memory, never free
  std::uint32_t name = 0;                 // id of the name the bytes are counted under
  std::size_t requested = 0;              // bytes requested by the user
  std::vector<StreamView> other_streams;  // other streams that used it besides the owner's
};

class Heap {
 public:
  static constexpr std::size_t kGranule = 512;  // every size is a multiple of it

  // A remainder smaller than `smallest_split` stays part of the block.
  explicit Heap(std::size_t smallest_split = kGranule) : smallest_split_(smallest_split) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // A block of at least `size` bytes (a multiple of kGranule), or nullptr if none is free.
  Block* take(std::size_t size);
  void release(Block* block);

  // Adds new memory as one free block.
  void add_segment(Segment segment);
  // Removes and returns the segments that are entirely free; the caller releases their memory.
  std::vector<Segment> take_free_segments();

  // Gives a heap without memory its range of addresses, none of them mapped.
  void set_range(Segment range);
  std::optional<Segment> range() const { return range_; }
  // The unmapped pages that must be mapped for a free block of `size` bytes, as few as possible;
  // nullopt if the range has no place for it.
  std::optional<Segment> pages_for(std::size_t size, std::size_t page_size) const;
  // The pages are mapped now, and free.
  void add_pages(Segment pages);
  // Removes and returns whole pages that are free, largest blocks first, until they are `wanted`
  // bytes or more; the caller unmaps them.
  std::vector<Segment> take_free_pages(std::size_t wanted, std::size_t page_size);
  // Removes and returns the range if none of its pages is mapped.
  std::optional<Segment> take_unused_range();

  std::size_t free_bytes() const { return free_bytes_; }
  std::size_t total_bytes() const { return total_bytes_; }  // in use or free

  // A retired heap serves no more requests; its owner releases its memory once it is free.
  void retire() { retired_ = true; }
  bool retired() const { return retired_; }

 private:
  static constexpr int kSteps = 8;  // classes per power of two
  static constexpr int kPowers = 48;
  static constexpr int kClasses = kPowers * kSteps;

  static int class_of(std::size_t size);
  int next_filled_class(int from) const;
  void link(Block* block);
  void unlink(Block* block);
  Block* new_block();
  void drop_block(Block* block);
  // Shortens a block and returns a new one after it, with the rest.
  Block* cut(Block* block, std::size_t size);
  void absorb_next(Block* block);
  void split(Block* block, std::size_t size);
  void make_unmapped(Block* block);

  std::size_t smallest_split_;
  std::size_t free_bytes_ = 0;
  std::size_t total_bytes_ = 0;
  std::optional<Segment> range_;
  std::vector<Block*> unmapped_;
  bool retired_ = false;
  std::array<Block*, kClasses> lists_{};
  std::array<std::uint64_t, kClasses / 64> filled_{};
  std::deque<Block> blocks_;   // storage of all block records
  std::vector<Block*> spare_;  // records not in use
};

}  // namespace causeway
