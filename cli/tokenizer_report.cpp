#include "cli/tokenizer_report.h"

#include "cli/print.h"
#include "cli/text_table.h"

#include "causeway/core/file.h"
#include "causeway/tokenizer/fit/blocks.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace causeway::cli {

using namespace causeway::tokenizer;

namespace {

const Column& column_of(const Tokenizer& tok, const Slot& slot) {
  return tok.columns()[static_cast<std::size_t>(slot.column)];
}

std::string percent(double fraction) { return fmt::format("{:.2f}%", 100 * fraction); }

// "-3.2 to 4.1", "Rome, Paris, ...", "1970 to 2026".
std::string range_of(const Column& column) {
  if (column.kind == ColumnKind::numeric) {
    return fmt::format("{:.6g} to {:.6g}", column.bins.edges.front(), column.bins.edges.back());
  }
  if (column.kind == ColumnKind::datetime) {
    return fmt::format("{} to {}", column.first_year, column.last_year);
  }
  std::string text;
  for (std::size_t i = 0; i < column.vocabulary.values().size() && i < 3; ++i) {
    std::string value = column.vocabulary.values()[i];
    if (value.size() > 20) value = value.substr(0, 20) + "...";
    text += (i > 0 ? ", " : "") + value;
  }
  return text + (column.vocabulary.size() > 3 ? ", ..." : "");
}

double reconstruction_error(const Column& column, const TableColumn& from) {
  const std::vector<double> values = host_values(from);
  const std::vector<double> thresholds = thresholds_of<double>(column.bins);
  double n = 0, mean = 0, spread = 0, squares = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const auto bin =
        std::upper_bound(thresholds.begin(), thresholds.end(), value) - thresholds.begin();
    const double off = value - column.bins.centre(bin);
    squares += off * off;
    n += 1;
    const double step = value - mean;
    mean += step / n;
    spread += step * (value - mean);
  }
  if (n == 0) return std::numeric_limits<double>::quiet_NaN();
  return spread > 0 ? std::sqrt(squares / spread) : std::sqrt(squares / n);
}

nlohmann::ordered_json slot_json(const Tokenizer& tok, const Slot& slot) {
  const Column& column = column_of(tok, slot);
  nlohmann::ordered_json out;
  out["name"] = slot.name;
  out["kind"] = to_string(column.kind);
  out["n_tokens"] = slot.n_tokens();
  out["first_token"] = slot.offset;
  out["n_values"] = slot.n_values;
  out["missing_token"] = nullptr;
  if (slot.has_missing) out["missing_token"] = slot.missing_token();
  out["n_missing"] = column.n_missing;
  out["n_rows"] = column.n_rows;
  return out;
}

}  // namespace

Comparison compare(const Tokenizer& tok, const tokenizer::Table& table) {
  Comparison result;
  result.n_rows = table.n_rows();
  result.drifts = drift_of(tok, table);
  const auto places = match_columns(tok, table, "tokenizer.inspect");
  for (const Slot& slot : tok.slots()) {
    const Column& column = column_of(tok, slot);
    result.errors.push_back(
        column.kind == ColumnKind::numeric
            ? reconstruction_error(column,
                                   table.column(places[static_cast<std::size_t>(slot.column)]))
            : std::numeric_limits<double>::quiet_NaN());
  }
  return result;
}

void print_inspection(const Tokenizer& tok, const std::optional<Comparison>& comparison) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> titles{{"column"},
                                        {"kind"},
                                        {"tokens", Align::right},
                                        {"first", Align::right},
                                        {"missing", Align::right},
                                        {"values"}};
  if (comparison) {
    titles.push_back({"new missing", Align::right});
    titles.push_back({"unseen", Align::right});
    titles.push_back({"PSI", Align::right});
    titles.push_back({"error", Align::right});
  }
  TextTable table(titles);
  for (std::size_t s = 0; s < tok.slots().size(); ++s) {
    const Slot& slot = tok.slots()[s];
    const Column& column = column_of(tok, slot);
    const double rows = std::max<double>(1, static_cast<double>(column.n_rows));
    std::vector<std::string> cells{slot.name,
                                   std::string(to_string(column.kind)),
                                   std::to_string(slot.n_tokens()),
                                   std::to_string(slot.offset),
                                   percent(static_cast<double>(column.n_missing) / rows),
                                   range_of(column)};
    if (comparison) {
      const SlotDrift& drift = comparison->drifts[s];
      cells.push_back(percent(drift.missing_rate));
      cells.push_back(percent(drift.unknown_rate));
      cells.push_back(
          std::isnan(drift.stability_index) ? "-" : fmt::format("{:.4f}", drift.stability_index));
      cells.push_back(
          std::isnan(comparison->errors[s]) ? "-" : fmt::format("{:.4f}", comparison->errors[s]));
    }
    table.add_row(std::move(cells));
  }
  fmt::print("{}", table.to_string());
  fmt::print("{} columns, {} token columns, token ids below {} ({}), {}{}\n", tok.columns().size(),
             tok.slots().size(), tok.n_tokens(), to_string(tok.token_dtype()),
             tok.options().global ? "global vocabulary" : "one vocabulary per column",
             tok.source.empty() ? "" : ", fitted on " + tok.source);
}

void print_summary(const Tokenizer& tok) { print_inspection(tok, std::nullopt); }

void print_inspection_json(const Tokenizer& tok, const std::optional<Comparison>& comparison) {
  nlohmann::ordered_json out;
  out["source"] = tok.source;
  out["n_tokens"] = tok.n_tokens();
  out["dtype"] = to_string(tok.token_dtype());
  out["global"] = tok.options().global;
  out["slots"] = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < tok.slots().size(); ++s) {
    auto entry = slot_json(tok, tok.slots()[s]);
    if (comparison) {
      const SlotDrift& drift = comparison->drifts[s];
      entry["counts"] = drift.counts;
      entry["missing_rate"] = drift.missing_rate;
      entry["unknown_rate"] = drift.unknown_rate;
      entry["stability_index"] = drift.stability_index;
      entry["reconstruction_error"] = comparison->errors[s];
    }
    out["slots"].push_back(std::move(entry));
  }
  print_text(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void print_summary_json(const Tokenizer& tok) { print_inspection_json(tok, std::nullopt); }

namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos && !text.empty() && text.front() != ' ') {
    return text;
  }
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

}  // namespace

void write_csv(const std::string& path, const std::vector<DecodedColumn>& columns) {
  FileWriter writer("tokenizer.decode", path);
  std::string line;
  const auto add = [&](const std::string& field, bool first) {
    line += (first ? "" : ",") + field;
  };
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].high.empty()) {
      add(csv_field(columns[c].name), c == 0);
    } else {
      add(csv_field(columns[c].name + ".low"), c == 0);
      add(csv_field(columns[c].name + ".high"), false);
    }
  }
  writer.write(line + "\n");
  const std::size_t n_rows = columns.empty() ? 0 : columns[0].missing.size();
  for (std::size_t row = 0; row < n_rows; ++row) {
    line.clear();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const DecodedColumn& column = columns[c];
      const bool missing = column.missing[row];
      if (column.is_text) {
        add(missing ? "" : csv_field(column.text[row]), c == 0);
        continue;
      }
      add(missing ? "" : fmt::format("{}", column.numbers[row]), c == 0);
      if (!column.high.empty()) add(missing ? "" : fmt::format("{}", column.high[row]), false);
    }
    writer.write(line + "\n");
  }
  writer.commit();
}

}  // namespace causeway::cli
