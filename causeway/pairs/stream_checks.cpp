// Checks of a batch of candidates by compilers and other backends.
#include "causeway/jit/batch.h"
#include "causeway/jit/gpu_kernel.h"
#include "causeway/pairs/cpp_check.h"
#include "causeway/pairs/generate/dice.h"
#include "causeway/pairs/gpu_check.h"
#include "causeway/pairs/gpu_times.h"
#include "causeway/pairs/parallel.h"
#include "causeway/pairs/stream.h"

#include <fmt/format.h>

#include <future>

namespace causeway::pairs {

namespace {

// What the `compile` check and the refusals of variants ask NVRTC for.
jit::CudaOptions ptx_options(jit::WorkerProcesses* workers) {
  jit::CudaOptions options;
  options.fast_compile = true;
  options.kind = jit::CodeKind::ptx;  // assembling it takes twice as long and refuses nothing more
  options.workers = workers;
  return options;
}

}  // namespace

std::vector<std::string> Stream::compile(const std::vector<Candidate*>& candidates,
                                         bool last) const {
  const jit::CudaOptions options = ptx_options(workers_.get());
  // The GPU check compiles the forward kernels, for the same architecture.
  const bool forward =
      !options_.gpu || jit::options_for(Device::cuda()).architecture != options.architecture;
  std::vector<lang::Emitted> kernels(2 * candidates.size());
  in_parallel(candidates.size(), options_.threads, [&](std::size_t i) {
    const Compiled& compiled = *candidates[i]->compiled;
    // Kernels of one program have different names.
    lang::EmitOptions names;
    names.entry = "forward_" + std::to_string(i);
    if (forward) kernels[2 * i] = lang::emit(compiled.module, compiled.kernel, names);
    names.entry = "backward_" + std::to_string(i);
    if (compiled.adjoint >= 0)
      kernels[2 * i + 1] = lang::emit(compiled.module, compiled.adjoint, names);
  });
  std::vector<std::size_t> owners;
  std::vector<lang::Emitted> texts;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].text.empty()) continue;
    owners.push_back(i / 2);
    texts.push_back(std::move(kernels[i]));
  }
  std::vector<std::string> refusals(candidates.size());
  std::vector<jit::BatchResult> results =
      jit::compile_batch(texts, options, last ? 0 : jit::program_size(texts.size(), 1));
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!results[k].code) refusals[owners[k]] = std::move(results[k].log);
  }
  return refusals;
}

void Stream::check_cuda(const std::vector<Candidate*>& candidates, bool last) const {
  // At the same time, so that the worker processes are busy until both end.
  std::future<std::vector<std::string>> compiled;
  if (options_.compile)
    compiled = std::async(workers_ ? std::launch::async : std::launch::deferred,
                          [&] { return compile(candidates, last); });
  std::vector<GpuResult> runs;
  if (options_.gpu)
    runs =
        check_on_gpu(tasks_of(candidates), Device::cuda(), options_.threads, workers_.get(), last);
  const auto reject = [](Candidate& candidate, Rejection rejection, std::string& problem) {
    if (candidate.rejection != Rejection::none) return;
    candidate.rejection = rejection;
    candidate.record.verification.detail = std::move(problem);
  };
  if (options_.compile) {
    std::vector<std::string> refusals = compiled.get();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const bool refused = !refusals[i].empty() || (options_.gpu && !runs[i].compiled);
      if (refused)
        reject(*candidates[i], Rejection::compile,
               refusals[i].empty() ? runs[i].problem : refusals[i]);
      candidates[i]->record.verified.emplace_back("compile");
    }
  }
  if (options_.cpp) run_cpp(passing(candidates));
  if (!options_.gpu) return;
  const std::string name = describe(Device::cuda()).name;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Record& record = candidates[i]->record;
    if (!runs[i].problem.empty())
      reject(*candidates[i], runs[i].compiled ? Rejection::gpu : Rejection::compile,
             runs[i].problem);
    record.verified.emplace_back("gpu");
    record.resources = {name, runs[i].resources};
  }
}

std::vector<BackendTask> Stream::tasks_of(const std::vector<Candidate*>& candidates) {
  std::vector<BackendTask> tasks;
  for (Candidate* candidate : candidates) {
    BackendTask task{&*candidate->compiled, candidate->record.tolerance, {}};
    for (InputSet& set : input_sets(candidate->record.program))
      task.launches.push_back({&candidate->record.program, std::move(set)});
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void Stream::run_cpp(const std::vector<Candidate*>& candidates) const {
  const std::vector<CppResult> results = check_with_cpp(tasks_of(candidates), options_.threads);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Record& record = candidates[i]->record;
    if (results[i].problem.empty()) {
      record.verified.emplace_back("cpp");
      continue;
    }
    candidates[i]->rejection = results[i].compiled ? Rejection::cpp : Rejection::compile;
    record.verification.detail = results[i].problem;
  }
}

// Kernels that NVRTC refuses.
std::vector<std::string> Stream::refusals(const std::vector<BackendTask>& tasks) const {
  std::vector<lang::Emitted> texts;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    texts.push_back(tasks[i].emit(lang::Dialect::cuda, "kernel_" + std::to_string(i)));
  std::vector<std::string> logs;
  for (jit::BatchResult& result : jit::compile_batch(texts, ptx_options(workers_.get())))
    logs.push_back(result.code ? "" : std::move(result.log));
  return logs;
}

void Stream::add_variants(const std::vector<Candidate*>& candidates) const {
  std::vector<BackendTask> tasks;
  std::vector<Candidate*> owners;
  for (Candidate* candidate : candidates) {
    if (!Dice(candidate->record.program.seed + 2).chance(options_.variants)) continue;
    for (int form = 1; form < lang::kLaunchForms; ++form) {
      BackendTask task = tasks_of({candidate}).front();
      task.form = static_cast<lang::LaunchForm>(form);
      if (!lang::has_form(task.module(), task.compiled->kernel, task.form)) continue;
      lang::Emitted emitted = task.emit(lang::Dialect::cuda, candidate->record.program.kernel);
      if (emitted.uses_half && !options_.gpu) continue;  // the emulation has no half precision
      candidate->record.variants.push_back(
          {task.form, std::move(emitted.text), options_.gpu ? "gpu" : "emulation"});
      tasks.push_back(std::move(task));
      owners.push_back(candidate);
    }
  }
  const auto reject = [&](std::size_t i, Rejection rejection, const std::string& problem) {
    if (problem.empty()) return;
    owners[i]->rejection = rejection;
    owners[i]->record.verification.detail = fmt::format("{}: {}", name_of(tasks[i].form), problem);
  };
  if (options_.gpu) {
    const std::vector<GpuResult> results =
        check_on_gpu(tasks, Device::cuda(), options_.threads, workers_.get());
    for (std::size_t i = 0; i < tasks.size(); ++i)
      reject(i, results[i].compiled ? Rejection::variant : Rejection::compile, results[i].problem);
    return time_variants(candidates);
  }
  const std::vector<std::string> logs = refusals(tasks);
  const std::vector<CppResult> results =
      check_with_cpp(tasks, options_.threads, CppText::emulated_cuda);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    reject(i, Rejection::variant, results[i].problem);
    reject(i, Rejection::compile, logs[i]);
  }
}

void Stream::add_ptx(const std::vector<Candidate*>& candidates) const {
  std::vector<jit::CudaSource> sources;
  for (const Candidate* candidate : candidates)
    sources.push_back({candidate->record.program.kernel + ".cu", candidate->record.cuda_forward});
  jit::CudaOptions options;
  options.kind = jit::CodeKind::ptx;
  options.workers = workers_.get();
  const std::vector<jit::Bytes> codes = jit::compile_cuda(sources, options);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i].empty()) candidates[i]->rejection = Rejection::compile;
    candidates[i]->record.ptx.assign(reinterpret_cast<const char*>(codes[i].data()),
                                     codes[i].size());
  }
}

void Stream::time_variants(const std::vector<Candidate*>& candidates) const {
  std::vector<BackendTask> tasks;
  std::vector<Candidate*> timed;
  for (Candidate* candidate : candidates) {
    if (candidate->record.variants.empty() || candidate->rejection != Rejection::none) continue;
    timed.push_back(candidate);
    BackendTask task = tasks_of({candidate}).front();
    task.launches = {{&candidate->record.program, timing_set(candidate->record.program)}};
    tasks.push_back(task);
    for (const Variant& variant : candidate->record.variants) {
      task.form = variant.form;
      tasks.push_back(task);
    }
  }
  const Device device = Device::cuda();
  const std::string name = describe(device).name;
  const std::vector<double> times = time_on_gpu(tasks, device, workers_.get());
  std::size_t at = 0;
  for (Candidate* candidate : timed) {
    const std::size_t n = candidate->record.variants.size();
    const auto first = times.begin() + static_cast<std::ptrdiff_t>(at);
    candidate->record.times = {name,
                               tasks[at].launches.front().dims(),
                               *first,
                               {first + 1, first + 1 + static_cast<std::ptrdiff_t>(n)}};
    at += n + 1;
  }
}

}  // namespace causeway::pairs
