// Decoding of tokens, and token counts.
#include "causeway/core/error.h"
#include "causeway/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <limits>

namespace causeway::tokenizer {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The decoded value of every token of a slot.
class SlotDecoder {
 public:
  SlotDecoder(const Column& column, const Slot& slot, Decoding how)
      : column_(column), slot_(slot), how_(how) {
    if (column.kind == ColumnKind::numeric && how == Decoding::median &&
        column.bins.medians.empty()) {
      fail(ErrorKind::invalid_argument, "tokenizer.decode",
           fmt::format("column \"{}\" has no medians; fit with statistics, or decode to centres",
                       column.name));
    }
  }

  void add(std::int64_t token, std::int64_t row, DecodedColumn& out) const {
    const std::int64_t local = token - slot_.offset;
    if (local < 0 || local >= slot_.n_tokens()) {
      fail(ErrorKind::invalid_argument, "tokenizer.decode",
           fmt::format(
               "token {} in row {} is out of range for column \"{}\", whose tokens are {} to {}",
               token, row, slot_.name, slot_.offset, slot_.offset + slot_.n_tokens() - 1));
    }
    const bool missing = slot_.has_missing && token == slot_.missing_token();
    out.missing.push_back(missing);
    if (column_.kind == ColumnKind::numeric) return add_bin(missing ? -1 : local, out);
    if (column_.kind == ColumnKind::datetime) {
      const bool from_one = slot_.field == TimeField::month || slot_.field == TimeField::day;
      const std::int64_t first = slot_.field == TimeField::year ? column_.first_year
                                 : from_one                     ? 1
                                                                : 0;
      out.numbers.push_back(missing ? kNan : static_cast<double>(first + local));
      return;
    }
    out.text.push_back(missing ? std::string()
                       : local < slot_.n_values
                           ? column_.vocabulary.values()[static_cast<std::size_t>(local)]
                           : "[UNK]");
  }

 private:
  void add_bin(std::int64_t bin, DecodedColumn& out) const {
    const Bins& bins = column_.bins;
    const auto at = static_cast<std::size_t>(bin);
    if (how_ == Decoding::range) {
      out.numbers.push_back(bin < 0 ? kNan : bins.edges[at]);
      out.high.push_back(bin < 0 ? kNan : bins.edges[at + 1]);
    } else if (how_ == Decoding::median) {
      out.numbers.push_back(bin < 0 ? kNan : bins.medians[at]);
    } else {
      out.numbers.push_back(bin < 0 ? kNan : bins.centre(bin));
    }
  }

  const Column& column_;
  const Slot& slot_;
  Decoding how_;
};

void check_tokens(const Tensor& tokens, std::size_t n_slots) {
  if (tokens.n_dims() != 2 || tokens.size(1) != static_cast<std::int64_t>(n_slots)) {
    fail(ErrorKind::shape_mismatch, "tokenizer.decode",
         fmt::format("expected tokens of shape (rows, {}), got {}", n_slots,
                     to_string(tokens.shape())));
  }
  if (!is_integer(tokens.dtype())) {
    fail(ErrorKind::invalid_argument, "tokenizer.decode",
         fmt::format("expected an integer dtype, got {}", to_string(tokens.dtype())));
  }
}

}  // namespace

std::vector<DecodedColumn> Tokenizer::decode(const Tensor& tokens, Decoding how) const {
  check_tokens(tokens, slots_.size());
  const Tensor host = tokens.to(Device::cpu());
  std::vector<DecodedColumn> decoded;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Column& column = columns_[static_cast<std::size_t>(slots_[s].column)];
    DecodedColumn out;
    out.name = slots_[s].name;
    out.is_text = column.kind == ColumnKind::categorical || column.kind == ColumnKind::boolean;
    const SlotDecoder decoder(column, slots_[s], how);
    const auto list =
        host.select(1, static_cast<std::int64_t>(s)).to(DType::i64).to_vector<std::int64_t>();
    for (std::size_t row = 0; row < list.size(); ++row) {
      decoder.add(list[row], static_cast<std::int64_t>(row), out);
    }
    decoded.push_back(std::move(out));
  }
  return decoded;
}

std::vector<std::vector<std::int64_t>> Tokenizer::count_tokens(const Table& given) const {
  Table room;
  const Table& table = tables::categories_as_text(given, room);
  const Tensor tokens = encode(table, {{}, true}).to(Device::cpu());
  std::vector<std::vector<std::int64_t>> counts;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    counts.emplace_back(static_cast<std::size_t>(slots_[s].n_tokens()), 0);
    const auto list =
        tokens.select(1, static_cast<std::int64_t>(s)).to(DType::i32).to_vector<std::int32_t>();
    for (const std::int32_t token : list) {
      ++counts.back()[static_cast<std::size_t>(token - slots_[s].offset)];
    }
  }
  return counts;
}

}  // namespace causeway::tokenizer
