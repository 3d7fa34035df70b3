// Scores CUDA text that a model wrote for the Python text of a record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace causeway::pairs {

// How far a text gets; each stage includes those before it.
enum class TextStage : std::uint8_t {
  none,
  parses,    // has the kernel, with the parameters of the record's CUDA text
  compiles,  // NVRTC accepts it
  runs,      // every input set ran to its end
  agrees,    // all results equal the interpreter's, by the record's tolerance class
};

std::string_view name_of(TextStage stage);

struct TextScore {
  TextStage stage = TextStage::none;
  std::string problem;  // why it got no further; empty if it agrees
};

// Runs on the first GPU, or on the CPU as C++ that emulates a GPU. A text can do anything, such as
// write beyond its arrays or never end: call this in a process of its own. Throws invalid_argument
// for a wrong record, and device or compile errors where there is no GPU or no compiler.
TextScore score_text(std::string_view record, const std::string& cuda, bool gpu);

}  // namespace causeway::pairs
