#include "cli/licences.h"

#include "cli/text_table.h"

#include "causeway/core/version.h"
#include "causeway/data/hdf5.h"
#include "causeway/dist/nccl.h"
#include "causeway/dist/transport.h"
#include "causeway/jit/nvrtc.h"
#include "causeway/kernels/libraries.h"
#include "causeway/runtime/driver.h"

#include <CLI/Version.hpp>
#include <cblas.h>
#include <fmt/core.h>
#include <gnu/libc-version.h>
#ifdef CAUSEWAY_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif
#include <spdlog/version.h>

#include <string_view>
#include <vector>

namespace causeway::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCompiledIn = "compiled in";
constexpr const char* kLinked = "linked";
constexpr const char* kOpened = "opened at run time";

struct Component {
  const char* name;
  std::string version;  // empty: not found
  const char* licence;  // SPDX
  const char* use;
};

// "0.3.21" of "OpenBLAS 0.3.21 DYNAMIC_ARCH ...".
std::string openblas_version() {
  std::string_view text = openblas_get_config();
  text.remove_prefix(text.find(' ') + 1);
  return std::string(text.substr(0, text.find(' ')));
}

std::vector<Component> components() {
  const std::string gcc = fmt::format("{}.{}", __GNUC__, __GNUC_MINOR__);
  std::vector<Component> all{
      {"CLI11", CLI11_VERSION, "BSD-3-Clause", kCompiledIn},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                   NLOHMANN_JSON_VERSION_PATCH),
       "MIT", kCompiledIn},
      {"fmt",
       fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100),
       "MIT", kLinked},
      {"spdlog", fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH),
       "MIT", kLinked},
      {"OpenBLAS", openblas_version(), "BSD-3-Clause", kLinked},
      {"libgfortran, libquadmath", gcc, "GPL-3.0-or-later WITH GCC-exception-3.1",
       "linked by OpenBLAS"},
      {"libstdc++, libgcc", gcc, "GPL-3.0-or-later WITH GCC-exception-3.1", kLinked},
      {"libgomp", gcc, "GPL-3.0-or-later WITH GCC-exception-3.1", kLinked},
      {"glibc", gnu_get_libc_version(), "LGPL-2.1-or-later", kLinked}};
#ifdef CAUSEWAY_JEMALLOC
  all.push_back({"jemalloc",
                 fmt::format("{}.{}.{}", JEMALLOC_VERSION_MAJOR, JEMALLOC_VERSION_MINOR,
                             JEMALLOC_VERSION_BUGFIX),
                 "BSD-2-Clause", kLinked});
#endif
  const std::string cuda = driver::runtime_version();
  if (!cuda.empty()) {
    constexpr const char* kNvidia = "LicenseRef-NVIDIA-CUDA-EULA";
    all.push_back({"CUDA runtime, CCCL", cuda, kNvidia, kCompiledIn});
    all.push_back({"NVTX", "3", "Apache-2.0 WITH LLVM-exception", kCompiledIn});
    if constexpr (constexpr std::string_view frontend = CAUSEWAY_CUDNN_FRONTEND_VERSION;
                  !frontend.empty()) {
      all.push_back({"cuDNN frontend", std::string(frontend), "MIT", kCompiledIn});
    }
    all.push_back({"NVRTC", jit::nvrtc_status().version, kNvidia, kOpened});
    all.push_back({"cuBLASLt", kernels::cublas_status().version, kNvidia, kOpened});
    all.push_back({"cuDNN", kernels::cudnn_status().version, "LicenseRef-NVIDIA-cuDNN", kOpened});
    all.push_back({"NCCL", dist::nccl_status().version, "BSD-3-Clause", kOpened});
  }
  all.push_back({"HDF5", data::hdf5_status().version, "BSD-3-Clause", kOpened});
  all.push_back({"MPI", dist::mpi_status().version, "BSD-3-Clause", kOpened});
  return all;
}

}  // namespace

std::string licences_text() {
  TextTable table({{"library"}, {"version"}, {"licence"}, {"use"}});
  table.add_row({"causeway", kVersion, "MIT", ""});
  for (const auto& [name, version, licence, use] : components()) {
    table.add_row({name, version.empty() ? "not found" : version, licence, use});
  }
  return table.to_string();
}

Json licences_json() {
  Json all = Json::array({{{"name", "causeway"}, {"version", kVersion}, {"licence", "MIT"}}});
  for (const auto& [name, version, licence, use] : components()) {
    all.push_back({{"name", name},
                   {"version", version.empty() ? Json() : Json(version)},
                   {"licence", licence},
                   {"use", use}});
  }
  return all;
}

}  // namespace causeway::cli
