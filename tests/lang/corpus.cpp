#include "tests/lang/corpus.h"

#include "causeway/core/error.h"
#include "causeway/lang/ir/builder.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace causeway::lang::test {

namespace {

std::vector<double> numbers(const std::string& text) {
  std::vector<double> result;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) result.push_back(std::stod(part));
  return result;
}

Input parse_input(const std::string& name, std::string value) {
  Input input;
  input.name = name;
  const std::size_t bracket = value.find('[');
  if (bracket != std::string::npos) {
    for (const double n : numbers(value.substr(bracket + 1, value.size() - bracket - 2)))
      input.shape.push_back(static_cast<std::int64_t>(n));
    value = value.substr(0, bracket);
  }
  if (value[0] == 'z') {
    input.kind = 'z';
  } else if (value.size() > 1 && value[1] == '(') {
    input.kind = value[0];
    input.values = numbers(value.substr(2, value.size() - 3));
    if (input.kind != 'v') {
      input.low = input.values[0];
      input.high = input.values[1];
    }
  } else {
    input.low = std::stod(value);
  }
  return input;
}

// The k-th number of the sequence, in [0, 1): the same in the Python test.
double sequence(std::uint32_t k) {
  std::uint32_t h = k * 2654435761U + 12345U;
  h ^= h >> 15;
  h *= 2246822519U;
  h ^= h >> 13;
  return static_cast<double>(h >> 8) / 16777216.0;
}

void write(Scalar scalar, std::byte* to, double value) {
  switch (scalar) {
    case Scalar::f64: std::memcpy(to, &value, 8); return;
    case Scalar::f32: {
      const auto x = static_cast<float>(value);
      std::memcpy(to, &x, 4);
      return;
    }
    case Scalar::f16: {
      const std::uint16_t x = float_to_half(static_cast<float>(value));
      std::memcpy(to, &x, 2);
      return;
    }
    default: {
      const auto x = static_cast<std::int64_t>(value);
      std::memcpy(to, &x, size_of(scalar));
      return;
    }
  }
}

double read(Scalar scalar, const std::byte* from) {
  switch (scalar) {
    case Scalar::f64: {
      double x = 0;
      std::memcpy(&x, from, 8);
      return x;
    }
    case Scalar::f32: {
      float x = 0;
      std::memcpy(&x, from, 4);
      return x;
    }
    case Scalar::f16: {
      std::uint16_t x = 0;
      std::memcpy(&x, from, 2);
      return half_to_float(x);
    }
    default: {
      std::int64_t x = 0;
      std::memcpy(&x, from, size_of(scalar));
      const std::size_t unused = 64 - size_of(scalar) * 8;
      const auto shifted = static_cast<std::uint64_t>(x) << unused;
      return is_unsigned(scalar) || scalar == Scalar::boolean
                 ? static_cast<double>(shifted >> unused)
                 : static_cast<double>(static_cast<std::int64_t>(shifted) >> unused);
    }
  }
}

}  // namespace

std::vector<Run> parse_runs(const std::string& file, const std::string& text) {
  std::vector<Run> runs;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# run ")) continue;
    std::stringstream words(line.substr(6));
    Run run;
    run.file = file;
    words >> run.kernel;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (name == "dim") {
        for (const double n : numbers(word.substr(equals + 1)))
          run.dims.push_back(static_cast<std::int64_t>(n));
      } else if (name == "ulp") {
        run.ulp = std::stoi(word.substr(equals + 1));
      } else if (word == "nograd") {
        run.gradients = false;
      } else if (word == "nocpp") {
        run.cpp = false;
      } else if (equals != std::string::npos) {
        run.inputs.push_back(parse_input(name, word.substr(equals + 1)));
      }
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<CorpusFile> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".py") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<CorpusFile> files;
  for (const auto& path : paths) {
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    files.push_back(
        {path.filename().string(), text.str(), parse_runs(path.filename().string(), text.str())});
  }
  return files;
}

Buffers make_buffers(const Module& module, const Function& function, const Run& run) {
  Buffers buffers;
  std::uint32_t k = 0;
  for (const Param& param : function.params) {
    if (param.role != ParamRole::argument) break;
    const auto found = std::find_if(run.inputs.begin(), run.inputs.end(),
                                    [&](const Input& input) { return input.name == param.name; });
    if (found == run.inputs.end()) {
      fail(ErrorKind::invalid_argument, "lang.test",
           run.file + " " + run.kernel + ": no input for " + std::string(param.name));
    }
    const bool array = module.types.is(param.type, TypeKind::array);
    const TypeId element = array ? module.types[param.type].element : param.type;
    std::int64_t count = 1;
    for (const std::int64_t n : found->shape) count *= n;
    const std::size_t size = module.types.size_bytes(element);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
    std::vector<Leaf> leaves;
    module.types.leaves(element, leaves);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        double value = found->low;
        if (found->kind == 'u') value = found->low + (found->high - found->low) * sequence(k++);
        if (found->kind == 'i')
          value = found->low + static_cast<double>(static_cast<std::int64_t>(
                                   (found->high - found->low) * sequence(k++)));
        if (found->kind == 'z') value = 0;
        if (found->kind == 'v') value = found->values[leaf % found->values.size()];
        // What every float type holds, so that f64 checks start from the same values.
        if (is_float(leaves[leaf].scalar)) value = static_cast<float>(value);
        write(leaves[leaf].scalar,
              bytes.data() + static_cast<std::size_t>(i) * size + leaves[leaf].offset, value);
      }
    }
    buffers.bytes.push_back(std::move(bytes));
    buffers.shapes.push_back(found->shape);
  }
  buffers.bind(module, function);
  return buffers;
}

void Buffers::bind(const Module& module, const Function& function) {
  arguments.assign(bytes.size(), {});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const TypeId type = function.params[i].type;
    arguments[i].value = bytes[i].data();
    if (module.types.is(type, TypeKind::array)) {
      arguments[i].array = contiguous(bytes[i].data(), shapes[i],
                                      module.types.size_bytes(module.types[type].element));
    }
  }
}

std::vector<double> as_doubles(const Module& module, TypeId type,
                               const std::vector<std::byte>& bytes) {
  const TypeId element = module.types.is(type, TypeKind::array) ? module.types[type].element : type;
  std::vector<Leaf> leaves;
  module.types.leaves(element, leaves);
  const std::size_t size = module.types.size_bytes(element);
  std::vector<double> values;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    for (const Leaf& leaf : leaves)
      values.push_back(read(leaf.scalar, bytes.data() + at + leaf.offset));
  }
  return values;
}

}  // namespace causeway::lang::test
