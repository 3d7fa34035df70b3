#include "causeway/runtime/heap.h"

#include <bit>

namespace causeway {

int Heap::class_of(std::size_t size) {
  const std::size_t granules = size / kGranule;
  const int power = std::bit_width(granules) - 1;
  if (power < 3) return static_cast<int>(granules);  // 1 … 7 granules: one class each
  const auto step = static_cast<int>(granules >> (power - 3)) & (kSteps - 1);
  return (power - 2) * kSteps + step;
}

int Heap::next_filled_class(int from) const {
  for (int word = from / 64; word < kClasses / 64; ++word) {
    std::uint64_t bits = filled_[static_cast<std::size_t>(word)];
    if (word == from / 64) bits &= ~std::uint64_t{0} << (from % 64);
    if (bits != 0) return word * 64 + std::countr_zero(bits);
  }
  return -1;
}

void Heap::link(Block* block) {
  const auto index = static_cast<std::size_t>(class_of(block->size));
  block->free = true;
  block->previous_free = nullptr;
  block->next_free = lists_[index];
  if (block->next_free != nullptr) block->next_free->previous_free = block;
  lists_[index] = block;
  filled_[index / 64] |= std::uint64_t{1} << (index % 64);
  free_bytes_ += block->size;
}

void Heap::unlink(Block* block) {
  const auto index = static_cast<std::size_t>(class_of(block->size));
  if (block->previous_free != nullptr) block->previous_free->next_free = block->next_free;
  if (block->next_free != nullptr) block->next_free->previous_free = block->previous_free;
  if (lists_[index] == block) lists_[index] = block->next_free;
  if (lists_[index] == nullptr) filled_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  block->free = false;
  free_bytes_ -= block->size;
}

Block* Heap::new_block() {
  if (spare_.empty()) return &blocks_.emplace_back();
  Block* block = spare_.back();
  spare_.pop_back();
  return block;
}

void Heap::drop_block(Block* block) {
  *block = Block();
  spare_.push_back(block);
}

Block* Heap::cut(Block* block, std::size_t size) {
  Block* tail = new_block();
  tail->data = block->data + size;
  tail->size = block->size - size;
  tail->heap = this;
  tail->before = block;
  tail->after = block->after;
  if (tail->after != nullptr) tail->after->before = tail;
  block->after = tail;
  block->size = size;
  return tail;
}

void Heap::absorb_next(Block* block) {
  Block* next = block->after;
  block->size += next->size;
  block->after = next->after;
  if (block->after != nullptr) block->after->before = block;
  drop_block(next);
}

void Heap::split(Block* block, std::size_t size) {
  if (block->size - size < smallest_split_) return;
  link(cut(block, size));
}

Block* Heap::take(std::size_t size) {
  // Blocks in the request's own class may be slightly too small, so a few are examined. Any block
  // of a higher class is large enough.
  constexpr int kLooks = 8;
  const int own_class = class_of(size);
  Block* found = nullptr;
  Block* candidate = lists_[static_cast<std::size_t>(own_class)];
  for (int looks = 0; candidate != nullptr && looks < kLooks; ++looks) {
    if (candidate->size >= size) {
      found = candidate;
      break;
    }
    candidate = candidate->next_free;
  }
  if (found == nullptr) {
    const int higher = next_filled_class(own_class + 1);
    if (higher < 0) return nullptr;
    found = lists_[static_cast<std::size_t>(higher)];
  }
  unlink(found);
  split(found, size);
  return found;
}

void Heap::release(Block* block) {
  if (block->after != nullptr && block->after->free) {
    unlink(block->after);
    absorb_next(block);
  }
  if (Block* before = block->before; before != nullptr && before->free) {
    unlink(before);
    absorb_next(before);
    block = before;
  }
  link(block);
}

void Heap::add_segment(Segment segment) {
  Block* block = new_block();
  block->data = segment.data;
  block->size = segment.size;
  block->heap = this;
  total_bytes_ += segment.size;
  link(block);
}

std::vector<Segment> Heap::take_free_segments() {
  std::vector<Segment> segments;
  for (Block* list : lists_) {
    for (Block* block = list; block != nullptr;) {
      Block* next = block->next_free;
      if (block->before == nullptr && block->after == nullptr) {
        unlink(block);
        total_bytes_ -= block->size;
        segments.push_back({block->data, block->size});
        drop_block(block);
      }
      block = next;
    }
  }
  return segments;
}

}  // namespace causeway
