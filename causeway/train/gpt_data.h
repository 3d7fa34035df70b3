// The tokens that a GPT is trained on, and their tokenizer.
#pragma once

#include "causeway/data/text_tokenizer.h"
#include "causeway/data/token_data.h"
#include "causeway/train/gpt_config.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace causeway::train {

struct GptData {
  std::shared_ptr<const data::TextTokenizer> tokenizer;  // null for shards of an unknown tokenizer
  std::filesystem::path tokenizer_file;                  // tokenizer.json; empty for bytes
  data::TokenData training;
  std::optional<data::TokenData> validation;  // nullopt if nothing is held out
};

// `inputs` are a folder written by tokenize_text, token shards (.bin), or text as for TextSource,
// which is tokenized in memory. Ids of shards are checked against `vocabulary`, the model's, if the
// tokenizer is unknown. `seed` decides which documents are held out; of a single document it is the
// end. Throws io, format and invalid_argument errors.
GptData load_gpt_data(const GptDataConfig& config, std::int64_t vocabulary, std::uint64_t seed);

// Whether all inputs are token shards or folders of them.
bool is_tokenized(const GptDataConfig& config);

}  // namespace causeway::train
