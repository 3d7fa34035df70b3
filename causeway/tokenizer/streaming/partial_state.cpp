// Serialisation of partial fits as tensors and text. The text is one JSON object with the step of
// the fit, its options and columns; counts, thresholds, values and categories are tensors named by
// column index: "3.counts".
#include "causeway/core/advice.h"
#include "causeway/core/error.h"
#include "causeway/core/integer_json.h"
#include "causeway/core/shown.h"
#include "causeway/tokenizer/artefact/hash.h"
#include "causeway/tokenizer/options_json.h"
#include "causeway/tokenizer/streaming/streaming.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace causeway::tokenizer {

namespace {

using Json = nlohmann::ordered_json;
using kernels::dispatch_column_type;
constexpr const char* kFormat = "causeway-partial-fit";

template <class T>
Tensor tensor_of(std::span<const T> values) {
  return Tensor::from<T>(values, {static_cast<std::int64_t>(values.size())});
}

std::string hash_of(const PartialState& state) {
  Hash hash;
  hash.add(state.metadata.at("version"));
  hash.add(state.metadata.at("fit"));
  for (const auto& [name, tensor] : state.tensors) {
    hash.add(name);
    hash.add(to_string(tensor.dtype()));
    hash.add(tensor.numel());
    hash.add(tensor.data(), static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype()));
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace

class StateWriter {
 public:
  PartialState write(const PartialFit& fit) {
    Json out;
    out["step"] = fit.planned_ ? "collect" : fit.again_ ? "count again" : "count";
    out["plan"] = fit.plan_id_;
    out["n_rows"] = fit.n_rows_;
    out["n_seen"] = fit.n_seen_;
    out["planned_bytes"] = fit.planned_bytes_;
    out["options"] = options_json(fit.options_);
    out["columns"] = Json::array();
    for (const PartialFit::Part& part : fit.parts_) {
      prefix_ = fmt::format("{}.", out["columns"].size());
      out["columns"].push_back(write_part(part, fit.planned_));
    }
    state_.metadata["format"] = kFormat;
    state_.metadata["version"] = std::to_string(kPartialVersion);
    state_.metadata["fit"] = out.dump(-1, ' ', false, Json::error_handler_t::replace);
    state_.metadata["hash"] = hash_of(state_);
    return std::move(state_);
  }

 private:
  Json write_part(const PartialFit::Part& part, bool planned) {
    const Column& column = part.column;
    Json out = {{"name", column.name},
                {"kind", to_string(column.kind)},
                {"dtype", column.dtype},
                {"n_missing", column.n_missing}};
    if (column.kind == ColumnKind::numeric) {
      out["values"] = to_string(part.counted.dtype());
      out["adapts"] = part.counted.adapts();
      out["low"] = json_number(part.counted.low());
      out["high"] = json_number(part.counted.high());
      out["n_splits"] = part.counted.splits().size();
      for (std::size_t i = 0; i < part.counted.splits().size(); ++i) {
        write_split(part.counted.splits()[i], fmt::format("split.{}.", i));
      }
      if (planned) write_collected(part.collected);
    } else if (column.kind == ColumnKind::datetime) {
      out["first_year"] = part.times.first_year;
      out["last_year"] = part.times.last_year;
      out["any"] = part.times.any;
      out["has_time"] = part.times.has_time;
    } else {
      write_categories(part.categories);
    }
    return out;
  }

  void write_split(const NumericSplit& split, const std::string& name) {
    put(name + "counts", tensor_of<std::int64_t>(split.counts));
    put(name + "thresholds", dispatch_column_type(split.dtype(), [&](auto tag) {
          return tensor_of<decltype(tag)>(split.thresholds<decltype(tag)>());
        }));
  }

  void write_collected(const NumericGather& collected) {
    write_split(collected.split(), "");
    const auto& wanted = collected.wanted();
    put("wanted", tensor_of<std::uint8_t>(std::vector<std::uint8_t>(wanted.begin(), wanted.end())));
    put("values", collected.values());
  }

  // Sorted by bytes, so that the same counts give the same file.
  void write_categories(const CategoryCounts& categories) {
    std::map<std::string_view, std::int64_t> sorted(categories.entries().begin(),
                                                    categories.entries().end());
    std::vector<std::uint8_t> text;
    std::vector<std::int64_t> ends, counts;
    for (const auto& [value, count] : sorted) {
      text.insert(text.end(), value.begin(), value.end());
      ends.push_back(static_cast<std::int64_t>(text.size()));
      counts.push_back(count);
    }
    put("text", tensor_of<std::uint8_t>(text));
    put("ends", tensor_of<std::int64_t>(ends));
    put("counts", tensor_of<std::int64_t>(counts));
  }

  void put(const std::string& name, Tensor tensor) { state_.tensors[prefix_ + name] = tensor; }

  PartialState state_;
  std::string prefix_;
};

// Reads a state whose hash matches; additional checks are for memory safety only.
class StateReader {
 public:
  StateReader(const PartialState& state, const std::string& name) : state_(state), name_(name) {}

  PartialFit read() {
    if (text("format") != kFormat) {
      refuse(fmt::format("expected a part of a fit; {}",
                         advice("tokenizer fit --partial writes them",
                                "Tokenizer.partial(...).save(path) writes them")));
    }
    if (text("version") != std::to_string(kPartialVersion)) {
      refuse(fmt::format("expected version {}, got {}; create all parts with the same version",
                         kPartialVersion, shown(text("version"))));
    }
    if (!state_.metadata.contains("fit") || text("hash") != hash_of(state_)) damaged();
    try {
      return read_fit(Json::parse(state_.metadata.at("fit")));
    } catch (const nlohmann::json::exception&) {
      damaged();
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    const std::string file = name_.empty() ? "" : fmt::format("\"{}\": ", name_);
    fail(ErrorKind::format, "tokenizer.load", file + message);
  }
  [[noreturn]] void damaged() const {
    refuse(
        "the content does not match its hash; the file is damaged: copy it again, or create it "
        "again");
  }
  void require(bool holds) const {
    if (!holds) damaged();
  }

  std::string text(const char* key) const {
    const auto found = state_.metadata.find(key);
    return found == state_.metadata.end() ? "" : found->second;
  }

  const Tensor& get(const std::string& name, DType dtype) const {
    const auto found = state_.tensors.find(prefix_ + name);
    require(found != state_.tensors.end() && found->second.dtype() == dtype &&
            found->second.n_dims() == 1);
    return found->second;
  }
  // Counts whose sum does not overflow.
  std::vector<std::int64_t> counts(const std::string& name) const {
    auto found = get(name, DType::i64).to_vector<std::int64_t>();
    std::int64_t left = std::int64_t{1} << 60;
    for (const std::int64_t count : found) {
      require(count >= 0 && count <= left);
      left -= count;
    }
    return found;
  }

  PartialFit read_fit(const Json& json) {
    PartialFit fit;
    const auto step = json.at("step").get<std::string>();
    fit.planned_ = step == "collect";
    fit.again_ = step == "count again";
    fit.plan_id_ = json.at("plan").get<std::string>();
    fit.n_rows_ = integer_from_json<std::int64_t>(json.at("n_rows"));
    fit.n_seen_ = integer_from_json<std::int64_t>(json.at("n_seen"));
    fit.planned_bytes_ = integer_from_json<std::int64_t>(json.at("planned_bytes"));
    fit.options_ = read_options(json.at("options"));
    for (const Json& column : json.at("columns")) {
      prefix_ = fmt::format("{}.", fit.parts_.size());
      fit.parts_.push_back(read_part(column, fit.planned_));
    }
    require(!fit.parts_.empty());
    return fit;
  }

  PartialFit::Part read_part(const Json& json, bool planned) {
    PartialFit::Part part;
    Column& column = part.column;
    column.name = json.at("name").get<std::string>();
    column.kind = parse_column_kind(json.at("kind").get<std::string>());
    column.dtype = json.at("dtype").get<std::string>();
    column.n_missing = integer_from_json<std::int64_t>(json.at("n_missing"));
    if (column.kind == ColumnKind::numeric) {
      read_numbers(json, planned, part);
    } else if (column.kind == ColumnKind::datetime) {
      part.times = {integer_from_json<std::int64_t>(json.at("first_year")),
                    integer_from_json<std::int64_t>(json.at("last_year")),
                    json.at("any").get<bool>(), json.at("has_time").get<bool>()};
    } else {
      read_categories(part.categories);
    }
    return part;
  }

  void read_numbers(const Json& json, bool planned, PartialFit::Part& part) {
    const DType dtype = parse_dtype(json.at("values").get<std::string>());
    require(binned_dtype(dtype) == dtype);
    const auto n_splits = integer_from_json<std::size_t>(json.at("n_splits"));
    require(n_splits > 0 && n_splits <= state_.tensors.size());
    std::vector<NumericSplit> splits;
    for (std::size_t i = 0; i < n_splits; ++i) {
      splits.push_back(read_split(dtype, fmt::format("split.{}.", i)));
    }
    part.counted = NumericPart(std::move(splits), json.at("adapts").get<bool>(),
                               read_number(json.at("low")), read_number(json.at("high")));
    if (!planned) return;
    NumericSplit split = read_split(dtype, "");
    const auto flags = get("wanted", DType::u8).to_vector<std::uint8_t>();
    require(flags.size() + 1 == split.counts.size());
    const Tensor& values = get("values", dtype);
    std::int64_t n = 0;
    for (std::size_t i = 0; i < flags.size(); ++i) n += flags[i] != 0 ? split.counts[i] : 0;
    require(n == values.numel());
    part.collected = NumericGather(std::move(split), {flags.begin(), flags.end()}, values);
  }

  NumericSplit read_split(DType dtype, const std::string& name) const {
    std::vector<std::int64_t> found = counts(name + "counts");
    return dispatch_column_type(dtype, [&](auto tag) {
      using V = decltype(tag);
      auto thresholds = get(name + "thresholds", dtype).template to_vector<V>();
      require(std::ssize(thresholds) < kMostThresholds && found.size() == thresholds.size() + 2);
      for (std::size_t i = 0; i < thresholds.size(); ++i) {
        require(i == 0 ? thresholds[i] == thresholds[i] : thresholds[i - 1] < thresholds[i]);
      }
      NumericSplit split = NumericSplit::over<V>(std::move(thresholds));
      split.counts = std::move(found);
      return split;
    });
  }

  void read_categories(CategoryCounts& categories) const {
    const auto bytes = get("text", DType::u8).to_vector<std::uint8_t>();
    const auto ends = get("ends", DType::i64).to_vector<std::int64_t>();
    const auto times = counts("counts");
    require(ends.size() == times.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const auto end = static_cast<std::size_t>(ends[i]);
      require(begin <= end && end <= bytes.size());
      categories.add({reinterpret_cast<const char*>(bytes.data()) + begin, end - begin}, times[i]);
      begin = end;
    }
  }

  const PartialState& state_;
  std::string name_;
  std::string prefix_;
};

PartialState PartialFit::state() const { return StateWriter().write(*this); }

PartialFit PartialFit::from_state(const PartialState& state, const std::string& name) {
  return StateReader(state, name).read();
}

}  // namespace causeway::tokenizer
