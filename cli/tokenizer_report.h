// Output of the tokenizer commands: tables, JSON, the HTML page, decoded CSV files.
#pragma once

#include "causeway/tokenizer/artefact/drift.h"
#include "causeway/tokenizer/tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace causeway::cli {

// New data compared with the data of the fit.
struct Comparison {
  std::int64_t n_rows = 0;
  std::vector<tokenizer::SlotDrift> drifts;  // by slot
  // By slot: RMSE of decoding to bin centres, divided by the standard deviation of the values; NaN
  // for columns that are not numeric.
  std::vector<double> errors;
};

Comparison compare(const tokenizer::Tokenizer& tok, const tokenizer::Table& table);

void print_summary(const tokenizer::Tokenizer& tok);
void print_summary_json(const tokenizer::Tokenizer& tok);
void print_inspection(const tokenizer::Tokenizer& tok, const std::optional<Comparison>& comparison);
void print_inspection_json(const tokenizer::Tokenizer& tok,
                           const std::optional<Comparison>& comparison);

// A self-contained HTML page: histograms with edges, token counts, reconstruction error.
void write_page(const std::string& path, const tokenizer::Tokenizer& tok,
                const std::optional<Comparison>& comparison);

void write_csv(const std::string& path, const std::vector<tokenizer::DecodedColumn>& columns);

}  // namespace causeway::cli
