// Predicts a column of a CSV file: every other row is context, the rest are query rows. Features
// are numeric columns; the target is a column of text.
//
//   predict iris.csv species
#include <causeway/core/error.h>
#include <causeway/core/version.h>
#include <causeway/data/csv.h>
#include <causeway/models/predictor.h>
#include <causeway/models/tabular_file.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace cw = causeway;

namespace {

struct Table {
  std::vector<std::vector<double>> features;  // by column
  std::vector<std::string> target;
};

Table read(const std::string& path, const std::string& target) {
  cw::CsvOptions options;
  options.types[target] = cw::CsvType::text;
  Table table;
  for (const cw::CsvColumn& column : cw::CsvReader(path, options).rest().columns) {
    if (column.name == target) {
      const cw::CsvText& text = *column.text;
      for (std::size_t row = 0; row + 1 < text.offsets.size(); ++row) {
        const auto begin = static_cast<std::size_t>(text.offsets[row]);
        const auto end = static_cast<std::size_t>(text.offsets[row + 1]);
        table.target.push_back(text.bytes.substr(begin, end - begin));
      }
    } else if (column.type == cw::CsvType::number) {
      table.features.push_back(column.numbers.to_vector<double>());
    }
  }
  return table;
}

// Every other row of the features, from `first` on: (rows, features).
cw::Tensor half(const Table& table, std::size_t first) {
  std::vector<double> values;
  std::int64_t n_rows = 0;
  for (std::size_t row = first; row < table.target.size(); row += 2, ++n_rows) {
    for (const auto& column : table.features) values.push_back(column[row]);
  }
  return cw::Tensor::from<double>(values,
                                  {n_rows, static_cast<std::int64_t>(table.features.size())});
}

int predict(const std::string& path, const std::string& target) {
  const Table table = read(path, target);
  if (table.target.empty()) {
    std::cerr << path << " has no column \"" << target << "\" with values\n";
    return 1;
  }
  std::map<std::string, double> codes;
  for (const std::string& name : table.target) codes.emplace(name, 0);
  std::vector<std::string> classes;
  for (auto& [name, code] : codes) {
    code = static_cast<double>(classes.size());
    classes.push_back(name);
  }
  std::vector<double> known;
  for (std::size_t row = 0; row < table.target.size(); row += 2) {
    known.push_back(codes[table.target[row]]);
  }

  cw::models::TabularPredictor predictor(
      cw::models::load_tabular(std::string(WEIGHTS_DIR) + "/tabular.safetensors"), {});
  predictor.fit(half(table, 0),
                cw::Tensor::from<double>(known, {static_cast<std::int64_t>(known.size())}),
                static_cast<std::int64_t>(classes.size()));
  const auto probabilities = predictor.probabilities(half(table, 1)).to_vector<double>();

  std::size_t n_right = 0;
  const std::size_t n_query = probabilities.size() / classes.size();
  for (std::size_t row = 0; row < n_query; ++row) {
    const auto first = probabilities.begin() + static_cast<std::ptrdiff_t>(row * classes.size());
    const auto best = std::max_element(first, first + static_cast<std::ptrdiff_t>(classes.size()));
    const std::string& predicted = classes[static_cast<std::size_t>(best - first)];
    const std::string& actual = table.target[2 * row + 1];
    std::cout << predicted << " (" << *best << "), actually " << actual << "\n";
    n_right += predicted == actual ? 1 : 0;
  }
  std::cout << "causeway " << cw::kVersion << ": accuracy "
            << static_cast<double>(n_right) / static_cast<double>(n_query) << " on " << n_query
            << " rows\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: predict FILE.csv TARGET\n";
    return 2;
  }
  try {
    return predict(argv[1], argv[2]);
  } catch (const cw::Error& error) {
    std::cerr << "predict: " << error.what() << "\n";
    return 1;
  }
}
