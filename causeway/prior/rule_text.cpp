#include "causeway/prior/rule_text.h"

#include <fmt/format.h>

namespace causeway::prior {

namespace {

std::string lines_text(const RulesPlan& plan, int n_classes,
                       const std::vector<std::string>& names) {
  std::vector<std::string> lines;
  for (int line = 0; line < plan.n_lines; ++line) {
    std::string text;
    for (std::size_t k = 0; k < names.size(); ++k) {
      if ((plan.lines[line] >> k & 1u) != 0) text += (text.empty() ? "" : " ") + names[k];
    }
    lines.push_back(std::move(text));
  }
  return fmt::format("{} of {} lines: {}", n_classes == 2 ? "any" : "first", plan.n_lines,
                     fmt::join(lines, " | "));
}

// For two classes the count from which on the class is the other one.
std::string count_text(const RulesPlan& plan, int n_classes) {
  if (n_classes != 2) return "count of ";
  int least = 1;
  while (least < plan.n_drivers && plan.values[least] == plan.values[0]) ++least;
  return fmt::format("at least {} of ", least);
}

std::string lookup_text(const RulesPlan& plan, const std::vector<std::string>& names) {
  std::vector<std::string> drivers;
  for (std::size_t k = 0; k < names.size(); ++k) {
    drivers.push_back(fmt::format("{} ({} states)", names[k], plan.drivers[k].n_states));
  }
  return fmt::format("lookup in {}", fmt::join(drivers, ", "));
}

std::string comparison_text(const RulesPlan& plan, const std::vector<std::string>& names) {
  if (names.size() == 2) return fmt::format("comparison of {} and {}", names[0], names[1]);
  const char operation = plan.multiplies ? '*' : '+';
  return fmt::format("comparison of {0} {4} {1} and {2} {4} {3}", names[0], names[1], names[2],
                     names[3], operation);
}

}  // namespace

std::string rule_text(const RulesPlan& plan, int n_classes, const std::vector<std::string>& names) {
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  std::string text;
  switch (plan.rule) {
    case Rule::parity:
      text = plan.n_outcomes > 2
                 ? fmt::format("sum of {} modulo {}", all, plan.n_outcomes)
                 : fmt::format("{} of {}", plan.n_drivers == 2 ? "XOR" : "parity", all);
      break;
    case Rule::conjunction: text = "AND/OR of " + all; break;
    case Rule::count: text = count_text(plan, n_classes) + all; break;
    case Rule::list: text = "decision list over " + all; break;
    case Rule::tree: text = "decision tree over " + all; break;
    case Rule::lines: text = lines_text(plan, n_classes, names); break;
    case Rule::lookup: text = lookup_text(plan, names); break;
    case Rule::comparison: text = comparison_text(plan, names); break;
  }
  if (n_classes == 0) return fmt::format("{}; noise {:.2g}", text, plan.noise);
  if (plan.noise > 0) text += fmt::format("; {:.1f}% random labels", 100 * plan.noise);
  return text;
}

}  // namespace causeway::prior
