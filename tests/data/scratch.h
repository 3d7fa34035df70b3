// Shared by tests of files: a scratch folder, whole files as strings, and the error of a call.
#pragma once

#include "causeway/core/error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <stdlib.h>

namespace causeway::data_test {

// A folder that is initially empty and removed with its content.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "causeway-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder");
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }
  const std::filesystem::path& folder() const { return folder_; }
  // Number of files, including temporary ones.
  std::size_t n_files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The error of `body` as "kind: message"; "" if it returns.
template <class Body>
std::string failure(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "";
}

// Whether a failure starts with `start` and contains `part`.
inline testing::AssertionResult says(const std::string& failure, std::string_view start,
                                     std::string_view part = "") {
  if (failure.starts_with(start) && failure.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << '"' << failure << "\" should begin with \"" << start
                                     << "\" and contain \"" << part << '"';
}

}  // namespace causeway::data_test
