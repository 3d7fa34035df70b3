#include "causeway/models/text_generator.h"

#include "causeway/core/error.h"
#include "causeway/models/gpt_file.h"
#include "causeway/models/tabular_file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace causeway::models {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOperation = "generate";

std::shared_ptr<const data::TextTokenizer> load_tokenizer(const fs::path& path,
                                                          const std::string& name,
                                                          const GptConfig& config) {
  std::string chosen = name;
  const fs::path file = (fs::is_directory(path) ? path : path.parent_path()) / "tokenizer.json";
  if (chosen.empty() && fs::exists(file)) chosen = file.string();
  if (chosen.empty() && config.vocabulary == 257) chosen = "bytes";
  if (chosen.empty()) {
    fail(ErrorKind::invalid_argument, kOperation,
         fmt::format("there is no \"{}\"; give the tokenizer of the model", file.string()));
  }
  std::shared_ptr<const data::TextTokenizer> made = data::load_text_tokenizer(chosen);
  if (made->vocabulary() > config.vocabulary) {
    fail(ErrorKind::invalid_argument, kOperation,
         fmt::format("the tokenizer has {} ids, the model {}; it is the tokenizer of another model",
                     made->vocabulary(), config.vocabulary));
  }
  return made;
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
      text_ += tokenizer_.decode(std::span(&id, 1));
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
    if (!all) {
      end -= std::min(end, longest_stop_ > 0 ? longest_stop_ - 1 : 0);
      // Not inside a UTF-8 character.
      while (end > released_ && end < text_.size() &&
             (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) {
        --end;
      }
    }
    const std::size_t begin = released_;
    released_ = std::max(begin, end);
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

}  // namespace

TextGenerator::TextGenerator(const std::string& path, const std::string& tokenizer, Device device,
                             bool int8)
    : int8_(int8) {
  const fs::path file =
      fs::is_directory(path) ? fs::path(path) / "model.safetensors" : fs::path(path);
  model_ = load_gpt(file, inference_placement(device));
  tokenizer_ = load_tokenizer(path, tokenizer, model_->config());
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
