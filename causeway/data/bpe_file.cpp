#include "causeway/data/bpe_file.h"
#include "causeway/data/nfc.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::data {

namespace {

using Json = nlohmann::json;

constexpr TokenId kMostIds = 1 << 24;
constexpr int kDepth = 8;  // of sequences
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class Reader {
 public:
  Reader(const Origin& origin, std::string_view text) : origin_(origin) {
    root_ = Json::parse(text, nullptr, false);
    if (root_.is_discarded()) origin_.fail_format("invalid JSON");
    if (!root_.is_object()) origin_.fail_format("expected a JSON object");
  }

  BpeFile read() {
    normalizer(member(root_, "normalizer"), 0);
    pre_tokenizer(member(root_, "pre_tokenizer"), 0);
    decoder(member(root_, "decoder"), 0);
    model(member(root_, "model"));
    added_tokens(member(root_, "added_tokens"));
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { origin_.fail_format(what); }

  // null if the key is missing.
  const Json& member(const Json& object, const char* key) const {
    static const Json null;
    if (!object.is_object()) refuse(fmt::format("expected an object with the key \"{}\"", key));
    const auto found = object.find(key);
    return found == object.end() ? null : *found;
  }
  bool flag(const Json& object, const char* key, bool otherwise) const {
    const Json& value = member(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) refuse(fmt::format("\"{}\" must be true or false", key));
    return value.get<bool>();
  }
  std::string text(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_string()) refuse(fmt::format("\"{}\" must be a string", key));
    return value.get<std::string>();
  }
  TokenId id(const Json& value, const std::string& token) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kMostIds)
      refuse(fmt::format("token {}: the id must be an integer below {}", shown(token), kMostIds));
    return value.get<TokenId>();
  }

  void normalizer(const Json& value, int depth) {
    if (value.is_null()) return;
    const std::string type = text(value, "type");
    if (type == "Sequence") {
      sequence(value, "normalizers", depth, [&](const Json& part) { normalizer(part, depth + 1); });
    } else if (type == "NFC") {
      file_.nfc = true;
    } else {
      refuse(fmt::format("normalizer {} is not supported", shown(type)));
    }
  }

  void pre_tokenizer(const Json& value, int depth) {
    if (value.is_null()) return;
    if (file_.byte_level) refuse("a pre-tokenizer after ByteLevel is not supported");
    const std::string type = text(value, "type");
    if (type == "Sequence") {
      sequence(value, "pretokenizers", depth,
               [&](const Json& part) { pre_tokenizer(part, depth + 1); });
    } else if (type == "ByteLevel") {
      byte_level(value);
    } else if (type == "Split") {
      split(value);
    } else if (type == "Digits") {
      const bool each = flag(value, "individual_digits", false);
      file_.steps.push_back({.pattern = SplitPattern(each ? "\\p{N}" : "\\p{N}+")});
    } else {
      refuse(fmt::format("pre-tokenizer {} is not supported", shown(type)));
    }
  }

  template <class Body>
  void sequence(const Json& value, const char* key, int depth, const Body& body) const {
    const Json& parts = member(value, key);
    if (!parts.is_array() || depth >= kDepth) refuse(fmt::format("\"{}\" must be a list", key));
    for (const Json& part : parts) body(part);
  }

  void byte_level(const Json& value) {
    SplitStep step;
    step.prefix_space = flag(value, "add_prefix_space", true);
    if (flag(value, "use_regex", true)) step.pattern = SplitPattern(kGpt2);
    file_.steps.push_back(std::move(step));
    file_.byte_level = true;
  }

  void split(const Json& value) {
    const Json& pattern = member(value, "pattern");
    const bool is_regex = pattern.is_object() && pattern.contains("Regex");
    const std::string source = text(pattern, is_regex ? "Regex" : "String");
    if (source.empty()) refuse("\"Split\" with an empty pattern");
    const std::string behavior = text(value, "behavior");
    if (behavior != "Isolated" && behavior != "Removed")
      refuse(fmt::format("\"Split\" with behavior {} is not supported", shown(behavior)));
    const bool removed = behavior == "Removed";
    const bool invert = flag(value, "invert", false);
    file_.steps.push_back(
        {.prefix_space = false,
         .pattern = is_regex ? SplitPattern(source) : SplitPattern::literal(source),
         .keep_matches = !removed || invert,
         .keep_gaps = !removed || !invert});
  }

  // Decoding joins the bytes of tokens, which is what these do.
  void decoder(const Json& value, int depth) const {
    if (value.is_null()) return;
    const std::string type = text(value, "type");
    if (type == "Sequence") {
      sequence(value, "decoders", depth, [&](const Json& part) { decoder(part, depth + 1); });
    } else if (type != "ByteLevel" && type != "ByteFallback" && type != "Fuse") {
      refuse(fmt::format("decoder {} is not supported", shown(type)));
    }
  }

  void model(const Json& value) {
    const Json& type = member(value, "type");  // absent in old files
    if (!type.is_null() && type != "BPE") refuse("the model is not BPE");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& affix = member(value, key);
      if (!affix.is_null() && affix != "")
        refuse(fmt::format("model: \"{}\" is not supported", key));
    }
    const Json& dropout = member(value, "dropout");
    if (!dropout.is_null() && dropout != 0) refuse("model: \"dropout\" is not supported");
    const Json& unknown = member(value, "unk_token");
    if (!unknown.is_null()) file_.unknown = text(value, "unk_token");
    file_.fuse_unknown = flag(value, "fuse_unk", false);
    file_.byte_fallback = flag(value, "byte_fallback", false);
    file_.ignore_merges = flag(value, "ignore_merges", false);
    const Json& vocabulary = member(value, "vocab");
    if (!vocabulary.is_object()) refuse("model: \"vocab\" must be an object of tokens and ids");
    for (const auto& [token, number] : vocabulary.items())
      file_.vocabulary.emplace(token, id(number, token));
    merges(member(value, "merges"));
  }

  // "a b" or ["a", "b"] each.
  void merges(const Json& list) {
    if (!list.is_array()) refuse("model: \"merges\" must be a list");
    for (const Json& merge : list) {
      const bool is_pair =
          merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      const std::string line = merge.is_string() ? merge.get<std::string>() : "";
      const std::size_t space = line.find(' ');
      if (is_pair) {
        file_.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      } else if (space != std::string::npos) {
        file_.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
      } else {
        refuse(fmt::format("merge {} must be two tokens", file_.merges.size()));
      }
    }
  }

  void added_tokens(const Json& list) {
    if (list.is_null()) return;
    if (!list.is_array()) refuse("\"added_tokens\" must be a list");
    for (const Json& value : list) {
      AddedToken token{.content = text(value, "content"),
                       .pattern = text(value, "content"),
                       .id = 0,
                       .normalized = flag(value, "normalized", true),
                       .strip_left = flag(value, "lstrip", false),
                       .strip_right = flag(value, "rstrip", false)};
      token.id = id(member(value, "id"), token.content);
      if (flag(value, "single_word", false))
        refuse(fmt::format("added token {}: single_word is not supported", shown(token.content)));
      const auto known = file_.vocabulary.find(token.content);
      if (known != file_.vocabulary.end() && known->second != token.id)
        refuse(fmt::format("added token {} has id {}, in the vocabulary it is {}",
                           shown(token.content), token.id, known->second));
      if (token.normalized && file_.nfc) token.pattern = to_nfc(token.content);
      if (!token.content.empty()) file_.added.push_back(std::move(token));
    }
  }

  const Origin& origin_;
  Json root_;
  BpeFile file_;
};

}  // namespace

BpeFile read_bpe_file(const Origin& origin, std::string_view json) {
  return Reader(origin, json).read();
}

}  // namespace causeway::data
