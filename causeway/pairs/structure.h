// What makes two programs the same: keys that abstract from names and constants, and MinHash
// signatures that find programs that are nearly the same.
#pragma once

#include "causeway/lang/ir/ir.h"
#include "causeway/pairs/verify.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace causeway::pairs {

inline constexpr int kSignature = 64;
inline constexpr int kBands = 16;

enum class Split : std::uint8_t { train, validation, test };
std::string_view name_of(Split split);

struct Structure {
  std::uint64_t key = 0;      // of the IR: names and the values of constants do not enter
  std::uint64_t text = 0;     // of the Python tokens, names and numbers abstracted
  std::uint64_t cluster = 0;  // of its control flow, types and builtins; decides the split
  std::array<std::uint32_t, kSignature> signature{};
  std::array<std::uint64_t, kBands> bands{};  // hashes of parts of the signature

  Split split() const;  // 90% of the clusters train, 5% validate, 5% test
};

Structure structure_of(std::string_view python, const lang::Module& module,
                       const lang::Function& kernel);

// An estimate of the Jaccard similarity of the programs' token 4-grams.
double similarity(const Structure& a, const Structure& b);

// Places by hash, in one array: a node for each would be another access to memory.
class PlaceTable {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  std::uint32_t find(std::uint64_t hash) const { return slots_[slot(hash)].place; }
  void set(std::uint64_t hash, std::uint32_t place);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t place = kAbsent;
  };
  // The slot of the hash, or the free one where it would be.
  std::size_t slot(std::uint64_t hash) const;

  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // a power of two, at most half are used
  std::size_t used_ = 0;
};

// The structures that were seen.
class StructureIndex {
 public:
  // none where the structure is new, which it then no longer is; duplicate for an equal key;
  // similar from a similarity of 0.9 on, and from 0.75 on where the other is in another split.
  // excluded for a key that must not occur.
  Rejection add(const Structure& structure);
  void exclude(const std::vector<std::uint64_t>& keys) {
    excluded_.insert(keys.begin(), keys.end());
  }
  std::size_t size() const { return structures_.size(); }

 private:
  std::unordered_set<std::uint64_t> keys_;
  std::unordered_set<std::uint64_t> excluded_;
  PlaceTable bands_;  // the latest structure with that band
  struct Entry {
    std::array<std::uint32_t, kSignature> signature;
    Split split;
  };
  std::vector<Entry> structures_;
};

}  // namespace causeway::pairs
