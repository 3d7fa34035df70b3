// Turns tables into tokens and back. A tokenizer is fitted once, on all rows, and then says for
// every value which token it is: exactly, on any device, in any batch.
//
//   const auto tok = Tokenizer::fit(Table(matrix), {.bins = 256});
//   const Tensor tokens = tok.encode(Table(matrix));        // u8, where the matrix is
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

// What a fit may be given beside the table.
struct FitData {
  Tensor weights;  // (n_rows), 0 or more; for the strategies quantile, uniform and kmeans
  Tensor target;   // (n_rows), for tree: integers are classes, floats are regressed
};

struct EncodeOptions {
  std::optional<DType> dtype;        // u8, u16 or i32; the smallest that holds all tokens
  std::optional<bool> column_major;  // how the tokens lie; as the table's matrix does
};

// One decoded column: numbers (with `high` for ranges), or text.
struct DecodedColumn {
  std::string name;
  bool is_text = false;
  std::vector<double> numbers;  // NaN where missing; the bin's lower end for ranges
  std::vector<double> high;
  std::vector<std::string> text;
  std::vector<bool> missing;
};

class Tokenizer {
 public:
  Tokenizer() = default;
  // From columns that are fitted already; what they say is checked (kind format where it is wrong).
  Tokenizer(std::vector<Column> columns, Options options);

  // Throws invalid_argument for a table without rows or columns, and for options that do not fit
  // it.
  static Tokenizer fit(const Table& table, const Options& options, const FitData& data = {});

  const Options& options() const { return options_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Slot>& slots() const { return slots_; }
  std::int64_t n_tokens() const { return n_tokens_; }  // ids are below this
  DType token_dtype() const;
  std::string source;  // where the data came from, for people

  // Tokens (n_rows, n_slots), on the table's device. Columns are found by name, those of a bare
  // matrix by place.
  Tensor encode(const Table& table, const EncodeOptions& options = {}) const;
  // Piecewise-linear components of the numeric columns, (n_rows, all their bins) f32.
  Tensor piecewise_linear(const Table& table) const;
  // One column a token of every slot, (n_rows, all tokens but the special ones), u8 or f32.
  Tensor one_hot(const Table& table, DType dtype = DType::u8) const;

  // One column a slot. Throws for a token that is none of its slot's.
  std::vector<DecodedColumn> decode(const Tensor& tokens, Decoding how = Decoding::centre) const;

  // How often every token of every slot occurs in the table, by slot.
  std::vector<std::vector<std::int64_t>> count_tokens(const Table& table) const;

  // The artefact (artefact.h).
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

// Which column of the table each of the tokenizer's is; throws where one is not there.
std::vector<std::int64_t> match_columns(const Tokenizer& tokenizer, const Table& table,
                                        std::string_view operation);

}  // namespace causeway::tokenizer
