// The time to generate a batch of each prior, with all filters. Bytes are those written; only the
// simple family is close to memory-bound.
#include "bench/harness.h"
#include "causeway/prior/prior.h"

#include <fmt/format.h>

namespace causeway::bench {

namespace {

struct PriorCase {
  std::string family;
  int rows;
  prior::CountRange features;
  prior::CountRange classes;
  std::int64_t count;
};

void time(const PriorCase& of, Device device, const Report& report) {
  prior::PriorConfig config;
  config.family = of.family;
  config.rows = {of.rows, of.rows};
  config.features = of.features;
  config.classes = of.classes;
  config.regression = of.classes.low == 0;
  config.seed = 7;
  const prior::Prior prior(config, device);
  const double bytes = 4.0 * static_cast<double>(of.count) * of.rows * (of.features.high + 1);
  std::uint64_t first = 0;
  const bool timed_by_bytes = of.family == "simple";
  report(measure({fmt::format("{} {} x {}, {} datasets", of.family, of.rows,
                              of.features.to_string(), of.count),
                  timed_by_bytes ? bytes : 0, 0,
                  [&] {
                    const prior::Batch batch = prior.batch(first, of.count);
                    first += static_cast<std::uint64_t>(of.count);
                  }},
                 device));
}

}  // namespace

void run_prior(Device device, const Report& report) {
  const bool gpu = device.is_cuda();
  time({"simple", 64, {4, 4}, {0, 0}, gpu ? 1'000'000 : 10'000}, device, report);
  time({"mlp", 150, {5, 5}, {2, 2}, gpu ? 65'536 : 200}, device, report);
  time({"tree", 150, {5, 5}, {2, 2}, gpu ? 65'536 : 1'000}, device, report);
  for (const char* family : {"simple", "mlp", "tree", "graph", "rules", "linear"}) {
    for (const int rows : {256, 1024}) {
      time({family, rows, {20, 20}, {2, 10}, gpu ? 4'096 : 32}, device, report);
    }
  }
  time({"graph", 1000, {1, 20}, {2, 8}, gpu ? 32'768 : 32}, device, report);
  time({"graph", 1024, {1, 100}, {2, 10}, gpu ? 16'384 : 16}, device, report);
}

}  // namespace causeway::bench
