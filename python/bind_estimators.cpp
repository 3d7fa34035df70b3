// Estimators for typed tables, which causeway.TabularClassifier and TabularRegressor wrap.
#include "causeway/models/estimator.h"
#include "causeway/tables/target.h"
#include "python/bind.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

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

  // Encodes the table with the GIL, so that several threads can predict. Runs the model without the
  // GIL; Ctrl-C interrupts it.
  template <class Method>
  nb::tuple predict(const Table& table, const Progress& progress, Method method) {
    const Tensor x = encode(table);
    const nb::object sentences = nb::cast(warnings());
    TabularPredictor& fitted = predictor();
    const models::ProgressHook hook = progress.value_or(models::ProgressHook());
    const Tensor result = interruptible([&] { return (fitted.*method)(x, hook); });
    return nb::make_tuple(result, sentences);
  }
};

// Fits to the rows of a table that have a target; returns the labels and warnings.
nb::tuple fit_target(Estimator& self, const Table& table, const std::string& target,
                     bool regression) {
  const tables::Target read = without_gil([&] {
    return regression ? tables::read_numbers(table, target) : tables::read_classes(table, target);
  });
  without_gil([&] { self.fit_encoded(table, read.rows, read.y, read.n_classes(), target); });
  std::vector<std::string> sentences = read.warnings;
  sentences.insert(sentences.end(), self.warnings().begin(), self.warnings().end());
  return nb::make_tuple(read.classes, sentences);
}

}  // namespace

void bind_estimators(nb::module_& module) {
  nb::class_<Estimator>(module, "_TabularEstimator", "Predictions for typed tables.")
      .def(
          "__init__",
          [](Estimator* self, std::shared_ptr<TabularTransformer> model, bool regression,
             std::int64_t n_estimators, std::int64_t max_features, std::int64_t max_rows,
             std::uint64_t random_state) {
            EstimatorOptions options;
            options.n_estimators = n_estimators;
            options.max_features = max_features;
            options.max_rows = max_rows;
            options.random_state = random_state;
            new (self) Estimator(std::move(model), std::move(options), regression);
          },
          "model"_a, "regression"_a, "n_estimators"_a, "max_features"_a, "max_rows"_a,
          "random_state"_a)
      .def(
          "fit",
          [](Estimator& self, const Table& table, const Tensor& y, std::int64_t n_classes) {
            without_gil([&] { self.fit_encoded(table, tables::all_rows(table), y, n_classes); });
            return self.warnings();
          },
          "table"_a, "y"_a, "n_classes"_a, "Returns warnings. A fit that throws changes nothing.")
      .def("fit_target", fit_target, "table"_a, "target"_a, "regression"_a,
           "Fits with a column of the table as the target; returns (labels, warnings).")
      .def(
          "predict_proba",
          [](Estimator& self, const Table& table, const Progress& progress) {
            return self.predict(table, progress, &TabularPredictor::predict_proba);
          },
          "table"_a, "progress"_a.none() = nb::none(), "((rows, classes) f64, warnings).")
      .def(
          "predict_mean",
          [](Estimator& self, const Table& table, const Progress& progress) {
            return self.predict(table, progress, &TabularPredictor::predict_mean);
          },
          "table"_a, "progress"_a.none() = nb::none(), "((rows,) f64, warnings).")
      .def("encode", &Estimator::encode, "table"_a, "(rows, features) f64, NaN for missing values.")
      .def("state",
           [](const Estimator& self) {
             const TabularEstimator::State state = self.state();
             return nb::make_tuple(state.encoder, state.x, state.y, state.n_classes);
           })
      .def(
          "restore",
          [](Estimator& self, const std::string& encoder, const Tensor& x, const Tensor& y,
             std::int64_t n_classes) {
            without_gil([&] { self.restore({encoder, x, y, n_classes}); });
          },
          "encoder"_a, "x"_a, "y"_a, "n_classes"_a, "Restores the result of state().");
}

}  // namespace causeway::python
