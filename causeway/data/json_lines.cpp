#include "causeway/core/mapped_file.h"
#include "causeway/data/document_reader.h"
#include "causeway/data/input_check.h"
#include "causeway/data/utf8.h"
#include "causeway/data/zstd.h"

#include <fmt/format.h>

#include <optional>

namespace causeway::data {

namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 30;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class JsonLines final : public DocumentReader {
 public:
  JsonLines(const std::filesystem::path& path, const TextTemplate& text_template)
      : file_("read_text", path),
        origin_{"read_text", path.string()},
        template_(text_template),
        rest_(text_of(file_)) {
    if (path.extension() == ".zst") {
      zstd_.emplace(rest_, origin_.name);
      rest_ = {};
    }
  }

  bool next(TextDocument& document) override {
    file_.require_whole();
    std::string_view line;
    do {
      if (!next_line(line)) return false;
      ++n_lines_;
    } while (line.find_first_not_of(" \t\r") == std::string_view::npos);
    const std::size_t valid = valid_utf8_prefix(line);
    if (valid != line.size()) fail_here(fmt::format("invalid UTF-8 at byte {}", valid + 1));
    const std::string problem = read_json_fields(line, template_.fields(), values_);
    if (!problem.empty()) fail_here(problem);
    template_.fill(values_, document);
    document.origin = fmt::format("{}, line {}", origin_.name, n_lines_);
    return true;
  }

  std::uint64_t position() const override {
    return zstd_ ? zstd_->position() : file_.bytes().size() - rest_.size();
  }

 private:
  [[noreturn]] void fail_here(const std::string& problem) const {
    origin_.fail_format(fmt::format("line {}: {}", n_lines_, problem));
  }

  // The next line without its end, valid until the next call.
  bool next_line(std::string_view& line) {
    std::size_t end = rest_.find('\n');
    while (end == std::string_view::npos && zstd_) {
      if (rest_.size() > kLongestLine) fail_here("a line of more than 1 GiB");
      const std::size_t searched = rest_.size();
      buffer_.erase(0, buffer_.size() - rest_.size());
      const bool has_more = zstd_->read(buffer_);
      rest_ = buffer_;
      if (!has_more) break;
      end = rest_.find('\n', searched);
    }
    if (rest_.empty()) return false;
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return true;
  }

  MappedFile file_;
  Origin origin_;
  const TextTemplate& template_;
  std::string_view rest_;  // of the file, or of buffer_
  std::optional<ZstdReader> zstd_;
  std::string buffer_;
  std::int64_t n_lines_ = 0;
  std::vector<std::string> values_;
};

}  // namespace

std::unique_ptr<DocumentReader> open_json_lines(const std::filesystem::path& path,
                                                const TextTemplate& text_template) {
  return std::make_unique<JsonLines>(path, text_template);
}

}  // namespace causeway::data
