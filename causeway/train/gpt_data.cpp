#include "causeway/train/gpt_data.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/interrupt.h"
#include "causeway/data/text_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace causeway::train {

namespace {

namespace fs = std::filesystem;

constexpr const char* kDescription = "tokens.json";  // of a folder of tokenize_text

struct Encoded {
  std::vector<data::TokenId> ids;
  std::vector<bool> excluded;  // prompts
  std::int64_t documents = 0;
};

// Each document begins with the token of the end of a text.
void append(const data::TextTokenizer& tokenizer, const std::vector<data::TextDocument>& documents,
            Encoded& to) {
  std::vector<std::string_view> texts;
  for (const data::TextDocument& document : documents) {
    texts.push_back(document.prompt);
    texts.push_back(document.text);
  }
  const auto encoded = data::encode_all(tokenizer, texts);
  const auto add = [&](const std::vector<data::TokenId>& ids, bool is_prompt) {
    to.ids.insert(to.ids.end(), ids.begin(), ids.end());
    to.excluded.resize(to.ids.size(), is_prompt);
  };
  for (std::size_t i = 0; i < encoded.size(); i += 2) {
    add({tokenizer.end_of_text()}, false);
    add(encoded[i], true);
    add(encoded[i + 1], false);
  }
  to.documents += std::ssize(documents);
}

Encoded encode_text(const GptDataConfig& config, const data::TextTokenizer& tokenizer) {
  data::TextSource source(config.data, {config.separator, config.pattern, config.answer});
  constexpr std::size_t kBatchBytes = std::size_t{8} << 20;
  Encoded all;
  std::vector<data::TextDocument> batch;
  std::size_t n_bytes = 0;
  data::TextDocument document;
  while (source.next(document)) {
    check_interrupt();
    n_bytes += document.prompt.size() + document.text.size();
    batch.push_back(std::move(document));
    if (n_bytes < kBatchBytes) continue;
    append(tokenizer, batch, all);
    batch.clear();
    n_bytes = 0;
  }
  append(tokenizer, batch, all);
  return all;
}

void split(GptData& made, std::pair<data::TokenData, data::TokenData> parts) {
  made.training = std::move(parts.first);
  made.validation = std::move(parts.second);
}

GptData from_text(const GptDataConfig& config, std::uint64_t seed) {
  GptData made;
  const std::string name = config.tokenizer.empty() ? "bytes" : config.tokenizer;
  made.tokenizer = data::load_text_tokenizer(name);
  if (name != "bytes") made.tokenizer_file = name;
  Encoded all = encode_text(config, *made.tokenizer);
  const bool several = all.documents > 1;
  if (!std::ranges::count(all.excluded, true)) all.excluded.clear();
  made.training = data::TokenData::from(std::move(all.ids), std::move(all.excluded));
  if (config.validation == 0) return made;
  split(made, several ? made.training.split_documents(config.validation,
                                                      made.tokenizer->end_of_text(), seed)
                      : made.training.split_end(config.validation));
  return made;
}

GptData from_folder(const fs::path& folder) {
  GptData made;
  const Json json = read_config_file(kGptTrain, (folder / kDescription).string());
  const bool is_bytes = json.value("tokenizer", "") == "bytes";
  if (!is_bytes) made.tokenizer_file = folder / "tokenizer.json";
  made.tokenizer = data::load_text_tokenizer(is_bytes ? "bytes" : made.tokenizer_file.string());
  const auto open = [&](const char* prefix) {
    const std::string pattern = (folder / fmt::format("{}_*.bin", prefix)).string();
    return data::TokenData::open(std::array{pattern}, made.tokenizer->vocabulary());
  };
  made.training = open("train");
  if (fs::exists(folder / "val_000000.bin")) made.validation = open("val");
  return made;
}

GptData from_shards(const GptDataConfig& config, std::int64_t vocabulary) {
  GptData made;
  if (!config.tokenizer.empty()) {
    made.tokenizer = data::load_text_tokenizer(config.tokenizer);
    if (config.tokenizer != "bytes") made.tokenizer_file = config.tokenizer;
    vocabulary = made.tokenizer->vocabulary();
  }
  made.training = data::TokenData::open(config.data, static_cast<data::TokenId>(vocabulary));
  if (config.validation > 0) split(made, made.training.split_end(config.validation));
  return made;
}

bool is_described_folder(const GptDataConfig& config) {
  std::error_code none;
  return config.data.size() == 1 && fs::exists(fs::path(config.data[0]) / kDescription, none);
}

}  // namespace

bool is_tokenized(const GptDataConfig& config) {
  const auto is_shard = [](const std::string& path) { return path.ends_with(".bin"); };
  return is_described_folder(config) ||
         (!config.data.empty() && std::ranges::all_of(config.data, is_shard));
}

GptData load_gpt_data(const GptDataConfig& config, std::int64_t vocabulary, std::uint64_t seed) {
  if (config.data.empty()) {
    fail(ErrorKind::invalid_argument, kGptTrain,
         "data: expected text files, .jsonl files or token shards");
  }
  if (is_described_folder(config)) return from_folder(config.data[0]);
  return is_tokenized(config) ? from_shards(config, vocabulary) : from_text(config, seed);
}

}  // namespace causeway::train
