#include "causeway/data/csv.h"

#include "causeway/core/advice.h"
#include "causeway/data/csv_chunk.h"
#include "causeway/data/decompress.h"
#include "causeway/data/utf8.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <unordered_map>

namespace causeway {

namespace {

constexpr std::int64_t kInferredRows = 1000;

// Start offsets of the chunks of `n` threads; each chunk consists of whole records.
std::vector<std::size_t> chunk_starts(std::string_view batch, std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i <= count; ++i) cuts.push_back(batch.size() / count * i);
  cuts.back() = batch.size();
  std::vector<std::int64_t> quotes(count);
  parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      quotes[i] = std::count(batch.begin() + static_cast<std::ptrdiff_t>(cuts[i]),
                             batch.begin() + static_cast<std::ptrdiff_t>(cuts[i + 1]), '"');
    }
  });
  std::vector<std::size_t> starts{0};
  std::int64_t before = 0;
  for (std::size_t i = 1; i < count; ++i) {
    before += quotes[i - 1];
    // Starts at the byte before the cut: a cut right after a line end is already a record start.
    const bool quoted = ((before - (batch[cuts[i] - 1] == '"' ? 1 : 0)) & 1) != 0;
    starts.push_back(std::max(starts.back(), csv::record_end(batch, cuts[i] - 1, quoted)));
  }
  starts.push_back(batch.size());
  return starts;
}

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, CsvOptions options)
    : file_(std::make_unique<MappedFile>("read_csv", path)), options_(std::move(options)) {
  const auto bytes = file_->bytes();
  text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  layout_.origin = {"read_csv", path.string()};
  file_->read_whole([&] {
    if (auto content = data::decompress(text_, path.string())) {
      decompressed_ = std::make_unique<const std::string>(*std::move(content));
      text_ = *decompressed_;
    }
    begin();
    return true;
  });
  if (decompressed_ != nullptr) file_.reset();
}

CsvReader::CsvReader(std::string name, std::string_view text, CsvOptions options)
    : text_(text), options_(std::move(options)) {
  layout_.origin = {"read_csv", std::move(name)};
  begin();
}

void CsvReader::begin() {
  csv::set_missing(layout_, options_.missing);
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
    layout_.origin.fail_format(
        "the file is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8");
  }
  if (text_.starts_with("PAR1")) {
    layout_.origin.fail_format(
        std::string("the file is Parquet; expected CSV; ") +
        std::string(advice("convert it, or use the Python package, which takes pyarrow's tables",
                           "pass the table of pyarrow.parquet.read_table instead")));
  }
  const std::size_t start = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
  if (options_.delimiter == '\0') options_.delimiter = csv::find_delimiter(text_.substr(start));
  layout_.delimiter = options_.delimiter;
  csv::FieldReader fields(text_.substr(start), options_.delimiter, 1);
  while (!fields.at_end() && fields.skip_empty_line()) continue;
  if (fields.at_end()) layout_.origin.fail_format("the file is empty; expected a header line");
  const std::size_t header = start + fields.position();
  const std::int64_t header_line = fields.line();
  std::unordered_map<std::string, std::size_t> places;  // of the columns, by name
  bool last = false;
  while (!last) {
    std::string_view field;
    std::string problem;
    const std::int64_t line = fields.line();
    const auto column = static_cast<std::int64_t>(layout_.names.size()) + 1;
    if (!fields.next(field, last, problem)) csv::fail_at(layout_, {line, column, problem});
    if (!data::is_utf8(field) || field.find('\0') != std::string_view::npos) {
      csv::fail_at(layout_,
                   {line, column, "not UTF-8; convert the file, for example with iconv -t UTF-8"});
    }
    const std::string name(csv::trimmed(field));
    layout_.names.push_back(options_.header ? name : std::to_string(column - 1));
    if (!options_.header) {
      places.emplace(layout_.names.back(), layout_.names.size() - 1);
      continue;
    }
    if (name.empty()) {
      csv::fail_at(layout_, {line, column, "a column has no name; name it in the file"});
    }
    if (!places.emplace(name, layout_.names.size() - 1).second) {
      csv::fail_at(layout_, {line, column, "duplicate column name; rename one of them"});
    }
  }
  first_row_ = options_.header ? start + fields.position() : header;
  first_line_ = options_.header ? fields.line() : header_line;
  layout_.types.assign(layout_.names.size(), CsvType::text);
  infer_types();
  for (const auto& [name, type] : options_.types) {
    const auto found = places.find(name);
    if (found == places.end()) {
      layout_.origin.fail(
          ErrorKind::invalid_argument,
          fmt::format("a type is declared for column {}, which does not exist", shown(name)));
    }
    layout_.types[found->second] = type;
  }
  rewind();
}

// A column is numeric if at least 90% of its cells are: the others are then reported as errors
// instead of making the whole column text. Dates and booleans follow the same rule.
void CsvReader::infer_types() {
  const std::size_t n = layout_.names.size();
  std::vector<std::array<std::int64_t, 4>> seen(n, {0, 0, 0, 0});  // by type; text: all cells
  csv::FieldReader fields(text_.substr(first_row_), options_.delimiter, first_line_);
  for (std::int64_t row = 0; row < kInferredRows && !fields.at_end(); ++row) {
    if (n > 1 && fields.skip_empty_line()) continue;
    bool last = false;
    for (std::size_t c = 0; !last; ++c) {
      std::string_view field;
      std::string problem;
      // Malformed rows are reported when they are read.
      if (!fields.next(field, last, problem) || c >= n) return;
      const std::string_view cell = csv::trimmed(field);
      if (csv::is_missing(layout_, cell)) continue;
      double number;
      bool truth;
      std::int64_t time;
      ++seen[c][3];
      if (csv::parse_number(cell, number)) ++seen[c][0];
      if (csv::parse_boolean(cell, truth)) ++seen[c][1];
      if (csv::parse_time(cell, time)) ++seen[c][2];
    }
  }
  constexpr CsvType kTypes[] = {CsvType::number, CsvType::boolean, CsvType::time};
  for (std::size_t c = 0; c < n; ++c) {
    if (seen[c][3] == 0) layout_.types[c] = CsvType::number;  // empty column: missing numbers
    for (std::size_t type = 0; type < 3; ++type) {
      if (seen[c][3] > 0 && 10 * seen[c][type] >= 9 * seen[c][3]) layout_.types[c] = kTypes[type];
    }
  }
}

bool CsvReader::next(CsvBatch& batch) {
  do {
    batch = {};
    if (position_ >= text_.size()) return false;
    batch = file_ == nullptr ? parse_batch() : file_->read_whole([&] { return parse_batch(); });
    if (file_ != nullptr) file_->release_until(position_);
  } while (batch.n_rows == 0);
  return true;
}

CsvBatch CsvReader::parse_batch() {
  std::size_t end = text_.size();
  if (text_.size() - position_ > options_.batch_bytes) {
    const std::string_view ahead = text_.substr(position_, options_.batch_bytes);
    const bool quoted = (std::count(ahead.begin(), ahead.end(), '"') & 1) != 0;
    end = csv::record_end(text_, position_ + options_.batch_bytes, quoted);
  }
  const std::string_view piece = text_.substr(position_, end - position_);
  const std::int64_t n_chunks =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(piece.size() >> 16), 1, thread_count());
  const std::vector<std::size_t> starts = chunk_starts(piece, n_chunks);
  std::vector<csv::Chunk> chunks(static_cast<std::size_t>(n_chunks));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].text = piece.substr(starts[i], starts[i + 1] - starts[i]);
  }
  position_ = end;
  return csv::parse_chunks(layout_, chunks, line_);
}

CsvBatch CsvReader::rest() {
  std::vector<CsvBatch> parts;
  for (CsvBatch batch; next(batch);) parts.push_back(std::move(batch));
  return csv::join(layout_, std::move(parts));
}

}  // namespace causeway
