// What a user of the library writes: predictions for a CSV file, printed as CSV. The test of the
// front ends compares them with those of the program and of Python.
//
// Usage: predict_csv classification|regression TRAIN TEST TARGET MODEL
#include "causeway/models/estimator.h"
#include "causeway/tables/csv_table.h"

#include <fmt/format.h>

#include <exception>
#include <string>

namespace {

using namespace causeway;

void print(const Tensor& values) {
  const std::int64_t width = values.n_dims() == 2 ? values.size(1) : 1;
  const auto numbers = values.to_vector<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool ends = (static_cast<std::int64_t>(i) + 1) % width == 0;
    fmt::print("{}{}", numbers[i], ends ? "\n" : ",");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  try {
    models::EstimatorOptions options;
    options.model = argv[5];
    options.device = "cpu";
    const auto train = tables::read_csv(argv[2]);
    const auto test = tables::read_csv(argv[3]);
    if (std::string(argv[1]) == "regression") {
      models::TabularRegressor regressor(options);
      regressor.fit(train, argv[4]);
      print(regressor.predict(test));
    } else {
      models::TabularClassifier classifier(options);
      classifier.fit(train, argv[4]);
      print(classifier.predict_proba(test));
    }
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
}
