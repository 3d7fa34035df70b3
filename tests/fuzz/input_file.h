// An input as a file, for parsers that take a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace causeway::fuzz {

class InputFile {
 public:
  InputFile(const std::uint8_t* data, std::size_t size, const std::string& extension)
      : path_(std::filesystem::temp_directory_path() /
              ("causeway-fuzz-" + std::to_string(::getpid()) + extension)) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace causeway::fuzz
