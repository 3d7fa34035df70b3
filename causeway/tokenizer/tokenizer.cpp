#include "causeway/tokenizer/tokenizer.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/fit/calendar.h"
#include "causeway/tokenizer/encode/encoder.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::tokenizer {

namespace {

std::vector<std::int64_t> counts_with_missing(std::vector<std::int64_t> counts,
                                              const Column& column, const Slot& slot) {
  if (counts.empty()) return counts;
  if (slot.n_unknown > 0) {
    counts.resize(counts.size() + static_cast<std::size_t>(slot.n_unknown), 0);
    if (slot.n_unknown == 1) counts.back() = column.vocabulary.n_unknown();
  }
  if (slot.has_missing) counts.push_back(column.n_missing);
  return counts;
}

std::vector<Slot> slots_of(const Column& column, std::int64_t at) {
  Slot slot;
  slot.name = column.name;
  slot.column = at;
  slot.has_missing = column.has_missing;
  if (column.kind == ColumnKind::numeric) {
    slot.n_values = column.bins.n_bins();
    slot.counts = counts_with_missing(column.bins.counts, column, slot);
    return {slot};
  }
  if (column.kind != ColumnKind::datetime) {
    slot.n_values = column.vocabulary.size();
    slot.n_unknown = column.vocabulary.unknown_buckets();
    if (slot.n_unknown <= 1) {
      slot.counts = counts_with_missing(column.vocabulary.counts(), column, slot);
    }
    return {slot};
  }
  std::vector<Slot> slots;
  for (const TimeField field : column.fields) {
    slot.name = fmt::format("{}.{}", column.name, to_string(field));
    slot.field = field;
    slot.n_values =
        field == TimeField::year ? column.last_year - column.first_year + 1 : size_of_field(field);
    slots.push_back(slot);
  }
  return slots;
}

}  // namespace

Tokenizer::Tokenizer(std::vector<Column> columns, Options options)
    : options_(std::move(options)), columns_(std::move(columns)), cache_(Encoder::new_cache()) {
  std::int64_t next = static_cast<std::int64_t>(options_.special_tokens.size());
  std::int64_t most = next;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (Slot& slot : slots_of(columns_[i], static_cast<std::int64_t>(i))) {
      slot.offset = options_.global ? next : 0;
      next += slot.n_tokens();
      most = std::max(most, slot.offset + slot.n_tokens());
      slots_.push_back(std::move(slot));
    }
  }
  n_tokens_ = most;
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
  if (n_tokens_ > kMost) {
    fail(
        ErrorKind::invalid_argument, "tokenizer",
        fmt::format("{} tokens exceed the limit of 2^31; lower bins or max_categories", n_tokens_));
  }
}

DType Tokenizer::token_dtype() const {
  return n_tokens_ <= 256 ? DType::u8 : n_tokens_ <= 65536 ? DType::u16 : DType::i32;
}

void require_columns(const Tokenizer& tokenizer, const std::vector<std::string>& names,
                     std::string_view operation) {
  const auto& columns = tokenizer.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::find(names.begin(), names.end(), columns[i].name) != names.end()) continue;
    fail(ErrorKind::invalid_argument, operation,
         fmt::format(
             "column {} \"{}\" is missing from the table, which has {}; add it, or fit without it",
             i, columns[i].name,
             names.empty() ? "no columns" : fmt::format("\"{}\"", fmt::join(names, "\", \""))));
  }
}

std::vector<std::int64_t> match_columns(const Tokenizer& tokenizer, const Table& table,
                                        std::string_view operation) {
  const auto& columns = tokenizer.columns();
  if (table.is_matrix() && table.n_columns() != static_cast<std::int64_t>(columns.size())) {
    fail(ErrorKind::shape_mismatch, operation,
         fmt::format("the matrix has {} columns, but the tokenizer was fitted on {}",
                     table.n_columns(), columns.size()));
  }
  std::vector<std::int64_t> places;
  for (const Column& column : columns) places.push_back(table.find(column.name));
  if (std::find(places.begin(), places.end(), -1) == places.end()) return places;
  if (table.is_matrix()) {
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i);
    return places;
  }
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns()) names.push_back(column.name);
  require_columns(tokenizer, names, operation);
  return places;
}

}  // namespace causeway::tokenizer
