// The C++ and CUDA texts of random programs against the interpreter.
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

#include <cstring>

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
