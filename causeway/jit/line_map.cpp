#include "causeway/jit/line_map.h"

#include <fmt/format.h>

#include <regex>
#include <sstream>

namespace causeway::jit {

namespace {

const lang::LineEntry* find_entry(const lang::Emitted& emitted, int line) {
  for (const lang::LineEntry& entry : emitted.lines) {
    if (entry.line == line) return &entry;
  }
  return nullptr;
}

}  // namespace

int source_line(const lang::Module& module, const lang::Emitted& emitted, int line) {
  const lang::LineEntry* entry = find_entry(emitted, line);
  return entry == nullptr ? 0 : module.source->position(entry->span.begin).line;
}

std::string with_python_lines(const lang::Module& module, const lang::Emitted& emitted,
                              std::string_view log) {
  static const std::regex place(R"((?:\((\d+)\)|:(\d+):\d+): (?:error|warning|fatal))");
  std::istringstream lines{std::string(log)};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, place)) {
      const int number = std::stoi(match[1].matched ? match[1].str() : match[2].str());
      if (const lang::LineEntry* entry = find_entry(emitted, number)) {
        const lang::Place from = module.source->place(entry->span.begin);
        out += fmt::format("{}:{}: ", from.file, from.line);
      }
    }
    out += line + "\n";
  }
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace causeway::jit
