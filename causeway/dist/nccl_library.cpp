#include "causeway/dist/nccl_library.h"

#include "causeway/dist/nccl.h"

#include <fmt/format.h>

namespace causeway::dist {

namespace {

constexpr int kOldest = NCCL_VERSION(2, 14, 0);

LibrarySearch search() {
  return {.name = "NCCL",
          .files = {"libnccl.so.2", "libnccl.so"},
          .wheels = {"nccl/lib"},
          .variable = "CAUSEWAY_NCCL",
          .advice =
              "install it (pip install nvidia-nccl-cu13, or libnccl2 of NVIDIA's apt "
              "repository), or use the cpu device",
          .kind = ErrorKind::distributed};
}

}  // namespace

NcclLibrary::NcclLibrary() : library(search()) {}

std::string NcclLibrary::checked_version() const {
  int number = 0;
  if (ncclGetVersion(&number) != ncclSuccess) library.fail_version("unknown", "2.14 or newer");
  std::string text = fmt::format("{}.{}.{}", number / 10000, number % 10000 / 100, number % 100);
  if (number < kOldest) library.fail_version(text, "2.14 or newer");
  return text;
}

const NcclLibrary& nccl() {
  static const auto* const library = new NcclLibrary;  // never destroyed: used until exit
  return *library;
}

LibraryStatus nccl_status() {
  try {
    return {nccl().version, nccl().library.path(), ""};
  } catch (const Error& error) {
    return {"", "", error.message()};
  }
}

}  // namespace causeway::dist
