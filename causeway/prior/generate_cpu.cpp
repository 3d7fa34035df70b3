// Dataset generation on the CPU: each thread takes the next dataset from a counter. Bound by
// arithmetic.
#include "causeway/prior/generate.h"

#include "causeway/runtime/pool.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <type_traits>
#include <vector>

namespace causeway::prior::cpu {

namespace {

constexpr int kTogether = 16;  // rows per vectorised loop
constexpr int kFew = 4;        // features

// sum += weight * f(scale * x + shift) for a block of rows; the switch over kinds is outside the
// loop.
void add_terms(const SimpleTerm& term, const float (&x)[kTogether], float (&sum)[kTogether]) {
  const auto add = [&](const auto& kind) {
    SimpleTerm of = term;
    of.kind = kind.value;
    for (int i = 0; i < kTogether; ++i) sum[i] = add_term(of, x[i], sum[i]);
  };
  switch (term.kind) {
    case Term::sine: return add(std::integral_constant<Term, Term::sine>());
    case Term::cosine: return add(std::integral_constant<Term, Term::cosine>());
    case Term::tanh: return add(std::integral_constant<Term, Term::tanh>());
    case Term::exp: return add(std::integral_constant<Term, Term::exp>());
    case Term::identity: return add(std::integral_constant<Term, Term::identity>());
  }
}

void make_simple(const Draws& draws, int n_rows, float* x, float* y) {
  SimpleTerm terms[kFew];
  for (int f = 0; f < kFew; ++f) terms[f] = simple_term(draws, f);
  for (int first = 0; first < n_rows; first += kTogether) {
    const BitsBatch<kTogether> bits(draws, kFeatureSite, static_cast<std::uint32_t>(first), 0);
    float values[kFew][kTogether];
    float sum[kTogether] = {};
    for (int f = 0; f < kFew; ++f) {
      for (int i = 0; i < kTogether; ++i) values[f][i] = simple_feature(bits.word[f][i]);
      add_terms(terms[f], values[f], sum);
    }
    const int here = std::min(kTogether, n_rows - first);
    for (int i = 0; i < here; ++i) {
      for (int f = 0; f < kFew; ++f) x[(first + i) * kFew + f] = values[f][i];
      y[first + i] = sum[i];
    }
  }
}

}  // namespace

void generate_simple(std::uint64_t seed, const BatchOut& out) {
  parallel_for(out.count, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const DatasetOut to = out.of(k);
      make_simple(Draws::of(seed, out.index_of(k)), out.rows, to.x, to.y);
    }
  });
}

std::size_t scratch_bytes(const Recipe& recipe, std::int64_t count) {
  const std::int64_t pieces = std::min<std::int64_t>(thread_count(), count);
  return static_cast<std::size_t>(pieces * recipe.arena_floats) * sizeof(float);
}

void generate(const Recipe& recipe, std::uint64_t seed, const BatchOut& out) {
  if (out.count == 0) return;
  std::atomic<std::int64_t> next{0};
  const std::int64_t pieces = std::min<std::int64_t>(thread_count(), out.count);
  const bool interruptible = internal::is_interruptible;  // of this thread; parallel_for throws
  const MemoryScope scope("prior");
  const Buffer arenas = pool_of(Device::cpu()).allocate(scratch_bytes(recipe, out.count), {});
  auto* const floats = reinterpret_cast<float*>(arenas.data());
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const auto shared = std::make_unique<Shared>();
      float* const arena = floats + piece * recipe.arena_floats;
      for (std::int64_t k = next++; k < out.count; k = next++) {
        if (interruptible && interrupt_requested()) return;
        const DatasetOut to = out.of(k);
        out.info[k] = make_dataset(Solo{nullptr, interruptible}, recipe, seed, out.index_of(k), 0,
                                   OtherWorld{}, *shared, arena, to);
        // Zero the padding rows.
        if (out.offsets != nullptr) continue;
        const std::int64_t used = out.info[k].n_rows;
        std::fill(to.x + used * out.features, to.x + std::int64_t{out.rows} * out.features, 0.0f);
        std::fill(to.y + used, to.y + out.rows, 0.0f);
      }
    }
  });
}

}  // namespace causeway::prior::cpu
