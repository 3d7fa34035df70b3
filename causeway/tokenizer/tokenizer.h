// Converts tables to tokens and back. A tokenizer is fitted once, on all rows, and then assigns
// every value its token: exactly, on any device, in any batch.
//
//   const auto tok = Tokenizer::fit(Table(matrix), {.bins = 256});
//   const Tensor tokens = tok.encode(Table(matrix));        // u8, on the device of the matrix
//   tok.save("tok.json");
#pragma once

#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/options.h"
#include "causeway/tokenizer/table.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace causeway::tokenizer {

// Optional inputs of a fit besides the table.
struct FitData {
  Tensor weights;  // (n_rows), non-negative; for quantile, uniform and kmeans
  Tensor target;   // (n_rows), for tree: integers are classes, floats a regression target
};

struct EncodeOptions {
  std::optional<DType> dtype;        // u8, u16 or i32; default: the smallest that holds all tokens
  std::optional<bool> column_major;  // layout of the tokens; default: that of the table's matrix
};

// One decoded column: numbers (with `high` for ranges), or text.
struct DecodedColumn {
  std::string name;
  bool is_text = false;
  std::vector<double> numbers;  // NaN if missing; the bin's lower edge for ranges
  std::vector<double> high;
  std::vector<std::string> text;
  std::vector<bool> missing;
};

class Tokenizer {
 public:
  Tokenizer() = default;
  // From fitted columns; throws format errors if they are invalid.
  Tokenizer(std::vector<Column> columns, Options options);

  // Throws invalid_argument for a table without rows or columns, and for options that do not match
  // it.
  static Tokenizer fit(const Table& table, const Options& options, const FitData& data = {});

  const Options& options() const { return options_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Slot>& slots() const { return slots_; }
  std::int64_t n_tokens() const { return n_tokens_; }  // all token ids are smaller
  DType token_dtype() const;
  std::string source;  // where the data came from; informational

  // Tokens (n_rows, n_slots) on the table's device. Columns are matched by name, those of a bare
  // matrix by position.
  Tensor encode(const Table& table, const EncodeOptions& options = {}) const;
  // Piecewise-linear encoding of the numeric columns, (n_rows, total number of bins) f32.
  Tensor piecewise_linear(const Table& table) const;
  // One column per token of every slot, (n_rows, all tokens except special ones), u8 or f32.
  Tensor one_hot(const Table& table, DType dtype = DType::u8) const;

  // One column per slot. Throws for a token that does not belong to its slot.
  std::vector<DecodedColumn> decode(const Tensor& tokens, Decoding how = Decoding::centre) const;

  // Counts of every token in the table, by slot.
  std::vector<std::vector<std::int64_t>> count_tokens(const Table& table) const;

  // The artefact (artefact.h) as JSON.
  std::string to_json() const;
  static Tokenizer from_json(std::string_view text, const std::string& name = "");
  void save(const std::filesystem::path& path) const;
  static Tokenizer load(const std::filesystem::path& path);

 private:
  friend class Encoder;
  struct Cache;

  Options options_;
  std::vector<Column> columns_;
  std::vector<Slot> slots_;
  std::int64_t n_tokens_ = 0;
  std::shared_ptr<Cache> cache_;
};

// Throws if a column of the tokenizer is not among `names`, the columns of a table.
void require_columns(const Tokenizer& tokenizer, const std::vector<std::string>& names,
                     std::string_view operation);

// The table's column of each of the tokenizer's columns; throws if one is missing.
std::vector<std::int64_t> match_columns(const Tokenizer& tokenizer, const Table& table,
                                        std::string_view operation);

}  // namespace causeway::tokenizer
