// `causeway kernel run`: launches a kernel on arrays from files or on random ones.
#include "cli/kernel.h"

#include "cli/options.h"
#include "cli/text_table.h"

#include "causeway/data/npy.h"
#include "causeway/jit/kernel.h"
#include "causeway/tensor/create.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <sstream>

namespace causeway::cli {

namespace {

using jit::Argument;

struct RunCommand {
  std::string file;
  std::string kernel;
  std::vector<std::int64_t> dims;
  std::vector<std::string> inputs;   // name=file.npy, or name=number,…
  std::vector<std::string> outputs;  // name=file.npy
  Device device;
  std::uint64_t seed = 0;
  bool unchecked = false;
  bool json = false;
};

std::map<std::string, std::string> read_pairs(const jit::Kernel& kernel, const std::string& option,
                                              const std::vector<std::string>& texts) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const std::size_t at = text.find('=');
    const std::string name = text.substr(0, at);
    if (at == std::string::npos) {
      fail(ErrorKind::invalid_argument, option, fmt::format("expected NAME=…, got \"{}\"", text));
    }
    std::vector<std::string> names;
    for (const lang::Param& param : kernel.function().params) names.emplace_back(param.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      fail(ErrorKind::invalid_argument, option,
           fmt::format("kernel \"{}\" has no argument \"{}\"; there are {}", kernel.name(), name,
                       fmt::join(names, ", ")));
    }
    pairs[name] = text.substr(at + 1);
  }
  return pairs;
}

std::vector<kernels::Scalar> read_numbers(const std::string& name, const std::string& text) {
  std::vector<kernels::Scalar> numbers;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    double real = 0;
    std::int64_t whole = 0;
    if (CLI::detail::lexical_cast(word, whole)) {
      numbers.emplace_back(whole);
    } else if (CLI::detail::lexical_cast(word, real)) {
      numbers.emplace_back(real);
    } else {
      fail(ErrorKind::invalid_argument, "--input",
           fmt::format("argument \"{}\": \"{}\" is no number", name, word));
    }
  }
  return numbers;
}

// Arguments that no --input gives: zeros for arrays that are only written, otherwise random numbers
// in [-1, 1) and integers that index the launch.
class Arguments {
 public:
  Arguments(const jit::Kernel& kernel, const RunCommand& command)
      : kernel_(kernel), command_(command), random_(command.seed) {}

  Argument make(std::size_t i) {
    const lang::Param& param = kernel_.function().params[i];
    const lang::TypeTable& types = kernel_.module().types;
    if (!types.is(param.type, lang::TypeKind::array)) return value(param.type);
    const int ndim = types[param.type].ndim;
    const jit::ElementLayout layout = jit::element_layout(types, types[param.type].element);
    const std::int64_t side = *std::max_element(command_.dims.begin(), command_.dims.end());
    Shape shape;
    for (int d = 0; d < ndim; ++d) {
      const bool same = static_cast<std::size_t>(ndim) == command_.dims.size();
      shape.push_back(same ? command_.dims[static_cast<std::size_t>(d)] : side);
    }
    for (const std::int64_t size : layout.inner) shape.push_back(size);
    if (!kernel_.traits().arrays[i].read) return zeros(shape, layout.dtype, command_.device);
    if (is_floating(layout.dtype)) {
      return random_.uniform(shape, -1, 1, layout.dtype, command_.device);
    }
    const std::int64_t most =
        layout.dtype == DType::boolean ? 2 : std::min<std::int64_t>(side, 127);
    return random_.integers(shape, 0, std::max<std::int64_t>(most, 1), DType::i64)
        .to(layout.dtype)
        .to(command_.device);
  }

 private:
  Argument value(lang::TypeId type) {
    std::vector<lang::Leaf> leaves;
    kernel_.module().types.leaves(type, leaves);
    std::vector<kernels::Scalar> numbers;
    for (const lang::Leaf& leaf : leaves) {
      if (lang::is_float(leaf.scalar)) {
        numbers.emplace_back(random_.uniform({1}, -1, 1, DType::f64).item());
      } else {
        numbers.emplace_back(leaf.scalar == lang::Scalar::boolean
                                 ? std::int64_t{1}
                                 : std::min<std::int64_t>(command_.dims[0], 127));
      }
    }
    return numbers;
  }

  const jit::Kernel& kernel_;
  const RunCommand& command_;
  Generator random_;
};

struct Summary {
  std::string name;
  std::string shape;
  std::string dtype;
  double min = 0;
  double max = 0;
  double mean = 0;
  std::int64_t n_not_finite = 0;
};

Summary summarize(const std::string& name, const Tensor& array) {
  Summary summary{name, to_string(array.shape()), std::string(to_string(array.dtype()))};
  if (array.numel() == 0) return summary;
  const Tensor values = array.to(Device::cpu()).contiguous().to(DType::f64);
  double sum = 0;
  bool first = true;
  for (const double x : values.to_vector<double>()) {
    if (!std::isfinite(x)) {
      ++summary.n_not_finite;
      continue;
    }
    summary.min = first ? x : std::min(summary.min, x);
    summary.max = first ? x : std::max(summary.max, x);
    sum += x;
    first = false;
  }
  const std::int64_t n_finite = array.numel() - summary.n_not_finite;
  summary.mean = n_finite > 0 ? sum / static_cast<double>(n_finite) : 0;
  return summary;
}

void print(const std::vector<Summary>& summaries, double milliseconds, bool json) {
  if (json) {
    nlohmann::json arrays = nlohmann::json::object();
    for (const Summary& s : summaries) {
      arrays[s.name] = {{"shape", s.shape}, {"dtype", s.dtype}, {"min", s.min},
                        {"max", s.max},     {"mean", s.mean},   {"not_finite", s.n_not_finite}};
    }
    fmt::print("{}\n", nlohmann::json{{"arrays", arrays}, {"milliseconds", milliseconds}}.dump());
    return;
  }
  using Align = TextTable::Align;
  TextTable table({{"array"},
                   {"shape"},
                   {"dtype"},
                   {"min", Align::right},
                   {"max", Align::right},
                   {"mean", Align::right},
                   {"not finite", Align::right}});
  for (const Summary& s : summaries) {
    table.add_row({s.name, s.shape, s.dtype, fmt::format("{:.6g}", s.min),
                   fmt::format("{:.6g}", s.max), fmt::format("{:.6g}", s.mean),
                   fmt::format("{}", s.n_not_finite)});
  }
  fmt::print("{}", table.to_string());
}

void run(const RunCommand& command) {
  lang::Module module = compile_file(command.file);
  const int index = jit::find_kernel(module, command.kernel);
  const jit::Kernel kernel(std::move(module), index);
  jit::check_dims(kernel.function(), command.dims);
  const auto inputs = read_pairs(kernel, "--input", command.inputs);
  const auto outputs = read_pairs(kernel, "--output", command.outputs);
  Arguments made(kernel, command);
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < kernel.function().params.size(); ++i) {
    const std::string name(kernel.function().params[i].name);
    Argument argument = made.make(i);  // in any case, so that others stay the same
    if (const auto given = inputs.find(name); given != inputs.end()) {
      argument = argument.tensor ? Argument(load_npy(given->second, command.device))
                                 : Argument(read_numbers(name, given->second));
    }
    arguments.push_back(std::move(argument));
  }
  jit::LaunchOptions options;
  options.device = command.device;
  options.checked = command.device.is_cpu() && !command.unchecked;
  const auto start = std::chrono::steady_clock::now();
  kernel.launch(command.dims, arguments, options);
  synchronize(command.device);
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::vector<Summary> summaries;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name(kernel.function().params[i].name);
    if (arguments[i].tensor && kernel.traits().arrays[i].written()) {
      summaries.push_back(summarize(name, *arguments[i].tensor));
    }
    if (const auto out = outputs.find(name); out != outputs.end()) {
      if (!arguments[i].tensor) {
        fail(ErrorKind::invalid_argument, "--output", "argument \"" + name + "\" is no array");
      }
      save_npy(out->second, arguments[i].tensor->to(Device::cpu()));
    }
  }
  print(summaries, milliseconds, command.json);
}

}  // namespace

void add_kernel_run(CLI::App& kernel) {
  CLI::App* command =
      kernel.add_subcommand("run", "Launch a kernel and summarize the arrays it writes");
  const auto options = std::make_shared<RunCommand>();
  command->add_option("file", options->file, "Python file with kernels")->required();
  command->add_option("--kernel", options->kernel, "Kernel to run [the only one]")
      ->type_name("NAME");
  command->add_option("--dim", options->dims, "Launch size, one number per dimension")
      ->type_name("N[,N...]")
      ->transform(counted())
      ->delimiter(',')
      ->required();
  command
      ->add_option("--input", options->inputs,
                   "Argument from a .npy file or as numbers; random if not given")
      ->type_name("NAME=FILE|NUMBERS");
  command->add_option("--output", options->outputs, "Array to write to a .npy file")
      ->type_name("NAME=FILE");
  const CLI::Option* device = add_device(*command, options->device, "Device to run on");
  add_seed(*command, options->seed);
  command->add_flag("--unchecked", options->unchecked,
                    "Run without index checks on the CPU; large launches are compiled");
  add_json(*command, options->json);
  command->callback([options, device] {
    if (device->empty()) options->device = parse_device("auto");
    run(*options);
  });
}

}  // namespace causeway::cli
