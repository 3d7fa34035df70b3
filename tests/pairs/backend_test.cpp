// The C++ and CUDA texts of random programs against the interpreter.
#include "causeway/jit/batch.h"
#include "causeway/pairs/compare.h"
#include "causeway/pairs/cpp_check.h"
#include "causeway/pairs/dataset.h"
#include "causeway/pairs/gpu_check.h"
#include "causeway/pairs/parallel.h"
#include "causeway/pairs/verify_record.h"
#include "causeway/runtime/device.h"
#include "tests/pairs/small_programs.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstring>
#include <regex>

namespace causeway::pairs {
namespace {

// The written array of a kernel y[i] = … with one element changed from 2 to `value`.
std::string difference_of(float value, Tolerance tolerance) {
  Program program;
  program.source =
      "import warp as wp\n\n\n@wp.kernel\ndef k(y: wp.array(dtype=float)):\n"
      "    y[wp.tid()] = 2.0\n";
  program.kernel = "k";
  program.dims = {{-1, 1, 3}};
  Parameter parameter;
  parameter.name = "y";
  parameter.array = parameter.written = true;
  parameter.shape = {{-1, 1, 3}};
  program.parameters = {parameter};
  const Compiled compiled = compile_program(program);
  BackendTask task{&compiled, tolerance, {{&program, {}}}};
  const Memory inputs = task.inputs(task.launches[0]);
  Memory found = inputs;
  const float content[3] = {2, value, 2};
  std::memcpy(found.bytes[0].data(), content, sizeof(content));
  return task.compare(task.launches[0], inputs, found);
}

TEST(PairsBackend, ComparesByToleranceClass) {
  const float next = std::nextafterf(2, 3);
  EXPECT_EQ(difference_of(2, Tolerance::exact), "");
  EXPECT_EQ(difference_of(next, Tolerance::exact),
            "y[1]: expected 2, got 2.000000238418579 on the input set usual");
  EXPECT_EQ(difference_of(next, Tolerance::close), "");
  EXPECT_EQ(difference_of(2.001F, Tolerance::unordered), "");
  EXPECT_NE(difference_of(2.01F, Tolerance::close), "");
  EXPECT_NE(difference_of(NAN, Tolerance::close), "");
}

TEST(PairsBackend, CppAgreesWithTheInterpreter) {
  const SmallPrograms programs(110);
  const std::vector<CppResult> results = check_with_cpp(programs.tasks(), 2);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].problem, "") << programs.source(i);
}

// The programs in every form they have.
std::vector<BackendTask> all_forms(const SmallPrograms& programs) {
  std::vector<BackendTask> tasks;
  for (BackendTask task : programs.tasks()) {
    for (int form = 0; form < lang::kLaunchForms; ++form) {
      task.form = static_cast<lang::LaunchForm>(form);
      if (!lang::has_form(task.module(), task.compiled->kernel, task.form)) continue;
      if (!task.emit(lang::Dialect::cuda, "").uses_half) tasks.push_back(task);
    }
  }
  return tasks;
}

TEST(PairsBackend, EmulatedCudaOfEveryFormAgreesWithTheInterpreter) {
  const SmallPrograms programs(110);
  const std::vector<BackendTask> tasks = all_forms(programs);
  const std::vector<CppResult> results = check_with_cpp(tasks, 2, CppText::emulated_cuda);
  std::array<int, lang::kLaunchForms> n{};
  for (std::size_t i = 0; i < results.size(); ++i) {
    ++n[static_cast<std::size_t>(tasks[i].form)];
    EXPECT_EQ(results[i].problem, "") << tasks[i].emit(lang::Dialect::cuda, "").text;
  }
  for (const int count : n) EXPECT_GT(count, 4);
}

TEST(PairsBackend, VariantsAreCheckedAgain) {
  DatasetConfig config;
  config.categories = {"arithmetic", "atomic"};
  config.verify = {"run"};
  config.variants = 1;
  if (!jit::nvrtc_status().version.empty()) {
    Stream stream(config.stream(2));
    std::vector<std::string> lines;
    int vectorized = 0;
    for (const Record& record : stream.next(12)) {
      lines.push_back(to_json(record, config.device));
      for (const Variant& variant : record.variants)
        vectorized += variant.form == lang::LaunchForm::vectorized ? 1 : 0;
    }
    EXPECT_GT(vectorized, 0);
    RecordChecks checks;
    checks.cpp = true;
    for (const RecordCheck& check : verify_records(lines, checks)) EXPECT_EQ(check.problem, "");
    auto edited = nlohmann::json::parse(lines[0]);
    std::string text = edited["variants"][0]["cuda_forward"];
    text.insert(text.size() - 2, " ");
    edited["variants"][0]["cuda_forward"] = text;
    EXPECT_EQ(verify_record(edited.dump()).problem,
              "the variant one_element is not what the Python text compiles to");
    edited["variants"][0]["form"] = "unrolled";
    EXPECT_EQ(verify_record(edited.dump()).problem, "\"unrolled\" is not a form of the kernel");
  } else {
    GTEST_SKIP() << "NVRTC is not installed";
  }
}

// The first records as JSON, made with that many threads.
std::vector<std::string> lines_of(const DatasetConfig& config, int threads, int candidates) {
  Stream stream(config.stream(threads));
  std::vector<std::string> lines;
  for (const Record& record : stream.next(candidates))
    lines.push_back(to_json(record, config.device));
  return lines;
}

TEST(PairsBackend, CompilingInProcessesGivesTheSameRecords) {
  if (const auto nvrtc = jit::nvrtc_status(); nvrtc.version.empty()) GTEST_SKIP() << nvrtc.absence;
  DatasetConfig config;
  config.seed = 22;
  config.verify = {"run", "compile"};
  config.ptx = true;
  const std::vector<std::string> records = lines_of(config, 4, 80);
  EXPECT_GT(records.size(), 40U);
  EXPECT_EQ(lines_of(config, 1, 80), records);
}

TEST(PairsBackend, BatchesThatOthersFollowGiveTheSameRecords) {
  if (const auto nvrtc = jit::nvrtc_status(); nvrtc.version.empty()) GTEST_SKIP() << nvrtc.absence;
  StreamOptions options;
  options.seed = 24;
  options.compile = true;
  const auto texts = [&](bool last) {
    Stream stream(options);
    std::vector<std::string> found;
    for (const Record& record : stream.finish(stream.begin(60), last).records) {
      found.push_back(record.cuda_backward);
    }
    return found;
  };
  const std::vector<std::string> found = texts(true);
  EXPECT_GT(found.size(), 30U);
  EXPECT_EQ(texts(false), found);
}

// The PTX of a kernel, without what depends on its place in the program.
std::string ptx_of(const jit::Bytes& code, const std::string& entry) {
  const std::string ptx(reinterpret_cast<const char*>(code.data()), code.size());
  const std::size_t begin = ptx.find(".visible .entry " + entry + "(");
  const std::string text = ptx.substr(begin, ptx.find("\n}\n", begin) - begin);
  static const std::regex place(
      "_ZN?[0-9]+_INTERNAL_[0-9a-z_]*?(?=[0-9]+called)|kernel_[0-9]+|"
      "L__BB[0-9]+|callseq [0-9]+|local_depot[0-9]+");
  return std::regex_replace(text, place, "");
}

TEST(PairsBackend, CodeDoesNotDependOnTheOtherKernels) {
  if (const auto nvrtc = jit::nvrtc_status(); nvrtc.version.empty()) GTEST_SKIP() << nvrtc.absence;
  const SmallPrograms programs(66);
  const std::vector<BackendTask> tasks = programs.tasks();
  std::vector<lang::Emitted> kernels;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    kernels.push_back(tasks[i].emit(lang::Dialect::cuda, "k_" + std::to_string(i)));
  jit::CudaOptions options;
  options.call_math = true;
  options.kind = jit::CodeKind::ptx;
  options.fast_compile = true;
  options.others = {"--Ofast-compile=mid"};  // of fast_compile for cubins; the last one counts
  const auto together = jit::compile_batch(kernels, options, kernels.size());
  const auto alone = jit::compile_batch(kernels, options, 1);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    ASSERT_NE(together[i].code, nullptr);
    if (!kernels[i].uses_half) {
      EXPECT_EQ(together[i].code, together[0].code);
    }
    EXPECT_EQ(ptx_of(*together[i].code, kernels[i].entry), ptx_of(*alone[i].code, kernels[i].entry))
        << kernels[i].text;
  }
}

TEST(PairsBackend, ThreadsPassErrorsOn) {
  EXPECT_THROW(in_parallel(100, 3,
                           [](std::size_t i) {
                             if (i == 40) throw std::runtime_error("item 40");
                           }),
               std::runtime_error);
}

#define REQUIRE_GPU() \
  if (cuda_device_count() == 0) GTEST_SKIP() << cuda_absence()

TEST(GpuPairs, CudaAgreesWithTheInterpreter) {
  REQUIRE_GPU();
  const SmallPrograms programs(550);
  const std::vector<GpuResult> results = check_on_gpu(programs.tasks(), Device::cuda(), 4);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].problem, "") << programs.source(i);
    EXPECT_GT(results[i].resources.registers, 0);
  }
}

TEST(GpuPairs, EveryFormAgreesWithTheInterpreter) {
  REQUIRE_GPU();
  const SmallPrograms programs(220);
  const std::vector<BackendTask> tasks = all_forms(programs);
  const std::vector<GpuResult> results = check_on_gpu(tasks, Device::cuda(), 4);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].problem, "") << tasks[i].emit(lang::Dialect::cuda, "").text;
}

TEST(GpuPairs, VariantsHaveTimes) {
  REQUIRE_GPU();
  DatasetConfig config;
  config.seed = 3;
  config.verify = {"run", "gpu"};
  config.variants = 1;
  Stream stream(config.stream(4));
  int timed = 0;
  for (const Record& record : stream.next(40)) {
    if (record.variants.empty()) continue;
    ASSERT_TRUE(record.times);
    ++timed;
    EXPECT_GT(record.times->forward, 0);
    ASSERT_EQ(record.times->variants.size(), record.variants.size());
    for (const double time : record.times->variants) EXPECT_GT(time, 0);
  }
  EXPECT_GT(timed, 20);
  EXPECT_EQ(stream.rejections()[static_cast<std::size_t>(Rejection::variant)], 0U);
}

TEST(GpuPairs, RecordsDoNotDependOnThreads) {
  REQUIRE_GPU();
  DatasetConfig config;
  config.seed = 23;
  config.verify = {"run", "compile", "gpu"};
  const std::vector<std::string> records = lines_of(config, 4, 120);
  EXPECT_GT(records.size(), 60U);
  const auto passed = nlohmann::json::parse(records[0])["metadata"]["verification"]["passed"];
  EXPECT_EQ(passed, nlohmann::json({"run", "compile", "gpu"}));
  EXPECT_EQ(lines_of(config, 1, 120), records);
}

TEST(GpuPairs, RecordsHaveResourcesAndVerifyAgain) {
  REQUIRE_GPU();
  DatasetConfig config;
  config.seed = 21;
  config.verify = {"run", "gpu"};
  Stream stream(config.stream(4));
  std::vector<std::string> lines;
  for (const Record& record : stream.next(200)) {
    lines.push_back(to_json(record, config.device));
    const auto json = nlohmann::json::parse(lines.back());
    const auto& metadata = json["metadata"];
    EXPECT_EQ(metadata["verification"]["passed"].back(), "gpu");
    EXPECT_EQ(metadata["resources"]["gpu"], describe(Device::cuda()).name);
    EXPECT_GT(metadata["resources"]["registers"], 0);
  }
  EXPECT_EQ(stream.rejections()[static_cast<std::size_t>(Rejection::gpu)], 0U);
  EXPECT_EQ(stream.rejections()[static_cast<std::size_t>(Rejection::compile)], 0U);
  RecordChecks checks;
  checks.gpu = true;
  checks.threads = 4;
  for (const RecordCheck& check : verify_records(lines, checks)) EXPECT_EQ(check.problem, "");
}

}  // namespace
}  // namespace causeway::pairs
