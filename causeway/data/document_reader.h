// Reads the documents of one file.
#pragma once

#include "causeway/data/text_template.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace causeway::data {

class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  // Sets prompt, text and origin; returns false after the last document.
  virtual bool next(TextDocument& document) = 0;
  virtual std::uint64_t position() const = 0;  // bytes of the file read so far
};

// A text file; documents end at lines that equal `separator`, unless that is empty.
std::unique_ptr<DocumentReader> open_text_file(const std::filesystem::path& path,
                                               std::string separator);

// A .jsonl or .jsonl.zst file. The template must outlive the reader.
std::unique_ptr<DocumentReader> open_json_lines(const std::filesystem::path& path,
                                                const TextTemplate& text_template);

// Reads the fields of a line of JSON, in the order of `fields`. Returns the problem; empty if there
// is none.
std::string read_json_fields(std::string_view line, const std::vector<std::string>& fields,
                             std::vector<std::string>& values);

}  // namespace causeway::data
