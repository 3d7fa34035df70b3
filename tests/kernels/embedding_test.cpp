// The gradient of an embedding against a reference in plain loops, and the GPU against the CPU.
#include "causeway/kernels/embedding/embedding.h"

#include "tests/kernels/guarded.h"

#include <fmt/format.h>

namespace causeway {
namespace {

Tensor gradient_on(Device device, const Tensor& gradient, const Tensor& index,
                   std::int64_t n_entries, std::int64_t n_columns, std::int64_t shift = 0) {
  const Guarded out(n_entries * n_columns, gradient.dtype(), device, shift);
  kernels::embedding_gradient(current_stream(device), operand_of(placed(gradient, device, shift)),
                              operand_of(index.to(device)), out.operand(), index.numel(), n_entries,
                              n_columns);
  return out.take("embedding gradient");
}

// Distributions of the indices: uniform, few entries that repeat, all equal, runs around the
// windows.
Tensor draw_index(Generator& generator, std::int64_t count, std::int64_t n_entries, int kind) {
  if (kind == 0) return generator.integers({count}, 0, n_entries);
  if (kind == 1) return generator.integers({count}, 0, std::min<std::int64_t>(3, n_entries));
  if (kind == 2) return full({count}, n_entries / 2, DType::i64);
  auto index = generator.integers({count}, 0, n_entries).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (i % 3 != 0) index[i] = n_entries - 1;  // a padding token
  }
  return Tensor::from<std::int64_t>(index, {count});
}

TEST(Embedding, GradientMatchesReference) {
  Generator generator(1);
  for (DType dtype : kFloating) {
    for (std::int64_t columns : {1, 7, 33, 256}) {
      for (std::int64_t count : {0, 1, 100, 700}) {
        for (std::int64_t entries : {1, 50, 1000}) {
          for (int kind : {0, 1, 2, 3}) {
            const Tensor index = draw_index(generator, count, entries, kind);
            const Tensor g = generator.normal({count, columns}, 0, 1, dtype);
            const auto values = doubles(g);
            const auto chosen = index.to_vector<std::int64_t>();
            std::vector<double> want(at(entries * columns), 0.0);
            for (std::int64_t k = 0; k < count; ++k) {
              for (std::int64_t c = 0; c < columns; ++c) {
                want[at(chosen[at(k)] * columns + c)] += values[at(k * columns + c)];
              }
            }
            expect_close(gradient_on(Device::cpu(), g, index, entries, columns),
                         from_doubles(want, dtype),
                         fmt::format("{} {} of {} x {} kind {}", to_string(dtype), count, entries,
                                     columns, kind),
                         10);
          }
        }
      }
    }
  }
}

TEST(GpuEmbedding, GradientMatchesCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(2);
  for (DType dtype : kFloating) {
    for (std::int64_t columns :
         cases<std::int64_t>({1, 7, 33, 96, 256, 1000, 3000}, {7, 256, 1000})) {
      if (dtype != DType::f32 && columns != 7 && columns != 256) continue;
      for (std::int64_t count :
           cases<std::int64_t>({0, 1, 100, 127, 128, 129, 256, 700, 5000}, {129, 700})) {
        for (std::int64_t entries : cases<std::int64_t>({1, 50, 1000}, {50})) {
          for (int kind : cases<int>({0, 1, 2, 3}, {0, 3})) {
            if (columns > 256 && count > 700) continue;
            const Tensor index = draw_index(generator, count, entries, kind);
            const Tensor g = generator.normal({count, columns}, 0, 1, dtype);
            const auto what = fmt::format("{} {} of {} x {} kind {}", to_string(dtype), count,
                                          entries, columns, kind);
            for (std::int64_t shift : {0, 1}) {
              const Tensor found = gradient_on(kGpu, g, index, entries, columns, shift);
              expect_close(found, gradient_on(Device::cpu(), g, index, entries, columns), what, 20);
              expect_same_bytes(gradient_on(kGpu, g, index, entries, columns, shift), found, what);
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace causeway
