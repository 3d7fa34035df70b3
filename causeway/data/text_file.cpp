#include "causeway/core/mapped_file.h"
#include "causeway/data/document_reader.h"
#include "causeway/data/input_check.h"
#include "causeway/data/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::data {

namespace {

class TextFile final : public DocumentReader {
 public:
  TextFile(const std::filesystem::path& path, std::string separator)
      : file_("read_text", path),
        text_(reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()),
        name_(path.string()),
        separator_(std::move(separator)) {
    const std::size_t valid = valid_utf8_prefix(text_);
    if (valid == text_.size()) return;
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
    Origin{"read_text", name_}.fail_format(
        fmt::format("line {}: invalid UTF-8 (byte {} of the file)", line, valid + 1));
  }

  bool next(TextDocument& document) override {
    file_.require_whole();
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      const std::size_t end = find_end();
      if (end == begin) continue;
      document.prompt.clear();
      document.text = text_.substr(begin, end - begin);
      document.origin = name_;
      return true;
    }
    return false;
  }

  std::uint64_t position() const override { return at_; }

 private:
  // The end of the document that starts at at_, which is moved past its separator.
  std::size_t find_end() {
    while (at_ < text_.size()) {
      const std::size_t line = at_;
      const std::size_t end = std::min(text_.find('\n', line), text_.size());
      std::string_view content = text_.substr(line, end - line);
      if (content.ends_with('\r')) content.remove_suffix(1);
      at_ = separator_.empty() ? text_.size() : std::min(end + 1, text_.size());
      if (!separator_.empty() && content == separator_) return line;
    }
    return text_.size();
  }

  MappedFile file_;
  std::string_view text_;
  std::string name_;
  std::string separator_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<DocumentReader> open_text_file(const std::filesystem::path& path,
                                               std::string separator) {
  return std::make_unique<TextFile>(path, std::move(separator));
}

}  // namespace causeway::data
