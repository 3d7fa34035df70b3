#include "causeway/pairs/stream.h"

#include "causeway/pairs/candidate.h"
#include "causeway/pairs/generate.h"
#include "causeway/pairs/generate/dice.h"
#include "causeway/pairs/parallel.h"

namespace causeway::pairs {

Stream::Stream(StreamOptions options) : options_(std::move(options)) {
  if (options_.categories.empty()) {
    for (int i = 0; i < kCategories; ++i) options_.categories.push_back(static_cast<Category>(i));
  }
  index_.exclude(options_.excluded);
}

Stream::Candidate Stream::make(std::uint64_t number) const {
  Candidate candidate;
  candidate.number = number;
  Dice dice(mix(options_.seed) + number);
  const Category category = dice.pick(std::span<const Category>(options_.categories));
  const int level = dice.between(options_.lowest_level, options_.highest_level);
  candidate.record.candidate = number;
  candidate.record.program = generate(category, level, dice.next());
  try {
    candidate.compiled = compile_program(candidate.record.program);
    candidate.record.structure =
        structure_of(candidate.record.program.source, candidate.compiled->module,
                     candidate.compiled->function());
  } catch (const Error& error) {
    candidate.rejection = Rejection::refused;
    candidate.record.verification.detail = error.what();
  }
  return candidate;
}

void Stream::verify(Candidate& candidate) const {
  Record& record = candidate.record;
  try {
    const std::vector<InputSet> sets = input_sets(record.program);
    if (options_.run) {
      for (const InputSet& set : sets) {
        run_program(record.program, set, candidate.compiled->module, candidate.compiled->kernel,
                    record.verification);
        candidate.rejection = record.verification.rejection;
        if (candidate.rejection != Rejection::none) return;
      }
      record.verified.emplace_back("run");
    }
    add_texts(*candidate.compiled, record);
    if (options_.adjoint && !record.cuda_backward.empty()) {
      check_adjoint(record.program, sets.front(), record.verification);
      candidate.rejection = record.verification.rejection;
      record.verified.emplace_back("adjoint");
    }
    const bool wanted = Dice(record.program.seed + 1).chance(options_.twins);
    if (options_.run && wanted) record.twin = make_twin(record.program, record.verification.hashes);
  } catch (const Error& error) {
    candidate.rejection = Rejection::refused;
    record.verification.detail = error.what();
  }
}

std::vector<Record> Stream::next(int candidates) {
  std::vector<Candidate> batch(static_cast<std::size_t>(candidates));
  in_parallel(batch.size(), options_.threads,
              [&](std::size_t i) { batch[i] = make(position_ + i); });
  std::vector<std::size_t> mine;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Candidate& candidate = batch[i];
    if (candidate.rejection == Rejection::none)
      candidate.rejection = index_.add(candidate.record.structure);
    const bool here = candidate.number % static_cast<std::uint64_t>(options_.shards) ==
                      static_cast<std::uint64_t>(options_.shard);
    if (!here) continue;
    if (candidate.rejection == Rejection::none) {
      mine.push_back(i);
    } else {
      ++rejections_[static_cast<std::size_t>(candidate.rejection)];
    }
  }
  in_parallel(mine.size(), options_.threads, [&](std::size_t i) { verify(batch[mine[i]]); });
  const auto passed = [&] {
    std::vector<Candidate*> list;
    for (const std::size_t i : mine) {
      if (batch[i].rejection == Rejection::none) list.push_back(&batch[i]);
    }
    return list;
  };
  if (options_.compile) compile(passed());
  if (options_.cpp) run_cpp(passed());
  if (options_.gpu) run_on_gpu(passed());
  if (options_.variants > 0) add_variants(passed());
  if (options_.ptx) add_ptx(passed());
  position_ += static_cast<std::uint64_t>(candidates);
  std::vector<Record> records;
  for (const std::size_t i : mine) {
    if (batch[i].rejection == Rejection::none) {
      records.push_back(std::move(batch[i].record));
    } else {
      ++rejections_[static_cast<std::size_t>(batch[i].rejection)];
    }
  }
  return records;
}

void Stream::resume_at(std::uint64_t candidate) {
  constexpr std::uint64_t kBatch = 1024;
  while (position_ < candidate) {
    const std::uint64_t count = std::min(kBatch, candidate - position_);
    std::vector<Candidate> batch(count);
    in_parallel(batch.size(), options_.threads,
                [&](std::size_t i) { batch[i] = make(position_ + i); });
    for (const Candidate& seen : batch) {
      if (seen.rejection == Rejection::none) index_.add(seen.record.structure);
    }
    position_ += count;
  }
}

}  // namespace causeway::pairs
