// GPT models: causeway.models.GPT derives from this class.
#include "causeway/models/gpt_decoder.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <algorithm>

namespace causeway::python {

namespace {

using models::GenerateOptions;
using models::Gpt;
using models::GptConfig;
using models::GptDecoder;
using models::GptInt8;

Tensor as_ids(const Gpt& model, nb::handle values) {
  return autograd::detach(as_tensor(values)).to(model.embedding().device()).to(DType::i64);
}

std::vector<GptDecoder::Tokens> generate(Gpt& model, const std::vector<GptDecoder::Tokens>& prompts,
                                         const GenerateOptions& options, bool int8) {
  return interruptible([&] {
    options.check();
    std::int64_t longest = 0;
    for (const auto& prompt : prompts) longest = std::max(longest, std::ssize(prompt));
    const std::int64_t length = model.config().length;
    if (longest > length) {
      fail(ErrorKind::invalid_argument, "generate",
           fmt::format("a prompt of {} tokens; the model's length is {}", longest, length));
    }
    GptDecoder decoder(model, std::ssize(prompts), std::min(length, longest + options.tokens),
                       int8 ? std::make_shared<const GptInt8>(model) : nullptr);
    return decoder.generate(prompts, options);
  });
}

void bind_generate(nb::module_& module, nb::class_<Gpt, nn::Module>& gpt) {
  nb::class_<GenerateOptions>(module, "_GenerateOptions")
      .def("__init__", [](GenerateOptions* self, std::int64_t tokens, double temperature,
                          std::int64_t top_k, double top_p, double min_p, std::uint64_t seed) {
        new (self) GenerateOptions{tokens, temperature, top_k, top_p, min_p, seed};
      });
  gpt.def("_generate", generate, "prompts"_a, "options"_a, "int8"_a);
}

}  // namespace

void bind_gpt(nb::module_& module) {
  nb::class_<Gpt, nn::Module> gpt(module, "_Gpt");
  gpt.def(
         "__init__",
         [](Gpt* self, const std::string& config, DTypeArg dtype, Device device,
            Generator* generator) {
           new (self) Gpt(GptConfig::from_json(config), {dtype.value, device, generator});
         },
         "config"_a, "dtype"_a.sig("f32") = DTypeArg{}, "device"_a = Device::cpu(),
         "generator"_a.none() = nb::none())
      .def_static("_preset",
                  [](std::string_view name) { return GptConfig::preset(name).to_json(); })
      .def_prop_ro("_config", [](const Gpt& self) { return self.config().to_json(); })
      .def_prop_ro(
          "device", [](const Gpt& self) { return self.embedding().device(); },
          "Device of the parameters.")
      .def(
          "logits",
          [](Gpt& self, nb::handle tokens, bool int8) {
            const Tensor ids = as_ids(self, tokens);
            return without_gil([&] { return int8 ? GptInt8(self).logits(ids) : self.logits(ids); });
          },
          "tokens"_a, "int8"_a = false,
          "Logits (batch, length, vocabulary) of token ids (batch, length). int8: rounds matrices "
          "and activations to 8 bits, as for the prompt of generate(int8=True); no gradients.")
      .def(
          "loss",
          [](Gpt& self, nb::handle tokens, nb::handle targets) {
            const Tensor ids = as_ids(self, tokens);
            const Tensor goal = as_ids(self, targets);
            return without_gil([&] { return self.loss(ids, goal); });
          },
          "tokens"_a, "targets"_a,
          "The mean cross entropy of targets (batch, length); targets of -100 are ignored. The "
          "logits of all tokens never exist at once.")
      .def_prop_ro(
          "n_parameters", [](const Gpt& self) { return self.config().n_parameters(); },
          "Number of parameters, without the padding of the vocabulary.")
      .def(
          "step_flops",
          [](const Gpt& self, std::int64_t sequences, std::int64_t tokens) {
            return self.config().step_flops(sequences, tokens);
          },
          "sequences"_a, "tokens"_a,
          "Floating-point operations of a training step on sequences of so many tokens.")
      .def("matrices", &Gpt::matrices, "The matrices of the layers, for Muon.")
      .def("others", &Gpt::others, "All other parameters.");
  bind_generate(module, gpt);
}

}  // namespace causeway::python
