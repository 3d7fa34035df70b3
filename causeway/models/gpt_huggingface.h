// GPT-2 and Llama models in the format of Hugging Face's transformers: a folder with config.json
// and safetensors files.
#pragma once

#include "causeway/models/gpt_file.h"

#include <filesystem>

namespace causeway::models {

// Reads config.json and model.safetensors, or the shards of model.safetensors.index.json. The
// weights keep the dtype of the files; files of several dtypes are read as f32. Throws io errors,
// and format errors that name the setting or tensor for a model that this library cannot run.
GptWeights import_huggingface(const std::filesystem::path& folder);

// Writes config.json and model.safetensors, which AutoModelForCausalLM.from_pretrained loads.
// Importing them gives the same weights, bit for bit. Throws invalid_argument that names the
// setting if the model is neither a GPT-2 nor a Llama.
void export_huggingface(const std::filesystem::path& folder, const GptWeights& weights);

}  // namespace causeway::models
