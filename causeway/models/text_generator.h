// Text from a trained GPT: a model, its tokenizer and a decoder.
#pragma once

#include "causeway/data/text_tokenizer.h"
#include "causeway/models/gpt_decoder.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::models {

class TextGenerator {
 public:
  // `path` is a folder with model.safetensors, and tokenizer.json unless the tokenizer is bytes, or
  // a model file. `tokenizer` is "bytes" or a tokenizer.json; empty: that of the folder, or bytes
  // for a vocabulary of 257. bf16 on a GPU, else f32. Throws io and format errors, and
  // invalid_argument if the tokenizer has more ids than the model.
  TextGenerator(const std::string& path, const std::string& tokenizer, Device device,
                bool int8 = false);

  struct Result {
    std::string text;  // without the prompt and the stop text
    std::int64_t n_tokens = 0;
  };
  using OnText = std::function<void(std::size_t sample, std::string_view text)>;

  // Continues each prompt until its tokens are drawn, the end of a text, or one of the texts
  // `stop`. An empty prompt starts a new text. Prompts that leave no room lose their beginning.
  // `on_text` receives pieces of the results as they are made; text that may be the start of a stop
  // text is held back.
  std::vector<Result> generate(const std::vector<std::string>& prompts,
                               const GenerateOptions& options,
                               std::span<const std::string> stop = {}, const OnText& on_text = {});

  Gpt& model() { return *model_; }
  const data::TextTokenizer& tokenizer() const { return *tokenizer_; }

 private:
  GptDecoder::Tokens encode(const std::string& prompt, std::int64_t n_new) const;

  std::shared_ptr<Gpt> model_;
  std::shared_ptr<const data::TextTokenizer> tokenizer_;
  bool int8_;
};

}  // namespace causeway::models
