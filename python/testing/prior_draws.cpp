// Random draws of priors and the plans made from them, for tests.
#include "python/testing/prior_parts.h"

#include "causeway/prior/device/dataset.h"

#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

namespace causeway::python {

namespace {

using namespace prior;  // NOLINT: this file is about nothing else

// f(draws of dataset i, i) for i < count.
template <class F>
Tensor over_datasets(std::uint64_t seed, int count, const F& f) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(f(Draws::of(seed, static_cast<std::uint64_t>(i))));
  }
  return tensor_of(values, {count});
}

void bind_draws(nb::module_& module) {
  // Philox outputs of one site: (count, 4), as 64-bit integers.
  module.def("bits", [](std::uint64_t seed, std::uint32_t site, int count, std::uint32_t b) {
    const Draws draws = Draws::of(seed, 0);
    std::vector<std::int64_t> words;
    for (int a = 0; a < count; ++a) {
      const Bits128 bits = draws.bits(site, static_cast<std::uint32_t>(a), b);
      words.insert(words.end(), bits.word, bits.word + 4);
    }
    return Tensor::from<std::int64_t>(words, {count, 4});
  });
  // (rows, n): element i of a row from counter (row, i / 4) of a site.
  module.def("row_normals", [](std::uint64_t seed, std::uint32_t site, int rows, int n) {
    const Draws draws = Draws::of(seed, 0);
    std::vector<float> values;
    for (int row = 0; row < rows; ++row) {
      row_normals(draws, site, static_cast<std::uint32_t>(row), n,
                  [&](int, float value) { values.push_back(value); });
    }
    return tensor_of(values, {rows, n});
  });
  module.def("log_gammas", [](float shape, std::uint64_t seed, int count) {
    return over_datasets(seed, count, [&](const Draws& d) { return d.log_gamma(shape, 0, 0); });
  });
  module.def("betas", [](float a, float b, std::uint64_t seed, int count) {
    return over_datasets(seed, count, [&](const Draws& d) { return d.beta(a, b, 0, 0); });
  });
  module.def("cauchys", [](std::uint64_t seed, int count) {
    return over_datasets(seed, count, [](const Draws& d) {
      return PlanDraws{d, 0, nullptr}.cauchy();
    });
  });
  // One per dataset.
  module.def("integers", [](int name, int low, int high, bool logarithmic, bool correlated,
                            bool mass_at_ends, std::uint64_t seed, int count) {
    return over_datasets(seed, count, [&](const Draws& draws) {
      PlanDraws d{draws, 0, nullptr};
      return static_cast<float>(integer(d, static_cast<prior::Number>(name), low, high, logarithmic,
                                        correlated ? Mode::correlated : Mode::independent,
                                        mass_at_ends));
    });
  });
  // `count` draws of one dataset, or from its distribution.
  module.def("numbers", [](int name, float low, float high, bool logarithmic, bool mass_at_ends,
                           bool correlated, std::uint64_t seed, std::uint32_t site, int count) {
    const Draws draws = Draws::of(seed, 0);
    std::vector<float> values;
    for (int at = 0; at < count; ++at) {
      values.push_back(number_at(
          draws, static_cast<prior::Number>(name), {low, high, logarithmic, mass_at_ends},
          correlated ? Mode::correlated : Mode::independent, site, static_cast<std::uint32_t>(at)));
    }
    return tensor_of(values, {count});
  });
  module.def("law", [](int name, std::uint64_t seed, std::uint64_t index) {
    const Law law = law_of(Draws::of(seed, index), static_cast<prior::Number>(name));
    return nb::make_tuple(law.a, law.b);
  });
  module.def("weights", [](std::uint64_t seed, std::uint32_t site, int rows, int n) {
    const Draws draws = Draws::of(seed, 0);
    std::vector<float> values(static_cast<std::size_t>(rows) * n);
    for (int row = 0; row < rows; ++row) {
      draw_weights(SoloLanes{}, draws, site, static_cast<std::uint32_t>(row), n,
                   [&](int i) -> float& { return values[static_cast<std::size_t>(row * n + i)]; });
    }
    return tensor_of(values, {rows, n});
  });
  // Cumulative weights of a choice's categories for each dataset: (count, categories).
  module.def("choice_weights", [](int choice, std::uint64_t seed, int count) {
    const int n = categories_of(static_cast<Choice>(choice));
    std::vector<float> values;
    for (int i = 0; i < count; ++i) {
      Workspace<Solo> w{Solo{}, Draws::of(seed, static_cast<std::uint64_t>(i)), {}};
      ChoiceTable table{};
      draw_choices(w, false, table);
      const float* row = table.cumulative[choice];
      values.insert(values.end(), row, row + n);
    }
    return tensor_of(values, {count, n});
  });
  module.def("order", [](std::uint64_t seed, std::uint32_t site, int n) {
    const Order order(Draws::of(seed, 0), site, n);
    std::vector<int> places;
    for (int i = 0; i < n; ++i) places.push_back(order(i));
    return places;
  });
}

nb::dict plan_of(std::uint64_t seed, std::uint64_t index, int n_features, int n_classes,
                 int min_nodes, int max_nodes, float edge_offset, int max_categories, bool even,
                 bool few_categories, bool connected) {
  GraphOptions options;
  options.min_nodes = min_nodes;
  options.max_nodes = max_nodes;
  options.edge_offset = edge_offset;
  options.max_categories = max_categories;
  options.even_choices = even;
  options.few_categories = few_categories;
  options.connected = connected;
  const auto plan = std::make_unique<GraphPlan>();
  Workspace<Solo> w{Solo{}, Draws::of(seed, index), {}};
  draw_plan(w, options, n_features, n_classes, *plan);
  nb::dict result;
  nb::list parents;
  nb::list widths;
  for (int node = 0; node < plan->n_nodes; ++node) {
    parents.append(plan->parents[node]);
    widths.append(static_cast<int>(plan->latent_width[node]));
  }
  nb::list columns;
  for (int c = 0; c <= n_features; ++c) {
    const ColumnPlan& column = plan->columns[c];
    columns.append(
        nb::make_tuple(static_cast<int>(column.node), static_cast<int>(column.n_categories),
                       static_cast<int>(column.width), static_cast<int>(column.converter)));
  }
  result["parents"] = parents;
  result["latent_widths"] = widths;
  result["columns"] = columns;
  result["needed"] = plan->needed;
  return result;
}

nb::dict mlp_plan_of(std::uint64_t seed, std::uint64_t index, int n_features) {
  MlpPlan plan{};
  TreePlan tree{};
  draw_mlp_plan(Draws::of(seed, index), n_features, plan);
  draw_mlp_kinds(SoloLanes{}, Draws::of(seed, index), plan);
  draw_tree_plan(Draws::of(seed, index), tree);
  nb::dict result;
  const std::pair<const char*, bool> flags[] = {{"is_causal", plan.is_causal},
                                                {"y_is_effect", plan.y_is_effect},
                                                {"in_clique", plan.in_clique},
                                                {"sort_features", plan.sort_features},
                                                {"fixed_causes", plan.fixed_causes},
                                                {"fixed_noise", plan.fixed_noise},
                                                {"blocks", plan.blocks},
                                                {"by_rank", plan.by_rank},
                                                {"oblivious", tree.oblivious}};
  for (const auto& [name, value] : flags) result[name] = value;
  const std::pair<const char*, int> counts[] = {
      {"law", static_cast<int>(plan.law)}, {"n_causes", plan.n_causes},
      {"n_layers", plan.n_layers},         {"n_hidden", plan.n_hidden},
      {"tree_layers", tree.n_layers},      {"tree_hidden", tree.n_hidden},
      {"tree_depth", tree.depth},          {"n_trees", tree.n_trees}};
  for (const auto& [name, value] : counts) result[name] = value;
  result["dropout"] = plan.dropout;
  result["weight_deviation"] = plan.weight_deviation;
  result["noise"] = plan.noise;
  result["kinds"] = tensor_of({plan.kinds, plan.kinds + 2 * kMlpKinds}, {2 * kMlpKinds});
  return result;
}

void bind_plans(nb::module_& module) {
  module.def("plan", &plan_of, "seed"_a, "index"_a, "n_features"_a, "n_classes"_a,
             "min_nodes"_a = 2, "max_nodes"_a = kMostNodes, "edge_offset"_a = 0.0f,
             "max_categories"_a = 200, "even"_a = false, "few_categories"_a = false,
             "connected"_a = true);
  module.def("mlp_plan", &mlp_plan_of);
  module.def("simple_term", [](std::uint64_t seed, std::uint64_t index, int feature) {
    const SimpleTerm term = simple_term(Draws::of(seed, index), feature);
    return nb::make_tuple(term.weight, term.scale, term.shift, static_cast<int>(term.kind));
  });
}

}  // namespace

void bind_prior_draws(nb::module_& module) {
  bind_draws(module);
  bind_plans(module);
}

}  // namespace causeway::python
