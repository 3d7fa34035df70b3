// Byte-pair encoding as in a tokenizer.json of Hugging Face's `tokenizers`: the models of GPT-2,
// Llama 3, Qwen and others. Ids equal those of the package, token for token. docs/text.md lists
// what is supported; anything else in the file is refused, never ignored, except the
// post-processor, which adds tokens to a prompt and not to training text.
#pragma once

#include "causeway/data/text_tokenizer.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace causeway::data {

class BpeTokenizer final : public TextTokenizer {
 public:
  // Reads a tokenizer.json. Throws io errors, and format errors that name the file and the key.
  explicit BpeTokenizer(const std::filesystem::path& path);
  // From the text of such a file; `name` is used in messages.
  BpeTokenizer(std::string_view json, std::string name);
  ~BpeTokenizer() override;

  std::vector<TokenId> encode(std::string_view text) const override;
  std::string decode(std::span<const TokenId> ids) const override;
  TokenId vocabulary() const override;
  bool has(TokenId id) const override;
  std::string token(TokenId id) const override;
  // The id of <|endoftext|>, <|end_of_text|>, </s> or <eos>, whichever the file has first. Throws
  // invalid_argument if there is none.
  TokenId end_of_text() const override;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace causeway::data
