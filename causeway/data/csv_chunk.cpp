#include "causeway/data/csv_chunk.h"

#include "causeway/core/advice.h"
#include "causeway/data/utf8.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace causeway::csv {

namespace {

// Memory for rows is allocated by the number of lines, but empty lines are no rows: a row has a
// byte for each column at least. There may be one more row, which is too short.
void count_lines(Chunk& chunk, std::size_t n_columns) {
  const auto lines = std::count(chunk.text.begin(), chunk.text.end(), '\n');
  const bool unended = !chunk.text.empty() && chunk.text.back() != '\n';
  chunk.n_lines = lines;
  chunk.most_rows = std::min<std::int64_t>(
      lines + (unended ? 1 : 0), static_cast<std::int64_t>(chunk.text.size() / n_columns) + 1);
}

// The destination of a column's values: memory of the batch, shared by all chunks.
struct Target {
  CsvType type = CsvType::number;
  std::byte* values = nullptr;
  bool* missing = nullptr;
  std::size_t text = 0;  // index among the chunk's text columns
};

class ChunkParser {
 public:
  ChunkParser(const Layout& layout, const std::vector<Target>& targets, Chunk& chunk)
      : layout_(layout), targets_(targets), chunk_(chunk) {}

  void run();

 private:
  bool read_record(FieldReader& fields);
  bool put(std::size_t column, std::string_view field, std::int64_t row);
  bool refuse(std::int64_t line, std::int64_t column, std::string message) {
    chunk_.error = {line, column, std::move(message)};
    return false;
  }

  const Layout& layout_;
  const std::vector<Target>& targets_;
  Chunk& chunk_;
  std::string problem_;
};

void ChunkParser::run() {
  FieldReader fields(chunk_.text, layout_.delimiter, chunk_.first_line);
  while (!fields.at_end()) {
    if (targets_.size() > 1 && fields.skip_empty_line()) continue;
    if (!read_record(fields)) return;
    ++chunk_.n_rows;
  }
}

bool ChunkParser::read_record(FieldReader& fields) {
  const std::int64_t line = fields.line();
  const std::int64_t row = chunk_.first_row + chunk_.n_rows;
  bool last = false;
  std::size_t column = 0;
  for (; !last; ++column) {
    const std::int64_t field_line = fields.line();
    std::string_view field;
    if (!fields.next(field, last, problem_)) {
      return refuse(field_line, static_cast<std::int64_t>(column) + 1, problem_);
    }
    if (column < targets_.size() && !put(column, field, row)) {
      chunk_.error.line = field_line;
      return false;
    }
  }
  if (column == targets_.size()) return true;
  return refuse(
      line, 0,
      fmt::format("expected {} fields, as in the first line, got {}; {}", targets_.size(), column,
                  column < targets_.size()
                      ? "add the missing fields, or check whether the file is truncated"
                      : "put fields that hold the delimiter in quotes"));
}

bool ChunkParser::put(std::size_t column, std::string_view field, std::int64_t row) {
  const Target& target = targets_[column];
  const std::string_view cell = trimmed(field);
  const bool absent = is_missing(layout_, cell);
  const auto number = static_cast<std::int64_t>(column) + 1;
  target.missing[row] = absent;
  if (absent) chunk_.has_missing[column] = true;
  const auto expected = [&](std::string_view what, std::string_view kind) {
    return refuse(
        0, number,
        fmt::format(
            "expected {}, got {}; {}", what, shown(cell),
            advice(fmt::format("declare the column as {}, or the text as missing with --missing",
                               kind),
                   "read the file with pandas, and pass a frame whose column has one type")));
  };
  switch (target.type) {
    case CsvType::number: {
      double value = std::numeric_limits<double>::quiet_NaN();
      if (!absent && !parse_number(cell, value)) return expected("a number", "categorical");
      std::memcpy(target.values + row * 8, &value, sizeof(value));
      return true;
    }
    case CsvType::boolean: {
      bool value = false;
      if (!absent && !parse_boolean(cell, value)) return expected("true or false", "categorical");
      std::memcpy(target.values + row, &value, sizeof(value));
      return true;
    }
    case CsvType::time: {
      std::int64_t value = 0;
      if (!absent && !parse_time(cell, value)) {
        return expected("a date such as 2026-01-31", "categorical");
      }
      std::memcpy(target.values + row * 8, &value, sizeof(value));
      return true;
    }
    case CsvType::text: break;
  }
  if (!data::is_utf8(field) || field.find('\0') != std::string_view::npos) {
    return refuse(0, number, "not UTF-8; convert the file, for example with iconv -t UTF-8");
  }
  CsvText& text = chunk_.texts[target.text];
  if (!absent) text.bytes += field;
  text.offsets.push_back(static_cast<std::int64_t>(text.bytes.size()));
  return true;
}

std::size_t value_size(CsvType type) {
  return type == CsvType::text ? 0 : type == CsvType::boolean ? 1 : 8;
}

DType value_dtype(CsvType type) {
  return type == CsvType::number ? DType::f64 : type == CsvType::time ? DType::i64 : DType::boolean;
}

// Removes the gaps that empty lines leave between the rows of chunks.
void close_gaps(std::span<const Chunk> chunks, std::byte* values, std::size_t size) {
  std::int64_t at = 0;
  for (const Chunk& chunk : chunks) {
    if (chunk.first_row != at) {
      std::memmove(values + static_cast<std::size_t>(at) * size,
                   values + static_cast<std::size_t>(chunk.first_row) * size,
                   static_cast<std::size_t>(chunk.n_rows) * size);
    }
    at += chunk.n_rows;
  }
}

std::shared_ptr<CsvText> join_texts(std::span<Chunk> chunks, std::size_t at) {
  auto joined = std::make_shared<CsvText>(std::move(chunks[0].texts[at]));
  for (Chunk& chunk : chunks.subspan(1)) {
    const auto shift = static_cast<std::int64_t>(joined->bytes.size());
    joined->bytes += chunk.texts[at].bytes;
    for (std::size_t i = 1; i < chunk.texts[at].offsets.size(); ++i) {
      joined->offsets.push_back(chunk.texts[at].offsets[i] + shift);
    }
    chunk.texts[at] = {};
  }
  return joined;
}

}  // namespace

CsvBatch parse_chunks(const Layout& layout, std::span<Chunk> chunks, std::int64_t& line) {
  const auto n_chunks = static_cast<std::int64_t>(chunks.size());
  parallel_for(n_chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      count_lines(chunks[static_cast<std::size_t>(i)], layout.types.size());
    }
  });
  std::int64_t most_rows = 0;
  const auto n_texts =
      static_cast<std::size_t>(std::count(layout.types.begin(), layout.types.end(), CsvType::text));
  for (Chunk& chunk : chunks) {
    chunk.first_row = most_rows;
    chunk.first_line = line;
    chunk.texts.resize(n_texts);
    chunk.has_missing.assign(layout.types.size(), false);
    most_rows += chunk.most_rows;
    line += chunk.n_lines;
  }
  CsvBatch batch;
  std::vector<Target> targets;
  std::size_t next_text = 0;
  for (std::size_t c = 0; c < layout.types.size(); ++c) {
    CsvColumn column;
    column.name = layout.names[c];
    column.type = layout.types[c];
    column.missing = Tensor::empty({most_rows}, DType::boolean);
    Target target{column.type, nullptr, column.missing.data_as<bool>(), next_text};
    if (column.type == CsvType::text) {
      ++next_text;
    } else {
      column.numbers = Tensor::empty({most_rows}, value_dtype(column.type));
      target.values = column.numbers.data();
    }
    targets.push_back(target);
    batch.columns.push_back(std::move(column));
  }
  parallel_for(n_chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Chunk& chunk = chunks[static_cast<std::size_t>(i)];
      try {
        ChunkParser(layout, targets, chunk).run();
      } catch (const std::bad_alloc&) {
        chunk.out_of_memory = true;
      }
    }
  });
  for (const Chunk& chunk : chunks) {
    if (chunk.out_of_memory) throw std::bad_alloc();
    if (!chunk.error.message.empty()) fail_at(layout, chunk.error);
    batch.n_rows += chunk.n_rows;
  }
  for (std::size_t c = 0; c < targets.size(); ++c) {
    CsvColumn& column = batch.columns[c];
    close_gaps(chunks, column.missing.data(), 1);
    const bool any = std::any_of(chunks.begin(), chunks.end(),
                                 [&](const Chunk& chunk) { return chunk.has_missing[c]; });
    // Missing numbers are NaN and need no mask.
    const bool marks = any && column.type != CsvType::number;
    column.missing = marks ? column.missing.slice(0, 0, batch.n_rows) : Tensor();
    if (column.type == CsvType::text) {
      column.text = join_texts(chunks, targets[c].text);
    } else {
      close_gaps(chunks, column.numbers.data(), value_size(column.type));
      column.numbers = column.numbers.slice(0, 0, batch.n_rows);
    }
  }
  return batch;
}

CsvBatch join(const Layout& layout, std::vector<CsvBatch> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  CsvBatch whole;
  for (const CsvBatch& part : parts) whole.n_rows += part.n_rows;
  for (std::size_t c = 0; c < layout.types.size(); ++c) {
    CsvColumn column;
    column.name = layout.names[c];
    column.type = layout.types[c];
    const auto marks = [&](const CsvBatch& part) { return part.columns[c].missing.numel() > 0; };
    const bool any = std::any_of(parts.begin(), parts.end(), marks);
    if (any) column.missing = Tensor::empty({whole.n_rows}, DType::boolean);
    if (column.type == CsvType::text) {
      column.text = std::make_shared<CsvText>();
    } else {
      column.numbers = Tensor::empty({whole.n_rows}, value_dtype(column.type));
    }
    std::int64_t row = 0;
    for (CsvBatch& part : parts) {
      CsvColumn& from = part.columns[c];
      const auto n = static_cast<std::size_t>(part.n_rows);
      if (any && from.missing.numel() > 0) {
        std::memcpy(column.missing.data() + row, from.missing.data(), n);
      } else if (any && n > 0) {
        std::memset(column.missing.data() + row, 0, n);
      }
      if (column.type == CsvType::text) {
        const auto shift = static_cast<std::int64_t>(column.text->bytes.size());
        column.text->bytes += from.text->bytes;
        for (std::size_t i = 1; i < from.text->offsets.size(); ++i) {
          column.text->offsets.push_back(from.text->offsets[i] + shift);
        }
      } else if (n > 0) {
        const std::size_t size = value_size(column.type);
        std::memcpy(column.numbers.data() + static_cast<std::size_t>(row) * size,
                    from.numbers.data(), n * size);
      }
      from = {};  // frees the part before the next is copied
      row += part.n_rows;
    }
    whole.columns.push_back(std::move(column));
  }
  return whole;
}

}  // namespace causeway::csv
