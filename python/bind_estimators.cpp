// Estimators for typed tables, which causeway.TabularClassifier and TabularRegressor wrap.
#include "causeway/models/estimator_file.h"
#include "causeway/tables/target.h"
#include "causeway/train/finetune.h"
#include "python/bind.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <numeric>

namespace causeway::python {

namespace {

using models::EstimatorOptions;
using models::TabularEstimator;
using models::TabularPredictor;
using models::TabularTransformer;
using tables::Table;
using Progress = std::optional<models::ProgressHook>;

// One class for both tasks; class labels are handled in Python.
class Estimator : public TabularEstimator {
 public:
  Estimator(std::shared_ptr<TabularTransformer> model, EstimatorOptions options, bool regression)
      : TabularEstimator(std::move(model), std::move(options), regression) {}

  using TabularEstimator::encode;
  using TabularEstimator::predictor;

  using TabularEstimator::column_groups;
  using TabularEstimator::options;

  // Encodes the table with the GIL, so that several threads can predict. Runs the model without the
  // GIL; Ctrl-C interrupts it. Returns the result of run(predictor, x, progress) and warnings.
  template <class Run>
  nb::tuple predict(const Table& table, const Progress& progress, Run run) {
    const Tensor x = encode(table);
    const nb::object sentences = nb::cast(warnings());
    TabularPredictor& fitted = predictor();
    const models::ProgressHook hook = progress.value_or(models::ProgressHook());
    auto result = interruptible([&] { return run(fitted, x, hook); });
    return nb::make_tuple(std::move(result), sentences);
  }
};

nb::tuple tuple_of(const TabularEstimator::State& given) {
  const auto& [encoder, state] = given;
  return nb::make_tuple(encoder, state.x, state.y, state.rows, state.n_classes, state.class_weight,
                        state.temperature, state.member_weights, state.reads_residuals);
}

template <class T>
std::vector<T> transforms_of(const std::vector<std::string>& names,
                             T (*parse)(const std::string&)) {
  std::vector<T> made;
  for (const std::string& name : names) made.push_back(parse(name));
  return made;
}

template <class T>
nb::list names_of(const std::vector<T>& transforms) {
  nb::list names;
  for (const T each : transforms) names.append(to_string(each));
  return names;
}

EstimatorOptions options_of(std::int64_t n_estimators, std::int64_t max_features,
                            std::int64_t max_rows, std::uint64_t random_state,
                            const std::vector<std::string>& transforms,
                            const std::vector<std::string>& target_transforms,
                            const std::string& average, double temperature,
                            const std::string& member_weights, const std::string& precision,
                            std::map<std::string, double> class_weight, bool balanced) {
  EstimatorOptions made;
  made.n_estimators = n_estimators;
  made.max_features = max_features;
  made.max_rows = max_rows;
  made.random_state = random_state;
  made.transforms = transforms_of(transforms, models::parse_transform);
  made.target_transforms = transforms_of(target_transforms, models::parse_target_transform);
  made.average = models::parse_average(average);
  made.temperature = temperature;
  made.member_weights = models::parse_member_weights(member_weights);
  made.precision = models::parse_precision(precision);
  made.class_weight = std::move(class_weight);
  made.balanced = balanced;
  return made;
}

// The inputs of components and their factors, in some order.
nb::tuple tuple_of(const models::PrincipalComponents& components,
                   const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> positions;
  std::vector<double> levels;
  std::vector<double> means;
  std::vector<double> inverses;
  std::vector<double> factors;
  for (const auto& input : components.inputs()) {
    for (const std::int64_t k : order) {
      factors.push_back(components.factor(std::ssize(positions), k));
    }
    positions.push_back(input.position);
    levels.push_back(input.level);
    means.push_back(input.scale.mean);
    inverses.push_back(input.scale.inverse);
  }
  const Shape shape{std::ssize(positions), std::ssize(order)};
  return nb::make_tuple(positions, levels, means, inverses, Tensor::from<double>(factors, shape));
}

// None if the member reads columns.
nb::object components_of(const models::EnsembleMember& member) {
  if (member.components == nullptr) return nb::none();
  return tuple_of(*member.components, member.component_order);
}

// None if no member reads residuals.
nb::object ridge_of(const TabularPredictor& predictor) {
  if (!predictor.ridge().has_value()) return nb::none();
  const models::Ridge& ridge = *predictor.ridge();
  std::vector<std::int64_t> order(ridge.coefficients().size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<double>& edges = predictor.bins().edges();
  return nb::make_tuple(tuple_of(ridge.components(), order), ridge.coefficients(),
                        ridge.intercept(), edges.front(), edges.back());
}

// Fits to the rows of a table that have a target; returns the labels and warnings.
nb::tuple fit_target(Estimator& self, const Table& table, const std::string& target,
                     bool regression) {
  const tables::Target read = without_gil([&] {
    return regression ? tables::read_numbers(table, target) : tables::read_classes(table, target);
  });
  const models::FitWeights weights{
      {}, regression ? std::vector<double>() : models::class_weights_of(self.options(), read)};
  interruptible([&] {
    self.fit_encoded(table, read.rows, read.y, read.n_classes(), target, weights);
    return 0;
  });
  std::vector<std::string> sentences = read.warnings;
  sentences.insert(sentences.end(), self.warnings().begin(), self.warnings().end());
  return nb::make_tuple(read.classes, sentences);
}

// All that a file of a fitted estimator holds.
nb::dict read_estimator(const std::string& path) {
  const models::EstimatorFile file = without_gil([&] { return models::read_estimator_file(path); });
  const EstimatorOptions& options = file.options;
  nb::dict settings;
  settings["n_estimators"] = options.n_estimators;
  settings["max_features"] = options.max_features;
  settings["max_rows"] = options.max_rows;
  settings["random_state"] = options.random_state;
  settings["transforms"] = names_of(options.transforms);
  if (file.regression) {
    settings["target_transforms"] = names_of(options.target_transforms);
  } else if (options.balanced) {
    settings["class_weight"] = "balanced";
  } else if (!options.class_weight.empty()) {
    settings["class_weight"] = options.class_weight;
  }
  settings["average"] = to_string(options.average);
  settings["temperature"] = options.temperature;
  settings["member_weights"] = to_string(options.member_weights);
  settings["precision"] = to_string(options.precision);
  nb::dict read;
  read["regression"] = file.regression;
  read["options"] = settings;
  read["classes"] = file.classes;
  read["label_type"] = file.label_type;
  read["named_columns"] = file.named_columns;
  read["names"] = tables::TableEncoder::from_json(file.state.encoder).names();
  read["state"] = tuple_of(file.state);
  read["config"] = file.model->config().to_json();
  read["weights"] = file.model->state();
  return read;
}

void bind_distribution(nb::module_& module) {
  using models::TargetDistribution;
  nb::class_<TargetDistribution>(module, "_TargetDistribution", "Predicted histograms.")
      .def_ro("edges", &TargetDistribution::edges)
      .def_ro("probabilities", &TargetDistribution::probabilities)
      .def("mean", [](const TargetDistribution& self) { return self.means; })
      .def("median", &TargetDistribution::median)
      .def("mode", &TargetDistribution::mode)
      .def("interval", &TargetDistribution::interval, "coverage"_a)
      .def(
          "quantiles",
          [](const TargetDistribution& self, const std::vector<double>& shares) {
            return self.quantiles(shares);
          },
          "shares"_a);
}

}  // namespace

void bind_estimators(nb::module_& module) {
  bind_distribution(module);
  module.def("_read_estimator", read_estimator, "path"_a);
  nb::class_<Estimator>(module, "_TabularEstimator", "Predictions for typed tables.")
      .def(
          "__init__",
          [](Estimator* self, std::shared_ptr<TabularTransformer> model, bool regression,
             std::int64_t n_estimators, std::int64_t max_features, std::int64_t max_rows,
             std::uint64_t random_state, const std::vector<std::string>& transforms,
             const std::vector<std::string>& target_transforms, const std::string& average,
             double temperature, const std::string& member_weights, const std::string& precision,
             std::map<std::string, double> class_weight, bool balanced) {
            new (self)
                Estimator(std::move(model),
                          options_of(n_estimators, max_features, max_rows, random_state, transforms,
                                     target_transforms, average, temperature, member_weights,
                                     precision, std::move(class_weight), balanced),
                          regression);
          },
          "model"_a, "regression"_a, "n_estimators"_a, "max_features"_a, "max_rows"_a,
          "random_state"_a, "transforms"_a, "target_transforms"_a, "average"_a, "temperature"_a,
          "member_weights"_a, "precision"_a, "class_weight"_a, "balanced"_a)
      .def(
          "fit",
          [](Estimator& self, const Table& table, const Tensor& y, std::int64_t n_classes,
             std::vector<double> sample_weight, std::vector<double> class_weight) {
            const models::FitWeights weights{std::move(sample_weight), std::move(class_weight)};
            interruptible([&] {
              self.fit_encoded(table, tables::all_rows(table), y, n_classes, {}, weights);
              return 0;
            });
            return self.warnings();
          },
          "table"_a, "y"_a, "n_classes"_a, "sample_weight"_a, "class_weight"_a,
          "Returns warnings. A fit that throws changes nothing.")
      .def("fit_target", fit_target, "table"_a, "target"_a, "regression"_a,
           "Fits with a column of the table as the target; returns (labels, warnings).")
      .def(
          "predict_proba",
          [](Estimator& self, const Table& table, const Progress& progress) {
            return self.predict(table, progress, std::mem_fn(&TabularPredictor::predict_proba));
          },
          "table"_a, "progress"_a.none() = nb::none(), "((rows, classes) f64, warnings).")
      .def(
          "predict_distribution",
          [](Estimator& self, const Table& table, const Progress& progress) {
            return self.predict(table, progress,
                                std::mem_fn(&TabularPredictor::predict_distribution));
          },
          "table"_a, "progress"_a.none() = nb::none(), "(_TargetDistribution, warnings).")
      .def(
          "embed",
          [](Estimator& self, const Table& table, const Progress& progress) {
            return self.predict(table, progress, std::mem_fn(&TabularPredictor::embed));
          },
          "table"_a, "progress"_a.none() = nb::none(), "((rows, width) f64, warnings).")
      .def(
          "importance",
          [](Estimator& self, const Table& table, const Progress& progress) {
            return self.predict(table, progress,
                                [&](TabularPredictor& predictor, const Tensor& x,
                                    const models::ProgressHook& hook) {
                                  return predictor.importance(x, self.column_groups(), hook);
                                });
          },
          "table"_a, "progress"_a.none() = nb::none(), "((columns,) f64, warnings).")
      .def(
          "members",
          [](Estimator& self) {
            nb::list made;
            for (const models::EnsembleMember& member : self.predictor().members()) {
              made.append(nb::make_tuple(member.rows, member.columns, member.codes,
                                         to_string(member.transform), components_of(member)));
            }
            return made;
          },
          "(rows, columns, codes, transform, components) of each ensemble member; columns count "
          "those that are not constant. Components are None or, for each input, the position of "
          "the feature, the level (NaN: a number), mean and inverse deviation, and the factors "
          "(inputs, components).")
      .def(
          "columns",
          [](Estimator& self) {
            const TabularPredictor& fitted = self.predictor();
            nb::list made;
            for (const std::int64_t position : fitted.positions()) {
              const models::ColumnTransform::Scale scale = fitted.scale(position);
              made.append(nb::make_tuple(position, scale.mean, scale.inverse));
            }
            return made;
          },
          "(position, mean, inverse deviation) of each column that is not constant, ranked columns "
          "by their scores.")
      .def(
          "ranked",
          [](Estimator& self) {
            nb::list made;
            for (const auto& [position, ranks] : self.predictor().ranked()) {
              made.append(nb::make_tuple(position, ranks.points(), ranks.scores()));
            }
            return made;
          },
          "(position, values, scores) of each column that is read as normal scores of ranks, which "
          "are interpolated.")
      .def(
          "powers",
          [](Estimator& self) {
            nb::list made;
            for (const auto& column :
                 self.predictor().column_transforms(models::Transform::power)) {
              const auto& scale = column.transformed_scale();
              made.append(nb::make_tuple(column.exponent(), scale.mean, scale.inverse));
            }
            return made;
          },
          "(exponent, mean, inverse deviation) of the power transform of each column that is not "
          "constant.")
      .def(
          "ridge", [](Estimator& self) { return ridge_of(self.predictor()); },
          "The linear fit whose residuals members read: components as of members, coefficients, "
          "intercept and the ends of the target's bins; or None.")
      .def(
          "targets",
          [](Estimator& self, std::size_t i) {
            TabularPredictor& fitted = self.predictor();
            const models::EnsembleMember& member = fitted.members().at(i);
            const bool regression = fitted.is_regression();
            return nb::make_tuple(fitted.context_targets(member),
                                  to_string(member.target_transform),
                                  regression ? fitted.bins().centres(member.target_transform)
                                             : std::vector<double>());
          },
          "member"_a,
          "The targets of a member's context rows as the model reads them, their transform, and "
          "the means of the model's bins in units of the target; of residuals relative to the "
          "linear fit's prediction.")
      .def("encode", &Estimator::encode, "table"_a, "(rows, features) f64, NaN for missing values.")
      .def("state", [](const Estimator& self) { return tuple_of(self.state()); })
      .def(
          "save",
          [](Estimator& self, const std::string& path, std::vector<std::string> classes,
             std::string label_type, bool named_columns) {
            const bool regression = self.model().config().is_regression();
            without_gil([&] {
              models::write_estimator_file(
                  path, {regression, self.options(), self.state(), std::move(classes),
                         std::move(label_type), named_columns, self.shared_model()});
            });
          },
          "path"_a, "classes"_a, "label_type"_a, "named_columns"_a)
      .def(
          "finetune",
          [](Estimator& self, double seconds, double learning_rate, const Progress& progress) {
            train::FinetuneOptions options;
            options.seconds = seconds;
            options.learning_rate = learning_rate;
            TabularPredictor& fitted = self.predictor();
            const models::ProgressHook hook = progress.value_or(models::ProgressHook());
            const train::Finetuned made =
                interruptible([&] { return train::finetune(fitted, options, hook); });
            return nb::make_tuple(made.weights, made.loss_before, made.loss_after);
          },
          "seconds"_a, "learning_rate"_a, "progress"_a.none() = nb::none(),
          "(weights, held-out loss before, after).")
      .def(
          "restore",
          [](Estimator& self, const std::string& encoder, const Tensor& x, const Tensor& y,
             const Tensor& rows, std::int64_t n_classes, std::vector<double> class_weight,
             double temperature, std::vector<double> member_weights,
             std::optional<bool> reads_residuals) {
            without_gil([&] {
              self.restore({encoder,
                            {x, y, rows, n_classes, std::move(class_weight), temperature,
                             std::move(member_weights), reads_residuals}});
            });
          },
          "encoder"_a, "x"_a, "y"_a, "rows"_a, "n_classes"_a, "class_weight"_a, "temperature"_a,
          "member_weights"_a, "reads_residuals"_a = nb::none(), "Restores the result of state().");
}

}  // namespace causeway::python
