// Documents from files. A text file is one document, or several that are separated by a line. In
// .jsonl and .jsonl.zst files every line is a JSON object; a template makes its text of the
// object's fields. Folders are read recursively, sorted by path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::data {

struct TextSourceOptions {
  // A line of a text file that ends a document and belongs to none; empty: a file is one document.
  std::string separator = {};
  // The text of a JSON object: {name} is the string in field `name`, {{ and }} are braces. For
  // example
  // "{python_source}\n### CUDA\n{cuda_forward}".
  std::string pattern = "{text}";
  // A field of the pattern. What precedes it is the prompt, whose tokens are no targets; empty: no
  // prompt.
  std::string answer = {};
};

struct TextDocument {
  std::string prompt;  // empty without `answer`
  std::string text;    // what follows the prompt
  std::string origin;  // "file" or "file, line 7", for messages
};

class TextSource {
 public:
  // `inputs` are files, folders and shell globs. Throws io and invalid_argument errors: no such
  // file, a glob or folder without files, a pattern that is malformed.
  explicit TextSource(std::span<const std::string> inputs, TextSourceOptions options = {});
  ~TextSource();

  // Reads the next document; returns false after the last. Empty documents between separators are
  // skipped. Throws format errors that name file and line: an empty file, invalid UTF-8, invalid
  // JSON, a missing field, a field that is no string.
  bool next(TextDocument& document);

  const std::vector<std::filesystem::path>& files() const { return files_; }
  std::uint64_t n_bytes() const { return n_bytes_; }  // of all files, as stored
  std::uint64_t position() const;                     // bytes read so far, as stored

 private:
  class Reader;
  class TextReader;
  class JsonReader;
  bool open_next();

  TextSourceOptions options_;
  std::vector<std::filesystem::path> files_;
  std::size_t next_file_ = 0;
  std::uint64_t n_bytes_ = 0;
  std::uint64_t finished_bytes_ = 0;  // of files before the current one
  std::unique_ptr<Reader> reader_;
};

}  // namespace causeway::data
