#include "causeway/models/estimator_file.h"

#include "causeway/core/error.h"
#include "causeway/models/model_file.h"
#include "causeway/models/tabular_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace causeway::models {

namespace {

constexpr const char* kModel = "model.";
constexpr const char* kX = "context.x";
constexpr const char* kY = "context.y";
constexpr const char* kRows = "context.rows";

template <class T>
nlohmann::ordered_json names_of(const std::vector<T>& transforms) {
  auto names = nlohmann::ordered_json::array();
  for (const T each : transforms) names.push_back(to_string(each));
  return names;
}

template <class T>
std::vector<T> transforms_of(const nlohmann::json& names, T (*parse)(const std::string&)) {
  std::vector<T> transforms;
  for (const auto& name : names) transforms.push_back(parse(name.get<std::string>()));
  return transforms;
}

nlohmann::ordered_json json_of(const EstimatorOptions& options) {
  return {{"n_estimators", options.n_estimators},
          {"max_features", options.max_features},
          {"max_rows", options.max_rows},
          {"random_state", options.random_state},
          {"transforms", names_of(options.transforms)},
          {"target_transforms", names_of(options.target_transforms)},
          {"average", to_string(options.average)},
          {"temperature", options.temperature},
          {"member_weights", to_string(options.member_weights)},
          {"precision", to_string(options.precision)},
          {"class_weight", options.class_weight},
          {"balanced", options.balanced}};
}

EstimatorOptions options_of(const nlohmann::json& json) {
  EstimatorOptions options;
  json.at("n_estimators").get_to(options.n_estimators);
  json.at("max_features").get_to(options.max_features);
  json.at("max_rows").get_to(options.max_rows);
  json.at("random_state").get_to(options.random_state);
  json.at("temperature").get_to(options.temperature);
  options.transforms = transforms_of(json.at("transforms"), parse_transform);
  // Files of version 0.2 have none.
  options.target_transforms = transforms_of(json.value("target_transforms", nlohmann::json{"none"}),
                                            parse_target_transform);
  options.average = parse_average(json.at("average").get<std::string>());
  // Files of version 0.2 have none of these.
  options.precision = parse_precision(json.value("precision", to_string(options.precision)));
  options.member_weights =
      parse_member_weights(json.value("member_weights", to_string(options.member_weights)));
  options.class_weight = json.value("class_weight", options.class_weight);
  options.balanced = json.value("balanced", options.balanced);
  return options;
}

EstimatorFile parse(const std::string& config, TabularConfig& model) {
  try {
    const auto json = nlohmann::json::parse(config);
    EstimatorFile file;
    file.regression = json.at("task").get<std::string>() == "regression";
    file.options = options_of(json.at("options"));
    file.state.encoder = json.at("encoder").dump();
    json.at("classes").get_to(file.classes);
    json.at("label_type").get_to(file.label_type);
    json.at("named_columns").get_to(file.named_columns);
    json.at("class_weight").get_to(file.state.predictor.class_weight);
    json.at("temperature").get_to(file.state.predictor.temperature);
    if (json.contains("member_weights"))
      json.at("member_weights").get_to(file.state.predictor.member_weights);
    if (json.contains("reads_residuals"))
      file.state.predictor.reads_residuals = json.at("reads_residuals").get<bool>();
    file.state.predictor.n_classes = std::ssize(file.classes);
    model = TabularConfig::from_json(json.at("model").dump());
    return file;
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "load_estimator",
         fmt::format("the settings are damaged: {}", problem.what()));
  }
}

Tensor take(State& state, const char* name) {
  const auto found = state.find(name);
  if (found == state.end()) {
    fail(ErrorKind::format, "load_estimator", fmt::format("the file has no tensor \"{}\"", name));
  }
  Tensor taken = found->second;
  state.erase(found);
  return taken;
}

// Whether these are weights of n members, and possibly of a linear fit; none are equal ones.
bool is_distribution(const std::vector<double>& weights, std::int64_t n, bool has_fit) {
  const auto is_share = [](double weight) { return weight >= 0 && weight <= 1; };
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const bool fits = std::ssize(weights) == n || (has_fit && std::ssize(weights) == n + 1);
  return weights.empty() ||
         (fits && std::ranges::all_of(weights, is_share) && std::abs(sum - 1) < 1e-6);
}

// Throws a format error unless the context fits together.
void require_context(const TabularPredictor::State& state) {
  const Tensor& x = state.x;
  const Tensor& y = state.y;
  const Tensor& rows = state.rows;
  const bool shaped =
      x.n_dims() == 2 && y.shape() == Shape{x.size(0)} && rows.n_dims() == 2 && rows.numel() > 0 &&
      x.dtype() == DType::f64 && y.dtype() == DType::f64 && rows.dtype() == DType::i64 &&
      state.temperature > 0 &&
      is_distribution(state.member_weights, rows.size(0), state.reads_residuals.value_or(false)) &&
      (state.class_weight.empty() || std::ssize(state.class_weight) == state.n_classes);
  if (shaped) {
    const auto numbers = rows.contiguous().to_vector<std::int64_t>();
    const auto is_row = [&](std::int64_t row) { return row >= 0 && row < x.size(0); };
    if (std::all_of(numbers.begin(), numbers.end(), is_row)) return;
  }
  fail(ErrorKind::format, "load_estimator", "the context rows are damaged");
}

}  // namespace

void write_estimator_file(const std::filesystem::path& path, const EstimatorFile& file) {
  const TabularPredictor::State& kept = file.state.predictor;
  nlohmann::ordered_json config = {
      {"task", file.regression ? "regression" : "classification"},
      {"options", json_of(file.options)},
      {"classes", file.classes},
      {"label_type", file.label_type},
      {"named_columns", file.named_columns},
      {"class_weight", kept.class_weight},
      {"temperature", kept.temperature},
      {"member_weights", kept.member_weights},
      {"encoder", nlohmann::ordered_json::parse(file.state.encoder)},
      {"model", nlohmann::ordered_json::parse(file.model->config().to_json())}};
  if (kept.reads_residuals.has_value()) config["reads_residuals"] = *kept.reads_residuals;
  State state = {{kX, kept.x}, {kY, kept.y}, {kRows, kept.rows}};
  for (const auto& [name, tensor] : file.model->state()) state.emplace(kModel + name, tensor);
  using Handler = nlohmann::ordered_json::error_handler_t;
  write_model_file(path, {{kEstimatorKind, config.dump(-1, ' ', false, Handler::replace)}, state});
}

EstimatorFile read_estimator_file(const std::filesystem::path& path,
                                  const nn::Placement& placement) {
  ModelFile read = read_model_file(path);
  if (read.kind != kEstimatorKind) {
    fail(
        ErrorKind::format, "load_estimator",
        fmt::format("\"{}\" is not a fitted estimator: its metadata lacks \"model\": \"{}\", which "
                    "save writes",
                    path.string(), kEstimatorKind));
  }
  return with_context(fmt::format("loading \"{}\"", path.string()), [&] {
    TabularConfig config;
    EstimatorFile file = parse(read.config, config);
    file.state.predictor.x = take(read.state, kX);
    file.state.predictor.y = take(read.state, kY);
    file.state.predictor.rows = take(read.state, kRows);
    require_context(file.state.predictor);
    State weights;
    for (const auto& [name, tensor] : read.state) {
      weights.emplace(name.starts_with(kModel) ? name.substr(std::string(kModel).size()) : name,
                      tensor);
    }
    require_finite(weights);
    require_parameters(weights, config.n_parameters());
    file.model = std::make_shared<TabularTransformer>(config, placement);
    file.model->load_state(dequantize_state(weights, placement.dtype));
    file.model->eval();
    return file;
  });
}

void TabularClassifier::save(const std::filesystem::path& path) {
  write_estimator_file(path,
                       {false, options(), state(), classes_, label_type_, true, shared_model()});
}

TabularClassifier TabularClassifier::load(const std::filesystem::path& path,
                                          const std::string& device) {
  const EstimatorFile file = read_estimator_file(path, inference_placement(parse_device(device)));
  TabularClassifier made(file.model, file.options);
  made.restore(file.state);
  made.classes_ = file.classes;
  made.label_type_ = file.label_type;
  return made;
}

void TabularRegressor::save(const std::filesystem::path& path) {
  write_estimator_file(path, {true, options(), state(), {}, "number", true, shared_model()});
}

TabularRegressor TabularRegressor::load(const std::filesystem::path& path,
                                        const std::string& device) {
  const EstimatorFile file = read_estimator_file(path, inference_placement(parse_device(device)));
  TabularRegressor made(file.model, file.options);
  made.restore(file.state);
  return made;
}

}  // namespace causeway::models
