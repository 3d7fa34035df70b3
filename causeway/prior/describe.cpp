// Descriptions and counterfactuals of one dataset: it is regenerated on the CPU with a Recorder
// that receives the sampled parameters.
#include "causeway/core/error.h"
#include "causeway/prior/prior.h"
#include "causeway/prior/recipe.h"
#include "causeway/prior/rule_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace causeway::prior {

namespace {

constexpr std::array kFunctions = {"mlp",           "trees",     "nearest",
                                   "linear",        "quadratic", "gaussian process",
                                   "soft clusters", "product of"};
constexpr std::array kPoints = {"uniform", "ball", "normal", "correlated"};
constexpr std::array kAggregations = {"sum", "product", "maximum", "log-sum-exp"};
constexpr std::array kConverters = {"neighbour",        "neighbour_centre", "neighbour_function",
                                    "neighbour_number", "softmax",          "softmax_centre",
                                    "softmax_number",   "numeric",          "kumaraswamy"};
constexpr std::array kTermNames = {"sin", "cos", "tanh", "exp", ""};

// Nodes of the rules family.
constexpr int kDriverNode = 0;
constexpr int kDistractorNode = 1;
constexpr int kRuleNode = 2;

// Receives the trace of a generation and keeps what describes the dataset.
class Recorder : public Trace {
 public:
  std::map<int, std::vector<std::string>> words;  // by node
  std::set<int> categorised;  // columns of the mlp and tree families that became categorical
  std::vector<int> units;
  std::vector<int> categories;  // of the columns of the rules family, 0 for numbers

  void note(const char* name, double value) override {
    const std::string_view what = name;
    const int number = static_cast<int>(value);
    if (what == "node") node_ = number;
    if (what == "column") node_ = -1;  // a column's converter is not part of the node's mechanism
    if (what == "unit") units.push_back(number);
    if (what == "categorised") categorised.insert(number);
    if (what == "categories") categories.push_back(number);
    if (node_ < 0) return;
    if (what == "points") add_word(fmt::format("{} points through", kPoints.at(at(number))));
    if (what == "aggregation") add_word(fmt::format("{} of", kAggregations.at(at(number))));
    if (what == "function") add_word(kFunctions.at(at(number)));
  }
  void array(const char*, const float*, std::int64_t) override {}

 private:
  int node_ = -1;

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  void add_word(std::string word) { words[node_].push_back(std::move(word)); }
};

// One dataset in CPU memory, with everything that was drawn for it.
struct Regenerated {
  DatasetShape shape{};
  DatasetInfo info{};
  std::unique_ptr<Shared> shared = std::make_unique<Shared>();
  std::vector<Affine> spreads = std::vector<Affine>(kMostColumns);
  Tensor x, y, counterfactual_x, counterfactual_y;
};

Regenerated regenerate(const Recipe& recipe, std::uint64_t seed, std::uint64_t index, int attempt,
                       const OtherWorld& other, Trace* trace) {
  Regenerated made;
  made.shared->spreads = made.spreads.data();
  made.shape = shape_of(recipe, Draws::of(seed, index));
  Recipe of = recipe;
  if (other.wanted) of.arena_floats *= 3;  // two worlds, and the parameters once
  const auto arena =
      std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(of.arena_floats));
  const Shape shape = {made.shape.n_rows, made.shape.n_features};
  made.x = Tensor::empty(shape);
  made.y = Tensor::empty({made.shape.n_rows});
  DatasetOut out{made.x.data_as<float>(), made.y.data_as<float>(), made.shape.n_features};
  if (other.wanted) {
    made.counterfactual_x = Tensor::empty(shape);
    made.counterfactual_y = Tensor::empty({made.shape.n_rows});
    out.counterfactual_x = made.counterfactual_x.data_as<float>();
    out.counterfactual_y = made.counterfactual_y.data_as<float>();
  }
  made.info =
      make_dataset(Solo{trace}, of, seed, index, attempt, other, *made.shared, arena.get(), out);
  if (made.info.verdict != static_cast<std::int32_t>(Verdict::accepted)) {
    fail(ErrorKind::invalid_argument, "prior",
         fmt::format("dataset {} of seed {}: all attempts were rejected by the filters", index,
                     seed));
  }
  return made;
}

DatasetFacts facts_of(const Regenerated& made, std::uint64_t index) {
  DatasetFacts facts;
  facts.index = index;
  facts.family = family_names()[static_cast<std::size_t>(made.info.family)];
  facts.n_rows = made.info.n_rows;
  facts.n_features = made.info.n_features;
  facts.n_classes = made.info.n_classes;
  facts.n_train = made.info.n_train;
  facts.n_attempts = made.info.attempts + 1;
  facts.bayes_error = static_cast<double>(made.info.bayes_error);
  facts.rejected.assign(made.info.rejected + 1,
                        made.info.rejected + static_cast<int>(Verdict::n_verdicts));
  return facts;
}

void describe_graph(const GraphPlan& plan, const Recorder& recorder, Description& description) {
  for (int node = 0; node < plan.n_nodes; ++node) {
    if ((plan.needed >> node & 1u) == 0) continue;
    Mechanism mechanism;
    mechanism.id = node;
    for (int parent = 0; parent < node; ++parent) {
      if ((plan.parents[node] >> parent & 1u) != 0) mechanism.parents.push_back(parent);
    }
    const auto words = recorder.words.find(node);
    if (words != recorder.words.end())
      mechanism.what = fmt::format("{}", fmt::join(words->second, " "));
    mechanism.width = width_of(plan, node);
    description.mechanisms.push_back(mechanism);
  }
}

// The causes first, then one mechanism per layer; the target is read from the last.
void describe_layers(int n_causes, int n_layers, int width, const std::string& what,
                     Description& description) {
  description.mechanisms.push_back({0, {}, "causes", n_causes});
  for (int layer = 1; layer <= n_layers; ++layer) {
    description.mechanisms.push_back({layer, {layer - 1}, what, width});
  }
}

// Drivers, distractors if there are any, and the rule.
void describe_rules(const Regenerated& made, Description& description) {
  const RulesPlan& plan = made.shared->rules;
  std::vector<std::string> names(static_cast<std::size_t>(plan.n_drivers), "a constant");
  for (int f = 0; f < made.info.n_features; ++f) {
    const int column = made.shared->feature_order[f];
    if (column < plan.n_drivers) names[static_cast<std::size_t>(column)] = fmt::format("x{}", f);
  }
  description.mechanisms.push_back({kDriverNode, {}, "drivers", plan.n_drivers});
  const int n_distractors = made.shape.n_features - plan.n_drivers;
  if (n_distractors > 0) {
    description.mechanisms.push_back({kDistractorNode, {}, "distractors", n_distractors});
  }
  description.mechanisms.push_back(
      {kRuleNode, {kDriverNode}, rule_text(plan, made.shape.n_classes, names), 1});
}

std::string linear_text(const LinearPlan& plan) {
  constexpr std::array kBends = {"", "its square", "its tanh", "a product of two columns"};
  std::string text = fmt::format("weighted sum of {:.0f}% of the columns", 100 * plan.dense);
  if (plan.bend != Bend::none) {
    text += fmt::format(" + {:.2g} times {}", plan.bent,
                        kBends.at(static_cast<std::size_t>(plan.bend)));
  }
  return fmt::format("{}; noise {:.2g}", text, plan.noise);
}

std::string simple_formula(const Draws& draws, int n_features) {
  std::vector<std::string> terms;
  for (int f = 0; f < n_features; ++f) {
    const SimpleTerm term = simple_term(draws, f);
    terms.push_back(fmt::format("{:.3g} {}({:.3g} x{} + {:.3g})", term.weight,
                                kTermNames.at(static_cast<std::size_t>(term.kind)), term.scale, f,
                                term.shift));
  }
  return fmt::format("{}", fmt::join(terms, " + "));
}

ColumnSource source_of(const Regenerated& made, const Recorder& recorder, int column,
                       int n_layers) {
  const Shared& shared = *made.shared;
  const int n_features = made.shape.n_features;
  ColumnSource source;
  const bool tidied = made.shape.family != Family::simple;
  const bool is_target = column == n_features;
  if (tidied && !(is_target && made.shape.draws_classes())) {
    source.mean = static_cast<double>(shared.spreads[column].mean);
    source.deviation = static_cast<double>(shared.spreads[column].deviation);
  }
  if (made.shape.family == Family::graph) {
    const ColumnPlan& plan = shared.graph.columns[column];
    source.node = plan.node;
    source.kind = kConverters.at(static_cast<std::size_t>(plan.converter));
    source.n_categories = plan.n_categories;
    return source;
  }
  const bool is_rules = made.shape.family == Family::rules;
  if (is_rules && !is_target) {
    source.n_categories = recorder.categories.at(static_cast<std::size_t>(column));
  }
  const bool is_categorical = source.n_categories > 0 || recorder.categorised.count(column) > 0;
  source.kind = is_categorical ? "categories" : "numeric";
  if (is_target && made.shape.n_classes > 0) source.kind = "classes";
  if (is_target) source.n_categories = made.shape.n_classes;
  source.node = is_target ? n_layers : 0;
  if (is_rules && !is_target && column >= shared.rules.n_drivers) source.node = kDistractorNode;
  if (made.shape.family == Family::mlp && shared.mlp.is_causal) {
    source.node = 1 + recorder.units.at(static_cast<std::size_t>(column)) / shared.mlp.n_hidden + 1;
  }
  return source;
}

}  // namespace

Description Prior::describe(std::uint64_t index) const {
  const Recipe& recipe = *recipe_;
  const Regenerated found = regenerate(recipe, config_.seed, index, 0, OtherWorld{}, nullptr);
  Recorder recorder;
  const Regenerated made =
      regenerate(recipe, config_.seed, index, found.info.attempts, OtherWorld{}, &recorder);
  Description description;
  description.facts = facts_of(found, index);
  const Shared& shared = *made.shared;
  int n_layers = 1;
  switch (made.shape.family) {
    case Family::graph: describe_graph(shared.graph, recorder, description); break;
    case Family::rules:
      n_layers = kRuleNode;
      describe_rules(made, description);
      break;
    case Family::simple: {
      Draws draws = Draws::of(config_.seed, index);
      draws.attempt = static_cast<std::uint32_t>(found.info.attempts);
      describe_layers(made.shape.n_features, 1, 1, simple_formula(draws, made.shape.n_features),
                      description);
      break;
    }
    case Family::linear:
      describe_layers(made.shape.n_features, 1, 1, linear_text(shared.linear), description);
      break;
    case Family::tree:
      n_layers = shared.tree.n_layers + 1;
      describe_layers(made.shape.n_features, n_layers, shared.tree.n_hidden,
                      shared.tree.oblivious ? "oblivious trees" : "forest of noise", description);
      break;
    default:
      n_layers = shared.mlp.n_layers + (shared.mlp.is_causal ? 0 : 1);
      describe_layers(shared.mlp.n_causes, n_layers, shared.mlp.n_hidden, "network layer",
                      description);
  }
  for (int f = 0; f < made.info.n_features; ++f) {
    description.features.push_back(source_of(made, recorder, shared.feature_order[f], n_layers));
  }
  description.target = source_of(made, recorder, made.shape.n_features, n_layers);
  return description;
}

std::vector<int> Description::descendants_of(int node) const {
  std::set<int> reached = {node};
  for (const Mechanism& mechanism : mechanisms) {
    for (int parent : mechanism.parents) {
      if (reached.count(parent) > 0) reached.insert(mechanism.id);
    }
  }
  return {reached.begin(), reached.end()};
}

std::string Description::to_json() const {
  using Json = nlohmann::ordered_json;
  const auto column = [](const ColumnSource& source) {
    return Json{{"node", source.node},
                {"kind", source.kind},
                {"n_categories", source.n_categories},
                {"mean", source.mean},
                {"deviation", source.deviation}};
  };
  Json json{{"index", facts.index},           {"family", facts.family},
            {"n_rows", facts.n_rows},         {"n_features", facts.n_features},
            {"n_classes", facts.n_classes},   {"n_train", facts.n_train},
            {"n_attempts", facts.n_attempts}, {"bayes_error", facts.bayes_error}};
  json["nodes"] = Json::array();
  for (const Mechanism& mechanism : mechanisms) {
    json["nodes"].push_back({{"id", mechanism.id},
                             {"parents", mechanism.parents},
                             {"mechanism", mechanism.what},
                             {"width", mechanism.width}});
  }
  json["features"] = Json::array();
  for (const ColumnSource& source : features) json["features"].push_back(column(source));
  json["target"] = column(target);
  return json.dump();
}

Counterfactual Prior::intervene(std::uint64_t index, int column, double value) const {
  const Recipe& recipe = *recipe_;
  Recorder recorder;
  const Regenerated found = regenerate(recipe, config_.seed, index, 0, OtherWorld{}, nullptr);
  const Regenerated traced =
      regenerate(recipe, config_.seed, index, found.info.attempts, OtherWorld{}, &recorder);
  if (column < 0 || column >= found.info.n_features) {
    fail(ErrorKind::invalid_argument, "prior.intervene",
         fmt::format("column {}: dataset {} has columns 0 to {}", column, index,
                     found.info.n_features - 1));
  }
  const int inner = found.shared->feature_order[column];
  if (recorder.categorised.count(inner) > 0) {
    fail(
        ErrorKind::invalid_argument, "prior.intervene",
        fmt::format(
            "column {} of dataset {} was converted to categories after other columns were computed "
            "from its value; intervene on a numeric column instead",
            column, index));
  }
  const ColumnSource source = source_of(traced, recorder, inner, 1);
  double raw = value * source.deviation + source.mean;
  if (source.n_categories > 0) {
    // The nearest category in the output; rare ones may be clamped.
    const Affine& spread = found.shared->spreads[inner];
    double least = 1e300;
    const double wanted = raw;
    for (int k = 0; k < source.n_categories; ++k) {
      const double shown = std::clamp(static_cast<float>(k), spread.low, spread.high);
      if (std::abs(shown - wanted) >= least) continue;
      least = std::abs(shown - wanted);
      raw = k;
    }
  }
  OtherWorld other;
  other.wanted = true;
  other.intervention = {inner, static_cast<float>(raw)};
  const Regenerated made =
      regenerate(recipe, config_.seed, index, found.info.attempts, other, nullptr);
  const auto trim = [&](const Tensor& x) { return x.slice(1, 0, made.info.n_features); };
  return {trim(made.x), made.y, trim(made.counterfactual_x), made.counterfactual_y};
}

Counterfactual Prior::without_noise(std::uint64_t index) const {
  const Recipe& recipe = *recipe_;
  const Regenerated found = regenerate(recipe, config_.seed, index, 0, OtherWorld{}, nullptr);
  OtherWorld other;
  other.wanted = true;
  other.noiseless = true;
  const Regenerated made =
      regenerate(recipe, config_.seed, index, found.info.attempts, other, nullptr);
  const auto trim = [&](const Tensor& x) { return x.slice(1, 0, made.info.n_features); };
  return {trim(made.x), made.y, trim(made.counterfactual_x), made.counterfactual_y};
}

}  // namespace causeway::prior
