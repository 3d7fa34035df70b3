// The loop of text generation: prompts, steps, and the tokens they draw. On a GPU steps are queued
// ahead of those whose tokens the host reads, so that it never waits.
#include "causeway/autograd/autocast.h"
#include "causeway/core/error.h"
#include "causeway/core/interrupt.h"
#include "causeway/models/gpt_decoder.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/reduce.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::models {

namespace {

// Steps that a GPU computes while the host reads the tokens of those before.
constexpr std::int64_t kStepsAhead = 8;

void require_finite_logits(const Tensor& logits) {
  if (all(predicate(PredicateOp::is_finite, logits)).item_integer() != 0) return;
  fail(ErrorKind::invalid_argument, kGenerate,
       "the model's output is not finite: its weights are too large or damaged; use another model");
}

kernels::SampleTokens sampling_of(const GenerateOptions& options, std::int64_t vocabulary) {
  kernels::SampleTokens how;
  how.n_classes = vocabulary;
  how.temperature = static_cast<float>(options.temperature);
  how.top_k = options.top_k;
  how.top_p = static_cast<float>(options.top_p);
  how.min_p = static_cast<float>(options.min_p);
  how.seed = options.seed;
  return how;
}

}  // namespace

void GenerateOptions::check() const {
  const auto require = [](bool good, const char* what) {
    if (!good) fail(ErrorKind::invalid_argument, kGenerate, what);
  };
  require(tokens >= 1, "tokens: expected 1 or more");
  require(temperature >= 0, "temperature: expected 0 or more");
  require(top_k >= 0, "top_k: expected 0 or more");
  require(top_p > 0 && top_p <= 1, "top_p: expected a number above 0 and up to 1");
  require(min_p >= 0 && min_p <= 1, "min_p: expected a number from 0 to 1");
}

void GptDecoder::start(const std::vector<Tokens>& prompts) {
  if (static_cast<std::int64_t>(prompts.size()) != batch_) {
    fail(ErrorKind::invalid_argument, kGenerate,
         fmt::format("{} prompts for {} sequences", prompts.size(), batch_));
  }
  std::vector<std::int64_t> ids(static_cast<std::size_t>(batch_ * capacity_), 0);
  std::vector<std::int64_t> lengths;
  std::int64_t longest = 1;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto size = static_cast<std::int64_t>(prompts[i].size());
    if (size < 1 || size > capacity_) {
      fail(ErrorKind::invalid_argument, kGenerate,
           fmt::format("prompt {} has {} tokens; expected 1 to {}", i, size, capacity_));
    }
    for (const std::int64_t id : prompts[i]) {
      if (id >= 0 && id < config_.vocabulary) continue;
      fail(ErrorKind::invalid_argument, kGenerate,
           fmt::format("prompt {}: token id {} is not below the vocabulary of {}", i, id,
                       config_.vocabulary));
    }
    std::copy(prompts[i].begin(), prompts[i].end(),
              ids.begin() + static_cast<std::ptrdiff_t>(i) * capacity_);
    lengths.push_back(size - 1);
    longest = std::max(longest, size);
  }
  tokens_.copy_from(Tensor::from<std::int64_t>(ids, tokens_.shape(), device_));
  lengths_.copy_from(Tensor::from<std::int64_t>(lengths, lengths_.shape(), device_));
  if (longest > 1) fill_cache(tokens_.slice(1, 0, longest).contiguous());
}

Tensor GptDecoder::step(const kernels::SampleTokens& how) {
  const Tensor logits = decode_logits();
  const StreamView stream = current_stream(device_);
  kernels::sample_tokens(stream, how, operand(logits, stream), operand(tokens_, stream),
                         operand(lengths_, stream));
  return logits;
}

std::int64_t GptDecoder::queue_steps(const kernels::SampleTokens& how, std::int64_t most) {
  check_interrupt();
  // A step of one kernel gains from graphs of several steps, others have enough kernels.
  const std::int64_t in_graph = fused_.has_value() ? kStepsAhead : 1;
  if (device_.is_cpu()) {
    require_finite_logits(step(how));
    return 1;
  }
  if (most < in_graph) {
    step(how);
    return 1;
  }
  const StreamView stream = current_stream(device_);
  GraphKey key{how, nullptr, autograd::autocast_type(), allow_tf32()};
  if (fused_.has_value()) key.trace = fused_->trace;
  if (!graph_.has_value() || graph_key_ != key) {
    graph_.reset();
    graph_.emplace(Graph::capture(stream, [&] {
      for (std::int64_t i = 0; i < in_graph; ++i) step(how);
    }));
    graph_key_ = key;
  }
  graph_->replay(stream);
  return in_graph;
}

std::vector<GptDecoder::Tokens> GptDecoder::generate(const std::vector<Tokens>& prompts,
                                                     const GenerateOptions& options,
                                                     const OnTokens& on_tokens) {
  options.check();
  const autograd::NoGrad no_grad;
  const kernels::SampleTokens how = sampling_of(options, config_.vocabulary);
  start(prompts);
  std::vector<std::int64_t> sizes;
  for (const Tokens& prompt : prompts) sizes.push_back(std::ssize(prompt));
  const std::int64_t shortest = std::ranges::min(sizes);
  const std::int64_t longest = std::ranges::max(sizes);
  const std::int64_t n_steps =
      std::min(options.tokens, std::max<std::int64_t>(capacity_ - shortest, 1));
  const Stream steps(device_);
  const Stream copies(device_);
  steps.view().wait(current_stream(device_));
  const StreamGuard guard(steps);
  std::vector<Tokens> made(prompts.size());
  std::vector<bool> ended(prompts.size());
  // Reads what the steps from `begin` to `end` drew, which `copies` waits for; returns whether a
  // sequence has more to come.
  const auto collect = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = std::min(shortest + begin, capacity_);
    const std::int64_t last = std::min(longest + end, capacity_);
    std::vector<std::int64_t> columns;
    {
      const StreamGuard reading(copies);
      columns = tokens_.slice(1, first, last).to_vector<std::int64_t>();
    }
    bool more = false;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (ended[i]) continue;
      const auto at = [&](std::int64_t taken) {
        const std::int64_t column = std::min(sizes[i] + taken, capacity_);
        return columns.begin() + static_cast<std::int64_t>(i) * (last - first) + (column - first);
      };
      const std::size_t before = made[i].size();
      made[i].insert(made[i].end(), at(begin), at(end));
      if (on_tokens && made[i].size() > before) {
        ended[i] = !on_tokens(i, std::span(made[i]).subspan(before));
      }
      ended[i] = ended[i] || sizes[i] + end >= capacity_;
      more = more || !ended[i];
    }
    return more;
  };
  check_interrupt();
  require_finite_logits(step(how));
  std::int64_t queued = 1;
  const auto queue = [&](std::int64_t count) {
    const std::int64_t end = std::min(queued + count, n_steps);
    while (queued < end) queued += queue_steps(how, end - queued);
  };
  for (std::int64_t read = 0; read < n_steps;) {
    const std::int64_t ready = queued;
    copies.view().wait(steps);
    if (device_.is_cuda()) queue(kStepsAhead);
    if (!collect(read, ready)) break;
    if (device_.is_cpu()) queue(1);
    read = ready;
  }
  return made;
}

}  // namespace causeway::models
