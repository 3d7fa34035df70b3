// Text from a trained GPT: a model, its tokenizer and a decoder.
#pragma once

#include "causeway/data/text_tokenizer.h"
#include "causeway/models/gpt_decoder.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::models {

// The tokenizer of the model in `path`, for load_text_tokenizer: the tokenizer.json in the folder,
// or bytes for a vocabulary of 257. Throws invalid_argument if there is none.
std::string find_tokenizer(const std::filesystem::path& path, const GptConfig& config);

class TextGenerator {
 public:
  // `path` is a folder with model.safetensors, or a model file. `tokenizer` is "bytes" or a
  // tokenizer.json; empty: find_tokenizer(). bf16 on a GPU, else f32. Throws io and format errors.
  TextGenerator(const std::string& path, const std::string& tokenizer, Device device,
                bool int8 = false);
  // The weights of the model must not change during generate(), and those that `int8` rounds not at
  // all. Throws invalid_argument if the tokenizer has more ids than the model.
  TextGenerator(std::shared_ptr<Gpt> model, std::shared_ptr<const data::TextTokenizer> tokenizer,
                bool int8 = false);

  struct Result {
    std::string text;  // without the prompt and the stop text
    std::int64_t n_tokens = 0;
  };
  using OnText = std::function<void(std::size_t sample, std::string_view text)>;

  // Continues each prompt until its tokens are drawn, the end of a text, or one of the texts
  // `stop`. An empty prompt starts a new text. Prompts that leave no room lose their beginning.
  // `on_text` receives pieces of the results as they are made; text that may be the start of a stop
  // text is held back. Ids that the tokenizer does not have add no text.
  std::vector<Result> generate(const std::vector<std::string>& prompts,
                               const GenerateOptions& options,
                               std::span<const std::string> stop = {}, const OnText& on_text = {});

  Gpt& model() { return *model_; }
  const data::TextTokenizer& tokenizer() const { return *tokenizer_; }

 private:
  void check_tokenizer() const;
  GptDecoder::Tokens encode(const std::string& prompt, std::int64_t n_new) const;

  std::shared_ptr<Gpt> model_;
  std::shared_ptr<const data::TextTokenizer> tokenizer_;
  std::shared_ptr<const GptInt8> int8_;  // null: the weights as they are
};

}  // namespace causeway::models
