// Mechanisms and columns of priors in isolation, for tests: their output for given rows, and their
// random draws.
#include "python/testing/prior_parts.h"

#include "causeway/prior/device/dataset.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace causeway::python {

namespace {

using namespace prior;  // NOLINT: this file is about nothing else

using Choices = std::map<int, int>;  // from a Choice to the category it is forced to

// Records the trace of a run in order: (name, number) and (name, tensor).
class Recorder : public Trace {
 public:
  nb::list notes;

  void note(const char* name, double value) override { notes.append(nb::make_tuple(name, value)); }
  void array(const char* name, const float* values, std::int64_t count) override {
    const std::vector<float> copied(values, values + count);
    notes.append(nb::make_tuple(name, tensor_of(copied, {count})));
  }
};

// The host workspace of one attempt. Choices that are not forced are uniform.
class Stage {
 public:
  Workspace<Solo> w;
  Recorder recorder;
  ChoiceTable table{};

  Stage(std::uint64_t seed, int n_rows, const Choices& choices = {}, int n_worlds = 1)
      : memory_(std::make_unique_for_overwrite<float[]>(kFloats)) {
    const int all_rows = n_rows * n_worlds;
    w = {Solo{&recorder}, Draws::of(seed, 0), {memory_.get(), kFloats},
         n_rows,          all_rows,           padded_rows(all_rows)};
    w.choices = &table;
    draw_choices(w, true, table);
    for (const auto& [name, category] : choices) {
      for (int i = 0; i < kMostCategories; ++i) {
        table.cumulative[name][i] = i < category ? 0.0f : 1.0f;
      }
    }
  }

  // Loads (rows, columns), repeated in every world and in the padding.
  Columns load(const Tensor& x) {
    const std::vector<float> values = x.contiguous().to_vector<float>();
    const auto n_columns = static_cast<int>(x.shape()[1]);
    const Columns columns = w.take_columns(n_columns);
    for (int c = 0; c < n_columns; ++c) {
      for (int row = 0; row < w.stride; ++row) {
        columns.column(c)[row] = values[static_cast<std::size_t>(row % w.n_fit * n_columns + c)];
      }
    }
    return columns;
  }
  // All worlds, concatenated along rows.
  Tensor read(const Columns& columns) const {
    std::vector<float> values;
    for (int row = 0; row < w.n_rows; ++row) {
      for (int c = 0; c < columns.n_columns; ++c) values.push_back(columns.column(c)[row]);
    }
    return tensor_of(values, {w.n_rows, columns.n_columns});
  }
  nb::tuple result(const Columns& columns) const {
    return nb::make_tuple(read(columns), recorder.notes);
  }

 private:
  static constexpr std::int64_t kFloats = std::int64_t{1} << 23;
  std::unique_ptr<float[]> memory_;
};

int rows_of(const Tensor& x) { return static_cast<int>(x.shape()[0]); }

void bind_mechanisms(nb::module_& module) {
  module.def("bulk_normals", [](std::uint64_t seed, std::uint32_t site, int count) {
    Stage stage(seed, 32);
    float* out = take_normals(stage.w, count);
    fill_normals(stage.w, site, out, count);
    return tensor_of(std::vector<float>(out, out + count), {count});
  });
  module.def("function",
             [](const Tensor& x, int n_out, std::uint64_t seed, const Choices& choices) {
               Stage stage(seed, rows_of(x), choices);
               const Columns from = stage.load(x);
               const Columns out = stage.w.take_columns(n_out);
               random_function(stage.w, from, out);
               return stage.result(out);
             });
  module.def("parents", [](const std::vector<Tensor>& xs, int n_out, std::uint64_t seed,
                           const Choices& choices) {
    Stage stage(seed, rows_of(xs.at(0)), choices);
    Columns nodes[kMostNodes];
    for (std::size_t i = 0; i < xs.size(); ++i) nodes[i] = stage.load(xs[i]);
    const Columns out = stage.w.take_columns(n_out);
    function_of_parents(stage.w, (1u << xs.size()) - 1, nodes, out);
    return stage.result(out);
  });
  module.def("matrix", [](int n_batch, int n, int m, std::uint64_t seed, const Choices& choices) {
    Stage stage(seed, 32, choices);
    const MatrixShape shape{n_batch, n, m};
    float* out = stage.w.arena.take(shape.size());
    random_matrix(stage.w, shape, out);
    const std::vector<float> values(out, out + shape.size());
    return nb::make_tuple(tensor_of(values, {n_batch, n, m}), stage.recorder.notes);
  });
  module.def("mixture", [](int n_points, std::uint64_t seed) {
    Stage stage(seed, 32);
    float* out = stage.w.arena.take(3 * n_points);
    mixture_points(stage.w, n_points, out);
    const std::vector<float> values(out, out + 3 * n_points);
    return nb::make_tuple(tensor_of(values, {n_points, 3}), stage.recorder.notes);
  });
  module.def("activation", [](const Tensor& x, std::uint64_t seed, const Choices& choices) {
    Stage stage(seed, rows_of(x), choices);
    const Columns columns = stage.load(x);
    random_activation(stage.w, columns);
    return stage.result(columns);
  });
  // The activation function of a kind.
  module.def("activate", [](const Tensor& x, int kind, float exponent) {
    Stage stage(0, rows_of(x));
    const Columns columns = stage.load(x);
    const auto which = static_cast<Activation>(kind);
    if (acts_on_rows(which)) {
      activate_rows(stage.w, which, columns);
    } else {
      with_activation(which, [&](const auto& act) {
        const std::int64_t n = static_cast<std::int64_t>(columns.n_columns) * columns.stride;
        for (std::int64_t i = 0; i < n; ++i) columns.data[i] = act(columns.data[i], exponent);
      });
    }
    return stage.read(columns);
  });
  module.def("points", [](int n_rows, int n_columns, std::uint64_t seed, const Choices& choices) {
    Stage stage(seed, n_rows, choices);
    const Columns out = stage.w.take_columns(n_columns);
    random_points(stage.w, out);
    return stage.result(out);
  });
}

// Converts a node's values to a column, in one world or two.
nb::tuple convert(const Tensor& values, int n_categories, int converter, std::uint64_t seed,
                  const Choices& choices, bool warp_node, bool noiseless,
                  std::optional<float> forced) {
  const bool wanted = noiseless || forced.has_value();
  Stage stage(seed, rows_of(values), choices, wanted ? 2 : 1);
  Workspace<Solo>& w = stage.w;
  const Columns slice = stage.load(values);
  const Columns column = w.take_columns(1);
  const Columns unlikely = w.take_columns(1);
  std::fill_n(unlikely.data, unlikely.stride, 0.0f);
  const Intervention intervention = forced.has_value() ? Intervention{0, *forced} : Intervention{};
  const OtherWorld other{wanted, noiseless, intervention};
  const ColumnPlan plan{0, static_cast<std::int16_t>(n_categories),
                        static_cast<std::int16_t>(slice.n_columns),
                        static_cast<Converter>(converter)};
  if (n_categories == 0) {
    convert_number(w, plan, warp_node, intervention, slice.data, column.data);
  } else if (is_softmax(plan.converter)) {
    convert_by_softmax(w, plan, other, forced.has_value(), slice, column.data, unlikely.data);
  } else {
    convert_by_neighbours(w, plan, intervention, slice, column.data);
  }
  return nb::make_tuple(stage.read(column), stage.read(slice), stage.read(unlikely),
                        stage.recorder.notes);
}

void bind_columns(nb::module_& module) {
  module.def("convert", &convert, "values"_a, "n_categories"_a, "converter"_a, "seed"_a,
             "choices"_a, "warp_node"_a = false, "noiseless"_a = false,
             "forced"_a = std::optional<float>());
  module.def("tidy", [](const Tensor& x) {
    Stage stage(0, rows_of(x));
    const Columns columns = stage.load(x);
    std::vector<float> spreads;
    for (int c = 0; c < columns.n_columns; ++c) {
      const Affine spread = tidy_column(stage.w, SoloLanes{}, columns.column(c));
      spreads.insert(spreads.end(), {spread.mean, spread.deviation});
    }
    return nb::make_tuple(stage.read(columns), tensor_of(spreads, {columns.n_columns, 2}));
  });
  module.def("categorise", [](const Tensor& x, std::uint64_t seed) {
    Stage stage(seed, rows_of(x));
    const Columns columns = stage.load(x);
    categorise_columns(stage.w, columns);
    return stage.result(columns);
  });
  module.def("classify", [](const Tensor& y, int n_classes, bool balanced, bool by_rank,
                            std::uint64_t seed) {
    Stage stage(seed, rows_of(y));
    const Columns column = stage.load(y);
    const auto shared = std::make_unique<Shared>();
    classify_target(stage.w, *shared, balanced, by_rank, n_classes, column.data);
    const std::vector<float> bounds(shared->boundaries, shared->boundaries + n_classes - 1);
    return nb::make_tuple(stage.read(column), tensor_of(bounds, {n_classes - 1}));
  });
  module.def("forest", [](const Tensor& x, const Tensor& y, int n_classes, std::uint64_t seed) {
    const int n_rows = rows_of(x);
    const auto n_features = static_cast<int>(x.shape()[1]);
    const int stride = (n_features + kFeaturePadding - 1) / kFeaturePadding * kFeaturePadding;
    const std::vector<float> from = x.contiguous().to_vector<float>();
    const std::vector<float> target = y.contiguous().to_vector<float>();
    std::vector<float> rows(static_cast<std::size_t>(n_rows) * stride, 0.0f);
    for (int i = 0; i < n_rows * n_features; ++i) {
      rows[static_cast<std::size_t>(i / n_features * stride + i % n_features)] =
          from[static_cast<std::size_t>(i)];
    }
    Stage stage(seed, n_rows);
    const ForestScore score = grow_forest(
        stage.w, ForestData{rows.data(), target.data(), n_rows, n_features, stride, n_classes});
    nb::dict result;
    result["improvement"] = score.improvement;
    result["error_of_improvement"] = score.error_of_improvement;
    result["squared_error"] = score.squared_error;
    result["squared_error_of_mean"] = score.squared_error_of_mean;
    result["predictable"] = is_predictable(score);
    result["trivial"] = is_trivial(score, 0.05f);
    return result;
  });
}

MlpPlan plan_with_kind(int kind) {
  MlpPlan plan{};
  for (int k = 0; k < 2 * kMlpKinds; ++k) plan.kinds[k] = k < kind ? 0.0f : 1.0f;
  return plan;
}

void bind_network(nb::module_& module) {
  module.def("causes", [](int n_rows, int n_columns, int law, bool fixed, std::uint64_t seed) {
    Stage stage(seed, n_rows);
    MlpPlan plan{};
    plan.law = static_cast<CauseLaw>(law);
    plan.fixed_causes = fixed;
    const Columns out = stage.w.take_columns(n_columns);
    draw_causes(stage.w, plan, out);
    return stage.result(out);
  });
  module.def("mlp_activation", [](const Tensor& x, int kind, std::uint64_t seed) {
    Stage stage(seed, rows_of(x));
    const Columns columns = stage.load(x);
    mlp_activation(stage.w, plan_with_kind(kind), columns);
    return stage.result(columns);
  });
  module.def("layer", [](int n_in, int n_out, bool blocks, float dropout, float deviation,
                         bool first, std::uint64_t seed) {
    Stage stage(seed, 32);
    MlpPlan plan{};
    plan.blocks = blocks;
    plan.dropout = dropout;
    plan.weight_deviation = deviation;
    float* weights = take_normals(stage.w, static_cast<std::int64_t>(n_in) * n_out);
    float* biases = stage.w.arena.take(n_out);
    draw_layer(stage.w, plan, first, n_in, n_out, weights, biases);
    return nb::make_tuple(tensor_of({weights, weights + n_in * n_out}, {n_out, n_in}),
                          tensor_of({biases, biases + n_out}, {n_out}));
  });
  module.def("noise", [](const Tensor& x, float deviation, bool fixed, bool noisy,
                         const std::vector<float>& biases, std::uint64_t seed) {
    Stage stage(seed, rows_of(x));
    MlpPlan plan{};
    plan.noise = deviation;
    plan.fixed_noise = fixed;
    const Columns columns = stage.load(x);
    float* deviations = stage.w.arena.take(columns.n_columns);
    add_noise(stage.w, plan, OtherWorld{}, noisy, biases.data(), deviations, columns);
    return stage.read(columns);
  });
  module.def("noise_forest",
             [](const Tensor& x, int n_out, int depth, int n_trees, std::uint64_t seed) {
               Stage stage(seed, rows_of(x));
               TreePlan plan{};
               plan.depth = depth;
               plan.n_trees = n_trees;
               const Columns from = stage.load(x);
               const Columns out = stage.w.take_columns(n_out);
               noise_forest(stage.w, plan, from, out);
               return stage.result(out);
             });
}

}  // namespace

void bind_prior_parts(nb::module_& module) {
  bind_mechanisms(module);
  bind_columns(module);
  bind_network(module);
}

}  // namespace causeway::python
