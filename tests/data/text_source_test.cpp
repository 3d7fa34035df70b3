#include "causeway/data/text_source.h"

#include "causeway/data/document_reader.h"
#include "causeway/data/zstd.h"
#include "tests/data/scratch.h"

#include <gtest/gtest.h>

namespace causeway::data {
namespace {

using data_test::failure;
using data_test::put;
using data_test::says;
using data_test::Scratch;

std::vector<std::string> texts(const std::vector<std::string>& inputs,
                               const TextSourceOptions& options = {}) {
  TextSource source(inputs, options);
  std::vector<std::string> all;
  TextDocument document;
  while (source.next(document)) all.push_back(document.prompt + "|" + document.text);
  EXPECT_EQ(source.position(), source.n_bytes());
  return all;
}
std::vector<std::string> texts(const std::filesystem::path& path,
                               const TextSourceOptions& options = {}) {
  return texts(std::vector<std::string>{path.string()}, options);
}
using Texts = std::vector<std::string>;

TEST(TextTemplate, FillsFields) {
  const std::vector<std::string> values{"A", "B"};
  const auto filled = [&](std::string_view pattern, std::string_view answer = "") {
    TextDocument document;
    TextTemplate(pattern, answer).fill(values, document);
    return document.prompt + "|" + document.text;
  };
  EXPECT_EQ(filled("{a}"), "|A");
  EXPECT_EQ(filled("<{a}>\\n\\t\\\\{{{b}}}{a}."), "|<A>\n\t\\{B}A.");
  EXPECT_EQ(filled("{a} -> {b}{a}!", "b"), "A -> |BA!");
  EXPECT_EQ(filled("x{a}{b}{a}", "a"), "x|ABA");
  const auto refused = [](std::string_view pattern, std::string_view answer = "") {
    return failure([&] { TextTemplate(pattern, answer); });
  };
  EXPECT_TRUE(says(refused("text"), "invalid_argument: [text_template]", "no field"));
  EXPECT_TRUE(says(refused("{a"), "invalid_argument:", "not closed"));
  EXPECT_TRUE(says(refused("{a}}"), "invalid_argument:", "not opened"));
  EXPECT_TRUE(says(refused("{}"), "invalid_argument:", "without a name"));
  EXPECT_TRUE(says(refused("{a}\\x"), "invalid_argument:", "backslash"));
  EXPECT_TRUE(says(refused("{a}", "b"), "invalid_argument:", "the answer \"b\""));
}

TEST(TextSource, TextFiles) {
  const Scratch scratch;
  put(scratch / "a.txt", "one\ntwo\r\n---\r\nthree\n---\n---\nfour");
  EXPECT_EQ(texts(scratch / "a.txt"), Texts{"|one\ntwo\r\n---\r\nthree\n---\n---\nfour"});
  EXPECT_EQ(texts(scratch / "a.txt", {.separator = "---"}),
            (Texts{"|one\ntwo\r\n", "|three\n", "|four"}));
  EXPECT_EQ(texts(scratch / "a.txt", {.separator = "four"}).size(), 1u);
}

TEST(TextSource, FoldersAndGlobs) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "b/c");
  std::filesystem::create_directories(scratch / ".hidden");
  put(scratch / "z.txt", "Z");
  put(scratch / "b/c/x.md", "X");
  put(scratch / "b/y.jsonl", "{\"text\": \"Y\"}\n");
  put(scratch / ".hidden/h.txt", "H");
  EXPECT_EQ(texts(scratch.folder()), (Texts{"|X", "|Y", "|Z"}));
  EXPECT_EQ(texts(scratch / "*.txt"), Texts{"|Z"});
  EXPECT_EQ(texts({(scratch / "z.txt").string(), (scratch / "b").string()}),
            (Texts{"|Z", "|X", "|Y"}));
  EXPECT_TRUE(says(failure([&] { texts(scratch / "none"); }), "io: [read_text]", "none"));
  EXPECT_TRUE(says(failure([&] { texts(scratch / "*.c"); }), "invalid_argument:", "no file"));
}

TEST(TextSource, JsonLines) {
  const Scratch scratch;
  const std::string lines =
      "{\"q\": \"1+1\", \"n\": [{\"a\": \"x\"}], \"a\": \"2\\n\\u00e9\"}\n\n  \r\n"
      "{\"a\": \"old\", \"q\": \"\", \"a\": \"3\"}";
  put(scratch / "a.jsonl", lines);
  put(scratch / "b.jsonl.zst",
      compress_zstd(lines.substr(0, 20)) + compress_zstd(lines.substr(20)));
  const TextSourceOptions options{.pattern = "{q}={a}", .answer = "a"};
  const Texts expected{"1+1=|2\n\xc3\xa9", "=|3"};
  EXPECT_EQ(texts(scratch / "a.jsonl", options), expected);
  EXPECT_EQ(texts(scratch / "b.jsonl.zst", options), expected);
}

TEST(TextSource, LongCompressedFile) {
  const Scratch scratch;
  std::string lines;
  for (int i = 0; i < 40'000; ++i)
    lines += "{\"text\": \"" + std::to_string(i) + std::string(100, 'x') + "\"}\n";
  put(scratch / "a.jsonl.zst", compress_zstd(lines));
  const auto all = texts(scratch / "a.jsonl.zst");
  ASSERT_EQ(all.size(), 40'000u);
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], "|" + std::to_string(i) + std::string(100, 'x'));
}

TEST(TextSource, BadInputNamesFileAndLine) {
  const Scratch scratch;
  const auto read = [&](const std::string& name, const std::string& text) {
    put(scratch / name, text);
    return failure([&] { texts(scratch / name); });
  };
  const std::string good = "{\"text\": \"x\"}\n";
  EXPECT_TRUE(says(read("a.txt", ""), "format: [read_text]", "a.txt\": the file has no document"));
  EXPECT_TRUE(says(read("a.txt", "a\nb\n\xff"), "format:", "a.txt\": line 3: invalid UTF-8"));
  EXPECT_TRUE(says(read("a.jsonl", ""), "format:", "a.jsonl\": the file has no document"));
  EXPECT_TRUE(says(read("a.jsonl", good + "{\"text\": \"x}"), "format:", "line 2: invalid JSON"));
  EXPECT_TRUE(says(read("a.jsonl", good + good + "{}"), "format:", "line 3: no field \"text\""));
  EXPECT_TRUE(says(read("a.jsonl", "{\"text\": 7}"), "format:", "field \"text\" is no string"));
  EXPECT_TRUE(says(read("a.jsonl", "{\"text\": {}}"), "format:", "field \"text\" is no string"));
  EXPECT_TRUE(says(read("a.jsonl", "{\"b\": {\"text\": \"x\"}}"), "format:", "no field"));
  EXPECT_TRUE(says(read("a.jsonl", "[\"text\"]"), "format:", "expected a JSON object"));
  EXPECT_TRUE(says(read("a.jsonl", "\"text\""), "format:", "expected a JSON object"));
  EXPECT_TRUE(says(read("a.jsonl", good + "{} x"), "format:", "line 2: invalid JSON"));
  EXPECT_TRUE(says(read("a.jsonl", "{\"text\": \"\xc3(\"}"), "format:", "line 1: invalid UTF-8"));
  EXPECT_TRUE(says(read("a.jsonl", "{\"text\": \"\\ud800\"}"), "format:", "line 1: invalid JSON"));
  const std::string frame = compress_zstd(good);
  EXPECT_TRUE(says(read("a.jsonl.zst", frame.substr(0, frame.size() - 3)), "io:", "incomplete"));
  EXPECT_TRUE(says(read("a.jsonl.zst", "no frame"), "io:", "a.jsonl.zst"));
  EXPECT_TRUE(says(read("a.bin", "x"), "invalid_argument:", "a token shard is no text"));
}

}  // namespace
}  // namespace causeway::data
