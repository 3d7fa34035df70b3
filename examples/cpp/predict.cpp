// Predicts a column of a CSV file from the labelled rows of another, and prints the accuracy if the
// file has that column too.
//
//   predict train.csv test.csv species
#include <causeway/core/error.h>
#include <causeway/core/version.h>
#include <causeway/models/estimator.h>
#include <causeway/tables/csv_table.h>

#include <iostream>
#include <string>
#include <vector>

namespace cw = causeway;

int predict(const std::string& train_path, const std::string& test_path,
            const std::string& target) {
  const cw::tables::Table train = cw::tables::read_csv(train_path);
  const cw::tables::Table test = cw::tables::read_csv(test_path);

  cw::models::TabularClassifier classifier;  // with the packaged weights
  classifier.fit(train, target);
  const std::vector<std::string> predicted = classifier.predict(test);
  const std::vector<double> probabilities =
      classifier.predict_proba(test).to_vector<double>();  // (rows, classes), row by row

  const std::int64_t column = test.find(target);
  const std::size_t n_classes = classifier.classes().size();
  std::size_t n_correct = 0;
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    std::cout << predicted[row];
    for (std::size_t c = 0; c < n_classes; ++c) {
      std::cout << (c == 0 ? "  " : " ") << classifier.classes()[c] << " "
                << probabilities[row * n_classes + c];
    }
    std::cout << "\n";
    if (column < 0) continue;
    const auto actual = test.column(column).text.at(static_cast<std::int64_t>(row));
    n_correct += predicted[row] == actual ? 1 : 0;
  }
  if (column >= 0) {
    std::cout << "causeway " << cw::kVersion << ": accuracy "
              << static_cast<double>(n_correct) / static_cast<double>(predicted.size()) << " on "
              << predicted.size() << " rows\n";
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: predict TRAIN.csv TEST.csv TARGET\n";
    return 2;
  }
  try {
    return predict(argv[1], argv[2], argv[3]);
  } catch (const cw::Error& error) {
    std::cerr << "predict: " << error.what() << "\n";
    return 1;
  }
}
