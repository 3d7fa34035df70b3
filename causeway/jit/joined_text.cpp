#include "causeway/jit/joined_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace causeway::jit {

namespace {

constexpr std::string_view kHalfHeader = "#include <cuda_fp16.h>\n";

// A type or function that a kernel sees, and the namespace that holds it.
struct Visible {
  std::string_view name;
  std::size_t space = 0;
};

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// What precedes a kernel, one text for each type and function.
std::vector<std::string_view> definitions_of(const lang::Emitted& kernel) {
  constexpr std::string_view kEnd = "\n\n";
  std::vector<std::string_view> list;
  std::string_view rest = std::string_view(kernel.text).substr(0, kernel.kernel_begin);
  if (rest.starts_with(kHalfHeader)) rest.remove_prefix(kHalfHeader.size() + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find(kEnd);
    const std::size_t size = end == std::string_view::npos ? rest.size() : end + kEnd.size();
    list.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return list;
}

// NAME in "struct NAME {" or in "TYPE NAME(".
std::string_view name_in(std::string_view definition) {
  constexpr std::string_view kStruct = "struct ";
  if (definition.starts_with(kStruct)) {
    definition.remove_prefix(kStruct.size());
    return definition.substr(0, definition.find(' '));
  }
  const std::string_view head = definition.substr(0, definition.find('('));
  return head.substr(head.find_last_of(' ') + 1);
}

// Whether the text may use the type, function or operator.
bool mentions(std::string_view text, std::string_view name) {
  constexpr std::string_view kOperator = "operator";
  if (!in_name(name.back()) && name.starts_with(kOperator))
    return text.find(name.substr(kOperator.size())) != std::string_view::npos;
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !in_name(text[at - 1]);
    if (begins && (end == text.size() || !in_name(text[end]))) return true;
  }
  return false;
}

class JoinedText {
 public:
  // The kernel with its definitions.
  void add_separately(const lang::Emitted& kernel, std::size_t number) {
    std::string content = kernel.text;
    if (const std::size_t at = content.find(kHalfHeader); at != std::string::npos)
      content.erase(at, kHalfHeader.size());
    add_kernel(number, "", content);
  }

  // Each definition has a namespace, in which the earlier ones that it may use are visible. Two are
  // the same if their texts are and if they see the same ones.
  void add(const lang::Emitted& kernel, std::size_t number) {
    const std::vector<std::string_view> definitions = definitions_of(kernel);
    const std::unordered_set<std::string_view> different(definitions.begin(), definitions.end());
    // One namespace for both would hide that NVRTC refuses the kernel.
    if (different.size() < definitions.size()) return add_separately(kernel, number);
    std::vector<Visible> visible;
    for (const std::string_view definition : definitions) {
      std::string content;
      for (const Visible& earlier : visible) {
        if (mentions(definition, earlier.name)) content += declaration(earlier);
      }
      content += definition;
      visible.push_back({name_in(definition), space_of(std::move(content))});
    }
    std::string declarations;
    for (const Visible& definition : visible) declarations += declaration(definition);
    add_kernel(number, declarations, std::string_view(kernel.text).substr(kernel.kernel_begin));
  }

  std::string text;

 private:
  static std::string declaration(const Visible& definition) {
    return fmt::format("using ::definition_{}::{};\n", definition.space, definition.name);
  }

  std::size_t space_of(std::string content) {
    const auto [place, is_new] = spaces_.emplace(std::move(content), spaces_.size());
    if (is_new)
      fmt::format_to(std::back_inserter(text), "namespace definition_{} {{\n{}}}\n", place->second,
                     place->first);
    return place->second;
  }

  void add_kernel(std::size_t number, std::string_view declarations, std::string_view kernel) {
    fmt::format_to(std::back_inserter(text), "namespace kernel_{} {{\n{}{}}}\n", number,
                   declarations, kernel);
  }

  std::unordered_map<std::string, std::size_t> spaces_;  // by content
};

}  // namespace

std::string joined_text(std::span<const lang::Emitted> kernels,
                        std::span<const std::size_t> members, Definitions definitions,
                        std::string_view preamble) {
  JoinedText joined;
  if (std::ranges::any_of(members, [&](std::size_t i) { return kernels[i].uses_half; }))
    joined.text += kHalfHeader;
  joined.text += preamble;
  for (const std::size_t i : members) {
    if (definitions == Definitions::shared) {
      joined.add(kernels[i], i);
    } else {
      joined.add_separately(kernels[i], i);
    }
  }
  return std::move(joined.text);
}

std::vector<std::size_t> order_by_definitions(std::span<const lang::Emitted> kernels) {
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::string_view(kernels[i].text).substr(0, kernels[i].kernel_begin);
  });
  return order;
}

}  // namespace causeway::jit
