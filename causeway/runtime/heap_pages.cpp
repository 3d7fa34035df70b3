// Heaps in a range of addresses: which pages to map for a request, and which can be released.
#include "causeway/runtime/heap.h"

#include <algorithm>
#include <utility>

namespace causeway {

namespace {

std::size_t free_size(const Block* block) {
  return block != nullptr && block->free ? block->size : 0;
}

std::size_t round_up(std::size_t bytes, std::size_t page_size) {
  return (bytes + page_size - 1) / page_size * page_size;
}

}  // namespace

void Heap::set_range(Segment range) {
  range_ = range;
  Block* block = new_block();
  block->data = range.data;
  block->size = range.size;
  block->heap = this;
  block->unmapped = true;
  unmapped_.push_back(block);
}

std::optional<Segment> Heap::pages_for(std::size_t size, std::size_t page_size) const {
  std::optional<Segment> best;
  for (const Block* gap : unmapped_) {
    const std::size_t before = std::min(free_size(gap->before), size - 1);
    std::size_t needed = round_up(size - before, page_size);
    if (needed > gap->size) {
      if (before + gap->size + free_size(gap->after) < size) continue;
      needed = gap->size;
    }
    if (!best.has_value() || needed < best->size) best = Segment{gap->data, needed};
  }
  return best;
}

void Heap::add_pages(Segment pages) {
  const auto found = std::find_if(unmapped_.begin(), unmapped_.end(),
                                  [&](const Block* gap) { return gap->data == pages.data; });
  Block* block = *found;
  if (block->size > pages.size) {
    *found = cut(block, pages.size);
    (*found)->unmapped = true;
  } else {
    unmapped_.erase(found);
  }
  block->unmapped = false;
  total_bytes_ += block->size;
  release(block);
}

std::vector<Segment> Heap::take_free_pages(std::size_t wanted, std::size_t page_size) {
  std::vector<Block*> blocks;
  for (Block* list : lists_) {
    for (Block* block = list; block != nullptr; block = block->next_free) blocks.push_back(block);
  }
  std::vector<Segment> taken;
  std::size_t n_bytes = 0;
  for (auto at = blocks.rbegin(); at != blocks.rend() && n_bytes < wanted; ++at) {
    Block* block = *at;
    const auto address = reinterpret_cast<std::uintptr_t>(block->data);
    const std::size_t head = round_up(address, page_size) - address;
    if (block->size < head + page_size) continue;
    const std::size_t whole = (block->size - head) / page_size * page_size;
    // The last pages are taken: a heap that grows again uses its first ones.
    const std::size_t n_taken = round_up(std::min(whole, wanted - n_bytes), page_size);
    unlink(block);
    const std::size_t kept = head + whole - n_taken;
    if (kept > 0) link(std::exchange(block, cut(block, kept)));
    if (block->size > n_taken) link(cut(block, n_taken));
    taken.push_back({block->data, block->size});
    n_bytes += block->size;
    make_unmapped(block);
  }
  total_bytes_ -= n_bytes;
  return taken;
}

// Merges it with unmapped neighbours.
void Heap::make_unmapped(Block* block) {
  block->unmapped = true;
  if (block->after != nullptr && block->after->unmapped) {
    std::erase(unmapped_, block->after);
    absorb_next(block);
  }
  if (block->before != nullptr && block->before->unmapped) {
    absorb_next(block->before);
  } else {
    unmapped_.push_back(block);
  }
}

std::optional<Segment> Heap::take_unused_range() {
  if (!range_.has_value() || total_bytes_ > 0) return std::nullopt;
  drop_block(unmapped_.front());
  unmapped_.clear();
  return std::exchange(range_, std::nullopt);
}

}  // namespace causeway
