#include "causeway/models/model_file.h"

#include "causeway/core/error.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/shown.h"
#include "causeway/data/safetensors.h"
#include "causeway/data/safetensors_header.h"
#include "causeway/data/sha256.h"
#include "causeway/data/tensor_bytes.h"
#include "causeway/models/gpt_config.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <span>
#include <vector>

namespace causeway::models {

namespace {

constexpr const char* kKindKey = "model";
constexpr const char* kConfigKey = "config";
constexpr const char* kHashKey = "sha256";

// The hashes of pieces of a tensor, which all threads compute.
std::string hash_pieces(std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const auto n_pieces = static_cast<std::int64_t>((bytes.size() + kPiece - 1) / kPiece);
  std::vector<std::string> hashes(static_cast<std::size_t>(n_pieces));
  parallel_for(n_pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto piece = bytes.subspan(i * kPiece);
      hashes[i] = data::sha256(piece.first(std::min(kPiece, piece.size())));
    }
  });
  return fmt::format("{}", fmt::join(hashes, " "));
}

// SHA-256 of the kind, the configuration, and the name, dtype, shape and bytes of each tensor.
std::string hash_of(const ModelFile& file) {
  data::Sha256 hash;
  const auto add = [&](const std::string& line) {
    hash.add(std::as_bytes(std::span(line)));
    hash.add(std::as_bytes(std::span("\n", 1)));
  };
  add(file.kind);
  add(file.config);
  for (const auto& [name, tensor] : file.state) {
    add(fmt::format("{} {} {}", name, to_string(tensor.dtype()), to_string(tensor.shape())));
    const Tensor packed = data::packed_on_host(tensor);
    add(hash_pieces(data::bytes_of(packed)));
  }
  return hash.hex();
}

// The place of the first value whose exponent has all bits set, which is infinite or NaN; -1 if
// there is none.
template <class Bits>
std::int64_t find_not_finite(const Tensor& packed, Bits exponent) {
  const auto* values = reinterpret_cast<const Bits*>(data::bytes_of(packed).data());
  std::atomic<std::int64_t> found = packed.numel();
  parallel_for(packed.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if ((values[i] & exponent) != exponent) continue;
      std::int64_t before = found;
      while (i < before && !found.compare_exchange_weak(before, i)) continue;
      return;
    }
  });
  return found == packed.numel() ? -1 : found.load();
}

std::int64_t find_not_finite(const Tensor& tensor) {
  const Tensor packed = data::packed_on_host(tensor);
  switch (tensor.dtype()) {
    case DType::f64: return find_not_finite(packed, std::uint64_t{0x7ff0000000000000});
    case DType::f32: return find_not_finite(packed, std::uint32_t{0x7f800000});
    case DType::bf16: return find_not_finite(packed, std::uint16_t{0x7f80});
    case DType::f16: return find_not_finite(packed, std::uint16_t{0x7c00});
    default: return -1;
  }
}

ModelDescription description_of(const std::map<std::string, std::string>& metadata) {
  const auto kind = metadata.find(kKindKey);
  const auto config = metadata.find(kConfigKey);
  if (kind == metadata.end() || config == metadata.end()) return {};
  return {kind->second, config->second};
}

void require_weights(const State& state) {
  for (const auto& [name, tensor] : state) {
    if (is_floating(tensor.dtype()) || tensor.dtype() == DType::i8) continue;
    fail(ErrorKind::format, "read_model",
         fmt::format("tensor {} is {}; expected a floating type, or i8 with scales", shown(name),
                     to_string(tensor.dtype())));
  }
  require_finite(state);
}

}  // namespace

void require_finite(const State& state) {
  for (const auto& [name, tensor] : state) {
    const std::int64_t at = find_not_finite(tensor);
    if (at < 0) continue;
    fail(ErrorKind::format, "read_model",
         fmt::format("tensor {} has a weight that is not finite (element {}); the training "
                     "diverged or the file is damaged",
                     shown(name), at));
  }
}

void require_parameters(const State& state, std::int64_t n_parameters) {
  std::int64_t n_weights = 0;
  for (const auto& [name, tensor] : state) n_weights += tensor.numel();
  if (n_weights >= n_parameters) return;
  fail(ErrorKind::format, "read_model",
       fmt::format("the configuration describes a model of {} parameters, but the file has only {} "
                   "weights",
                   n_parameters, n_weights));
}

void write_model_file(const std::filesystem::path& path, const ModelFile& file) {
  save_safetensors(path, file.state,
                   {{kKindKey, file.kind}, {kConfigKey, file.config}, {kHashKey, hash_of(file)}});
}

ModelDescription read_model_description(const std::filesystem::path& path) {
  const MappedFile file("read_model", path);
  return file.read_whole([&] {
    return description_of(
        data::parse_safetensors_header({"read_model", path.string()}, file.bytes()).metadata);
  });
}

ModelFile read_model_file(const std::filesystem::path& path) {
  SafetensorsFile file = load_safetensors(path);
  ModelFile model{description_of(file.metadata), std::move(file.tensors)};
  if (model.kind.empty()) return model;
  with_context(fmt::format("loading \"{}\"", path.string()), [&] {
    const auto hash = file.metadata.find(kHashKey);
    if (hash != file.metadata.end() && hash->second != hash_of(model)) {
      fail(ErrorKind::format, "read_model",
           "the file is damaged: its SHA-256 differs from the one in its metadata");
    }
    if (model.kind != kEstimatorKind) require_weights(model.state);
  });
  return model;
}

ModelFile quantized(const ModelFile& file) {
  const auto refuse = [](const char* why) { fail(ErrorKind::invalid_argument, "quantize", why); };
  if (file.kind != kGptKind && file.kind != kTabularKind) {
    refuse("neither a GPT nor a tabular model of causeway");
  }
  if (std::ranges::any_of(file.state,
                          [](const auto& e) { return e.second.dtype() == DType::i8; })) {
    refuse("the matrices are int8 already");
  }
  // An embedding that is only looked up costs no time, and neither do positions.
  const bool keeps_embedding =
      file.kind == kGptKind && !GptConfig::from_json(file.config).tied_head;
  const auto is_multiplied = [&](const std::string& name, const Tensor& tensor) {
    return tensor.n_dims() == 2 && is_floating(tensor.dtype()) && name != "positions" &&
           !(name == "embedding" && keeps_embedding);
  };
  return {{file.kind, file.config}, quantize_state(file.state, is_multiplied)};
}

std::filesystem::path model_file_of(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? path / "model.safetensors" : path;
}

}  // namespace causeway::models
