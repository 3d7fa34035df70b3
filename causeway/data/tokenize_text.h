// Text to token shards: a folder with train_000000.bin, ..., val_000000.bin, ..., the
// tokenizer.json if there is one, and tokens.json, which says how they were made. Each document
// begins with the token of the end of a text, as in llm.c.
#pragma once

#include "causeway/data/text_source.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace causeway::data {

struct TokenizeOptions {
  std::string tokenizer = "bytes";  // or a tokenizer.json
  TextSourceOptions source = {};
  std::int64_t shard_tokens = 100'000'000;
  // The probability of a document to be for validation. Of a single document, the last part is.
  double validation = 0;
  std::uint64_t seed = 0;  // of the choice
};

struct TokenizeResult {
  struct Part {
    std::int64_t documents = 0;
    std::int64_t tokens = 0;
    std::int64_t shards = 0;
  };
  Part train;
  Part validation;
  std::uint64_t text_bytes = 0;
  std::uint32_t vocabulary = 0;
};

// Writes the folder `out` at once when all is done; it must not exist or be empty. Threads of
// parallel_for encode. `progress` receives the bytes read and their total. The same input gives the
// same files. Throws the errors of TextSource and of the tokenizer, and invalid_argument if a part
// that was asked for has no document.
TokenizeResult tokenize_text(std::span<const std::string> inputs, const std::filesystem::path& out,
                             const TokenizeOptions& options,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace causeway::data
