#include "causeway/models/gpt_huggingface.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/shown.h"
#include "causeway/data/safetensors.h"
#include "causeway/models/gpt_huggingface_json.h"
#include "causeway/models/model_file.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/indexing.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::models {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExport = "gpt export";
constexpr const char* kHead = "lm_head.weight";

// A tensor of theirs: some rows of one of ours. `name` has no prefix.
struct Part {
  std::string name;
  std::int64_t rows = 0;
};

// A tensor of ours, and the tensors that its rows are in, from the first row on.
struct Mapping {
  std::string name;
  std::vector<Part> parts;
  std::int64_t columns = 0;  // 0 for a vector
  bool transposed = false;   // theirs is (columns, rows)

  Shape shape_of(const Part& part) const {
    if (columns == 0) return {part.rows};
    return transposed ? Shape{columns, part.rows} : Shape{part.rows, columns};
  }
};

// Before all names but that of the head.
std::string prefix_of(HuggingFaceType type) {
  return type == HuggingFaceType::gpt2 ? "transformer." : "model.";
}

std::vector<Mapping> gpt2_mappings(const GptConfig& c) {
  std::vector<Mapping> all;
  const auto add_vector = [&](const std::string& ours, const std::string& theirs,
                              std::int64_t size) {
    all.push_back({ours, {{theirs, size}}});
  };
  const auto add_norm = [&](const std::string& ours, const std::string& theirs) {
    for (const char* part : {".weight", ".bias"}) add_vector(ours + part, theirs + part, c.width);
  };
  // Their linear layers are convolutions, whose weights are (inputs, outputs).
  const auto add_linear = [&](const std::string& ours, const std::string& theirs,
                              std::int64_t outputs, std::int64_t inputs) {
    all.push_back({ours + ".weight", {{theirs + ".weight", outputs}}, inputs, true});
    add_vector(ours + ".bias", theirs + ".bias", outputs);
  };
  all.push_back({"embedding", {{"wte.weight", c.vocabulary}}, c.width});
  all.push_back({"positions", {{"wpe.weight", c.length}}, c.width});
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string ours = fmt::format("layers.{}.", i);
    const std::string theirs = fmt::format("h.{}.", i);
    add_norm(ours + "norm_1", theirs + "ln_1");
    add_linear(ours + "attention.qkv", theirs + "attn.c_attn", 3 * c.width, c.width);
    add_linear(ours + "attention.projection", theirs + "attn.c_proj", c.width, c.width);
    add_norm(ours + "norm_2", theirs + "ln_2");
    add_linear(ours + "mlp.in", theirs + "mlp.c_fc", c.n_hidden(), c.width);
    add_linear(ours + "mlp.out", theirs + "mlp.c_proj", c.width, c.n_hidden());
  }
  add_norm("norm", "ln_f");
  return all;
}

std::vector<Mapping> llama_mappings(const GptConfig& c) {
  std::vector<Mapping> all;
  const std::int64_t kv = c.n_kv_heads() * c.head_size();
  const auto add_norm = [&](const std::string& ours, const std::string& theirs) {
    all.push_back({ours + ".weight", {{theirs + ".weight", c.width}}});
  };
  all.push_back({"embedding", {{"embed_tokens.weight", c.vocabulary}}, c.width});
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string ours = fmt::format("layers.{}.", i);
    const std::string attention = ours + "self_attn.";
    const std::string mlp = ours + "mlp.";
    add_norm(ours + "norm_1", ours + "input_layernorm");
    all.push_back({ours + "attention.qkv.weight",
                   {{attention + "q_proj.weight", c.width},
                    {attention + "k_proj.weight", kv},
                    {attention + "v_proj.weight", kv}},
                   c.width});
    all.push_back(
        {ours + "attention.projection.weight", {{attention + "o_proj.weight", c.width}}, c.width});
    add_norm(ours + "norm_2", ours + "post_attention_layernorm");
    all.push_back(
        {ours + "mlp.in.weight",
         {{mlp + "gate_proj.weight", c.n_hidden()}, {mlp + "up_proj.weight", c.n_hidden()}},
         c.width});
    all.push_back({ours + "mlp.out.weight", {{mlp + "down_proj.weight", c.width}}, c.n_hidden()});
  }
  add_norm("norm", "norm");
  return all;
}

std::vector<Mapping> mappings_of(const GptConfig& config) {
  auto all = huggingface_type(config) == HuggingFaceType::gpt2 ? gpt2_mappings(config)
                                                               : llama_mappings(config);
  if (!config.tied_head) all.push_back({"head", {{kHead, config.vocabulary}}, config.width});
  return all;
}

void add_file(const fs::path& path, State& to) {
  for (auto& [name, tensor] : load_safetensors(path).tensors) {
    if (!to.emplace(name, std::move(tensor)).second) {
      refuse_import(fmt::format("tensor {} is in two files", shown(name)));
    }
  }
}

State read_shards(const fs::path& folder, const fs::path& index) {
  const Json json = read_config_file(kImport, index.string());
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    refuse_import(fmt::format("\"{}\" has no \"weight_map\"", index.string()));
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || fs::path(name).filename() != name) {
      refuse_import(fmt::format("\"{}\": tensor {}: expected the name of a file, got {}",
                                index.string(), shown(tensor), shown(file.dump())));
    }
    names.insert(name);
  }
  State all;
  for (const std::string& name : names) add_file(folder / name, all);
  return all;
}

State read_files(const fs::path& folder) {
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::exists(index) && !fs::exists(single)) return read_shards(folder, index);
  State all;
  add_file(single, all);
  return all;
}

// Masks and tables of angles, which older versions stored.
bool is_ignored(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

// The weights of a folder, by names without prefix. Models saved without a head have no prefix.
State read_tensors(const fs::path& folder, const std::string& prefix) {
  State all;
  for (auto& [name, tensor] : read_files(folder)) {
    if (is_ignored(name)) continue;
    const std::string plain = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (!is_floating(tensor.dtype())) {
      refuse_import(fmt::format("tensor {} is {}; expected f32, bf16 or f16", shown(name),
                                to_string(tensor.dtype())));
    }
    if (!all.emplace(plain, tensor).second) {
      refuse_import(fmt::format("tensor {} exists with and without \"{}\"", shown(plain), prefix));
    }
  }
  require_finite(all);
  return all;
}

DType dtype_of(const State& tensors) {
  if (tensors.empty()) refuse_import("the files hold no weights");
  const DType first = tensors.begin()->second.dtype();
  const bool is_same = std::ranges::all_of(
      tensors, [&](const auto& entry) { return entry.second.dtype() == first; });
  return is_same ? first : DType::f32;
}

// Removes a tensor from `from` and checks its shape.
Tensor take(State& from, const std::string& name, const Shape& shape) {
  const auto found = from.find(name);
  if (found == from.end()) refuse_import(fmt::format("tensor \"{}\" is missing", name));
  const Tensor tensor = found->second;
  if (tensor.shape() != shape) {
    refuse_import(fmt::format("tensor \"{}\" has shape {}, but config.json asks for {}", name,
                              to_string(tensor.shape()), to_string(shape)));
  }
  from.erase(found);
  return tensor;
}

Tensor joined(const Mapping& mapping, State& from, DType dtype) {
  std::vector<Tensor> rows;
  for (const Part& part : mapping.parts) {
    const Tensor tensor = take(from, part.name, mapping.shape_of(part)).to(dtype);
    rows.push_back(mapping.transposed ? tensor.transpose() : tensor);
  }
  return rows.size() == 1 ? rows[0].contiguous() : concatenate(rows);
}

// With rows of zeros up to the padded vocabulary.
Tensor padded(const Tensor& embedding, const GptConfig& config) {
  Tensor made = zeros({config.padded_vocabulary(), config.width}, embedding.dtype());
  made.slice(0, 0, config.vocabulary).copy_from(embedding);
  return made;
}

bool is_padded(const Mapping& mapping) {
  return mapping.name == "embedding" || mapping.name == "head";
}

const Tensor& find(const GptWeights& weights, const Mapping& mapping) {
  std::int64_t rows = is_padded(mapping) ? weights.config.padded_vocabulary() : 0;
  for (const Part& part : mapping.parts) rows += is_padded(mapping) ? 0 : part.rows;
  const Shape shape = mapping.columns == 0 ? Shape{rows} : Shape{rows, mapping.columns};
  const auto found = weights.state.find(mapping.name);
  if (found == weights.state.end() || found->second.shape() != shape) {
    fail(ErrorKind::format, kExport,
         fmt::format("the model has no tensor \"{}\" of shape {}", mapping.name, to_string(shape)));
  }
  return found->second;
}

// A tied head may be stored too.
void drop_tied_head(State& tensors, const GptConfig& config) {
  if (!config.tied_head || !tensors.contains(kHead)) return;
  const char* embedding =
      huggingface_type(config) == HuggingFaceType::gpt2 ? "wte.weight" : "embed_tokens.weight";
  const Tensor head = take(tensors, kHead, {config.vocabulary, config.width});
  const auto found = tensors.find(embedding);
  if (found == tensors.end() || found->second.shape() != head.shape()) return;  // refused later
  if (found->second.dtype() == head.dtype() &&
      std::memcmp(found->second.data(), head.data(), head.n_bytes()) == 0) {
    return;
  }
  refuse_import(
      fmt::format("\"{}\" differs from \"{}\", but config.json has \"tie_word_embeddings\": true",
                  kHead, embedding));
}

}  // namespace

GptWeights import_huggingface(const fs::path& folder) {
  return with_context(fmt::format("importing \"{}\"", folder.string()), [&]() -> GptWeights {
    const Json json = read_config_file(kImport, (folder / "config.json").string());
    GptWeights made{gpt_config_of_huggingface(json), {}};
    State tensors = read_tensors(folder, prefix_of(huggingface_type(made.config)));
    drop_tied_head(tensors, made.config);
    const DType dtype = dtype_of(tensors);
    for (const Mapping& mapping : mappings_of(made.config)) {
      const Tensor tensor = joined(mapping, tensors, dtype);
      made.state.emplace(mapping.name, is_padded(mapping) ? padded(tensor, made.config) : tensor);
    }
    if (!tensors.empty()) {
      refuse_import(fmt::format("unexpected tensor {}", shown(tensors.begin()->first)));
    }
    return made;
  });
}

void export_huggingface(const fs::path& folder, const GptWeights& weights) {
  const Json config = huggingface_config(weights.config, weights.dtype());
  const std::string prefix = prefix_of(huggingface_type(weights.config));
  State tensors;
  for (const Mapping& mapping : mappings_of(weights.config)) {
    const Tensor& tensor = find(weights, mapping);
    std::int64_t first = 0;
    for (const Part& part : mapping.parts) {
      const Tensor rows = tensor.slice(0, first, first + part.rows);
      first += part.rows;
      const std::string name = part.name == kHead ? part.name : prefix + part.name;
      tensors.emplace(name, (mapping.transposed ? rows.transpose() : rows).contiguous());
    }
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_io(kExport, "create", folder, error.value());
  save_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
  FileWriter file(kExport, folder / "config.json");
  file.write(config.dump(2) + "\n");
  file.commit();
}

}  // namespace causeway::models
