#include "causeway/models/gpt_huggingface_json.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <initializer_list>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::models {

void refuse_import(const std::string& why) { fail(ErrorKind::format, kImport, why); }

namespace {

// The values of a config.json by name. null is a missing value, as in transformers.
class Settings {
 public:
  explicit Settings(const Json& json) : json_(json) {}

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  template <class T>
  T get(const char* key, T otherwise) const {
    const Json* found = find(key);
    if (found == nullptr) return otherwise;
    T value{};
    try {
      value_from_json(*found, value);
    } catch (const ValueExpected& expected) {
      refuse_import(fmt::format("config.json: \"{}\": expected {}, got {}", key, expected.what,
                                shown(found->dump())));
    }
    return value;
  }

  std::int64_t size(const char* key) const {
    if (find(key) == nullptr) refuse_import(fmt::format("config.json has no \"{}\"", key));
    return get<std::int64_t>(key, 0);
  }

  void require(const char* key, bool otherwise, bool expected) const {
    if (get(key, otherwise) == expected) return;
    refuse_import(fmt::format("config.json: \"{}\": {} is not supported", key, !expected));
  }

  void require_one_of(const char* key, const std::string& otherwise,
                      std::initializer_list<std::string_view> supported) const {
    const std::string value = get(key, otherwise);
    for (const std::string_view each : supported) {
      if (value == each) return;
    }
    refuse_import(fmt::format("config.json: \"{}\": {} is not supported; expected \"{}\"", key,
                              shown(value), *supported.begin()));
  }

 private:
  const Json& json_;
};

GptConfig gpt2_config(const Settings& settings) {
  settings.require_one_of("activation_function", "gelu_new", {"gelu_new", "gelu_pytorch_tanh"});
  settings.require("scale_attn_weights", true, true);
  settings.require("scale_attn_by_inverse_layer_idx", false, false);
  settings.require("add_cross_attention", false, false);
  GptConfig config;
  config.vocabulary = settings.size("vocab_size");
  config.length = settings.size("n_positions");
  config.width = settings.size("n_embd");
  config.layers = settings.size("n_layer");
  config.heads = settings.size("n_head");
  config.hidden = settings.get<std::int64_t>("n_inner", 0);
  config.epsilon = settings.get("layer_norm_epsilon", 1e-5);
  config.tied_head = settings.get("tie_word_embeddings", true);
  return config;
}

// "rope_theta" is at the top level before transformers 5, then in "rope_parameters". Both
// "rope_parameters" and the older "rope_scaling" may name a type of scaling.
double rotary_base(const Settings& settings) {
  double base = settings.get("rope_theta", 10000.0);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* found = settings.find(key);
    if (found == nullptr) continue;
    if (!found->is_object())
      refuse_import(fmt::format("config.json: \"{}\" is not an object", key));
    const Settings inner(*found);
    const std::string type =
        inner.get<std::string>("rope_type", inner.get<std::string>("type", "default"));
    if (type != "default") {
      refuse_import(
          fmt::format("config.json: \"{}\" of type {} is not supported", key, shown(type)));
    }
    if (inner.get("partial_rotary_factor", 1.0) != 1) {
      refuse_import(
          fmt::format("config.json: \"{}\": \"partial_rotary_factor\" is not supported", key));
    }
    base = inner.get("rope_theta", base);
  }
  return base;
}

GptConfig llama_config(const Settings& settings) {
  settings.require_one_of("hidden_act", "silu", {"silu", "swish"});
  settings.require("attention_bias", false, false);
  settings.require("mlp_bias", false, false);
  GptConfig config;
  config.vocabulary = settings.size("vocab_size");
  config.length = settings.size("max_position_embeddings");
  config.width = settings.size("hidden_size");
  config.layers = settings.size("num_hidden_layers");
  config.heads = settings.size("num_attention_heads");
  config.kv_heads = settings.get<std::int64_t>("num_key_value_heads", 0);
  config.hidden = settings.size("intermediate_size");
  config.epsilon = settings.get("rms_norm_eps", 1e-6);
  config.tied_head = settings.get("tie_word_embeddings", false);
  config.rotary_base = rotary_base(settings);
  config.norm = GptNorm::rms;
  config.positions = GptPositions::rotary;
  config.activation = GptActivation::swiglu;
  config.bias = false;
  const auto head_size = settings.get<std::int64_t>("head_dim", 0);
  if (head_size != 0 && head_size * config.heads != config.width) {
    refuse_import(
        fmt::format("config.json: \"head_dim\": {} with {} heads is not supported; expected "
                    "hidden_size / heads of {} / {}",
                    head_size, config.heads, config.width, config.heads));
  }
  return config;
}

Json gpt2_json(const GptConfig& config) {
  Json json{{"model_type", "gpt2"},
            {"architectures", {"GPT2LMHeadModel"}},
            {"vocab_size", config.vocabulary},
            {"n_positions", config.length},
            {"n_embd", config.width},
            {"n_layer", config.layers},
            {"n_head", config.heads},
            {"n_inner", config.n_hidden()},
            {"activation_function", "gelu_new"},
            {"layer_norm_epsilon", config.epsilon}};
  for (const char* dropout : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) json[dropout] = 0.0;
  return json;
}

Json llama_json(const GptConfig& config) {
  return {{"model_type", "llama"},
          {"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", config.vocabulary},
          {"max_position_embeddings", config.length},
          {"hidden_size", config.width},
          {"num_hidden_layers", config.layers},
          {"num_attention_heads", config.heads},
          {"num_key_value_heads", config.n_kv_heads()},
          {"head_dim", config.head_size()},
          {"intermediate_size", config.n_hidden()},
          {"hidden_act", "silu"},
          {"rms_norm_eps", config.epsilon},
          {"rope_theta", config.rotary_base},
          {"attention_bias", false},
          {"mlp_bias", false}};
}

const char* torch_name(DType dtype) {
  switch (dtype) {
    case DType::bf16: return "bfloat16";
    case DType::f16: return "float16";
    case DType::f64: return "float64";
    default: return "float32";
  }
}

}  // namespace

HuggingFaceType huggingface_type(const GptConfig& config) {
  const bool is_llama = config.positions == GptPositions::rotary;
  const auto require = [&](bool fits, const char* setting, const char* value) {
    if (fits) return;
    fail(ErrorKind::invalid_argument, "gpt export",
         fmt::format("transformers has no model with {} positions and {}: {}",
                     is_llama ? "rotary" : "learned", setting, value));
  };
  if (is_llama) {
    require(config.norm == GptNorm::rms, "norm", "layer");
    require(config.activation == GptActivation::swiglu, "activation", "gelu");
    require(!config.bias, "bias", "true");
    return HuggingFaceType::llama;
  }
  require(config.norm == GptNorm::layer, "norm", "rms");
  require(config.activation == GptActivation::gelu, "activation", "swiglu");
  require(config.bias, "bias", "false");
  require(config.n_kv_heads() == config.heads, "kv_heads", "fewer than heads");
  return HuggingFaceType::gpt2;
}

GptConfig gpt_config_of_huggingface(const Json& json) {
  const Settings settings(json);
  const std::string type = settings.get<std::string>("model_type", "");
  if (type != "gpt2" && type != "llama") {
    refuse_import(
        fmt::format("config.json: \"model_type\": {} is not supported; expected \"gpt2\" or "
                    "\"llama\"",
                    shown(type)));
  }
  const GptConfig config = type == "gpt2" ? gpt2_config(settings) : llama_config(settings);
  config.check();
  return config;
}

Json huggingface_config(const GptConfig& config, DType dtype) {
  const bool is_llama = huggingface_type(config) == HuggingFaceType::llama;
  Json json = is_llama ? llama_json(config) : gpt2_json(config);
  json["tie_word_embeddings"] = config.tied_head;
  json["torch_dtype"] = torch_name(dtype);
  // The defaults of transformers are ids of other tokenizers.
  json["bos_token_id"] = nullptr;
  json["eos_token_id"] = nullptr;
  return json;
}

}  // namespace causeway::models
