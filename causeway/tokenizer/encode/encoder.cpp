#include "causeway/tokenizer/encode/encoder.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/kernels/tokens.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"
#include "causeway/tokenizer/fit/categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

namespace causeway::tokenizer {

// Device tables of a block of columns, created on first use.
struct Tokenizer::Cache {
  struct Entry {
    GuideSet guides;
    Tensor rules;
  };
  using Key = std::tuple<DeviceKind, int, DType, std::size_t, std::size_t>;
  std::mutex mutex;
  std::map<Key, Entry> entries;
};

namespace {

template <class V>
GuideSet guides_over(std::span<const Column> columns, Device device) {
  std::vector<std::vector<V>> lists;
  for (const Column& column : columns) lists.push_back(thresholds_of<V>(column.bins));
  return GuideSet::over<V>(lists, device);
}

Tensor bytes_on(const void* data, std::size_t bytes, Device device) {
  const auto* from = static_cast<const std::uint8_t*>(data);
  return Tensor::from<std::uint8_t>(std::span(from, bytes), {static_cast<std::int64_t>(bytes)},
                                    device);
}

Tensor new_tokens(const Table& table, std::int64_t n_slots, DType dtype,
                  std::optional<bool> column_major) {
  bool by_columns = false;
  if (table.is_matrix()) {
    const Strides& strides = table.matrix().strides();
    by_columns = table.n_rows() > 1 && table.n_columns() > 1 && strides[0] < strides[1];
  }
  const Device device = table.device();
  if (column_major.value_or(by_columns)) {
    return Tensor::empty({n_slots, table.n_rows()}, dtype, device).transpose();
  }
  return Tensor::empty({table.n_rows(), n_slots}, dtype, device);
}

}  // namespace

GuideSet guides_of(std::span<const Column> columns, DType dtype, Device device) {
  switch (dtype) {
    case DType::f64: return guides_over<double>(columns, device);
    case DType::i32: return guides_over<std::int32_t>(columns, device);
    case DType::i64: return guides_over<std::int64_t>(columns, device);
    default: return guides_over<float>(columns, device);
  }
}

std::shared_ptr<Tokenizer::Cache> Encoder::new_cache() {
  return std::make_shared<Tokenizer::Cache>();
}

Encoder::Encoder(const Tokenizer& tokenizer, const Table& table)
    : tokenizer_(tokenizer),
      table_(table),
      places_(match_columns(tokenizer, table, "tokenizer.encode")) {
  for (std::size_t i = tokenizer.slots().size(); i-- > 0;) {
    const auto column = static_cast<std::size_t>(tokenizer.slots()[i].column);
    if (first_slot_.size() < tokenizer.columns().size()) {
      first_slot_.resize(tokenizer.columns().size());
    }
    first_slot_[column] = i;
  }
}

void Encoder::write_numeric(const Tensor& out) const {
  const auto& columns = tokenizer_.columns();
  std::vector<std::int64_t> places = places_;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].kind != ColumnKind::numeric) places[i] = -1;
  }
  const Device device = out.device();
  const StreamView stream = current_stream(device);
  for (const Block& block : blocks_of(table_, places, "tokenizer.encode")) {
    Tokenizer::Cache::Entry entry;
    {
      const std::lock_guard lock(tokenizer_.cache_->mutex);
      auto& kept = tokenizer_.cache_->entries[{device.kind, device.index, block.matrix.dtype(),
                                               block.first, block.count}];
      if (kept.rules.numel() == 0) {
        std::vector<kernels::TokenRule> rules;
        for (std::size_t i = block.first; i < block.first + block.count; ++i) {
          const Slot& slot = tokenizer_.slots()[first_slot_[i]];
          rules.push_back({static_cast<std::int32_t>(slot.offset),
                           slot.has_missing ? static_cast<std::int32_t>(slot.missing_token()) : -1,
                           static_cast<std::int32_t>(i)});
        }
        kept.guides = guides_of(std::span(columns).subspan(block.first, block.count),
                                block.matrix.dtype(), device);
        kept.rules = bytes_on(rules.data(), rules.size() * sizeof(rules[0]), device);
        stream.synchronize();  // other streams may use it next
      }
      entry = kept;
    }
    // Adjacent columns of a block have adjacent slots: numeric columns have one each.
    const auto slot = static_cast<std::int64_t>(first_slot_[block.first]);
    const Tensor tokens = out.slice(1, slot, slot + static_cast<std::int64_t>(block.count));
    with_context(fmt::format("encoding column \"{}\"{}", columns[block.first].name,
                             block.count > 1 ? " and the columns after it" : ""),
                 [&] {
                   kernels::write_tokens(stream, columns_of(block.matrix, block.missing, stream),
                                         entry.guides.view(stream), operand(entry.rules, stream),
                                         operand(tokens, stream));
                 });
  }
}

std::vector<std::int32_t> Encoder::host_tokens(std::size_t at) const {
  const Slot& slot = tokenizer_.slots()[at];
  const Column& column = tokenizer_.columns()[static_cast<std::size_t>(slot.column)];
  const TableColumn& from = table_.column(places_[static_cast<std::size_t>(slot.column)]);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(table_.n_rows()));
  const auto put = [&](std::int64_t row, std::int64_t value) {  // -1: missing
    if (value < 0 && !slot.has_missing) {
      fail(ErrorKind::invalid_argument, "tokenizer.encode",
           fmt::format("column {} \"{}\": the value in row {} is missing, but none was when the "
                       "column was fitted; fit with missing=\"always\" to give it a token",
                       slot.column, column.name, row));
    }
    tokens[static_cast<std::size_t>(row)] =
        static_cast<std::int32_t>(value < 0 ? slot.missing_token() : slot.offset + value);
  };
  if (column.kind == ColumnKind::boolean) {
    const auto booleans = boolean_values(from, table_.n_rows(), "tokenizer.encode");
    for (std::size_t i = 0; i < booleans.size(); ++i)
      put(static_cast<std::int64_t>(i), booleans[i]);
  } else if (column.kind == ColumnKind::datetime) {
    const Moments found = moments_of(from, table_.n_rows(), "tokenizer.encode");
    for (std::size_t i = 0; i < found.moments.size(); ++i) {
      std::int64_t value = field_of(found.moments[i], slot.field);
      if (slot.field == TimeField::year) {
        value = std::clamp(value, column.first_year, column.last_year) - column.first_year;
      }
      put(static_cast<std::int64_t>(i), found.missing[i] ? -1 : value);
    }
  } else {
    std::string last;  // cached: adjacent rows often have equal values
    std::int64_t last_token = -1;
    for_each_category(from, table_.n_rows(), [&](std::int64_t row, const std::string_view* value) {
      if (value == nullptr) return put(row, -1);
      if (last_token < 0 || *value != last) {
        last = *value;
        last_token = column.vocabulary.find(*value);
      }
      put(row, last_token);
    });
  }
  return tokens;
}

void Encoder::write_others(const Tensor& out) const {
  for (std::size_t i = 0; i < tokenizer_.slots().size(); ++i) {
    const auto column = static_cast<std::size_t>(tokenizer_.slots()[i].column);
    if (tokenizer_.columns()[column].kind == ColumnKind::numeric) continue;
    const Tensor tokens = Tensor::from<std::int32_t>(host_tokens(i), {table_.n_rows()});
    out.select(1, static_cast<std::int64_t>(i)).copy_from(tokens.to(out.dtype()).to(out.device()));
  }
}

Tensor Tokenizer::encode(const Table& given, const EncodeOptions& options) const {
  Table room;
  const Table& table = tables::categories_as_text(given, room);
  const DType dtype = options.dtype.value_or(token_dtype());
  if (dtype != DType::u8 && dtype != DType::u16 && dtype != DType::i32) {
    fail(ErrorKind::invalid_argument, "tokenizer.encode",
         fmt::format("token dtype must be u8, u16 or i32, got {}", to_string(dtype)));
  }
  if (size_of(dtype) < size_of(token_dtype())) {
    fail(ErrorKind::invalid_argument, "tokenizer.encode",
         fmt::format("{} tokens do not fit {}; use {}", n_tokens_, to_string(dtype),
                     to_string(token_dtype())));
  }
  const Encoder encoder(*this, table);
  const Tensor out =
      new_tokens(table, static_cast<std::int64_t>(slots_.size()), dtype, options.column_major);
  if (out.numel() == 0) return out;
  encoder.write_numeric(out);
  encoder.write_others(out);
  return out;
}

Tensor Tokenizer::one_hot(const Table& given, DType dtype) const {
  Table room;
  const Table& table = tables::categories_as_text(given, room);
  if (dtype != DType::u8 && dtype != DType::f32) {
    fail(ErrorKind::invalid_argument, "tokenizer.one_hot", "one-hot dtype must be u8 or f32");
  }
  Tokenizer local = *this;  // with the tokens of every slot starting at 0
  local.options_.global = false;
  local.options_.special_tokens.clear();
  local = Tokenizer(columns_, local.options_);
  std::vector<std::int32_t> firsts{0};
  for (const Slot& slot : local.slots_) {
    firsts.push_back(firsts.back() + static_cast<std::int32_t>(slot.n_tokens()));
  }
  const Tensor tokens = local.encode(table, {{}, false});
  const Tensor out = Tensor::empty({table.n_rows(), firsts.back()}, dtype, tokens.device());
  if (out.numel() == 0) return out;
  const StreamView stream = current_stream(tokens.device());
  const Tensor places = Tensor::from<std::int32_t>(
      firsts, {static_cast<std::int64_t>(firsts.size())}, tokens.device());
  kernels::one_hot(stream, operand(tokens, stream), operand(places, stream), operand(out, stream));
  return out;
}

Tensor Tokenizer::piecewise_linear(const Table& given) const {
  Table room;
  const Table& table = tables::categories_as_text(given, room);
  const std::vector<std::int64_t> matched = match_columns(*this, table, "tokenizer.encode");
  std::vector<std::int64_t> places = matched;
  std::int64_t width = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].kind != ColumnKind::numeric) {
      places[i] = -1;
    } else {
      width += columns_[i].bins.n_bins();
    }
  }
  const Tensor out = Tensor::empty({table.n_rows(), width}, DType::f32, table.device());
  std::int64_t begin = 0;
  const StreamView stream = current_stream(out.device());
  for (const Block& block : blocks_of(table, places, "tokenizer.encode")) {
    std::vector<LinearPiece> pieces;
    for (std::size_t c = 0; c < block.count; ++c) {
      const Bins& bins = columns_[block.first + c].bins;
      for (std::int64_t b = 0; b < bins.n_bins(); ++b) {
        const double low = bins.edges[static_cast<std::size_t>(b)];
        const double high = bins.edges[static_cast<std::size_t>(b) + 1];
        pieces.push_back({low, high > low ? high - low : 1, static_cast<std::int32_t>(c),
                          b == 0 ? 1 : 0, b + 1 == bins.n_bins() ? 1 : 0, 0});
      }
    }
    const auto n = static_cast<std::int64_t>(pieces.size());
    const Tensor list = bytes_on(pieces.data(), pieces.size() * sizeof(LinearPiece), out.device());
    const bool whole = n == width;
    const Tensor part = whole ? out : Tensor::empty({table.n_rows(), n}, DType::f32, out.device());
    if (part.numel() > 0) {
      kernels::piecewise_linear(stream, columns_of(block.matrix, block.missing, stream),
                                operand(list, stream), operand(part, stream));
      if (!whole) out.slice(1, begin, begin + n).copy_from(part);
    }
    begin += n;
  }
  return out;
}

}  // namespace causeway::tokenizer
