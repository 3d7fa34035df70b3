#include "causeway/pairs/dataset.h"

#include "causeway/core/error.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/nearest.h"
#include "causeway/pairs/dataset_json.h"
#include "causeway/pairs/dataset_writer.h"
#include "causeway/pairs/gpu_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <future>

namespace causeway::pairs {

namespace {

constexpr std::string_view kOperation = "pairs";
// Candidates of a shard between notes of progress, at most. Compilers take long, and threads
// without work wait at the end of a batch: there it is larger.
constexpr std::int64_t kBatch = 512;
constexpr std::int64_t kCompiledBatch = 2048;

std::vector<std::string> category_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kCategories; ++i) names.emplace_back(name_of(static_cast<Category>(i)));
  return names;
}

const std::vector<std::string> kChecks{"run", "adjoint", "compile", "cpp", "gpu", "none"};

[[noreturn]] void fail_argument(const std::string& text) {
  throw Error(ErrorKind::invalid_argument, fmt::format("[{}] {}", kOperation, text));
}

void parse_shard(const std::string& text, int& shard, int& shards) {
  const std::size_t slash = text.find('/');
  const auto number = [&](std::string_view part, int& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size();
  };
  const std::string_view view = text;
  if (slash == std::string::npos || !number(view.substr(0, slash), shard) ||
      !number(view.substr(slash + 1), shards) || shards < 1 || shard < 0 || shard >= shards)
    fail_argument("shard: expected I/N with 0 <= I < N, such as 0/4, got \"" + text + "\"");
}

// One hexadecimal number per line, as `causeway pairs stats --signatures` writes them.
std::vector<std::uint64_t> read_signatures(const std::filesystem::path& path) {
  const MappedFile file(kOperation, path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  std::vector<std::uint64_t> signatures;
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const char* first = text.data() + begin;
    const char* last = text.data() + end;
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(first, last, value, 16);
    if (end > begin && (error != std::errc() || stop != last))
      fail_argument(fmt::format("{}:{}: expected a hexadecimal number, got \"{}\"", path.string(),
                                line, std::string_view(first, end - begin)));
    if (end > begin) signatures.push_back(value);
    begin = end + 1;
  }
  return signatures;
}

// By the checks of Stream::finish.
std::int64_t n_rejected_late(const Rejections& rejections) {
  std::uint64_t sum = 0;
  for (const Rejection rejection :
       {Rejection::compile, Rejection::cpp, Rejection::gpu, Rejection::variant})
    sum += rejections[static_cast<std::size_t>(rejection)];
  return static_cast<std::int64_t>(sum);
}

}  // namespace

Category category_of(std::string_view name) {
  const std::vector<std::string> names = category_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<Category>(found - names.begin());
  const std::string near = nearest_name(name, names);
  fail_argument(fmt::format("\"{}\" is not a category{}; categories: {}", name,
                            near.empty() ? "" : "; did you mean " + near + "?",
                            fmt::join(names, ", ")));
}

StreamOptions DatasetConfig::stream(int threads) const {
  StreamOptions options;
  options.seed = seed;
  for (const std::string& name : categories) options.categories.push_back(category_of(name));
  options.lowest_level = lowest_level;
  options.highest_level = highest_level;
  if (lowest_level < 1 || highest_level > kLevels || lowest_level > highest_level)
    fail_argument(fmt::format("level: expected LOW:HIGH from 1:1 to {0}:{0}, got {1}:{2}", kLevels,
                              lowest_level, highest_level));
  parse_shard(shard, options.shard, options.shards);
  const auto wants = [this](std::string_view step) {
    return std::ranges::find(verify, step) != verify.end();
  };
  for (const std::string& step : verify) {
    if (std::ranges::find(kChecks, step) == kChecks.end())
      fail_argument(fmt::format("verify: \"{}\" is not one of {}", step, fmt::join(kChecks, ", ")));
  }
  options.run = wants("run");
  options.adjoint = wants("adjoint");
  options.compile = wants("compile");
  options.cpp = wants("cpp");
  options.gpu = wants("gpu");
  if (options.gpu) require_gpu();
  options.twins = twins;
  options.variants = variants;
  options.ptx = ptx;
  if (!exclude.empty()) options.excluded = read_signatures(exclude);
  if (format == Format::parquet)
    fail_argument(
        "format: Parquet files are made by the Python package: write JSON lines, then call "
        "cw.pairs.to_parquet(folder, \"pairs.parquet\")");
  options.threads = threads;
  return options;
}

const ConfigDescription<DatasetConfig>& describe_dataset() {
  static const auto description = [] {
    ConfigDescription<DatasetConfig> d("pairs.generate");
    d.add("count", &DatasetConfig::count, "Number of pairs, over all shards")
        .option_name("count,-n")
        .at_least(1);
    d.add("seed", &DatasetConfig::seed, "Random seed").option_name("seed,-s");
    d.choices("categories", &DatasetConfig::categories, category_names(), "Categories of programs")
        .option_name("categories,-c")
        .defaults_to("all");
    d.range("level", &DatasetConfig::lowest_level, &DatasetConfig::highest_level,
            "Difficulty, from 1 to 5");
    d.choices("verify", &DatasetConfig::verify, kChecks,
              "Checks of every pair: run (interpret), adjoint (gradients), compile (NVRTC), cpp "
              "(compile and run the C++), gpu (run on the first GPU), or none");
    d.add("twins", &DatasetConfig::twins,
          "Share of the pairs with a wrong variant and its diagnosis")
        .between(0, 1);
    d.add("variants", &DatasetConfig::variants,
          "Share of the pairs with equivalent CUDA kernels in other forms, compiled and run")
        .between(0, 1);
    d.add("ptx", &DatasetConfig::ptx, "Add the PTX of the forward kernel, by NVRTC for sm_90");
    d.add("exclude", &DatasetConfig::exclude,
          "File of structures that must not occur (pairs stats --signatures)")
        .written("FILE");
    d.choice("device", &DatasetConfig::device, {"cuda", "cpu"}, "Target named in the metadata")
        .option_name("device,-d");
    d.choice("format", &DatasetConfig::format, {"json", "jsonl", "parquet"},
             "A file for each pair, or JSON lines; Parquet through Python");
    d.add("compress", &DatasetConfig::compress, "Compress JSON lines with Zstandard");
    d.add("shard", &DatasetConfig::shard, "Write part I of N").written("I/N");
    return d;
  }();
  return description;
}

DatasetResult write_dataset(const DatasetConfig& config, const std::filesystem::path& folder,
                            int threads,
                            const std::function<void(const DatasetProgress&)>& report) {
  const StreamOptions options = config.stream(threads);
  const std::int64_t count =
      config.count / options.shards + (options.shard < config.count % options.shards ? 1 : 0);
  DatasetWriter writer(config, folder, options.shard, options.shards);
  DatasetWriter::Progress& progress = writer.progress;
  Stream stream(options);
  if (progress.result.written < count) stream.resume_at(progress.position);
  Rejections rejections = progress.result.rejections;
  std::int64_t written = progress.result.written;
  // Written records, and those that candidates become which passed the interpreter. Sizes of
  // batches depend on it alone: a resumed run has the same ones.
  std::int64_t expected = written + n_rejected_late(rejections);
  const bool checks =
      options.compile || options.cpp || options.gpu || options.ptx || options.variants > 0;
  // With many threads, compilers check batches while the next one is generated, unless a GPU
  // measures times.
  const std::size_t depth = checks && options.variants == 0 && options.threads > 2 ? 3 : 1;
  struct Pending {
    std::future<Stream::Checked> checked;
    std::uint64_t position = 0;
  };
  std::deque<Pending> pending;
  std::future<void> writing;  // of the batch before
  if (report) report({written, count, rejections});
  while (written < count) {
    if (pending.empty() || (pending.size() < depth && expected < count)) {
      const std::int64_t missing = count - (expected < count ? expected : written);
      // A fifth is rejected on average; the last batches are small.
      const std::int64_t most = options.gpu || options.compile ? kCompiledBatch : kBatch;
      const auto wanted = std::clamp<std::int64_t>((missing * 5 / 4 + 63) / 64 * 64, 64, most);
      Stream::Batch batch = stream.begin(static_cast<int>(wanted) * options.shards);
      expected += static_cast<std::int64_t>(batch.n_passed());
      const bool last = depth == 1 || expected >= count;
      auto checked = std::async(checks ? std::launch::async : std::launch::deferred,
                                [&stream, last, batch = std::move(batch)]() mutable {
                                  return stream.finish(std::move(batch), last);
                                });
      pending.push_back({std::move(checked), stream.position()});
      continue;
    }
    auto [records, rejected] = pending.front().checked.get();
    const std::uint64_t position = pending.front().position;
    pending.pop_front();
    if (const auto missing = static_cast<std::size_t>(count - written); records.size() > missing)
      records.resize(missing);
    written += static_cast<std::int64_t>(records.size());
    for (std::size_t i = 0; i < kRejections; ++i) rejections[i] += rejected[i];
    if (writing.valid()) writing.get();
    writing = std::async(std::launch::async,
                         [&writer, records = std::move(records), rejections, position]() mutable {
                           writer.add(records);
                           records.clear();  // not later, by the thread that generates
                           writer.progress.position = position;
                           writer.progress.result.rejections = rejections;
                           writer.save();
                         });
    if (report && written < count) report({written, count, rejections});
  }
  if (writing.valid()) writing.get();
  if (report) report({written, count, rejections});
  progress.result.candidates = static_cast<std::int64_t>(progress.position);
  writer.finish();
  return progress.result;
}

}  // namespace causeway::pairs
