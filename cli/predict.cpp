// `causeway predict`: the target of one CSV table's rows, by those of another.
#include "cli/predict.h"

#include "cli/predict_input.h"
#include "cli/predict_options.h"

#include "causeway/core/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace causeway::cli {

namespace {

struct Options : PredictOptions {
  std::string train;
  std::string test;
  std::string out;
};

// A CSV field, quoted where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string lines_of(const Tensor& probabilities, const std::string& target,
                     const std::vector<std::string>& classes) {
  std::string text = field(target);
  for (const std::string& name : classes) text += "," + field("p_" + name);
  text += "\n";
  const auto* shares = probabilities.data_as<double>();
  for (std::int64_t row = 0; row < probabilities.size(0); ++row, shares += classes.size()) {
    const auto best = std::max_element(shares, shares + classes.size()) - shares;
    text += field(classes[static_cast<std::size_t>(best)]);
    for (std::size_t c = 0; c < classes.size(); ++c) text += fmt::format(",{:.6g}", shares[c]);
    text += "\n";
  }
  return text;
}

std::string lines_of(const Tensor& numbers, const std::string& target) {
  std::string text = field(target) + "\n";
  for (const double value : numbers.to_vector<double>()) text += fmt::format("{}\n", value);
  return text;
}

void run(const Options& given) {
  const auto model = given.load(given.train);
  const bool regression = model->config().is_regression();
  TableReader table(given.train, given.target, regression);
  const Tensor asked = table.read(given.test);
  given.tell(table.notes());
  models::TabularPredictor predictor(model, given.predictor);
  predictor.fit(table.x(), table.y(), static_cast<std::int64_t>(table.classes().size()),
                table.names());
  given.tell(predictor.notes());
  const std::string text =
      regression ? lines_of(predictor.numbers(asked), given.target)
                 : lines_of(predictor.probabilities(asked), given.target, table.classes());
  if (given.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  FileWriter file("predict", given.out);
  file.write(text);
  file.commit();
}

}  // namespace

void add_predict(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("predict", "Tell a column of a CSV file by the rows of another");
  command->add_option("train", options->train, "Rows whose target is known")
      ->required()
      ->type_name("FILE");
  command->add_option("test", options->test, "Rows to tell")->required()->type_name("FILE");
  command->add_option("--out", options->out, "Where predictions go, else stdout")
      ->type_name("FILE");
  options->add_to(*command);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
