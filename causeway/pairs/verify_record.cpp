#include "causeway/pairs/verify_record.h"

#include "causeway/core/config.h"
#include "causeway/lang/source.h"
#include "causeway/pairs/cpp_check.h"
#include "causeway/pairs/gpu_check.h"
#include "causeway/pairs/parallel.h"
#include "causeway/pairs/reproduced.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::pairs {

namespace {

// What is wrong with a record, as text.
struct Problem {
  std::string text;
};

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string())
    throw Problem{fmt::format("\"{}\" is not a text", name)};
  return found->get<std::string>();
}

double number_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number())
    throw Problem{fmt::format("\"{}\" is not a number", name)};
  return found->get<double>();
}

const Json& list_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array())
    throw Problem{fmt::format("\"{}\" is not a list", name)};
  return *found;
}

// "float32", "vec3<float32>", "mat3x3<float64>", "quat<float32>".
ValueType type_of(const std::string& text) {
  ValueType type;
  const std::size_t angle = text.find('<');
  const std::string scalar =
      angle == std::string::npos ? text : text.substr(angle + 1, text.size() - angle - 2);
  bool known = false;
  for (int i = 0; i < lang::kScalarCount; ++i) {
    if (lang::name_of(static_cast<lang::Scalar>(i)) != scalar) continue;
    type.scalar = static_cast<lang::Scalar>(i);
    known = true;
  }
  if (text.starts_with("vec") && text.size() > 3) {
    type.shape = ValueType::Shape::vector;
    type.rows = static_cast<std::uint8_t>(text[3] - '0');
  } else if (text.starts_with("mat") && text.size() > 5) {
    type.shape = ValueType::Shape::matrix;
    type.rows = static_cast<std::uint8_t>(text[3] - '0');
    type.cols = static_cast<std::uint8_t>(text[5] - '0');
  } else if (text.starts_with("quat")) {
    type.shape = ValueType::Shape::quaternion;
    type.rows = 4;
  } else {
    known = known && angle == std::string::npos;
  }
  if (!known) throw Problem{fmt::format("\"{}\" is not a type", text)};
  return type;
}

Parameter parameter_of(const Json& json) {
  Parameter parameter;
  parameter.name = text_of(json, "name");
  parameter.array = json.contains("shape");
  parameter.written = json.value("output", false);
  if (json.contains("fields")) {
    parameter.structure = text_of(json, "type");
    for (const Json& field : list_of(json, "fields")) {
      StructField member{text_of(field, "name"), type_of(text_of(field, "type")),
                         number_of(field, "low"), number_of(field, "high")};
      parameter.fields.push_back(std::move(member));
    }
  } else {
    parameter.type = type_of(text_of(json, "type"));
    const std::string fill = text_of(json, "fill");
    if (fill == "uniform" || fill == "integers") {
      parameter.fill = fill == "uniform" ? Fill::uniform : Fill::integers;
      parameter.low = number_of(json, "low");
      parameter.high = number_of(json, "high");
    } else if (fill == "constant") {
      parameter.fill = Fill::constant;
      parameter.low = number_of(json, "value");
    } else if (fill == "permutation") {
      parameter.fill = Fill::permutation;
    } else {
      throw Problem{fmt::format("\"{}\" is not a way to fill a parameter", fill)};
    }
  }
  if (parameter.array) {
    std::int64_t elements = 1;
    for (const Json& size : list_of(json, "shape")) {
      if (!size.is_number_integer() || size < 0 || size > 1 << 20)
        throw Problem{"a shape is not a list of sizes"};
      parameter.shape.push_back({-1, 1, size.get<int>()});
      elements *= std::max(1, size.get<int>());
      if (elements > 1 << 22) throw Problem{"an array is too large"};
    }
    if (parameter.shape.empty() || parameter.shape.size() > lang::kMaxArrayDims)
      throw Problem{"a shape has not 1 to 4 sizes"};
  }
  return parameter;
}

// The launch of one input set, with all sizes fixed.
Program launch_of(const Json& set, const Json& record, InputSet& inputs) {
  Program program;
  program.source = text_of(record, "python_source");
  program.kernel = text_of(record["metadata"], "kernel");
  const std::string kind = text_of(set, "set");
  for (const SetKind known : {SetKind::usual, SetKind::least, SetKind::edges}) {
    if (name_of(known) == kind) inputs.kind = known;
  }
  const auto seed = set.find("seed");
  if (seed == set.end() || !seed->is_number_integer()) throw Problem{"an input set has no seed"};
  inputs.seed = seed->get<std::uint64_t>();
  for (const Json& size : list_of(set, "dim")) {
    if (!size.is_number_integer() || size < 0 || size > 1 << 20)
      throw Problem{"\"dim\" is not a list of sizes"};
    program.dims.push_back({-1, 1, size.get<int>()});
  }
  for (const Json& parameter : list_of(set, "parameters"))
    program.parameters.push_back(parameter_of(parameter));
  return program;
}

// The kernel takes what the parameters describe.
void check_parameters(const Program& program, const Compiled& compiled) {
  const lang::Function& kernel = compiled.function();
  if (kernel.params.size() != program.parameters.size())
    throw Problem{fmt::format("the kernel has {} parameters, the inputs describe {}",
                              kernel.params.size(), program.parameters.size())};
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const Parameter& parameter = program.parameters[i];
    const lang::Type& type = compiled.module.types[kernel.params[i].type];
    const bool array = type.kind == lang::TypeKind::array;
    std::vector<lang::Leaf> leaves;
    compiled.module.types.leaves(array ? type.element : kernel.params[i].type, leaves);
    std::size_t fields = 0;
    for (const StructField& field : parameter.fields)
      fields += static_cast<std::size_t>(field.type.count());
    const bool fits = array == parameter.array && (!array || type.ndim == parameter.shape.size()) &&
                      (parameter.fields.empty() || fields <= leaves.size()) &&
                      kernel.params[i].name == parameter.name;
    if (!fits)
      throw Problem{fmt::format("the kernel's parameter {} is not what the inputs describe",
                                kernel.params[i].name)};
  }
  if (kernel.dims > static_cast<int>(program.dims.size()))
    throw Problem{"the launch has too few dimensions"};
}

void compare(const Json& record, const char* name, const std::string& expected) {
  const Json& found = record.contains(name) ? record[name] : Json();
  const bool same = expected.empty() ? found.is_null()
                                     : found.is_string() && found.get<std::string>() == expected;
  if (!same) throw Problem{fmt::format("\"{}\" is not what the Python text compiles to", name)};
}

void check_variants(const Json& record, Reproduced& result) {
  if (!record.contains("variants")) return;
  for (const Json& variant : list_of(record, "variants")) {
    const std::string name = text_of(variant, "form");
    BackendTask task{&result.compiled, Tolerance::exact, {}};
    int form = 1;
    while (form < lang::kLaunchForms && name_of(static_cast<lang::LaunchForm>(form)) != name)
      ++form;
    task.form = static_cast<lang::LaunchForm>(form);
    if (form == lang::kLaunchForms ||
        !lang::has_form(task.module(), task.compiled->kernel, task.form))
      throw Problem{fmt::format("\"{}\" is not a form of the kernel", name)};
    if (text_of(variant, "cuda_forward") != task.emit(lang::Dialect::cuda, "").text)
      throw Problem{fmt::format("the variant {} is not what the Python text compiles to", name)};
    result.forms.push_back(task.form);
  }
}

void check(const Json& record, Reproduced& result) {
  if (!record.is_object() || !record.contains("metadata") || !record["metadata"].is_object())
    throw Problem{"the record has no metadata"};
  const Json& metadata = record["metadata"];
  if (number_of(metadata, "schema") != kSchemaVersion)
    throw Problem{fmt::format("schema {} is not {}, which this version reads",
                              metadata["schema"].dump(), kSchemaVersion)};
  Record& again = result.record;
  Compiled& compiled = result.compiled;
  again.program.source = text_of(record, "python_source");
  again.program.kernel = text_of(metadata, "kernel");
  compiled = compile_program(again.program);
  if (compiled.kernel < 0)
    throw Problem{fmt::format("the Python text has no kernel {}", again.program.kernel)};
  again.structure = structure_of(again.program.source, compiled.module, compiled.function());
  add_forward_texts(compiled, again);
  add_backward_text(compiled, again);
  compare(record, "cuda_forward", again.cuda_forward);
  compare(record, "cuda_backward", again.cuda_backward);
  compare(record, "cpp_forward", again.cpp_forward);
  compare(record, "ir", again.ir);
  check_variants(record, result);
  if (text_of(metadata, "structure") != fmt::format("{:016x}", again.structure.key))
    throw Problem{"\"structure\" is another program's"};
  if (text_of(metadata, "split") != name_of(again.structure.split()))
    throw Problem{"\"split\" is not that of its cluster"};
  const Json& passed = list_of(metadata["verification"], "passed");
  const bool gradients = std::ranges::find(passed, Json("adjoint")) != passed.end();
  for (const Json& set : list_of(record, "inputs")) {
    InputSet inputs;
    const Program& program = result.programs.emplace_back(launch_of(set, record, inputs));
    check_parameters(program, compiled);
    result.launches.push_back({&program, inputs});
    Verification verification;
    run_program(program, inputs, compiled.module, compiled.kernel, verification);
    if (verification.rejection == Rejection::none && set.contains("output_hash") &&
        text_of(set, "output_hash") != fmt::format("{:016x}", verification.hashes.front()))
      throw Problem{
          fmt::format("the results on the input set {} have another hash", text_of(set, "set"))};
    if (verification.rejection == Rejection::none && gradients && inputs.kind == SetKind::usual)
      check_adjoint(program, inputs, verification);
    if (verification.rejection != Rejection::none)
      throw Problem{fmt::format("{}: {}", name_of(verification.rejection), verification.detail)};
  }
}

// Kernels to run, and the records they belong to.
struct Tasks {
  std::vector<BackendTask> list;
  std::vector<std::size_t> owners;

  void add(std::size_t owner, BackendTask task) {
    list.push_back(std::move(task));
    owners.push_back(owner);
  }
};

}  // namespace

RecordCheck reproduce(std::string_view json, Reproduced& reproduced) {
  RecordCheck result;
  const Json record = Json::parse(json, nullptr, false);
  if (record.is_discarded()) return {"", "not valid JSON"};
  try {
    if (record.is_object() && record.contains("metadata") && record["metadata"].is_object())
      result.id = record["metadata"].value("id", "");
    check(record, reproduced);
  } catch (const Problem& problem) {
    result.problem = problem.text;
  } catch (const Error& error) {
    result.problem = error.what();
  } catch (const Json::exception& error) {
    result.problem = "unexpected JSON";
  }
  return result;
}

RecordCheck verify_record(std::string_view json) {
  Reproduced reproduced;
  return reproduce(json, reproduced);
}

std::vector<RecordCheck> verify_records(std::span<const std::string> records,
                                        const RecordChecks& checks) {
  std::vector<RecordCheck> results(records.size());
  std::vector<Reproduced> reproduced(records.size());
  in_parallel(records.size(), checks.threads,
              [&](std::size_t i) { results[i] = reproduce(records[i], reproduced[i]); });
  Tasks kernels;
  Tasks variants;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!results[i].problem.empty()) continue;
    const Reproduced& one = reproduced[i];
    kernels.add(i, {&one.compiled, one.record.tolerance, one.launches});
    for (const lang::LaunchForm form : one.forms)
      variants.add(i, {&one.compiled, one.record.tolerance, one.launches, form});
  }
  const auto take = [&](const Tasks& tasks, const auto& found, std::string_view what) {
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (!found[k].problem.empty())
        results[tasks.owners[k]].problem = fmt::format("{}: {}", what, found[k].problem);
    }
  };
  if (checks.cpp) {
    take(kernels, check_with_cpp(kernels.list, checks.threads), "cpp");
    take(variants, check_with_cpp(variants.list, checks.threads, CppText::emulated_cuda),
         "variant");
  }
  if (checks.gpu) {
    const Device device = parse_device("cuda");
    take(kernels, check_on_gpu(kernels.list, device, checks.threads, checks.workers), "gpu");
    take(variants, check_on_gpu(variants.list, device, checks.threads, checks.workers), "variant");
  }
  return results;
}

std::vector<OutputArray> run_record(std::string_view json, int set) {
  try {
    const Json record = Json::parse(json);
    const Json& sets = list_of(record, "inputs");
    if (set < 0 || set >= static_cast<int>(sets.size()))
      throw Problem{fmt::format("there is no input set {}", set)};
    InputSet inputs;
    const Program program = launch_of(sets[static_cast<std::size_t>(set)], record, inputs);
    const Compiled compiled = compile_program(program);
    if (compiled.kernel < 0)
      throw Problem{fmt::format("the Python text has no kernel {}", program.kernel)};
    check_parameters(program, compiled);
    Memory memory = make_memory(program, inputs, compiled.module, compiled.function());
    lang::Interpreter(compiled.module, compiled.kernel)
        .launch(launch_dims(program, inputs),
                memory.arguments(compiled.module, compiled.function()));
    std::vector<OutputArray> outputs;
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      const Parameter& parameter = program.parameters[i];
      if (!parameter.written) continue;
      OutputArray output{parameter.name, std::string(lang::name_of(parameter.type.scalar)),
                         memory.shapes[i], memory.bytes[i]};
      if (!parameter.type.is_scalar()) output.shape.push_back(parameter.type.rows);
      if (parameter.type.shape == ValueType::Shape::matrix)
        output.shape.push_back(parameter.type.cols);
      outputs.push_back(std::move(output));
    }
    return outputs;
  } catch (const Problem& problem) {
    throw Error(ErrorKind::invalid_argument, "[pairs] " + problem.text);
  } catch (const Json::exception&) {
    throw Error(ErrorKind::invalid_argument, "[pairs] the record is not valid JSON");
  }
}

}  // namespace causeway::pairs
