// Quantile tokenizer: fit, encode, and both, for several layouts and distributions. 10M rows x 20
// columns on a GPU, 1M x 20 on the CPU, 256 bins.
#include "bench/harness.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tokenizer/tokenizer.h"

#include <fmt/format.h>

namespace causeway::bench {

namespace {

using tokenizer::Options;
using tokenizer::Table;
using tokenizer::Tokenizer;

constexpr std::int64_t kColumns = 20;

struct Data {
  const char* name;
  Tensor (*draw)(Generator&, const Shape&, Device);
};

Tensor mostly_zero(Generator& generator, const Shape& shape, Device device) {
  const Tensor chosen = compare(CompareOp::less, generator.uniform(shape, 0, 1, DType::f32, device),
                                full({1}, 0.9, DType::f32, device));
  return where(chosen, zeros({1}, DType::f32, device),
               generator.normal(shape, 0, 1, DType::f32, device));
}

constexpr Data kData[] = {
    {"normal",
     [](Generator& g, const Shape& s, Device d) { return g.normal(s, 0, 1, DType::f32, d); }},
    {"constant", [](Generator&, const Shape& s, Device d) { return full(s, 3.5, DType::f32, d); }},
    {"5 values", [](Generator& g, const Shape& s,
                    Device d) { return g.integers(s, 0, 5, DType::i32, d).to(DType::f32); }},
    {"N(1000,1)",
     [](Generator& g, const Shape& s, Device d) { return g.normal(s, 1000, 1, DType::f32, d); }},
    {"epoch seconds", [](Generator& g, const Shape& s,
                         Device d) { return g.uniform(s, 1.0e9, 1.7e9, DType::f32, d); }},
    {"90% zeros", mostly_zero},
};

void run_data(const Data& data, bool by_columns, Device device, const Report& report) {
  const std::int64_t n_rows = device.is_cuda() ? 10'000'000 : 1'000'000;
  Generator generator(1);
  const Shape shape = by_columns ? Shape{kColumns, n_rows} : Shape{n_rows, kColumns};
  const Tensor drawn = data.draw(generator, shape, device);
  const Table table(by_columns ? drawn.transpose() : drawn);
  const double values = static_cast<double>(n_rows * kColumns);
  const std::string where = fmt::format("{} {}M x {}{}", data.name, n_rows / 1'000'000, kColumns,
                                        by_columns ? "" : " by rows");
  Options edges;
  edges.statistics = false;
  const auto time = [&](const char* what, double bytes, std::function<void()> run) {
    report(measure({fmt::format("{}, {}", what, where), bytes, 0, std::move(run)}, device));
  };
  time("fit", 8 * values, [&] { (void)Tokenizer::fit(table, edges); });
  const Tokenizer tok = Tokenizer::fit(table, edges);
  time("encode", 5 * values, [&] { (void)tok.encode(table); });
  time("fit and encode", 13 * values, [&] { (void)Tokenizer::fit(table, edges).encode(table); });
  if (std::string_view(data.name) != "normal") return;
  time("fit with counts and medians", 12 * values, [&] { (void)Tokenizer::fit(table, {}); });
}

}  // namespace

void run_tokenizer(Device device, const Report& report) {
  for (const Data& data : kData) {
    for (const bool by_columns : {true, false}) {
      run_data(data, by_columns, device, report);
      pool_of(device).release_cached();
    }
  }
}

}  // namespace causeway::bench
