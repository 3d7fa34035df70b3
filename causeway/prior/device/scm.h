// The plan of a dataset of the graph family: nodes, parents, and the node that each column is read
// from. Drawn by one thread, shared by the team.
#pragma once

#include "causeway/prior/device/sampler.h"

namespace causeway::prior {

inline constexpr int kMostNodes = 32;
inline constexpr int kMostFeatures = 256;
inline constexpr int kMostColumns = kMostFeatures + 1;  // plus the target, which is last

// How a categorical column takes its category, and whether the node's values are replaced: they
// stay, or become the centre, a function of the centre, or the category's number.
enum class Converter : std::uint8_t {
  neighbour,
  neighbour_centre,
  neighbour_function,
  neighbour_number,
  softmax,
  softmax_centre,
  softmax_number,
  numeric,
  kumaraswamy
};

CAUSEWAY_HOST_DEVICE bool is_softmax(Converter how) {
  return how == Converter::softmax || how == Converter::softmax_centre ||
         how == Converter::softmax_number;
}

struct ColumnPlan {
  std::int16_t node;
  std::int16_t n_categories;  // 0: numeric
  std::int16_t width;         // node values that it reads
  Converter converter;
};

struct GraphOptions {
  int min_nodes = 2;
  int max_nodes = kMostNodes;
  float edge_offset = 0.0f;  // larger: denser graphs
  int max_categories = 200;
  // Known bugs of the reference implementation: uncorrelated choices; the Kumaraswamy warp also
  // changes the node's values; at most nine categories.
  bool even_choices = false;
  bool warp_node_values = false;
  bool few_categories = false;
  bool connected = true;  // features and target share an ancestor
  bool noise = false;     // Gaussian noise on node values
};

struct GraphPlan {
  int n_nodes;
  int n_features;
  std::uint32_t parents[kMostNodes];  // bit masks
  std::uint32_t needed;               // nodes that a column depends on
  std::int16_t latent_width[kMostNodes];
  ColumnPlan columns[kMostColumns];
  ChoiceTable choices;
};

// Sites of plans are distinct from those of their evaluation.
inline constexpr std::uint32_t kPlanSite = 0x40000000u;

// Counts through the sites of a plan, which one thread draws.
struct PlanDraws {
  Draws draws;
  std::uint32_t site;
  const ChoiceTable* choices;

  CAUSEWAY_HOST_DEVICE std::uint32_t next_site() { return site++; }
  CAUSEWAY_HOST_DEVICE float uniform() { return draws.uniform(next_site(), 0); }
  CAUSEWAY_HOST_DEVICE int below(int n) { return bounded(draws.bits(next_site(), 0).word[0], n); }
  CAUSEWAY_HOST_DEVICE float cauchy() {  // tangent of a uniform angle
    float sine, cosine;
    elementary::sincos_turns(uniform(), sine, cosine);
    return sine / (cosine == 0.0f ? 1e-7f : cosine);
  }
};

CAUSEWAY_HOST_DEVICE bool edge_drawn(float logit, float uniform) {
  return uniform <= 1.0f / (1.0f + elementary::exp(clamped(-logit, -80.0f, 80.0f)));
}

// Draws edges i -> j for i < j; each node has an out-propensity and an in-propensity.
CAUSEWAY_HOST_DEVICE_CALL void draw_edges(PlanDraws& d, float offset, GraphPlan& plan) {
  const float base = d.cauchy() + offset;
  float gives[kMostNodes];
  float takes[kMostNodes];
  for (int i = 0; i < plan.n_nodes; ++i) gives[i] = d.cauchy();
  for (int i = 0; i < plan.n_nodes; ++i) takes[i] = d.cauchy();
  const std::uint32_t site = d.next_site();
  for (int j = 0; j < plan.n_nodes; ++j) {
    plan.parents[j] = 0;
    Bits128 bits{};
    for (int i = 0; i < j; ++i) {
      if (i % 4 == 0) {
        bits = d.draws.bits(site, static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(i / 4));
      }
      if (edge_drawn(base + takes[j] + gives[i], open_uniform(bits.word[i % 4]))) {
        plan.parents[j] |= 1u << i;
      }
    }
  }
}

// Assigns each column to a node of a random subset.
CAUSEWAY_HOST_DEVICE_CALL void place_columns(PlanDraws& d, GraphPlan& plan, int first, int last) {
  const int n_places = integer(d, Number::n_feature_nodes, 1, plan.n_nodes + 1);
  std::int16_t nodes[kMostNodes];
  for (int i = 0; i < plan.n_nodes; ++i) nodes[i] = static_cast<std::int16_t>(i);
  for (int i = 0; i < n_places; ++i) {
    const int other = i + d.below(plan.n_nodes - i);
    const std::int16_t node = nodes[other];
    nodes[other] = nodes[i];
    nodes[i] = node;
  }
  const std::uint32_t site = d.next_site();
  for (int c = first; c < last; ++c) {
    const auto at = static_cast<std::uint32_t>(c);
    plan.columns[c].node = nodes[bounded(d.draws.bits(site, at).word[0], n_places)];
  }
}

// The ancestors of some columns, as a bit mask.
CAUSEWAY_HOST_DEVICE_CALL std::uint32_t ancestors_of(const GraphPlan& plan, int first, int last) {
  std::uint32_t found = 0;
  for (int c = first; c < last; ++c) found |= 1u << plan.columns[c].node;
  for (int node = plan.n_nodes - 1; node >= 0; --node) {
    if ((found >> node & 1u) != 0) found |= plan.parents[node];
  }
  return found;
}

// Draws the number of categories of each feature; numeric features come first.
CAUSEWAY_HOST_DEVICE_CALL void draw_categories(PlanDraws& d, const GraphOptions& options,
                                               GraphPlan& plan) {
  const int n = plan.n_features;
  const float share = clamped(1.7f * d.uniform() - 0.5f, 0.0f, 1.0f);
  const int n_categorical = static_cast<int>(elementary::nearest(static_cast<float>(n) * share));
  const int n_free =
      integer(d, Number::n_numbers, 0, n_categorical + 1, false, Mode::independent, true);
  const int most = options.max_categories;
  const int limit = options.few_categories
                        ? integer(d, Number::category_limit, 2, most + 1 < 10 ? most + 1 : 10, true)
                        : integer(d, Number::category_limit, 2, most + 1, true, Mode::independent);
  for (int c = 0; c < n; ++c) {
    int size = 0;
    if (c >= n - n_categorical && c < n - n_categorical + n_free) {
      size = integer(d, Number::category_size, 2, limit + 1, true, Mode::independent);
    } else if (c >= n - n_categorical) {
      size = integer(d, Number::category_size, 2, limit + 1 < 10 ? limit + 1 : 10, true);
    }
    plan.columns[c].n_categories = static_cast<std::int16_t>(size);
  }
}

// Draws the converter of a column and how many node values it reads.
template <class D>
CAUSEWAY_HOST_DEVICE_CALL void draw_converter(D& d, ColumnPlan& column) {
  const int n = column.n_categories;
  column.width = 1;
  if (n == 0) {
    const bool warped = choose(d, Choice::numeric_converter) == 1;
    column.converter = warped ? Converter::kumaraswamy : Converter::numeric;
    return;
  }
  column.converter = static_cast<Converter>(choose(d, Choice::categorical_converter));
  if (is_softmax(column.converter) || choose(d, Choice::categorical_wide) == 1) {
    column.width = static_cast<std::int16_t>(n);
  } else {
    column.width =
        static_cast<std::int16_t>(integer(d, Number::n_numbers, 1, n, true, Mode::independent));
  }
}

}  // namespace causeway::prior
