#include "causeway/data/tokenize_text.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/folder_writer.h"
#include "causeway/core/interrupt.h"
#include "causeway/data/token_data.h"
#include "causeway/data/token_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <future>

namespace causeway::data {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kOperation = "tokenize";
constexpr std::size_t kBatchBytes = std::size_t{32} << 20;  // of text, encoded by all threads

// Documents that are encoded together.
struct Batch {
  std::vector<TextDocument> documents;
  std::uint64_t n_bytes = 0;
  std::uint64_t position = 0;  // of the source after them
};

Batch read_batch(TextSource& source) {
  Batch batch;
  TextDocument document;
  while (batch.n_bytes < kBatchBytes && source.next(document)) {
    batch.n_bytes += document.prompt.size() + document.text.size();
    batch.documents.push_back(std::move(document));
  }
  batch.position = source.position();
  return batch;
}

class Tokenization {
 public:
  Tokenization(const TextTokenizer& tokenizer, const fs::path& folder,
               const TokenizeOptions& options)
      : tokenizer_(tokenizer),
        options_(options),
        train_(folder, "train", tokenizer.vocabulary(), options.shard_tokens),
        validation_(folder, "val", tokenizer.vocabulary(), options.shard_tokens) {
    result_.vocabulary = tokenizer.vocabulary();
  }

  void add(const Batch& batch, bool is_only_document) {
    std::vector<std::string_view> texts;
    for (const TextDocument& document : batch.documents) {
      texts.push_back(document.prompt);
      texts.push_back(document.text);
    }
    const auto ids = encode_all(tokenizer_, texts);
    result_.text_bytes += batch.n_bytes;
    if (is_only_document && options_.validation > 0) return add_halves(ids[0], ids[1]);
    for (std::size_t i = 0; i < ids.size(); i += 2) {
      const bool held_out = is_validation(n_documents_++, options_.validation, options_.seed);
      ++(held_out ? result_.validation : result_.train).documents;
      add_document(held_out ? validation_ : train_, ids[i], ids[i + 1]);
    }
  }

  TokenizeResult finish() {
    result_.train.tokens = train_.n_tokens();
    result_.validation.tokens = validation_.n_tokens();
    result_.train.shards = std::ssize(train_.finish());
    result_.validation.shards = std::ssize(validation_.finish());
    if (result_.train.tokens == 0 && options_.validation < 1)
      fail(ErrorKind::invalid_argument, kOperation,
           "no document is left for training; use more documents or a smaller validation part");
    if (result_.validation.tokens == 0 && options_.validation > 0)
      fail(ErrorKind::invalid_argument, kOperation,
           fmt::format("none of {} documents is in the validation part of {}; use a larger part or "
                       "another seed",
                       result_.train.documents, options_.validation));
    return result_;
  }

 private:
  void add_document(TokenShardWriter& writer, std::span<const TokenId> prompt,
                    std::span<const TokenId> text) const {
    const TokenId end_of_text = tokenizer_.end_of_text();
    writer.add({&end_of_text, 1});
    writer.add(prompt, true);
    writer.add(text);
  }

  // The parts of a single document.
  void add_halves(std::span<const TokenId> prompt, std::span<const TokenId> text) {
    const auto n_train = static_cast<std::size_t>(
        std::llround(static_cast<double>(text.size()) * (1 - options_.validation)));
    add_document(train_, prompt, text.first(n_train));
    add_document(validation_, {}, text.subspan(n_train));
    result_.train.documents = result_.validation.documents = 1;
  }

  const TextTokenizer& tokenizer_;
  const TokenizeOptions& options_;
  TokenShardWriter train_;
  TokenShardWriter validation_;
  std::uint64_t n_documents_ = 0;
  TokenizeResult result_;
};

void write_description(const fs::path& folder, const TokenizeOptions& options,
                       const TextTokenizer& tokenizer, const TokenizeResult& result) {
  const bool is_bytes = options.tokenizer == "bytes";
  const auto part = [](const TokenizeResult::Part& from) {
    return nlohmann::ordered_json{
        {"documents", from.documents}, {"tokens", from.tokens}, {"shards", from.shards}};
  };
  const nlohmann::ordered_json json{{"tokenizer", is_bytes ? "bytes" : "tokenizer.json"},
                                    {"vocabulary", tokenizer.vocabulary()},
                                    {"end_of_text", tokenizer.end_of_text()},
                                    {"train", part(result.train)},
                                    {"validation", part(result.validation)}};
  FileWriter writer(kOperation, folder / "tokens.json");
  writer.write(json.dump(2) + "\n");
  writer.commit();
  if (is_bytes) return;
  const MappedFile from(kOperation, options.tokenizer);
  FileWriter copy(kOperation, folder / "tokenizer.json");
  copy.write(from.bytes());
  copy.commit();
}

void check(const fs::path& out, const TokenizeOptions& options) {
  if (!(options.validation >= 0 && options.validation <= 1))
    fail(ErrorKind::invalid_argument, kOperation,
         fmt::format("validation part {}, expected 0 to 1", options.validation));
  std::error_code ignored;
  if (fs::exists(out, ignored) && !fs::is_empty(out, ignored))
    fail(ErrorKind::invalid_argument, kOperation,
         fmt::format("\"{}\" exists and is not empty; choose another folder", out.string()));
}

}  // namespace

TokenizeResult tokenize_text(std::span<const std::string> inputs, const fs::path& out,
                             const TokenizeOptions& options,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  check(out, options);
  const auto tokenizer = load_text_tokenizer(options.tokenizer);
  tokenizer->end_of_text();  // throws before the work if there is none
  TextSource source(inputs, options.source);
  FolderWriter folder(kOperation, out);
  Tokenization work(*tokenizer, folder.partial(), options);
  Batch batch = read_batch(source);
  for (bool is_first = true; !batch.documents.empty(); is_first = false) {
    check_interrupt();
    auto next = std::async(std::launch::async, [&source] { return read_batch(source); });
    const bool is_only = batch.documents.size() == 1 && batch.position == source.n_bytes();
    work.add(batch, is_first && is_only);
    progress(batch.position, source.n_bytes());
    batch = next.get();
  }
  const TokenizeResult result = work.finish();
  write_description(folder.partial(), options, *tokenizer, result);
  folder.commit();
  return result;
}

}  // namespace causeway::data
