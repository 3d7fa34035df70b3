#include "causeway/data/text_source.h"

#include "causeway/data/document_reader.h"
#include "causeway/data/input_check.h"
#include "causeway/data/input_paths.h"

namespace causeway::data {

namespace {

bool is_json_lines(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".jsonl") || name.ends_with(".jsonl.zst");
}

}  // namespace

TextSource::TextSource(std::span<const std::string> inputs, const TextSourceOptions& options)
    : separator_(options.separator), template_(options.pattern, options.answer) {
  files_ = expand_inputs("read_text", inputs, [](const auto&) { return true; });
  for (const auto& file : files_) {
    std::error_code ignored;  // reported when the file is opened
    const std::uintmax_t size = std::filesystem::file_size(file, ignored);
    if (!ignored) n_bytes_ += size;
  }
}

TextSource::~TextSource() = default;

void TextSource::open(const std::filesystem::path& path) {
  if (path.extension() == ".bin") {
    Origin{"read_text", path.string()}.fail(
        ErrorKind::invalid_argument, "a token shard is no text; train on it without tokenizing");
  }
  reader_ =
      is_json_lines(path) ? open_json_lines(path, template_) : open_text_file(path, separator_);
}

bool TextSource::next(TextDocument& document) {
  while (true) {
    const bool is_new = reader_ == nullptr;
    if (is_new) {
      if (next_file_ == files_.size()) return false;
      open(files_[next_file_]);
    }
    if (reader_->next(document)) return true;
    if (is_new) {
      Origin{"read_text", files_[next_file_].string()}.fail_format("the file has no document");
    }
    finished_bytes_ += reader_->position();
    reader_.reset();
    ++next_file_;
  }
}

std::uint64_t TextSource::position() const {
  return finished_bytes_ + (reader_ ? reader_->position() : 0);
}

}  // namespace causeway::data
