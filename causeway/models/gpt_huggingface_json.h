// The configuration of a GPT as a config.json of Hugging Face's transformers, and back.
#pragma once

#include "causeway/core/config.h"
#include "causeway/models/gpt_config.h"

#include <string>

namespace causeway::models {

inline constexpr const char* kImport = "gpt import";  // in messages

// Throws a format error.
[[noreturn]] void refuse_import(const std::string& why);

// The architectures of transformers that a GPT can be.
enum class HuggingFaceType : std::uint8_t { gpt2, llama };

// Throws invalid_argument that names the setting if it is neither.
HuggingFaceType huggingface_type(const GptConfig& config);

// Throws format errors that name the key for architectures and settings that a GPT does not have.
GptConfig gpt_config_of_huggingface(const Json& json);

Json huggingface_config(const GptConfig& config, DType dtype);

}  // namespace causeway::models
