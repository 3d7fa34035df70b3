#include "causeway/pairs/stream.h"

#include "causeway/pairs/generate.h"
#include "causeway/pairs/generate/dice.h"
#include "causeway/pairs/parallel.h"
#include "causeway/runtime/stream.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace causeway::pairs {

Stream::Stream(StreamOptions options) : options_(std::move(options)) {
  if (options_.categories.empty()) {
    for (int i = 0; i < kCategories; ++i) options_.categories.push_back(static_cast<Category>(i));
  }
  index_.exclude(options_.excluded);
}

namespace {

// Share of the programs that are written although floating-point inputs have no gradient.
constexpr double kWithoutGradient = 0.25;

bool has_float_input(const Program& program) {
  return std::ranges::any_of(program.parameters, [](const Parameter& parameter) {
    const bool floats = parameter.structure.empty()
                            ? lang::is_float(parameter.type.scalar)
                            : std::ranges::any_of(parameter.fields, [](const StructField& field) {
                                return lang::is_float(field.type.scalar);
                              });
    return floats && parameter.fill != Fill::constant;
  });
}

// Candidates that a thread takes together, at most. Each step is done for all of them before the
// next one: its code and tables are then in the processor's caches.
constexpr std::size_t kChunk = 16;

// Calls step(candidate) for the candidates of a chunk that no step has rejected; an error rejects.
template <class Candidates, class Step>
void each(const Candidates& chunk, const Step& step) {
  for (auto* candidate : chunk) {
    if (candidate->rejection != Rejection::none) continue;
    try {
      step(*candidate);
    } catch (const Error& error) {
      candidate->rejection = Rejection::refused;
      candidate->record.verification.detail = error.what();
    }
  }
}

}  // namespace

std::size_t Stream::part_size() const {
  return 8 * kChunk * static_cast<std::size_t>(std::max(options_.threads, 1));
}

template <class... Steps>
void Stream::in_steps(const std::vector<Candidate*>& candidates, const Steps&... steps) const {
  const auto threads = static_cast<std::size_t>(std::max(options_.threads, 1));
  std::vector<std::span<Candidate* const>> chunks;
  // The last ones are small, so that no thread waits long for another.
  for (std::span<Candidate* const> rest = candidates; !rest.empty();) {
    const std::size_t size = std::clamp<std::size_t>(rest.size() / (4 * threads), 1, kChunk);
    chunks.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  in_parallel(chunks.size(), options_.threads,
              [&](std::size_t i) { (each(chunks[i], steps), ...); });
}

void Stream::make(std::span<Candidate> candidates) {
  std::vector<Candidate*> all;
  for (Candidate& candidate : candidates) {
    candidate.number = position_++;
    all.push_back(&candidate);
  }
  in_steps(
      all,
      [&](Candidate& candidate) {
        Dice dice(mix(options_.seed) + candidate.number);
        const Category category = dice.pick(std::span<const Category>(options_.categories));
        const int level = dice.between(options_.lowest_level, options_.highest_level);
        candidate.record.candidate = candidate.number;
        candidate.record.program = generate(category, level, dice.next());
      },
      [](Candidate& candidate) { candidate.compiled = compile_program(candidate.record.program); },
      [](Candidate& candidate) {
        candidate.record.structure =
            structure_of(candidate.record.program.source, candidate.compiled->module,
                         candidate.compiled->function());
      });
  for (Candidate& candidate : candidates) {
    if (candidate.rejection == Rejection::none)
      candidate.rejection = index_.add(candidate.record.structure);
  }
}

void Stream::run(Candidate& candidate) const {
  Record& record = candidate.record;
  for (const InputSet& set : input_sets(record.program)) {
    run_program(record.program, set, candidate.compiled->module, candidate.compiled->kernel,
                record.verification);
    candidate.rejection = record.verification.rejection;
    if (candidate.rejection != Rejection::none) return;
  }
  record.verified.emplace_back("run");
}

void Stream::verify(const std::vector<Candidate*>& candidates) const {
  in_steps(
      candidates,
      [&](Candidate& candidate) {
        if (options_.run) run(candidate);
      },
      [](Candidate& candidate) { add_forward_texts(*candidate.compiled, candidate.record); },
      [](Candidate& candidate) {
        Record& record = candidate.record;
        add_backward_text(*candidate.compiled, record);
        const bool wanted = !record.cuda_backward.empty() || !has_float_input(record.program) ||
                            Dice(record.program.seed + 3).chance(kWithoutGradient);
        if (!wanted) candidate.rejection = Rejection::no_gradient;
      },
      [&](Candidate& candidate) {
        Record& record = candidate.record;
        if (!options_.adjoint || record.cuda_backward.empty()) return;
        check_adjoint(record.program, input_sets(record.program).front(), record.verification);
        candidate.rejection = record.verification.rejection;
        record.verified.emplace_back("adjoint");
      },
      [&](Candidate& candidate) {
        Record& record = candidate.record;
        const bool wanted = Dice(record.program.seed + 1).chance(options_.twins);
        if (options_.run && wanted)
          record.twin = make_twin(record.program, record.verification.hashes);
        // Memory that is used again soon stays in the caches.
        const bool needed =
            options_.compile || options_.cpp || options_.gpu || options_.variants > 0;
        if (!needed) candidate.compiled.reset();
      });
}

bool Stream::in_shard(const Candidate& candidate) const {
  return candidate.number % static_cast<std::uint64_t>(options_.shards) ==
         static_cast<std::uint64_t>(options_.shard);
}

std::vector<Stream::Candidate*> Stream::passing(const std::vector<Candidate*>& candidates) {
  std::vector<Candidate*> list;
  std::ranges::copy_if(candidates, std::back_inserter(list), [](const Candidate* candidate) {
    return candidate->rejection == Rejection::none;
  });
  return list;
}

Stream::Batch Stream::begin(int candidates) {
  const bool compiles = options_.compile || options_.gpu || options_.variants > 0 || options_.ptx;
  if (compiles && !workers_) workers_ = compile_workers_for(options_.threads);
  // A GPU takes a second or more to start. Its first use reports an error.
  if (options_.gpu && !gpu_.valid())
    gpu_ = std::async(std::launch::async, [] { synchronize(Device::cuda()); });
  Batch batch;
  batch.candidates_.resize(static_cast<std::size_t>(candidates));
  const std::span<Candidate> all = batch.candidates_;
  for (std::size_t begin = 0; begin < all.size(); begin += part_size()) {
    const auto part = all.subspan(begin, std::min(part_size(), all.size() - begin));
    make(part);
    std::vector<Candidate*> fresh;
    for (Candidate& candidate : part) {
      if (in_shard(candidate) && candidate.rejection == Rejection::none) {
        fresh.push_back(&candidate);
      } else {
        candidate.compiled.reset();
      }
    }
    verify(fresh);
    batch.n_passed_ += passing(fresh).size();
  }
  return batch;
}

Stream::Checked Stream::finish(Batch batch, bool last) const {
  std::vector<Candidate*> mine;
  for (Candidate& candidate : batch.candidates_) {
    if (in_shard(candidate)) mine.push_back(&candidate);
  }
  if (options_.compile || options_.cpp || options_.gpu) check_cuda(passing(mine), last);
  if (options_.variants > 0) add_variants(passing(mine));
  if (options_.ptx) add_ptx(passing(mine));
  Checked checked;
  checked.records.reserve(batch.n_passed_);
  for (Candidate* candidate : mine) {
    if (candidate->rejection == Rejection::none) {
      checked.records.push_back(std::move(candidate->record));
    } else {
      ++checked.rejections[static_cast<std::size_t>(candidate->rejection)];
    }
  }
  return checked;
}

std::vector<Record> Stream::next(int candidates) {
  Checked checked = finish(begin(candidates));
  for (std::size_t i = 0; i < kRejections; ++i) rejections_[i] += checked.rejections[i];
  return std::move(checked.records);
}

void Stream::resume_at(std::uint64_t candidate) {
  while (position_ < candidate) {
    std::vector<Candidate> part(std::min<std::uint64_t>(part_size(), candidate - position_));
    make(part);
  }
}

}  // namespace causeway::pairs
