// Encoding of one table: assigns columns to kernels and keeps threshold tables on the device
// between calls.
#pragma once

#include "causeway/tokenizer/fit/blocks.h"
#include "causeway/tokenizer/fit/order_statistics.h"
#include "causeway/tokenizer/tokenizer.h"

#include <memory>
#include <span>

namespace causeway::tokenizer {

// Guides over the inner edges of numeric columns, for values of a binned dtype.
GuideSet guides_of(std::span<const Column> columns, DType dtype, Device device);

class Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, const Table& table);

  static std::shared_ptr<Tokenizer::Cache> new_cache();

  void write_numeric(const Tensor& out) const;
  void write_others(const Tensor& out) const;

 private:
  std::vector<std::int32_t> host_tokens(std::size_t slot) const;

  const Tokenizer& tokenizer_;
  const Table& table_;
  std::vector<std::int64_t> places_;     // the table's column of each of the tokenizer's columns
  std::vector<std::size_t> first_slot_;  // of each column
};

}  // namespace causeway::tokenizer
