// The stream of records that a seed defines. Candidates are numbered; each is generated from the
// seed and its number alone. A candidate becomes a record if its structure did not occur before it
// in the stream and if it passes verification. Which candidates have a new structure does not
// depend on the verification of others, so that a shard of the stream can be computed alone, with
// any number of threads, and gives the same records.
#pragma once

#include "causeway/pairs/backend.h"

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace causeway::pairs {

struct StreamOptions {
  std::uint64_t seed = 0;
  std::vector<Category> categories = {};  // all where empty
  int lowest_level = 1;
  int highest_level = kLevels;
  int shard = 0;  // candidates c with c % shards == shard
  int shards = 1;
  bool adjoint = true;   // check gradients by finite differences
  bool run = true;       // interpret the kernels
  bool compile = false;  // compile the CUDA texts with NVRTC
  bool cpp = false;      // compile and run the C++ texts
  bool gpu = false;      // run the CUDA texts on the first GPU
  bool ptx = false;      // add the PTX of the forward kernels
  double twins = 0.25;   // share of the records that get a wrong variant, where `run` is on
  double variants = 0;   // share of the records that get equivalent CUDA kernels
  std::vector<std::uint64_t> excluded = {};  // structures that must not occur
  int threads = 1;
};

using Rejections = std::array<std::uint64_t, kRejections>;  // number of candidates by reason

class Stream {
  struct Candidate {
    std::uint64_t number = 0;
    Record record;
    std::optional<Compiled> compiled;
    Rejection rejection = Rejection::none;
  };

 public:
  explicit Stream(StreamOptions options);

  // Candidates that were generated and interpreted, before the checks of compilers and GPU.
  class Batch {
   public:
    std::size_t n_passed() const { return n_passed_; }  // candidates that are not rejected so far

   private:
    friend class Stream;
    std::vector<Candidate> candidates_;
    std::size_t n_passed_ = 0;
  };
  struct Checked {
    std::vector<Record> records;  // in order; none now and then
    Rejections rejections{};
  };

  Batch begin(int candidates);
  // Does the remaining checks. Several threads may call it while another one calls begin(). `last`:
  // the compilers have nothing to do after this batch, so they should end at the same time.
  Checked finish(Batch batch, bool last = true) const;
  // The records of the next candidates: both steps.
  std::vector<Record> next(int candidates);
  // Candidates before this one count as seen and give no records.
  void resume_at(std::uint64_t candidate);

  std::uint64_t position() const { return position_; }  // the next candidate
  // Of the calls of next(), in the shard.
  const Rejections& rejections() const { return rejections_; }

 private:
  // The next candidates, rejected if their structure is not new.
  void make(std::span<Candidate> candidates);
  void verify(const std::vector<Candidate*>& candidates) const;
  void run(Candidate& candidate) const;
  // Candidates that are made and verified before the next ones.
  std::size_t part_size() const;
  // Does the steps for all candidates, in parallel.
  template <class... Steps>
  void in_steps(const std::vector<Candidate*>& candidates, const Steps&... steps) const;
  bool in_shard(const Candidate& candidate) const;
  // Those that no check has rejected.
  static std::vector<Candidate*> passing(const std::vector<Candidate*>& candidates);
  // The checks `compile`, `cpp` and `gpu`, where they are asked for.
  void check_cuda(const std::vector<Candidate*>& candidates, bool last) const;
  // Compiles the backward kernels of the candidates, many in one program, and the forward kernels
  // unless the GPU check compiles them. The log of a refusal by candidate, empty without one.
  std::vector<std::string> compile(const std::vector<Candidate*>& candidates, bool last) const;
  std::vector<std::string> refusals(const std::vector<BackendTask>& tasks) const;
  static std::vector<BackendTask> tasks_of(const std::vector<Candidate*>& candidates);
  void run_cpp(const std::vector<Candidate*>& candidates) const;  // the forward kernels
  // Adds equivalent kernels to a share of the candidates, verifies and, on a GPU, measures them.
  void add_variants(const std::vector<Candidate*>& candidates) const;
  void add_ptx(const std::vector<Candidate*>& candidates) const;
  void time_variants(const std::vector<Candidate*>& candidates) const;

  StreamOptions options_;
  StructureIndex index_;
  std::unique_ptr<jit::WorkerProcesses> workers_;  // for NVRTC, from the first batch on
  std::future<void> gpu_;                          // its start
  std::uint64_t position_ = 0;
  Rejections rejections_{};
};

}  // namespace causeway::pairs
