// One CUDA text of many kernels.
#pragma once

#include "causeway/lang/emit/emit.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::jit {

enum class Definitions : std::uint8_t {
  separate,  // each kernel has its own
  shared,    // types and functions that several kernels define with the same text occur once
};

// The kernels with these indices in one text, each in a namespace of its own: types and functions
// of two kernels may share a name. `preamble` follows the headers.
std::string joined_text(std::span<const lang::Emitted> kernels,
                        std::span<const std::size_t> members, Definitions definitions,
                        std::string_view preamble = "");

// The indices of all kernels, those with the same definitions next to each other.
std::vector<std::size_t> order_by_definitions(std::span<const lang::Emitted> kernels);

}  // namespace causeway::jit
