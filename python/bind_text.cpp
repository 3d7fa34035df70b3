// Tokenizers of text, token shards and token streams. Ids are passed as bytes of uint32, texts as
// bytes; python/causeway/text.py has the interface.
#include "causeway/data/token_stream.h"
#include "causeway/data/tokenize_text.h"
#include "python/bind.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>

namespace causeway::python {

namespace {

using data::TextTokenizer;
using data::TokenData;
using data::TokenId;
using data::TokenStream;

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

template <class T>
nb::bytes to_bytes(const std::vector<T>& values) {
  return nb::bytes(values.data(), values.size() * sizeof(T));
}

std::vector<TokenId> to_ids(const nb::bytes& bytes) {
  std::vector<TokenId> ids(bytes.size() / sizeof(TokenId));
  std::memcpy(ids.data(), bytes.c_str(), ids.size() * sizeof(TokenId));
  return ids;
}

nb::list encode_batch(const TextTokenizer& tokenizer, const std::vector<nb::bytes>& texts) {
  const std::vector<std::string_view> views = [&] {
    std::vector<std::string_view> all;
    for (const nb::bytes& text : texts) all.push_back(view(text));
    return all;
  }();
  const auto ids = interruptible([&] { return encode_all(tokenizer, views); });
  nb::list result;
  for (const auto& one : ids) result.append(to_bytes(one));
  return result;
}

data::TextSourceOptions source_options(std::string separator, std::string pattern,
                                       std::string answer) {
  return {std::move(separator), std::move(pattern), std::move(answer)};
}

nb::dict to_dict(const data::TokenizeResult::Part& part) {
  nb::dict result;
  result["documents"] = part.documents;
  result["tokens"] = part.tokens;
  result["shards"] = part.shards;
  return result;
}

nb::dict tokenize(const std::vector<std::string>& inputs, const std::filesystem::path& out,
                  const data::TokenizeOptions& options, const std::function<void(double)>& report) {
  const data::TokenizeResult result = interruptible([&] {
    return data::tokenize_text(inputs, out, options, [&](std::uint64_t done, std::uint64_t total) {
      const nb::gil_scoped_acquire gil;
      report(static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1)));
    });
  });
  nb::dict dict;
  dict["vocabulary"] = result.vocabulary;
  dict["text_bytes"] = result.text_bytes;
  dict["train"] = to_dict(result.train);
  dict["validation"] = to_dict(result.validation);
  return dict;
}

void bind_tokenizers(nb::module_& text) {
  nb::class_<TextTokenizer>(text, "Tokenizer")
      .def("encode",
           [](const TextTokenizer& self, const nb::bytes& bytes) {
             return to_bytes(without_gil([&] { return self.encode(view(bytes)); }));
           })
      .def("encode_batch", encode_batch)
      .def("decode",
           [](const TextTokenizer& self, const nb::bytes& ids) {
             const std::string bytes = self.decode(to_ids(ids));
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("token",
           [](const TextTokenizer& self, TokenId id) {
             const std::string bytes = self.token(id);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("vocabulary", &TextTokenizer::vocabulary)
      .def("end_of_text", &TextTokenizer::end_of_text);
  text.def("load_tokenizer", &data::load_text_tokenizer);
}

void bind_sources(nb::module_& text) {
  nb::class_<data::TextSource>(text, "Source")
      .def("__init__",
           [](data::TextSource* self, const std::vector<std::string>& inputs, std::string separator,
              std::string pattern, std::string answer) {
             new (self) data::TextSource(
                 inputs,
                 source_options(std::move(separator), std::move(pattern), std::move(answer)));
           })
      .def("next", [](data::TextSource& self) -> nb::object {
        data::TextDocument document;
        if (!without_gil([&] { return self.next(document); })) return nb::none();
        return nb::make_tuple(document.prompt, document.text);
      });
  text.def("tokenize", [](const std::vector<std::string>& inputs, const std::filesystem::path& out,
                          std::string tokenizer, std::string separator, std::string pattern,
                          std::string answer, std::int64_t shard_tokens, double validation,
                          std::uint64_t seed, const std::function<void(double)>& report) {
    return tokenize(
        inputs, out,
        {.tokenizer = std::move(tokenizer),
         .source = source_options(std::move(separator), std::move(pattern), std::move(answer)),
         .shard_tokens = shard_tokens,
         .validation = validation,
         .seed = seed},
        report);
  });
}

void bind_streams_of_tokens(nb::module_& text) {
  nb::class_<TokenData>(text, "TokenData")
      .def_static("open",
                  [](const std::vector<std::string>& inputs, TokenId vocabulary) {
                    return without_gil([&] { return TokenData::open(inputs, vocabulary); });
                  })
      .def_static("from_ids",
                  [](const nb::bytes& ids, const nb::bytes& excluded) {
                    const std::string_view flags = view(excluded);
                    return TokenData::from(to_ids(ids),
                                           std::vector<bool>(flags.begin(), flags.end()));
                  })
      .def("size", &TokenData::size)
      .def("read",
           [](const TokenData& self, std::int64_t begin, std::int64_t count, bool targets) {
             if (begin < 0 || count < 0 || begin + count > self.size())
               fail(ErrorKind::invalid_argument, "read", "a range outside the data");
             std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
             if (targets) {
               self.read_targets(begin, ids);
             } else {
               self.read(begin, ids);
             }
             return to_bytes(ids);
           })
      .def("split_end", &TokenData::split_end)
      .def("split_documents", &TokenData::split_documents);
  nb::class_<TokenStream>(text, "TokenStream")
      .def("__init__",
           [](TokenStream* self, const TokenData& data, std::int64_t batch, std::int64_t length,
              std::uint64_t seed, bool shuffle, int rank, int n_ranks) {
             new (self) TokenStream(data, {.batch = batch,
                                           .length = length,
                                           .seed = seed,
                                           .shuffle = shuffle,
                                           .rank = rank,
                                           .n_ranks = n_ranks});
           })
      .def("batch",
           [](TokenStream& self, std::int64_t step) {
             data::TokenBatch batch = without_gil([&] { return self.batch(step); });
             return nb::make_tuple(batch.tokens, batch.targets);
           })
      .def("windows_per_epoch", &TokenStream::windows_per_epoch)
      .def("steps_per_epoch", &TokenStream::steps_per_epoch);
}

}  // namespace

void bind_text(nb::module_& module) {
  nb::module_ text = module.def_submodule("_text");
  bind_tokenizers(text);
  bind_sources(text);
  bind_streams_of_tokens(text);
}

}  // namespace causeway::python
