#include "causeway/report/gallery.h"

#include "causeway/report/drawing.h"
#include "causeway/report/informative_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace causeway::report {

namespace {

constexpr std::size_t kMarginals = 9;  // besides the target's

std::string legend() {
  const auto item = [](const char* kind, const char* words) {
    return fmt::format(
        "<span><svg viewBox=\"0 0 14 14\"><circle class=\"{}\" cx=\"7\" cy=\"7\" r=\"5.5\"/></svg>"
        "{}</span>",
        kind, words);
  };
  return fmt::format(
      "<div class=\"legend\">{}{}{}<span>causes are above effects; the "
      "mechanisms list their nodes by number</span></div>",
      item("node feature", "feature"), item("node target", "target"), item("node", "latent"));
}

std::string figure(const std::string& name, const std::string& picture) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", picture, escaped(name));
}

std::string marginals(const GalleryDataset& dataset, const std::vector<int>& order) {
  std::string text = figure(dataset.n_classes > 0 ? "y · classes" : "y · number",
                            draw_histogram(dataset.target, dataset.n_classes));
  for (std::size_t i = 0; i < std::min(order.size(), kMarginals); ++i) {
    const GalleryColumn& column = dataset.features[static_cast<std::size_t>(order[i])];
    text +=
        figure(fmt::format("{} · {}", column.name, column.kind), draw_histogram(column.values, 0));
  }
  return fmt::format("<div class=\"marginals\">{}</div>", text);
}

// Each mechanism with its nodes.
std::string mechanisms(const GalleryDataset& dataset) {
  Facts list;
  for (const GalleryNode& node : dataset.nodes) {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const auto& entry) { return entry.first == node.what; });
    if (found == list.end()) {
      list.emplace_back(node.what, std::to_string(node.id));
    } else {
      found->second += fmt::format(", {}", node.id);
    }
  }
  return list.empty() ? "" : "<h3>Mechanisms</h3>\n" + facts_html(list, "mechanisms");
}

// Buttons that show the datasets of one family; empty if there is only one.
std::string family_filter(const std::vector<GalleryDataset>& datasets) {
  std::map<std::string, int> counts;
  for (const GalleryDataset& dataset : datasets) ++counts[dataset.family];
  if (counts.size() < 2) return "";
  std::string buttons =
      fmt::format("<button type=\"button\" data-family=\"\" aria-pressed=\"true\">all {}</button>",
                  datasets.size());
  for (const auto& [family, count] : counts) {
    buttons += fmt::format(
        "<button type=\"button\" data-family=\"{0}\" aria-pressed=\"false\">{0} {1}</button>",
        escaped(family), count);
  }
  return fmt::format("<div class=\"filter\" role=\"group\" aria-label=\"Family\">{}</div>",
                     buttons);
}

std::string card(const GalleryDataset& dataset) {
  const std::vector<int> order = informative_columns(dataset);
  std::string scatter;
  if (dataset.n_classes == 0) {
    scatter = order.empty() ? "" : draw_curve(dataset, order[0]);
  } else if (!order.empty()) {
    scatter = draw_classes(dataset, order[0], order.size() > 1 ? order[1] : -1);
  }
  return fmt::format(
      "<article data-of=\"{}\">\n<h2>{}</h2>\n<button type=\"button\" "
      "class=\"enlarge\">Enlarge</button>"
      "\n<div class=\"pictures\">{}{}</div>\n{}\n{}\n{}\n{}\n</article>\n",
      escaped(dataset.family), escaped(dataset.title), scatter, draw_graph(dataset.nodes),
      mechanisms(dataset), marginals(dataset, order), facts_html(dataset.facts),
      command_html(dataset.command));
}

}  // namespace

std::string gallery_html(const GalleryPage& page) {
  std::string cards;
  for (const GalleryDataset& dataset : page.datasets) cards += card(dataset);
  return page_html({page.title, page.about,
                    command_html(page.command) + "\n" + legend() + family_filter(page.datasets),
                    cards, true});
}

}  // namespace causeway::report
