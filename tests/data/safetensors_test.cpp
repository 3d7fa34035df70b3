// .safetensors files: bytes as the reference implementation writes them, and each rule of the
// format violated once.
#include "causeway/data/safetensors.h"
#include "causeway/data/safetensors_header.h"
#include "tests/data/raw_tensor.h"
#include "tests/data/scratch.h"
#include "tests/tensor/devices.h"

namespace causeway::data_test {
namespace {

using namespace std::string_literals;

std::string file_of(std::string_view json, std::string_view data = "") {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return file.append(json).append(data);
}

// "name":{"dtype":…,"shape":…,"data_offsets":…}
std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) +
         "\",\"shape\":" + std::string(shape) + ",\"data_offsets\":" + std::string(offsets) + "}";
}

std::string safetensors_failure(std::string_view file) {
  return failure([&] { read_safetensors(bytes(file)); });
}

Tensor tensor_of(const Shape& shape, DType dtype, std::string_view raw_bytes) {
  Tensor tensor = Tensor::empty(shape, dtype);
  if (!raw_bytes.empty()) std::memcpy(tensor.data(), raw_bytes.data(), raw_bytes.size());
  return tensor;
}

// Written by safetensors.numpy.save (0.8.0) from the tensors below.
const std::string kGolden =
    "\xe0\x02\0\0\0\0\0\0"
    "{\"__metadata__\":{\"by\":\"\xc3\xa9\",\"format\":\"pt\"},"
    "\"a \\\"\xc3\xa9\\\"\\n\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},"
    "\"i64\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[8,16]},"
    "\"f64\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[16,24]},"
    "\"f32\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[24,32]},"
    "\"i32\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[32,36]},"
    "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[36,38]},"
    "\"f16\":{\"dtype\":\"F16\",\"shape\":[0,3],\"data_offsets\":[38,38]},"
    "\"u16\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[38,40]},"
    "\"i16\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[40,42]},"
    "\"i8\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[42,43]},"
    "\"u8\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[43,44]},"
    "\"bool\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[44,46]}}   "
    "\7\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\xf8?\0\0\x80?\0\0\0@\2\0\0\0\xc0?"
    "\6\0\3\0\4\5\1\0"s;

SafetensorsFile golden_file() {
  SafetensorsFile file;
  file.metadata = {{"format", "pt"}, {"by", "\xc3\xa9"}};
  file.tensors["f64"] = tensor_of({1}, DType::f64, "\0\0\0\0\0\0\xf8?"s);
  file.tensors["f32"] = tensor_of({2, 1}, DType::f32, "\0\0\x80?\0\0\0@"s);
  file.tensors["f16"] = tensor_of({0, 3}, DType::f16, "");
  file.tensors["bf16"] = tensor_of({}, DType::bf16, "\xc0?");
  file.tensors["i64"] = tensor_of({1}, DType::i64, "\xff\xff\xff\xff\xff\xff\xff\xff");
  file.tensors["i32"] = tensor_of({1}, DType::i32, "\2\0\0\0"s);
  file.tensors["i16"] = tensor_of({1}, DType::i16, "\3\0"s);
  file.tensors["i8"] = tensor_of({1}, DType::i8, "\4");
  file.tensors["u8"] = tensor_of({1}, DType::u8, "\5");
  file.tensors["u16"] = tensor_of({1}, DType::u16, "\6\0"s);
  file.tensors["bool"] = tensor_of({2}, DType::boolean, "\1\0"s);
  file.tensors["a \"\xc3\xa9\"\n"] = tensor_of({1}, DType::i64, "\7\0\0\0\0\0\0\0"s);
  return file;
}

void expect_same_file(const SafetensorsFile& found, const SafetensorsFile& expected) {
  EXPECT_EQ(found.metadata, expected.metadata);
  ASSERT_EQ(found.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) {
    ASSERT_TRUE(found.tensors.contains(name)) << name;
    expect_same(found.tensors.at(name), tensor);
  }
}

TEST(Safetensors, MatchesTheReferenceImplementation) {
  const Scratch scratch;
  const SafetensorsFile golden = golden_file();
  save_safetensors(scratch / "x.safetensors", golden.tensors, golden.metadata);
  EXPECT_EQ(contents(scratch / "x.safetensors"), kGolden);
  expect_same_file(load_safetensors(scratch / "x.safetensors"), golden);
  expect_same_file(read_safetensors(bytes(kGolden)), golden);
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(Safetensors, EmptyFile) {
  const Scratch scratch;
  save_safetensors(scratch / "x", {});
  EXPECT_EQ(contents(scratch / "x"), file_of("{}      "));
  expect_same_file(load_safetensors(scratch / "x"), {});
  save_safetensors(scratch / "x", {}, {{"only", "text"}});
  EXPECT_EQ(load_safetensors(scratch / "x").metadata.at("only"), "text");
}

TEST(Safetensors, RoundTripsEveryTypeAndSize) {
  const Scratch scratch;
  SafetensorsFile file;
  for (const DType dtype : kAllDTypes) {
    for (const std::int64_t size : {0, 1, 31, 32, 33, 100'003}) {
      file.tensors[std::string(to_string(dtype)) + "." + std::to_string(size)] =
          patterned({size}, dtype);
    }
    file.tensors["cube." + std::string(to_string(dtype))] = patterned({5, 1, 7}, dtype);
  }
  const Tensor matrix = patterned({4, 6}, DType::f32);
  file.tensors["transposed"] = matrix.transpose();
  file.tensors["sliced"] = matrix.slice(1, 5, Tensor::kEnd, -2);
  save_safetensors(scratch / "x", file.tensors);
  expect_same_file(load_safetensors(scratch / "x"), file);
}

TEST(Safetensors, ReadsDataInAnyOrderAndUnaligned) {
  const std::string json = "{" + entry("z", "U8", "[1]", "[0,1]") + "," +
                           entry("none", "F64", "[0]", "[1,1]") + "," +
                           entry("b", "I16", "[2]", "[1,5]") + " }\n\t ";
  const SafetensorsFile file = read_safetensors(bytes(file_of(json, "\1\2\0\3\0"s)));
  EXPECT_EQ(file.tensors.at("b").to_vector<std::int16_t>(), (std::vector<std::int16_t>{2, 3}));
  EXPECT_EQ(file.tensors.at("none").numel(), 0);
}

TEST(Safetensors, RejectsInvalidOffsets) {
  struct Case {
    std::string entries;
    std::string part;  // of the message
  };
  const Case cases[] = {
      // of eight bytes of data
      {entry("a", "U8", "[7]", "[0,7]"), "expected 7 bytes of data, got 8"},
      {entry("a", "U8", "[9]", "[0,9]"), "tensor \"a\": expected data up to byte 9, got 8 bytes"},
      {entry("a", "U8", "[7]", "[1,8]"), "\"a\": expected its data to begin at byte 0, got 1"},
      {entry("a", "U8", "[3]", "[0,3]") + "," + entry("b", "U8", "[4]", "[4,8]"), "has a gap"},
      {entry("a", "U8", "[5]", "[0,5]") + "," + entry("b", "U8", "[4]", "[4,8]"), "overlap"},
      {entry("a", "U8", "[8]", "[0,8]") + "," + entry("b", "U8", "[8]", "[0,8]"), "overlap"},
      {entry("a", "U8", "[8]", "[0,8]") + "," + entry("b", "U8", "[0]", "[4,4]"), "overlap"},
      {entry("a", "U8", "[8]", "[0,8]") + "," + entry("b", "U8", "[0]", "[9,9]"), "has a gap"},
      {entry("a", "U8", "[8]", "[8,0]"),
       "expected 8 bytes for shape (8,) of U8, got the range 8 to 0"},
      {entry("a", "U8", "[0]", "[8,0]"), "got the range 8 to 0"},
      {entry("a", "F32", "[8]", "[0,8]"), "expected 32 bytes for shape (8,) of F32"},
      {entry("a", "U8", "[]", "[0,8]"), "expected 1 bytes for shape () of U8"},
      {entry("a", "U8", "[0]", "[0,8]"), "expected 0 bytes"},
      {entry("a", "U8", "[8]", "[18446744073709551608,0]"), "expected 8 bytes"},
      {entry("a", "U8", "[8]", "[18446744073709551607,18446744073709551615]"), "has a gap"},
      {entry("a", "F64", "[2305843009213693953]", "[0,8]"), "more than 2^63"},  // wraps to 8
      {entry("a", "U8", "[4294967296,4294967296]", "[0,0]"), "more than 2^63"},
      {entry("a", "U8", "[0,4294967296,4294967296]", "[0,0]"), "more than 2^63"},
  };
  for (const Case& wrong : cases) {
    EXPECT_TRUE(says(safetensors_failure(file_of("{" + wrong.entries + "}", "12345678")),
                     "format: [read_safetensors] ", wrong.part))
        << wrong.entries;
  }
}

TEST(Safetensors, RejectsInvalidEntries) {
  struct Case {
    std::string json;
    std::string part;  // of the message
  };
  const std::string good = entry("a", "U8", "[1]", "[0,1]");
  const Case cases[] = {
      {"{" + good + "," + good + "}", "duplicate key \"a\" in the header"},
      {"{" + good + "," + entry("\\u0061", "U8", "[1]", "[0,1]") + "}",
       "duplicate key \"a\" in the header"},
      {"{" + entry("a", "F8_E4M3", "[1]", "[0,1]") + "}",
       "tensor \"a\": expected a dtype of F64 F32 F16 BF16 I64 I32 I16 I8 U16 U8 BOOL, got "
       "\"F8_E4M3\"; convert"},
      {"{" + entry("a", "U32", "[1]", "[0,4]") + "}", "got \"U32\""},
      {"{" + entry("a", "C64", "[1]", "[0,8]") + "}", "got \"C64\""},
      {"{" + entry("a", "u8", "[1]", "[0,1]") + "}", "got \"u8\""},
      {"{" + entry("a", "U8", "[-1]", "[0,1]") + "}", "\"shape\" to hold integers"},
      {"{" + entry("a", "U8", "[1.0]", "[0,1]") + "}", "got 1.0"},
      {"{" + entry("a", "U8", "[1e0]", "[0,1]") + "}", "got 1e0"},
      {"{" + entry("a", "U8", "[9223372036854775808]", "[0,1]") + "}", "got 9223372036854775808"},
      {"{" + entry("a", "U8", "[99999999999999999999]", "[0,1]") + "}", "got 99999999999999999999"},
      {"{" + entry("a", "U8", "[[1]]", "[0,1]") + "}", "got a list"},
      {"{" + entry("a", "U8", "[null]", "[0,1]") + "}", "got null"},
      {"{" + entry("a", "U8", "[\"1\"]", "[0,1]") + "}", "got \"1\""},
      {"{" + entry("a", "U8", "1", "[0,1]") + "}", "\"shape\" to be a list of integers, got 1"},
      {"{" + entry("a", "U8", "{}", "[0,1]") + "}", "got an object"},
      {"{" + entry("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", "more than 8 dimensions"},
      {"{" + entry("a", "U8", "[1]", "[0]") + "}", "two integers, got 1 numbers"},
      {"{" + entry("a", "U8", "[1]", "[0,1,2]") + "}", "two integers, got 2"},
      {"{" + entry("a", "U8", "[1]", "[0,-1]") + "}", "two integers, got -1"},
      {"{" + entry("a", "U8", "[1]", "[false,1]") + "}", "got false"},
      {"{" + entry("a", "U8", "[1]", "0") + "}", "\"data_offsets\" to be a list"},
      {"{\"a\":{\"dtype\":1}}", "\"dtype\" to be a string, got 1"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "\"data_offsets\" is missing"},
      {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", "\"shape\" is missing"},
      {"{\"a\":{}}", "\"dtype\" is missing"},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", "\"dtype\" is given twice"},
      {"{\"a\":{\"shape\":[1],\"shape\":[1]}}", "\"shape\" is given twice"},
      {"{\"a\":{\"colour\":1}}", "got \"colour\""},
      {"{\"a\":1}", "tensor \"a\": expected an object, got 1"},
      {"{\"a\":[]}", "tensor \"a\": expected an object, got a list"},
      {"{\"__metadata__\":{\"k\":1}," + good + "}",
       "metadata: expected \"k\" to be a string, got 1"},
      {"{\"__metadata__\":{\"k\":null}}", "got null"},
      {"{\"__metadata__\":{\"k\":{}}}", "got an object"},
      {"{\"__metadata__\":{\"k\":[\"v\"]}}", "got a list"},
      {"{\"__metadata__\":\"k\"}", "metadata: expected an object of strings, got \"k\""},
      {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "duplicate key \"k\" in the metadata"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", "duplicate key \"__metadata__\" in the header"},
  };
  for (const Case& wrong : cases) {
    EXPECT_TRUE(says(safetensors_failure(file_of(wrong.json, "1")), "format: [read_safetensors] ",
                     wrong.part))
        << wrong.json;
  }
}

TEST(Safetensors, RejectsInvalidJson) {
  for (const std::string& json :
       {"{"s, "{}}"s, "{} x"s, "{\"a\"}"s, "{\"a\":}"s, "{'a':1}"s, "{/**/}"s, "{},"s,
        "{\"\xff\":1}"s, "{\"a\":nul}"s, "{\"a\":\"\n\"}"s, "{\"a\":1e999}"s, "{\"\\ud800\":1}"s}) {
    EXPECT_TRUE(says(safetensors_failure(file_of(json)),
                     "format: [read_safetensors] the header is not valid "
                     "JSON at its byte "))
        << json;
  }
  EXPECT_TRUE(says(safetensors_failure(file_of("{}\0 "s)), "format:", "a zero byte at its byte 2"));
  EXPECT_TRUE(says(safetensors_failure(file_of("")), "format:", "start with '{', got \"\""));
  EXPECT_TRUE(says(safetensors_failure(file_of(" {}")), "format:", "start with '{', got \" \""));
  EXPECT_TRUE(says(safetensors_failure(file_of("\xef\xbb\xbf{}")), "format:", "got \"\\xef\""));
}

TEST(Safetensors, RejectsInvalidLengths) {
  EXPECT_TRUE(says(safetensors_failure(""), "format:", "expected at least 8 bytes, got 0"));
  EXPECT_TRUE(says(safetensors_failure("\x03\0\0\0\0\0\0\0{}"s),
                   "format:", "expected 3 bytes of header, got 2"));
  EXPECT_TRUE(says(safetensors_failure("\x01\xe1\xf5\5\0\0\0\0{}"s), "format:",
                   "at most 100000000 bytes, got 100000001; is it a .safetensors file?"));
  EXPECT_TRUE(says(safetensors_failure("\xff\xff\xff\xff\xff\xff\xff\xff{}"s),
                   "format:", "got 18446744073709551615"));
}

TEST(Safetensors, RejectsDeepNesting) {
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(says(safetensors_failure(file_of(objects)), "format:"));
  EXPECT_TRUE(says(safetensors_failure(file_of("{\"a\":" + std::string(1'000'000, '['))),
                   "format:", "tensor \"a\": expected an object, got a list"));
  EXPECT_TRUE(says(safetensors_failure(file_of("{\"a\":{\"shape\":" + std::string(1'000'000, '['))),
                   "format:", "got a list"));
}

TEST(Safetensors, KeepsMessagesShort) {
  const std::string name(1'000'000, 'n');
  const std::string number(1'000'000, '1');
  for (const std::string& json :
       {"{\"" + name + "\":1}", "{\"a\":{\"dtype\":\"" + name + "\"}}", "{\"a\":" + number + "}",
        "{\"a\":" + number + ".5}", "{\"" + name + "\n\":1}"}) {
    const std::string message = safetensors_failure(file_of(json));
    EXPECT_TRUE(says(message, "format:"));
    EXPECT_LT(message.size(), 400u) << message.substr(0, 1000);
  }
}

TEST(Safetensors, RejectsEveryTruncationAndExtension) {
  for (std::size_t size = 0; size < kGolden.size(); ++size) {
    EXPECT_TRUE(says(safetensors_failure(kGolden.substr(0, size)), "format: [read_safetensors] "))
        << size;
  }
  EXPECT_TRUE(
      says(safetensors_failure(kGolden + '\0'), "format:", "expected 46 bytes of data, got 47"));
}

TEST(Safetensors, SurvivesEveryFlippedBit) {
  for (std::size_t bit = 0; bit < 8 * kGolden.size(); ++bit) {
    std::string damaged = kGolden;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const std::string message = failure([&] {
      std::size_t n_bytes = 0;
      for (const auto& [name, tensor] : read_safetensors(bytes(damaged)).tensors) {
        n_bytes += tensor.n_bytes();
      }
      EXPECT_EQ(n_bytes, 46u) << bit;
    });
    EXPECT_TRUE(message.empty() || says(message, "format:")) << bit;
  }
}

TEST(Safetensors, RejectsInvalidBools) {
  EXPECT_TRUE(
      says(safetensors_failure(file_of("{" + entry("m", "BOOL", "[2]", "[0,2]") + "}", "\1\xff")),
           "format:", "tensor \"m\": expected bools to be 0 or 1, got 255 in element 1"));
}

TEST(Safetensors, ChecksSizesBeforeAllocating) {
  const std::uint64_t before = pool_of(Device::cpu()).stats().allocations;
  const std::string json = "{" + entry("a", "U8", "[8]", "[0,8]") + "," +
                           entry("b", "F64", "[1000000000000]", "[8,8000000000008]") + "}";
  EXPECT_TRUE(says(safetensors_failure(file_of(json, "12345678")),
                   "format:", "tensor \"b\": expected data"));
  EXPECT_EQ(pool_of(Device::cpu()).stats().allocations, before);
}

TEST(Safetensors, ErrorsNameTheFile) {
  const Scratch scratch;
  const std::string path = (scratch / "x.safetensors").string();
  EXPECT_TRUE(says(failure([&] { load_safetensors(path); }),
                   "io: [load_safetensors] cannot read \"" + path + "\": No such file"));
  put(path, "");
  EXPECT_TRUE(says(failure([&] { load_safetensors(path); }),
                   "format: [load_safetensors] \"" + path + "\": expected at least"));
  EXPECT_TRUE(says(failure([&] { save_safetensors("/dev/full", golden_file().tensors); }),
                   "io: [save_safetensors] cannot write \"/dev/full\": No space left on device"));
}

TEST(Safetensors, RejectsInvalidNames) {
  const Scratch scratch;
  put(scratch / "x", "old");
  EXPECT_TRUE(says(failure([&] {
                     save_safetensors(scratch / "x", {{"__metadata__", Tensor()}});
                   }),
                   "invalid_argument: [save_safetensors] \"", "is reserved"));
  EXPECT_TRUE(says(failure([&] {
                     save_safetensors(scratch / "x", {{"\xff", Tensor()}});
                   }),
                   "invalid_argument:", "in UTF-8, got \"\\xff\""));
  EXPECT_TRUE(says(failure([&] {
                     save_safetensors(scratch / "x", {}, {{"k", "\xc3"}});
                   }),
                   "invalid_argument:", "in UTF-8"));
  EXPECT_TRUE(says(failure([&] {
                     save_safetensors(scratch / "x", {}, {{"k", std::string(100'000'000, 'v')}});
                   }),
                   "invalid_argument:", "the format allows 100000000"));
  EXPECT_EQ(contents(scratch / "x"), "old");
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(GpuSafetensors, RoundTripsThroughTheDevice) {
  CAUSEWAY_REQUIRE_GPU();
  const Scratch scratch;
  SafetensorsFile on_device = golden_file();
  for (auto& [name, tensor] : on_device.tensors) tensor = tensor.to(Device::cuda());
  save_safetensors(scratch / "x", on_device.tensors, on_device.metadata);
  EXPECT_EQ(contents(scratch / "x"), kGolden);
  SafetensorsFile loaded = load_safetensors(scratch / "x", Device::cuda());
  for (auto& [name, tensor] : loaded.tensors) {
    EXPECT_EQ(tensor.device(), Device::cuda());
    tensor = tensor.to(Device::cpu());
  }
  expect_same_file(loaded, golden_file());
}

}  // namespace
}  // namespace causeway::data_test
