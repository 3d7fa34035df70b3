// Tokenizers of text: UTF-8 bytes to token ids and back. Not to be confused with
// causeway/tokenizer, which bins the columns of tables.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::data {

using TokenId = std::uint32_t;

// Implementations are immutable; all functions may be called from several threads.
class TextTokenizer {
 public:
  virtual ~TextTokenizer() = default;

  // The ids of a text. No token is added at the start or the end. Tokenizers other than
  // ByteTokenizer throw a format error if the text is not valid UTF-8.
  virtual std::vector<TokenId> encode(std::string_view text) const = 0;
  // The bytes of the tokens, one after the other; special tokens are included. The result may be
  // invalid UTF-8 if `ids` cut a character. Throws invalid_argument for an unknown id.
  virtual std::string decode(std::span<const TokenId> ids) const = 0;
  // All ids are below this number.
  virtual TokenId vocabulary() const = 0;
  // Whether an id is a token; a vocabulary may have gaps.
  virtual bool has(TokenId id) const { return id < vocabulary(); }
  // The bytes of one token. Throws invalid_argument for an unknown id.
  virtual std::string token(TokenId id) const = 0;
  // The token that separates documents.
  virtual TokenId end_of_text() const = 0;
};

// One token per byte, ids 0 to 255, and 256 for the end of a text, which decodes to nothing.
class ByteTokenizer final : public TextTokenizer {
 public:
  std::vector<TokenId> encode(std::string_view text) const override;
  std::string decode(std::span<const TokenId> ids) const override;
  TokenId vocabulary() const override { return 257; }
  std::string token(TokenId id) const override;
  TokenId end_of_text() const override { return 256; }
};

// ByteTokenizer for "bytes", otherwise the BpeTokenizer of a tokenizer.json.
std::unique_ptr<TextTokenizer> load_text_tokenizer(const std::string& name);

// Encodes each text; the threads of parallel_for share the texts. Throws the error of the first
// text that has one.
std::vector<std::vector<TokenId>> encode_all(const TextTokenizer& tokenizer,
                                             std::span<const std::string_view> texts);

}  // namespace causeway::data
