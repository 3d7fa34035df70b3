#include "causeway/lang/compile.h"

#include "causeway/lang/check/checker.h"
#include "causeway/lang/passes/passes.h"

namespace causeway::lang {

Constant Constant::of(bool value) {
  Constant constant;
  constant.kind = Kind::boolean;
  constant.integer = value ? 1 : 0;
  return constant;
}

Constant Constant::of(std::int64_t value) {
  Constant constant;
  constant.kind = Kind::integer;
  constant.integer = value;
  return constant;
}

Constant Constant::of(double value) {
  Constant constant;
  constant.real = value;
  return constant;
}

Module compile(std::string file, std::string text, const CompileOptions& options) {
  auto source = std::make_shared<const Source>(std::move(file), std::move(text), options.origins);
  Module module = Checker(std::move(source), options).run();
  if (options.optimize) {
    for (Function& function : module.functions) optimize(module, function);
  }
  return module;
}

}  // namespace causeway::lang
