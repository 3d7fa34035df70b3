#include "causeway/data/bpe.h"

#include "causeway/core/mapped_file.h"
#include "causeway/data/added_tokens.h"
#include "causeway/data/bpe_model.h"
#include "causeway/data/nfc.h"
#include "causeway/data/utf8.h"
#include "causeway/data/word_cache.h"

#include <fmt/format.h>

#include <atomic>
#include <limits>

namespace causeway::data {

struct BpeTokenizer::State {
  State(const Origin& origin, const BpeFile& file)
      : model(origin, file),
        steps(file.steps),
        nfc(file.nfc),
        raw_tokens(file.added, false),
        normalized_tokens(file.added, true) {
    for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"}) {
      if (end_of_text) break;
      const auto& tokens = model.tokens();
      const auto found = std::find(tokens.begin(), tokens.end(), std::optional<std::string>(name));
      if (found != tokens.end()) end_of_text = static_cast<TokenId>(found - tokens.begin());
    }
  }

  BpeModel model;
  std::vector<SplitStep> steps;
  bool nfc;
  AddedTokens raw_tokens;
  AddedTokens normalized_tokens;
  std::optional<TokenId> end_of_text;
  std::uint64_t number = next_number();  // unique among all tokenizers of the process

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> count = 0;
    return ++count;
  }
};

namespace {

struct ThreadCache {
  std::uint64_t tokenizer = 0;
  WordCache words;
  BpeModel::Scratch scratch;
};

// The cache of the calling thread, emptied if another tokenizer used it.
ThreadCache& cache_for(std::uint64_t tokenizer) {
  thread_local std::unique_ptr<ThreadCache> cache;
  if (!cache || cache->tokenizer != tokenizer) {
    cache = std::make_unique<ThreadCache>();
    cache->tokenizer = tokenizer;
  }
  return *cache;
}

// Encodes one text: pieces pass through the steps of the pre-tokenizer, then the model.
class Encoding {
 public:
  Encoding(const BpeModel& model, const std::vector<SplitStep>& steps, ThreadCache& cache)
      : model_(model), steps_(steps), cache_(cache) {}

  void add(TokenId id) { ids_.push_back(id); }
  void add(std::string_view piece) { split(piece, 0); }
  std::vector<TokenId> take() { return std::move(ids_); }

 private:
  void split(std::string_view piece, std::size_t index) {
    if (piece.empty()) return;
    if (index == steps_.size()) return encode_word(piece);
    const SplitStep& step = steps_[index];
    std::string prefixed;
    if (step.prefix_space && piece[0] != ' ') piece = prefixed.append(" ").append(piece);
    if (!step.pattern) return split(piece, index + 1);
    std::size_t gap = 0;  // start of the text after the last match
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t end = step.pattern->match(piece, at);
      if (end == SplitPattern::kNone || end == at) {
        at += code_point_at(piece, at).n_bytes;
        continue;
      }
      if (step.keep_gaps) split(piece.substr(gap, at - gap), index + 1);
      if (step.keep_matches) split(piece.substr(at, end - at), index + 1);
      gap = at = end;
    }
    if (step.keep_gaps) split(piece.substr(gap), index + 1);
  }

  void encode_word(std::string_view word) {
    if (cache_.words.find(word, ids_)) return;
    const std::size_t before = ids_.size();
    model_.encode(word, cache_.scratch, ids_);
    cache_.words.set(word, std::span(ids_).subspan(before));
  }

  const BpeModel& model_;
  const std::vector<SplitStep>& steps_;
  ThreadCache& cache_;
  std::vector<TokenId> ids_;
};

// Calls token(id) for the added tokens of a text and text(piece) for what is between them.
template <class Token, class Text>
void cut(const AddedTokens& tokens, std::string_view text, const Token& on_token,
         const Text& on_text) {
  std::size_t at = 0;
  while (const auto match = tokens.next(text, at)) {
    on_text(text.substr(at, match->begin - at));
    on_token(match->id);
    at = match->end;
  }
  on_text(text.substr(at));
}

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file("load_tokenizer", path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

BpeTokenizer::BpeTokenizer(const std::filesystem::path& path)
    : BpeTokenizer(read_text(path), path.string()) {}

BpeTokenizer::BpeTokenizer(std::string_view json, std::string name) {
  const Origin origin{"load_tokenizer", std::move(name)};
  state_ = std::make_unique<const State>(origin, read_bpe_file(origin, json));
}

BpeTokenizer::~BpeTokenizer() = default;

std::vector<TokenId> BpeTokenizer::encode(std::string_view text) const {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid != text.size())
    fail(ErrorKind::format, "encode", fmt::format("invalid UTF-8 at byte {}", valid));
  if (text.size() >= std::numeric_limits<std::int32_t>::max())
    fail(ErrorKind::invalid_argument, "encode", "a text of 2 GiB or more; divide it");
  Encoding encoding(state_->model, state_->steps, cache_for(state_->number));
  const auto on_token = [&](TokenId id) { encoding.add(id); };
  const auto on_normal = [&](std::string_view normal) {
    cut(state_->normalized_tokens, normal, on_token,
        [&](std::string_view piece) { encoding.add(piece); });
  };
  cut(state_->raw_tokens, text, on_token, [&](std::string_view raw) {
    if (state_->nfc) return on_normal(to_nfc(raw));
    on_normal(raw);
  });
  return encoding.take();
}

bool BpeTokenizer::has(TokenId id) const {
  const auto& tokens = state_->model.tokens();
  return id < tokens.size() && tokens[id];
}

std::string BpeTokenizer::token(TokenId id) const {
  if (!has(id))
    fail(ErrorKind::invalid_argument, "decode", fmt::format("the vocabulary has no id {}", id));
  return *state_->model.tokens()[id];
}

std::string BpeTokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) text += token(id);
  return text;
}

TokenId BpeTokenizer::vocabulary() const {
  return static_cast<TokenId>(state_->model.tokens().size());
}

TokenId BpeTokenizer::end_of_text() const {
  if (!state_->end_of_text) {
    fail(ErrorKind::invalid_argument, "end_of_text",
         "the tokenizer has none of <|endoftext|>, <|end_of_text|>, </s> and <eos>");
  }
  return *state_->end_of_text;
}

}  // namespace causeway::data
