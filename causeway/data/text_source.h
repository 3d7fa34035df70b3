// Documents from files. A text file is one document, or several that are separated by a line. In
// .jsonl and .jsonl.zst files every line is a JSON object; a template makes a text of its fields.
// Folders are read recursively, sorted by path.
#pragma once

#include "causeway/data/text_template.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::data {

class DocumentReader;

struct TextSourceOptions {
  // A line of a text file that ends a document and belongs to none; empty: a file is one document.
  std::string separator = {};
  // The text of a JSON object, see TextTemplate.
  std::string pattern = "{text}";
  // A field of the pattern. The text before it is the prompt, whose tokens are no targets. Empty:
  // there is no prompt.
  std::string answer = {};
};

class TextSource {
 public:
  // `inputs` are files, folders and shell globs. Throws io and invalid_argument errors: no such
  // file, a glob or folder without files, a malformed pattern.
  explicit TextSource(std::span<const std::string> inputs, const TextSourceOptions& options = {});
  ~TextSource();

  // Reads the next document; returns false after the last. Empty documents and blank lines of
  // .jsonl files are skipped. Throws format errors that name file and line: a file without a
  // document, invalid UTF-8, invalid JSON, a missing field, a field that is no string.
  bool next(TextDocument& document);

  const std::vector<std::filesystem::path>& files() const { return files_; }
  std::uint64_t n_bytes() const { return n_bytes_; }  // of all files, as stored
  std::uint64_t position() const;                     // bytes read so far, as stored

 private:
  void open(const std::filesystem::path& path);

  std::string separator_;
  TextTemplate template_;
  std::vector<std::filesystem::path> files_;
  std::size_t next_file_ = 0;
  std::uint64_t n_bytes_ = 0;
  std::uint64_t finished_bytes_ = 0;  // of files before the current one
  std::unique_ptr<DocumentReader> reader_;
};

}  // namespace causeway::data
