#include "causeway/pairs/twins.h"

#include "causeway/lang/emit/emit.h"
#include "causeway/pairs/generate/dice.h"
#include "causeway/pairs/record.h"

#include <fmt/format.h>

#include <regex>

namespace causeway::pairs {

namespace {

// A change of the text, and what to say about it.
struct Edit {
  std::string source;
  std::string diagnosis;
};

// Where the kernel's statements begin.
std::size_t body_of(const std::string& source) {
  const std::size_t kernel = source.find("@wp.kernel");
  return source.find("\"\"\"\n", source.find("\"\"\"", kernel) + 3) + 4;
}

// The matches of a pattern in the kernel's statements.
std::vector<std::smatch> matches(const std::string& source, const std::regex& pattern) {
  std::vector<std::smatch> result;
  const auto begin = source.begin() + static_cast<std::ptrdiff_t>(body_of(source));
  for (std::sregex_iterator it(begin, source.end(), pattern), end; it != end; ++it)
    result.push_back(*it);
  return result;
}

std::string replaced(const std::string& source, const std::smatch& match, const std::string& text) {
  return std::string(source.begin(), match[0].first) + text +
         std::string(match[0].second, source.end());
}

std::optional<Edit> drop_bound_check(const std::string& source, Dice&) {
  static const std::regex kGuard(R"(    if (\w+) >= (\w+):\n        return\n)");
  const auto found = matches(source, kGuard);
  if (found.empty()) return std::nullopt;
  return Edit{
      replaced(source, found[0], ""),
      fmt::format("Threads with {} >= {} are not stopped and access elements beyond the arrays.",
                  found[0][1].str(), found[0][2].str())};
}

std::optional<Edit> shift_index(const std::string& source, Dice& dice) {
  static const std::regex kRead(R"((\w+)\[(i|tid|idx|gid|row)\](?! (=|\+=)))");
  const auto found = matches(source, kRead);
  if (found.empty()) return std::nullopt;
  const std::smatch& match =
      found[static_cast<std::size_t>(dice.below(static_cast<int>(found.size())))];
  return Edit{replaced(source, match, fmt::format("{}[{} + 1]", match[1].str(), match[2].str())),
              fmt::format("{} is read at {} + 1 instead of {}.", match[1].str(), match[2].str(),
                          match[2].str())};
}

std::optional<Edit> drop_atomic(const std::string& source, Dice& dice) {
  static const std::regex kAtomic(R"(wp\.atomic_add\((\w+), ([^,\n]+), ([^\n]+)\)\n)");
  const auto found = matches(source, kAtomic);
  if (found.empty()) return std::nullopt;
  const std::smatch& match =
      found[static_cast<std::size_t>(dice.below(static_cast<int>(found.size())))];
  const std::string place = fmt::format("{}[{}]", match[1].str(), match[2].str());
  return Edit{
      replaced(source, match, fmt::format("{0} = {0} + {1}\n", place, match[3].str())),
      fmt::format("Several threads update {} without an atomic operation: additions are lost.",
                  match[1].str())};
}

std::optional<Edit> shorten_loop(const std::string& source, Dice& dice) {
  static const std::regex kLoop(R"(for (\w+) in range\(([^()\n]+)\):)");
  const auto found = matches(source, kLoop);
  if (found.empty()) return std::nullopt;
  const std::smatch& match =
      found[static_cast<std::size_t>(dice.below(static_cast<int>(found.size())))];
  return Edit{replaced(source, match,
                       fmt::format("for {} in range({} - 1):", match[1].str(), match[2].str())),
              fmt::format("The loop over {} ends one iteration early.", match[1].str())};
}

std::optional<Edit> change_identity(const std::string& source, Dice&) {
  static const std::regex kStart(R"((\w+) = (float|int|wp\.\w+)\((-?[\d.]+)\)\n)");
  const auto found = matches(source, kStart);
  if (found.empty()) return std::nullopt;
  const std::smatch& match = found[0];
  const bool zero = std::stod(match[3].str()) == 0;
  const bool real = match[3].str().find('.') != std::string::npos;
  const std::string start = zero ? (real ? "1.0" : "1") : (real ? "0.0" : "0");
  return Edit{
      replaced(source, match, fmt::format("{} = {}({})\n", match[1].str(), match[2].str(), start)),
      fmt::format("{} starts from {} instead of {}.", match[1].str(), start, match[3].str())};
}

constexpr std::optional<Edit> (*kEdits[kBugs])(const std::string&, Dice&) = {
    drop_bound_check, shift_index, drop_atomic, shorten_loop, change_identity};

// How verification notices the mistake; empty where it does not. Surplus threads are launched where
// the bound check is gone.
std::string caught_by(const Program& program, Bug bug, const Compiled& compiled,
                      const std::vector<std::uint64_t>& hashes) {
  const std::vector<InputSet> sets = input_sets(program);
  for (std::size_t k = 0; k < sets.size(); ++k) {
    Memory memory = make_memory(program, sets[k], compiled.module, compiled.function());
    std::vector<std::int64_t> dims = launch_dims(program, sets[k]);
    if (bug == Bug::missing_bound_check) dims[0] = (dims[0] + 255) / 256 * 256;
    try {
      lang::Interpreter(compiled.module, compiled.kernel)
          .launch(dims, memory.arguments(compiled.module, compiled.function()));
    } catch (const Error& error) {
      std::string message = error.what();
      message = message.substr(0, message.find('\n'));
      const std::size_t at = message.find("error: ");
      return at == std::string::npos ? message : message.substr(at + 7);
    }
    if (output_hash(program, memory) != hashes[k])
      return fmt::format("the results on the input set {} differ", name_of(sets[k].kind));
  }
  return "";
}

}  // namespace

std::string_view name_of(Bug bug) {
  constexpr std::string_view kNames[kBugs] = {"missing_bound_check", "wrong_index", "race",
                                              "off_by_one", "wrong_identity"};
  return kNames[static_cast<int>(bug)];
}

std::optional<Twin> make_twin(const Program& program, const std::vector<std::uint64_t>& hashes) {
  Dice dice(mix(program.seed + 77));
  const int first = dice.below(kBugs);
  for (int i = 0; i < kBugs; ++i) {
    const auto bug = static_cast<Bug>((first + i) % kBugs);
    const std::optional<Edit> edit = kEdits[static_cast<int>(bug)](program.source, dice);
    if (!edit) continue;
    Program wrong = program;
    wrong.source = edit->source;
    try {
      const Compiled compiled = compile_program(wrong);
      std::string caught = caught_by(wrong, bug, compiled, hashes);
      if (caught.empty()) continue;
      return Twin{bug, wrong.source, lang::emit(compiled.module, compiled.kernel).text,
                  edit->diagnosis, std::move(caught)};
    } catch (const lang::CompileError&) {
      continue;
    }
  }
  return std::nullopt;
}

}  // namespace causeway::pairs
