// Draws a graph in layers: a node is below all its parents, near their mean position.
#include "causeway/report/drawing.h"

#include "causeway/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace causeway::report {

namespace {

constexpr double kGraphWidth = 300;
constexpr double kGraphHeight = 220;
constexpr double kGraphMargin = 16;
constexpr int kSweeps = 8;

struct Placed {
  const GalleryNode* node = nullptr;
  int layer = 0;
  double order = 0;  // within the layer
  double x = 0;
  double y = 0;
};

using Nodes = std::map<int, Placed>;

Nodes in_layers(const std::vector<GalleryNode>& nodes) {
  Nodes placed;
  for (const GalleryNode& node : nodes) {  // parents come first
    Placed& into = placed[node.id];
    into.node = &node;
    into.order = static_cast<double>(placed.size());
    for (const int parent : node.parents) {
      const auto found = placed.find(parent);
      if (found != placed.end()) into.layer = std::max(into.layer, found->second.layer + 1);
    }
  }
  return placed;
}

std::vector<std::vector<Placed*>> rows_of(Nodes& nodes) {
  std::vector<std::vector<Placed*>> rows;
  for (auto& [id, node] : nodes) {
    if (static_cast<int>(rows.size()) <= node.layer)
      rows.resize(static_cast<std::size_t>(node.layer) + 1);
    rows[static_cast<std::size_t>(node.layer)].push_back(&node);
  }
  return rows;
}

// Distributes a layer evenly, ordered by the mean position of the nodes' neighbours.
void spread(std::vector<Placed*>& row) {
  std::stable_sort(row.begin(), row.end(),
                   [](const Placed* a, const Placed* b) { return a->order < b->order; });
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i]->x = kGraphMargin + (kGraphWidth - 2 * kGraphMargin) * (static_cast<double>(i) + 0.5) /
                                   static_cast<double>(row.size());
  }
}

void arrange(Nodes& nodes, std::vector<std::vector<Placed*>>& rows) {
  std::map<int, std::vector<Placed*>> children;
  for (auto& [id, node] : nodes) {
    for (const int parent : node.node->parents) children[parent].push_back(&node);
  }
  for (auto& row : rows) spread(row);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const bool is_down = sweep % 2 == 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto& row = rows[is_down ? i : rows.size() - 1 - i];
      for (Placed* node : row) {
        double sum = 0;
        int count = 0;
        if (is_down) {
          for (const int parent : node->node->parents) {
            const auto found = nodes.find(parent);
            if (found != nodes.end()) sum += found->second.x, ++count;
          }
        } else {
          for (const Placed* child : children[node->node->id]) sum += child->x, ++count;
        }
        node->order = count > 0 ? sum / count : node->x;
      }
      spread(row);
    }
  }
  const auto n_rows = static_cast<double>(rows.size());
  for (auto& [id, node] : nodes) {
    // Long chains are drawn as a wave, so that edges past a node are visible.
    const auto in_row = static_cast<double>(rows[static_cast<std::size_t>(node.layer)].size());
    if (rows.size() > 4 && in_row <= 2) node.x += 70 / in_row * std::sin(2.4 * node.layer);
    node.y = kGraphMargin + (kGraphHeight - 2 * kGraphMargin) * (node.layer + 0.5) / n_rows;
  }
}

// An edge that crosses other layers bends around their nodes.
std::string edge_path(const Placed& from, const Placed& to) {
  const int passed = to.layer - from.layer - 1;
  const double side = (from.node->id + to.node->id) % 2 == 0 ? 1.0 : -1.0;
  const double bow = side * std::min(passed * 14.0, kGraphWidth / 3);
  const double bend = (to.y - from.y) / 2;
  return fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, from.y,
                     from.x + bow, from.y + bend, to.x + bow, to.y - bend, to.x, to.y);
}

// Whether `to` is reached from `from` through another of its parents.
bool has_longer_path(const Nodes& nodes, int from, int to) {
  std::vector<int> open;
  std::set<int> seen;
  for (const int parent : nodes.at(to).node->parents) {
    if (parent != from) open.push_back(parent);
  }
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (id == from) return true;
    const auto found = nodes.find(id);
    if (found == nodes.end() || !seen.insert(id).second) continue;
    const std::vector<int>& parents = found->second.node->parents;
    open.insert(open.end(), parents.begin(), parents.end());
  }
  return false;
}

// Edges are below nodes; those that a longer path implies are fainter.
std::string edges_of(const Nodes& nodes) {
  std::string direct;
  std::string indirect;
  for (const auto& [id, node] : nodes) {
    for (const int parent : node.node->parents) {
      const auto found = nodes.find(parent);
      if (found == nodes.end()) continue;
      (has_longer_path(nodes, parent, id) ? indirect : direct) += edge_path(found->second, node);
    }
  }
  std::string text;
  if (!indirect.empty()) {
    text += fmt::format("<path class=\"edge indirect\" d=\"{}\"/>", indirect);
  }
  if (!direct.empty()) text += fmt::format("<path class=\"edge\" d=\"{}\"/>", direct);
  return text;
}

std::string words_of(const GalleryNode& node) {
  std::string words = fmt::format("node {}: {}", node.id, node.what);
  if (node.n_columns > 0) {
    words += fmt::format("; {} column{}", node.n_columns, node.n_columns > 1 ? "s" : "");
  }
  return words + (node.is_target ? "; target" : "");
}

}  // namespace

std::string draw_graph(const std::vector<GalleryNode>& nodes) {
  Nodes placed = in_layers(nodes);
  auto rows = rows_of(placed);
  arrange(placed, rows);
  std::size_t widest = 1;
  for (const auto& row : rows) widest = std::max(widest, row.size());
  const double room =
      std::min((kGraphWidth - 2 * kGraphMargin) / static_cast<double>(widest),
               (kGraphHeight - 2 * kGraphMargin) / std::max(static_cast<double>(rows.size()), 1.0));
  const double radius = std::clamp(room * 0.32, 3.4, 8.0);

  std::string inside =
      fmt::format("<rect class=\"frame\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>",
                  kGraphWidth - 1, kGraphHeight - 1);
  inside += edges_of(placed);
  std::vector<ShownValue> values;
  for (const auto& [id, node] : placed) {
    const char* kind = node.node->is_target       ? "node target"
                       : node.node->n_columns > 0 ? "node feature"
                                                  : "node";
    inside += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", kind,
                          node.x, node.y, radius);
    if (node.node->is_target && node.node->n_columns > 0) {
      inside += fmt::format("<circle class=\"core\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>",
                            node.x, node.y, radius * 0.45);
    }
    inside += fmt::format("<text class=\"number\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                          node.x + radius + 2, node.y + 3, id);
    values.push_back(
        {100 * node.x / kGraphWidth, 100 * node.y / kGraphHeight, words_of(*node.node)});
  }
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"causal graph\"{}>{}</svg>", kGraphWidth,
      kGraphHeight, values_attribute(values), inside);
}

}  // namespace causeway::report
