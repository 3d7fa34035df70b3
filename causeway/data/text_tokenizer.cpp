#include "causeway/data/text_tokenizer.h"

#include "causeway/core/error.h"
#include "causeway/data/bpe.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>

namespace causeway::data {

std::vector<TokenId> ByteTokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) ids[i] = static_cast<unsigned char>(text[i]);
  return ids;
}

std::string ByteTokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) text += token(id);
  return text;
}

std::string ByteTokenizer::token(TokenId id) const {
  if (id >= vocabulary()) {
    fail(ErrorKind::invalid_argument, "decode",
         fmt::format("id {}, but the vocabulary has {} ids", id, vocabulary()));
  }
  return id == end_of_text() ? std::string() : std::string(1, static_cast<char>(id));
}

std::unique_ptr<TextTokenizer> load_text_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  return std::make_unique<BpeTokenizer>(std::filesystem::path(name));
}

std::vector<std::vector<TokenId>> encode_all(const TextTokenizer& tokenizer,
                                             std::span<const std::string_view> texts) {
  std::vector<std::vector<TokenId>> ids(texts.size());
  std::vector<std::exception_ptr> errors(texts.size());
  std::atomic<std::size_t> next = 0;
  // Texts differ in length, so each thread takes the next one instead of a fixed part.
  parallel_for(thread_count(), 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t i; (i = next.fetch_add(1)) < texts.size();) {
      try {
        ids[i] = tokenizer.encode(texts[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return ids;
}

}  // namespace causeway::data
