// The plan of a dataset of the graph family: its nodes, their parents, and which node every column
// is read from. Drawn by one thread, shared by the team.
#pragma once

#include "causeway/prior/device/sampler.h"

namespace causeway::prior {

inline constexpr int kMostNodes = 32;
inline constexpr int kMostFeatures = 256;
inline constexpr int kMostColumns = kMostFeatures + 1;  // and the target, which comes last

// How a categorical column takes its category, and what becomes of the node's values it was taken
// from: they stay, or become the centre, a function of the centre, or the category's number.
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
  std::int16_t n_categories;  // 0 for numbers
  std::int16_t width;         // of the node's values that it reads
  Converter converter;
};

struct GraphOptions {
  int min_nodes = 2;
  int max_nodes = kMostNodes;
  float edge_offset = 0.0f;  // greater: denser graphs
  int max_categories = 200;
  // The reference's known bugs: categories without correlation; Kumaraswamy's warp on the node's
  // values as well as the column; no more than nine categories.
  bool even_choices = false;
  bool warp_node_values = false;
  bool few_categories = false;
  bool connected = true;  // features and target share an ancestor
  bool noise = false;     // Gaussian, added to the nodes' values
};

struct GraphPlan {
  int n_nodes;
  int n_features;
  std::uint32_t parents[kMostNodes];  // as bits
  std::uint32_t needed;               // nodes that a column depends on
  std::int16_t latent_width[kMostNodes];
  ColumnPlan columns[kMostColumns];
  ChoiceTable choices;
};

// Sites of a plan lie apart from those of its evaluation.
inline constexpr std::uint32_t kPlanSite = 0x40000000u;

// Counts up through the sites of a plan that one thread draws.
struct PlanDraws {
  Draws draws;
  std::uint32_t site;
  const ChoiceTable* choices;

  CAUSEWAY_HOST_DEVICE std::uint32_t next_site() { return site++; }
  CAUSEWAY_HOST_DEVICE float uniform() { return draws.uniform(next_site(), 0); }
  CAUSEWAY_HOST_DEVICE int below(int n) { return bounded(draws.bits(next_site(), 0).word[0], n); }
  CAUSEWAY_HOST_DEVICE float cauchy() {  // the tangent of an even angle
    float sine, cosine;
    elementary::sincos_turns(uniform(), sine, cosine);
    return sine / (cosine == 0.0f ? 1e-7f : cosine);
  }
};

CAUSEWAY_HOST_DEVICE bool edge_drawn(float logit, float uniform) {
  return uniform <= 1.0f / (1.0f + elementary::exp(clamped(-logit, -80.0f, 80.0f)));
}

// Edges i -> j for i < j, more likely from nodes that give much to nodes that take much.
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

// A random subset of the nodes; each column goes to one of it.
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

// The nodes that some columns depend on.
CAUSEWAY_HOST_DEVICE_CALL std::uint32_t ancestors_of(const GraphPlan& plan, int first, int last) {
  std::uint32_t found = 0;
  for (int c = first; c < last; ++c) found |= 1u << plan.columns[c].node;
  for (int node = plan.n_nodes - 1; node >= 0; --node) {
    if ((found >> node & 1u) != 0) found |= plan.parents[node];
  }
  return found;
}

// How many categories each feature has; the numeric ones come first.
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

// How a column is read, and how many of its node's values it takes.
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
