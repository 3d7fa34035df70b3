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
  std::string text = fmt::format("New data: {:.2f}% missing, {:.2f}% unseen categories",
                                 100 * drift.missing_rate, 100 * drift.unknown_rate);
  if (!std::isnan(comparison.errors[s])) {
    text += fmt::format(", reconstruction error {:.4f} standard deviations", comparison.errors[s]);
  }
  return text;
}

// By token: categories, ranges of bins, or the values of a time's field.
std::vector<std::string> token_names(const Column& column, const Slot& slot) {
  std::vector<std::string> names;
  const bool from_one = slot.field == TimeField::month || slot.field == TimeField::day;
  for (std::int64_t i = 0; i < slot.n_values; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (column.kind == ColumnKind::numeric) {
      names.push_back(
          fmt::format("{:.6g} to {:.6g}", column.bins.edges[at], column.bins.edges[at + 1]));
    } else if (column.kind == ColumnKind::datetime) {
      const std::int64_t first =
          slot.field == TimeField::year ? column.first_year : (from_one ? 1 : 0);
      names.push_back(std::to_string(first + i));
    } else {
      names.push_back(column.vocabulary.values()[at]);
    }
  }
  for (std::int64_t i = 0; i < slot.n_unknown; ++i) {
    names.push_back(slot.n_unknown > 1 ? fmt::format("unseen, bucket {}", i + 1) : "unseen");
  }
  if (slot.has_missing) names.emplace_back("missing");
  return names;
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
    shown.token_names = token_names(column, slot);
    shown.has_categories =
        column.kind != ColumnKind::numeric && column.kind != ColumnKind::datetime;
    if (comparison) {
      shown.drift = drift_of(*comparison, s);
      shown.new_counts = comparison->drifts[s].counts;
      shown.stability_index = comparison->drifts[s].stability_index;
    }
    columns.push_back(std::move(shown));
  }
  const std::string lead = fmt::format("{} columns, {} token columns, token ids below {}{}",
                                       tok.columns().size(), tok.slots().size(), tok.n_tokens(),
                                       tok.source.empty() ? "" : ", fitted on " + tok.source);
  const std::string page = report::tokenizer_html("Tokenizer", lead, std::move(columns));
  const std::array pieces{std::as_bytes(std::span(page))};
  write_file_atomically("tokenizer.inspect", path, pieces);
}

}  // namespace causeway::cli
