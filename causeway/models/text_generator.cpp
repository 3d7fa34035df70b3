#include "causeway/models/text_generator.h"

#include "causeway/core/error.h"
#include "causeway/models/gpt_file.h"
#include "causeway/models/model_file.h"
#include "causeway/models/tabular_file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace causeway::models {

namespace {

namespace fs = std::filesystem;

// The number of bytes at the end of a text that are the start of a UTF-8 character.
std::size_t cut_character(std::string_view text) {
  for (std::size_t n = 1; n <= std::min<std::size_t>(text.size(), 3); ++n) {
    const auto byte = static_cast<unsigned char>(text[text.size() - n]);
    if ((byte & 0xc0) == 0x80) continue;
    const std::size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return whole > n ? n : 0;
  }
  return 0;
}

// The text of one sample while it is made. It releases whole characters that cannot belong to a
// stop text.
class Writing {
 public:
  Writing(const data::TextTokenizer& tokenizer, std::span<const std::string> stop)
      : tokenizer_(tokenizer), stop_(stop) {
    for (const std::string& text : stop) longest_stop_ = std::max(longest_stop_, text.size());
  }

  // Returns whether the sample continues.
  bool add(std::span<const std::int64_t> tokens) {
    for (const std::int64_t token : tokens) {
      if (token == static_cast<std::int64_t>(tokenizer_.end_of_text())) return false;
      ++n_tokens_;
      const auto id = static_cast<data::TokenId>(token);
      if (tokenizer_.has(id)) text_ += tokenizer_.token(id);
      for (const std::string& end : stop_) {
        const std::size_t from = text_.size() - std::min(text_.size(), 2 * longest_stop_ + 64);
        const std::size_t at = end.empty() ? std::string::npos : text_.find(end, from);
        if (at == std::string::npos) continue;
        text_.resize(at);
        return false;
      }
    }
    return true;
  }

  // The part that was not released yet; `all` at the end of the sample.
  std::string_view release(bool all) {
    std::size_t end = text_.size();
    const std::size_t begin = released_;
    if (!all) {
      end -= std::min(end, longest_stop_ > 0 ? longest_stop_ - 1 : 0);
      end = std::max(begin, end);
      end -= cut_character(std::string_view(text_).substr(begin, end - begin));
    }
    released_ = end;
    return std::string_view(text_).substr(begin, released_ - begin);
  }

  TextGenerator::Result result() const { return {text_, n_tokens_}; }

 private:
  const data::TextTokenizer& tokenizer_;
  std::span<const std::string> stop_;
  std::size_t longest_stop_ = 0;
  std::string text_;
  std::size_t released_ = 0;
  std::int64_t n_tokens_ = 0;
};

std::shared_ptr<const GptInt8> rounded(Gpt& model, bool int8) {
  return int8 ? std::make_shared<const GptInt8>(model) : nullptr;
}

}  // namespace

std::string find_tokenizer(const fs::path& path, const GptConfig& config) {
  const fs::path file = model_file_of(path).parent_path() / "tokenizer.json";
  std::error_code none;
  if (fs::exists(file, none)) return file.string();
  if (config.vocabulary == data::ByteTokenizer().vocabulary()) return "bytes";
  fail(ErrorKind::invalid_argument, kGenerate,
       fmt::format("there is no \"{}\"; give the tokenizer of the model", file.string()));
}

TextGenerator::TextGenerator(std::shared_ptr<Gpt> model,
                             std::shared_ptr<const data::TextTokenizer> tokenizer, bool int8)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)), int8_(rounded(*model_, int8)) {
  check_tokenizer();
}

TextGenerator::TextGenerator(const std::string& path, const std::string& tokenizer, Device device,
                             bool int8)
    : model_(load_gpt(model_file_of(path), inference_placement(device))),
      tokenizer_(data::load_text_tokenizer(
          tokenizer.empty() ? find_tokenizer(path, model_->config()) : tokenizer)),
      int8_(rounded(*model_, int8)) {
  check_tokenizer();
}

void TextGenerator::check_tokenizer() const {
  if (tokenizer_->vocabulary() <= model_->config().vocabulary) return;
  fail(ErrorKind::invalid_argument, kGenerate,
       fmt::format("the tokenizer has {} ids, the model {}; it is the tokenizer of another model",
                   tokenizer_->vocabulary(), model_->config().vocabulary));
}

GptDecoder::Tokens TextGenerator::encode(const std::string& prompt, std::int64_t n_new) const {
  const auto ids = tokenizer_->encode(prompt);
  GptDecoder::Tokens tokens(ids.begin(), ids.end());
  if (tokens.empty()) tokens.push_back(tokenizer_->end_of_text());
  const std::int64_t room = std::max<std::int64_t>(model_->config().length - n_new, 1);
  if (std::ssize(tokens) > room) tokens.erase(tokens.begin(), tokens.end() - room);
  return tokens;
}

std::vector<TextGenerator::Result> TextGenerator::generate(const std::vector<std::string>& prompts,
                                                           const GenerateOptions& options,
                                                           std::span<const std::string> stop,
                                                           const OnText& on_text) {
  options.check();
  if (prompts.empty()) return {};
  std::vector<GptDecoder::Tokens> tokens;
  std::int64_t longest = 0;
  for (const std::string& prompt : prompts) {
    tokens.push_back(encode(prompt, options.tokens));
    longest = std::max<std::int64_t>(longest, std::ssize(tokens.back()));
  }
  const std::int64_t capacity = std::min(model_->config().length, longest + options.tokens);
  GptDecoder decoder(*model_, std::ssize(prompts), capacity, int8_);
  std::vector<Writing> writings(prompts.size(), Writing(*tokenizer_, stop));
  const auto release = [&](std::size_t i, bool all) {
    const std::string_view text = writings[i].release(all);
    if (on_text && !text.empty()) on_text(i, text);
  };
  decoder.generate(tokens, options, [&](std::size_t i, std::span<const std::int64_t> made) {
    const bool continues = writings[i].add(made);
    release(i, !continues);
    return continues;
  });
  std::vector<Result> results;
  for (std::size_t i = 0; i < writings.size(); ++i) {
    release(i, true);
    results.push_back(writings[i].result());
  }
  return results;
}

}  // namespace causeway::models
