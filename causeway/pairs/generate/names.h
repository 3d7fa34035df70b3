// Names as people give them: a theme for each program, with words for arrays, parameters, locals
// and results.
#pragma once

#include "causeway/pairs/generate/dice.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::pairs {

struct Theme {
  std::string_view element;                   // "particle": what a thread works on
  std::span<const std::string_view> arrays;   // "velocity", "force", …
  std::span<const std::string_view> scalars;  // "dt", "gain", …
  std::span<const std::string_view> locals;   // "speed", "delta", …
  std::span<const std::string_view> results;  // "out", "energy", …
  std::span<const std::string_view> verbs;    // "update", "advance", …
};

const Theme& pick_theme(Dice& dice);

// Hands out names of a theme, each once.
class Names {
 public:
  Names(Dice& dice, const Theme& theme) : dice_(dice), theme_(theme) {}

  std::string array() { return take(theme_.arrays); }
  std::string scalar() { return take(theme_.scalars); }
  std::string local() { return take(theme_.locals); }
  std::string result() { return take(theme_.results); }
  // One of the given names, or that with a number where all are taken.
  std::string take(std::span<const std::string_view> words);
  std::string take(std::initializer_list<std::string_view> words) {
    return take(std::span(words.begin(), words.size()));
  }
  const Theme& theme() const { return theme_; }

 private:
  Dice& dice_;
  const Theme& theme_;
  std::vector<std::string> taken_;
};

}  // namespace causeway::pairs
