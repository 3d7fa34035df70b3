#include "causeway/models/gpt_config.h"

#include "causeway/autograd/linear_cross_entropy.h"
#include "causeway/core/config.h"
#include "causeway/core/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::models {

namespace {

struct LayerSizes {
  std::int64_t qkv = 0;  // outputs of the projection to q, k and v
  std::int64_t matrices = 0;
  std::int64_t vectors = 0;
};

LayerSizes layer_sizes(const GptConfig& c) {
  LayerSizes sizes;
  sizes.qkv = (c.heads + 2 * c.n_kv_heads()) * c.head_size();
  const std::int64_t into_hidden = (c.activation == GptActivation::swiglu ? 2 : 1) * c.n_hidden();
  sizes.matrices = c.width * (sizes.qkv + c.width + into_hidden + c.n_hidden());
  const std::int64_t norms = 2 * c.width;
  sizes.vectors = norms;
  if (c.bias) {
    if (c.norm == GptNorm::layer) sizes.vectors += norms;
    sizes.vectors += sizes.qkv + c.width + into_hidden + c.width;
  }
  return sizes;
}

GptConfig gpt2(std::int64_t width, std::int64_t layers, std::int64_t heads) {
  GptConfig config;
  config.width = width;
  config.layers = layers;
  config.heads = heads;
  return config;
}

ConfigDescription<GptConfig> make_gpt_description() {
  using Config = GptConfig;
  ConfigDescription<Config> d("gpt");
  d.add("vocabulary", &Config::vocabulary, "Number of token ids").between(2, 1 << 24).json_only();
  d.add("length", &Config::length, "Longest sequence, in tokens").between(1, 1 << 20);
  d.add("width", &Config::width, "Embedding width").between(8, 65536);
  d.add("layers", &Config::layers, "Transformer layers").between(1, 512);
  d.add("heads", &Config::heads, "Attention heads").between(1, 512);
  d.add("kv_heads", &Config::kv_heads, "Heads of keys and values; 0 for as many as heads")
      .between(0, 512);
  d.add("hidden", &Config::hidden, "Hidden width of the MLP; 0 for 4 * width").between(0, 1 << 20);
  d.choice("norm", &Config::norm, {"layer", "rms"}, "Normalisation before each branch");
  d.choice("positions", &Config::positions, {"learned", "rotary"}, "Position embedding");
  d.choice("activation", &Config::activation, {"gelu", "swiglu"}, "Activation of the MLP");
  d.add("bias", &Config::bias, "Biases in linear layers and layer norms");
  d.add("tied_head", &Config::tied_head, "Use the token embedding as the head's weight");
  d.add("epsilon", &Config::epsilon, "Epsilon of the norms").between(1e-12, 0.1);
  d.add("rotary_base", &Config::rotary_base, "Base of the rotary angles").between(1, 1e9);
  d.choice("recompute", &Config::recompute, {"none", "mlp", "layers"},
           "Activations that the backward pass computes again to save memory");
  return d;
}

}  // namespace

std::int64_t GptConfig::n_parameters() const {
  const LayerSizes sizes = layer_sizes(*this);
  const std::int64_t last_norm = bias && norm == GptNorm::layer ? 2 * width : width;
  const std::int64_t embeddings = vocabulary * width * (tied_head ? 1 : 2) +
                                  (positions == GptPositions::learned ? length * width : 0);
  return embeddings + layers * (sizes.matrices + sizes.vectors) + last_norm;
}

double GptConfig::step_flops(std::int64_t sequences, std::int64_t tokens) const {
  const auto n_tokens = static_cast<double>(sequences * tokens);
  const auto matrices =
      static_cast<double>(layers * layer_sizes(*this).matrices + vocabulary * width);
  // Two products per layer; a query attends to half of the tokens on average.
  const auto attention = static_cast<double>(layers * width) * static_cast<double>(tokens + 1);
  return 3 * n_tokens * (2 * matrices + 2 * attention);
}

std::size_t GptConfig::weight_bytes(DType dtype) const {
  const std::int64_t padding = (padded_vocabulary() - vocabulary) * width * (tied_head ? 1 : 2);
  return static_cast<std::size_t>(n_parameters() + padding) * size_of(dtype);
}

std::size_t GptConfig::step_bytes(std::int64_t sequences, std::int64_t tokens, DType dtype,
                                  Device device) const {
  const std::int64_t n_tokens = sequences * tokens;
  const LayerSizes sizes = layer_sizes(*this);
  const std::int64_t into_hidden = (activation == GptActivation::swiglu ? 2 : 1) * n_hidden();
  // Elements per token that the backward pass of a layer reads: the residual stream and its norm
  // twice, q, k and v, the result of attention, the MLP before and after the activation.
  std::int64_t layer = 4 * width + sizes.qkv + width + into_hidden + n_hidden();
  if (n_kv_heads() < heads) layer += 3 * width;  // repeated keys and values
  const bool fuses_mlp = activation == GptActivation::gelu && bias;
  const std::int64_t again = recompute == Recompute::mlp && fuses_mlp ? n_hidden() : 0;
  const std::int64_t between = recompute == Recompute::layers ? 2 * width : layer - again;
  // The largest gradients that exist at a time.
  const std::int64_t gradients =
      2 * width + std::max(into_hidden + n_hidden(), 2 * sizes.qkv + width) + again;
  const std::size_t size = size_of(dtype);
  const auto bytes = [](std::int64_t elements, std::size_t of) {
    return static_cast<std::size_t>(elements) * of;
  };
  // f32 statistics of attention and norms.
  const std::size_t statistics = bytes(n_tokens * layers * (heads + 4), sizeof(float));
  const std::size_t kept = bytes(n_tokens * (layers * between + 2 * width), size) + statistics;
  const std::size_t one_layer =
      bytes(n_tokens * (gradients + (recompute == Recompute::layers ? layer : 0)), size) +
      bytes(sizes.matrices + sizes.vectors, size);
  // At the head: the logits of a chunk, the gradients of its rows, and of its weight in f32.
  const std::int64_t table = padded_vocabulary() * width;
  const std::int64_t chunk = autograd::rows_per_chunk(padded_vocabulary(), dtype, device);
  const std::size_t head = bytes(table, sizeof(float)) + bytes(n_tokens * width, size) +
                           bytes(n_tokens, 4 * sizeof(float));  // targets and losses
  const std::size_t logits = bytes(std::min(n_tokens, chunk) * padded_vocabulary(), size);
  // The peak is at the head, in the last layer, in the first, when most activations are gone and
  // most gradients there, or where the gradients of head and embedding are added.
  const std::int64_t first = (recompute == Recompute::layers ? 0 : layer) + 2 * width;
  const std::size_t ends = weight_bytes(dtype) + bytes(n_tokens * first, size);
  const std::size_t peak =
      std::max({kept + head + logits, kept + head + bytes(table, size) + one_layer,
                ends + one_layer, ends + 2 * bytes(table, size)});
  return peak + peak / 32;  // blocks are rounded up
}

void GptConfig::check() const {
  describe_gpt().check(this);
  const auto refuse = [](const std::string& why) { fail(ErrorKind::invalid_argument, "gpt", why); };
  if (width % heads != 0) {
    refuse(fmt::format("width {} is not a multiple of heads {}", width, heads));
  }
  if (heads % n_kv_heads() != 0) {
    refuse(fmt::format("heads {} is not a multiple of kv_heads {}", heads, n_kv_heads()));
  }
  if (head_size() % 8 != 0 || head_size() > 256) {
    refuse(fmt::format("width {} with {} heads: width / heads must be a multiple of 8 up to 256",
                       width, heads));
  }
}

GptConfig GptConfig::preset(std::string_view name) {
  if (name == "gpt2") return gpt2(768, 12, 12);
  if (name == "gpt2-medium") return gpt2(1024, 24, 16);
  if (name == "gpt2-large") return gpt2(1280, 36, 20);
  if (name == "gpt2-xl") return gpt2(1600, 48, 25);
  if (name == "llama-tiny") {
    GptConfig config = gpt2(288, 6, 6);
    config.vocabulary = 32000;
    config.length = 256;
    config.hidden = 768;
    config.norm = GptNorm::rms;
    config.positions = GptPositions::rotary;
    config.activation = GptActivation::swiglu;
    config.bias = false;
    return config;
  }
  if (name == "bytes") {
    GptConfig config = gpt2(128, 5, 4);
    config.vocabulary = 257;
    config.length = 256;
    return config;
  }
  fail(ErrorKind::invalid_argument, "gpt",
       fmt::format("unknown preset \"{}\"; expected gpt2, gpt2-medium, gpt2-large, gpt2-xl, "
                   "llama-tiny or bytes",
                   name));
}

const ConfigDescription<GptConfig>& describe_gpt() {
  static const ConfigDescription<GptConfig> description = make_gpt_description();
  return description;
}

std::string GptConfig::to_json() const { return describe_gpt().to_json(this).dump(); }

GptConfig GptConfig::from_json(std::string_view text) {
  GptConfig config;
  try {
    describe_gpt().read(&config, Json::parse(text));
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "gpt", fmt::format("not a model configuration: {}", problem.what()));
  }
  config.check();
  return config;
}

}  // namespace causeway::models
