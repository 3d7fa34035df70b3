#include "causeway/pairs/record.h"

#include "causeway/core/version.h"
#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/lang/compile.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/pairs/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace causeway::pairs {

const char kCanary[] = "causeway-pairs canary 6f1d0b8e-2c57-4d3a-9e84-b1a7c05f93d2";

namespace {

using lang::Op;

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::string type_text(ValueType type) {
  using Shape = ValueType::Shape;
  const std::string_view scalar = lang::name_of(type.scalar);
  switch (type.shape) {
    case Shape::scalar: break;
    case Shape::vector: return fmt::format("vec{}<{}>", type.rows, scalar);
    case Shape::matrix: return fmt::format("mat{}x{}<{}>", type.rows, type.cols, scalar);
    case Shape::quaternion: return fmt::format("quat<{}>", scalar);
  }
  return std::string(scalar);
}

void write_sizes(JsonText& json, std::string_view name, const std::vector<std::int64_t>& sizes) {
  json.key(name).open('[');
  for (const std::int64_t size : sizes) json.number(size);
  json.close(']');
}

void write_fill(JsonText& json, const Parameter& parameter, const InputSet& set) {
  switch (parameter.fill) {
    case Fill::uniform:
    case Fill::integers:
      json.member("fill", parameter.fill == Fill::uniform ? "uniform" : "integers");
      json.member("low", parameter.low).member("high", parameter.high);
      break;
    case Fill::indices:
      json.member("fill", "integers")
          .member("low", 0)
          .member("high", parameter.bound.value(set.sizes) - 1);
      break;
    case Fill::size:
      json.member("fill", "constant").member("value", parameter.bound.value(set.sizes));
      break;
    case Fill::constant: json.member("fill", "constant").member("value", parameter.low); break;
    case Fill::permutation: json.member("fill", "permutation"); break;
  }
}

void write_parameter(JsonText& json, const Program& program, const Parameter& parameter,
                     const InputSet& set) {
  json.open('{').member("name", parameter.name);
  if (parameter.structure.empty()) {
    json.member("type", type_text(parameter.type));
    write_fill(json, parameter, set);
  } else {
    json.member("type", parameter.structure).key("fields").open('[');
    for (const StructField& field : parameter.fields) {
      json.open('{').member("name", field.name).member("type", type_text(field.type));
      json.member("fill", lang::is_float(field.type.scalar) ? "uniform" : "integers");
      json.member("low", field.low).member("high", field.high).close('}');
    }
    json.close(']');
  }
  if (parameter.array) write_sizes(json, "shape", array_shape(program, parameter, set));
  if (parameter.written) json.key("output").boolean(true);
  json.close('}');
}

void write_inputs(JsonText& json, const Record& record) {
  json.key("inputs").open('[');
  std::size_t k = 0;
  for (const InputSet& set : input_sets(record.program)) {
    json.open('{').member("set", name_of(set.kind)).member("seed", set.seed);
    write_sizes(json, "dim", launch_dims(record.program, set));
    json.key("parameters").open('[');
    for (const Parameter& parameter : record.program.parameters)
      write_parameter(json, record.program, parameter, set);
    json.close(']');
    if (k < record.verification.hashes.size())
      json.member("output_hash", hex(record.verification.hashes[k]));
    json.close('}');
    ++k;
  }
  json.close(']');
}

void write_counts(JsonText& json, std::string_view name,
                  const std::map<std::string, int, std::less<>>& counts) {
  json.key(name).open('{');
  for (const auto& [key, count] : counts) json.member(key, count);
  json.close('}');
}

void write_metadata(JsonText& json, const Record& record, const std::string& device) {
  const Program& program = record.program;
  json.key("metadata").open('{').member("id", record_id(record)).member("kernel", program.kernel);
  json.member("category", name_of(program.category)).member("device", device);
  json.member("description", program.description).member("difficulty", program.level);
  write_counts(json, "ops", record.ops);
  write_counts(json, "constructs", record.constructs);
  json.key("verification").open('{').key("passed").open('[');
  for (const std::string& step : record.verified) json.string(step);
  json.close(']').member("tolerance", name_of(record.tolerance));
  const bool checked = std::ranges::find(record.verified, "adjoint") != record.verified.end();
  json.member("gradient", record.cuda_backward.empty() ? "none"
                          : checked                    ? "checked"
                                                       : "unchecked");
  json.member("input_sets", record.verification.hashes.size())
      .member("derivatives", record.verification.derivatives);
  json.member("worst_derivative_error", record.verification.worst_derivative).close('}');
  if (record.resources) {
    const KernelResources& kernel = record.resources->kernel;
    json.key("resources").open('{').member("gpu", record.resources->gpu);
    json.member("registers", kernel.registers).member("shared_bytes", kernel.shared_bytes);
    json.member("local_bytes", kernel.local_bytes).close('}');
  }
  json.member("structure", hex(record.structure.key))
      .member("cluster", hex(record.structure.cluster));
  json.member("split", name_of(record.structure.split())).member("seed", program.seed);
  json.member("candidate", record.candidate)
      .member("generator", std::string("causeway ") + kVersion);
  json.member("schema", kSchemaVersion)
      .member("licence", "MIT")
      .member("canary", kCanary)
      .close('}');
}

void write_variants(JsonText& json, const Record& record) {
  json.key("variants").open('[');
  for (std::size_t i = 0; i < record.variants.size(); ++i) {
    const Variant& variant = record.variants[i];
    json.open('{').member("form", name_of(variant.form));
    json.member("cuda_forward", variant.cuda_forward).member("verified", variant.verified);
    if (record.times) json.member("microseconds", record.times->variants[i]);
    json.close('}');
  }
  json.close(']');
  if (!record.times) return;
  json.key("times").open('{').member("gpu", record.times->gpu);
  write_sizes(json, "dim", record.times->dim);
  json.member("microseconds", record.times->forward).close('}');
}

// Whether the adjoint kernel adds to the gradient of some parameter.
bool has_gradient(const lang::Module& module, const lang::Function& adjoint,
                  lang::BlockId block = 0) {
  for (const lang::ValueId id : adjoint.blocks[block].insts) {
    const lang::Inst& inst = adjoint[id];
    if (inst.op == Op::call && module.functions[static_cast<std::size_t>(inst.imm)].effects)
      return true;
    if (inst.op == Op::atomic_add) {
      lang::ValueId array = adjoint.arg(inst, 0);
      while (adjoint[array].op == Op::view) array = adjoint.arg(adjoint[array], 0);
      if (adjoint.params[array].role == lang::ParamRole::gradient) return true;
    }
    for (const lang::BlockId inner : inst.blocks) {
      if (inner != lang::kAbsent && has_gradient(module, adjoint, inner)) return true;
    }
  }
  return false;
}

using OpCounts = std::array<int, std::size(lang::kOpInfos)>;

void count_ops(const lang::Module& module, const lang::Function& function, OpCounts& counts) {
  for (const lang::Inst& inst : function.insts) {
    ++counts[static_cast<std::size_t>(inst.op)];
    if (inst.op == Op::call)
      count_ops(module, module.functions[static_cast<std::size_t>(inst.imm)], counts);
  }
}

void count_ops(const lang::Module& module, const lang::Function& function, Record& record) {
  OpCounts counts{};
  count_ops(module, function, counts);
  for (const Op op : {Op::param, Op::constant, Op::yield, Op::cond})
    counts[static_cast<std::size_t>(op)] = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) record.ops[std::string(lang::kOpInfos[i].name)] += counts[i];
  }
}

// Several times as fast as find, which stops at each space.
bool contains(std::string_view text, std::string_view words) {
  return ::memmem(text.data(), text.size(), words.data(), words.size()) != nullptr;
}

void count_constructs(const std::string& source, Record& record) {
  constexpr std::string_view kWords[] = {"if ",      "elif ",      "else:",     "for ",
                                         "while ",   "break",      "continue",  "return",
                                         "@wp.func", "@wp.struct", "wp.atomic_"};
  constexpr std::string_view kNames[] = {"if",       "elif",   "else",     "for",
                                         "while",    "break",  "continue", "return",
                                         "function", "struct", "atomic"};
  std::size_t begin = 0;
  while (begin < source.size()) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    const std::string_view line = std::string_view(source).substr(begin, end - begin);
    const std::string_view text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    for (std::size_t k = 0; k < std::size(kWords); ++k) {
      if (text.starts_with(kWords[k])) ++record.constructs[std::string(kNames[k])];
    }
    if (contains(text, " += ") || contains(text, " -= ")) ++record.constructs["augmented"];
    if (contains(text, " else ") && contains(text, " if ")) ++record.constructs["conditional"];
    begin = end + 1;
  }
}

}  // namespace

std::string_view name_of(lang::LaunchForm form) {
  constexpr std::string_view kNames[lang::kLaunchForms] = {"grid_stride", "one_element",
                                                           "vectorized", "block_reduction"};
  return kNames[static_cast<int>(form)];
}

std::string record_id(const Record& record) {
  return hex(fnv(&record.structure.key, sizeof record.structure.key, record.program.seed));
}

Compiled compile_program(const Program& program) {
  Compiled compiled;
  compiled.module = lang::compile(program.kernel + ".py", program.source);
  compiled.kernel = compiled.module.find(program.kernel);
  return compiled;
}

void add_forward_texts(const Compiled& compiled, Record& record) {
  const lang::Function& kernel = compiled.function();
  record.tolerance = tolerance_of(compiled.module, kernel);
  record.ir = lang::print_ir(compiled.module);
  lang::Emitted cuda = lang::emit(compiled.module, compiled.kernel);
  record.cuda_forward = std::move(cuda.text);
  for (const lang::LineEntry& entry : cuda.lines)
    record.lines.push_back({compiled.module.source->position(entry.span.begin).line, entry.line});
  lang::EmitOptions cpp;
  cpp.dialect = lang::Dialect::cpp;
  record.cpp_forward = lang::emit(compiled.module, compiled.kernel, cpp).text;
  count_ops(compiled.module, kernel, record);
  count_constructs(record.program.source, record);
}

void add_backward_text(Compiled& compiled, Record& record) {
  bool differentiable = false;
  for (const lang::Param& param : compiled.function().params)
    differentiable = differentiable || compiled.module.types.has_float(param.type);
  if (!differentiable) return;
  const int adjoint = lang::add_adjoint(compiled.module, compiled.kernel);
  if (!has_gradient(compiled.module, compiled.module.functions[static_cast<std::size_t>(adjoint)]))
    return;
  compiled.adjoint = adjoint;
  record.cuda_backward = lang::emit(compiled.module, compiled.adjoint).text;
}

std::string to_json(const Record& record, const std::string& device, std::string before) {
  JsonText json(std::move(before));
  json.text().reserve(12'000);
  json.open('{')
      .member("python_source", record.program.source)
      .member("cuda_forward", record.cuda_forward);
  json.key("cuda_backward");
  record.cuda_backward.empty() ? json.null() : json.string(record.cuda_backward);
  json.member("cpp_forward", record.cpp_forward).member("ir", record.ir);
  if (!record.ptx.empty()) json.member("ptx", record.ptx);
  json.key("line_map").open('[');
  for (const LinePair& pair : record.lines)
    json.open('[').number(pair.python).number(pair.cuda).close(']');
  json.close(']');
  write_inputs(json, record);
  if (record.twin) {
    json.key("twin").open('{').member("bug", name_of(record.twin->bug));
    json.member("diagnosis", record.twin->diagnosis).member("caught_by", record.twin->caught_by);
    json.member("python_source", record.twin->python_source)
        .member("cuda_forward", record.twin->cuda_forward)
        .close('}');
  }
  if (!record.variants.empty()) write_variants(json, record);
  write_metadata(json, record, device);
  json.close('}');
  return std::move(json.text());
}

}  // namespace causeway::pairs
