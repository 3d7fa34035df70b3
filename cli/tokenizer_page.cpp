// The page of `causeway tokenizer inspect --html`.
#include "cli/tokenizer_report.h"

#include "causeway/core/file.h"
#include "causeway/report/tokenizer_page.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

namespace causeway::cli {

using namespace causeway::tokenizer;

namespace {

std::string drift_of(const Comparison& comparison, std::size_t s) {
  const SlotDrift& drift = comparison.drifts[s];
  std::string text = fmt::format("new data: {:.2f}% missing, {:.2f}% unseen categories",
                                 100 * drift.missing_rate, 100 * drift.unknown_rate);
  if (!std::isnan(drift.stability_index)) {
    text += fmt::format(", population stability index {:.4f}", drift.stability_index);
  }
  if (!std::isnan(comparison.errors[s])) {
    text += fmt::format(", reconstruction error {:.4f} standard deviations", comparison.errors[s]);
  }
  return text;
}

}  // namespace

void write_page(const std::string& path, const Tokenizer& tok,
                const std::optional<Comparison>& comparison) {
  std::vector<report::TokenColumn> columns;
  for (std::size_t s = 0; s < tok.slots().size(); ++s) {
    const Slot& slot = tok.slots()[s];
    const Column& column = tok.columns()[static_cast<std::size_t>(slot.column)];
    report::TokenColumn shown;
    shown.name = slot.name;
    shown.about = fmt::format("{}, {} tokens, first token {}; {} of {} rows missing at fit",
                              to_string(column.kind), slot.n_tokens(), slot.offset,
                              column.n_missing, column.n_rows);
    if (column.kind == ColumnKind::numeric) {
      shown.edges = column.bins.edges;
      shown.bin_counts = column.bins.counts;
    }
    shown.counts = slot.counts;
    if (comparison) {
      shown.drift = drift_of(*comparison, s);
      shown.new_counts = comparison->drifts[s].counts;
    }
    columns.push_back(std::move(shown));
  }
  const std::string lead = fmt::format("{} columns, {} token columns, token ids below {}{}",
                                       tok.columns().size(), tok.slots().size(), tok.n_tokens(),
                                       tok.source.empty() ? "" : ", fitted on " + tok.source);
  const std::string page = report::tokenizer_html("Tokenizer", lead, columns);
  const std::array pieces{std::as_bytes(std::span(page))};
  write_file_atomically("tokenizer.inspect", path, pieces);
}

}  // namespace causeway::cli
