#include "python/run_parts.h"

#include "python/casters.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

namespace causeway::python {

namespace {

class PythonSource final : public train::TableSource {
 public:
  explicit PythonSource(const nb::callable& tables) : tables_(tables) {}

  models::Tables tables(std::int64_t step) override {
    const auto start = std::chrono::steady_clock::now();
    const CallPython call;
    const auto [x, y, sizes] = nb::cast<std::tuple<Tensor, Tensor, Tensor>>(tables_(step));
    ms_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return {x, y, sizes};
  }

  double generation_ms() const override { return ms_; }

 private:
  nb::callable tables_;
  double ms_ = 0;
};

class PythonModel final : public train::CustomModel {
 public:
  PythonModel(const nb::object& module, const nb::callable& loss)
      : object_(module), module_(nb::cast<nn::Module&>(module)), loss_(loss) {}

  nn::Module& module() override { return module_; }

  Tensor loss(const models::Tables& tables) override {
    const CallPython call;
    return nb::cast<Tensor>(loss_(tables.x, tables.y, tables.sizes));
  }

 private:
  nb::object object_;
  nn::Module& module_;
  nb::callable loss_;
};

}  // namespace

std::shared_ptr<train::TableSource> python_source(const nb::callable& tables) {
  return std::make_shared<PythonSource>(tables);
}

std::shared_ptr<train::CustomModel> python_model(const nb::object& module,
                                                 const nb::callable& loss) {
  return std::make_shared<PythonModel>(module, loss);
}

train::CustomFamily python_family(const std::string& name, double share,
                                  const nb::callable& generate) {
  const auto function = std::make_shared<nb::callable>(generate);
  return {name, share, [function](const train::CustomRequest& request) {
            const CallPython call;
            return nb::cast<std::pair<Tensor, Tensor>>(
                (*function)(request.seed, request.indices, request.n_classes, request.n_rows,
                            request.n_features, request.device));
          }};
}

}  // namespace causeway::python
