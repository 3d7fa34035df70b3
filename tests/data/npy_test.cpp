// .npy files: bytes as NumPy 2.4 writes them, older versions, and damaged files.
#include "causeway/data/npy.h"
#include "causeway/data/npy_header.h"
#include "tests/data/raw_tensor.h"
#include "tests/data/scratch.h"
#include "tests/tensor/devices.h"

namespace causeway::data_test {
namespace {

using namespace std::string_literals;

// A file of any version around a dictionary, without padding.
std::string npy_file(std::string_view dictionary, std::string_view data, int major = 1) {
  std::string file = "\x93NUMPY"s + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  }
  return file.append(dictionary).append(data);
}

std::string dictionary(std::string_view descr, std::string_view shape,
                       std::string_view fortran_order = "False") {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': " + std::string(fortran_order) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

std::string npy_failure(std::string_view file) {
  return failure([&] { read_npy(bytes(file)); });
}

TEST(NpyHeader, MatchesNumPy) {
  struct Golden {
    DType dtype;
    Shape shape;
    std::string text;  // of the dictionary
    std::size_t size;  // of everything before the elements
  };
  // From numpy.lib.format.write_array_header_1_0; the last three just fit or just do not fit.
  const std::int64_t ones_6 = 111111, ones_8 = 11111111, ones_13 = 1111111111111;
  const Golden goldens[] = {
      {DType::f32, {2, 3}, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {DType::f64, {}, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 128},
      {DType::boolean, {5}, "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }", 128},
      {DType::bf16, {0}, "{'descr': '<V2', 'fortran_order': False, 'shape': (0,), }", 128},
      {DType::u8,
       {123456789012},
       "{'descr': '|u1', 'fortran_order': False, 'shape': (123456789012,), }",
       128},
      {DType::f32,
       {ones_8, ones_8, ones_8, ones_8, ones_8},
       "{'descr': '<f4', 'fortran_order': False, 'shape': (11111111, 11111111, 11111111, 11111111, "
       "11111111), }",
       128},
      {DType::f32,
       {ones_6, ones_6, ones_6, ones_6, ones_6, ones_6},
       "{'descr': '<f4', 'fortran_order': False, 'shape': (111111, 111111, 111111, 111111, 111111, "
       "111111), }",
       128},
      {DType::f32, Shape::filled(8, ones_13),
       "{'descr': '<f4', 'fortran_order': False, 'shape': (1111111111111, 1111111111111, "
       "1111111111111, 1111111111111, 1111111111111, 1111111111111, 1111111111111, "
       "1111111111111), }",
       256},
  };
  for (const Golden& golden : goldens) {
    std::string expected = "\x93NUMPY\x01\0"s + static_cast<char>(golden.size - 10) + '\0';
    expected += golden.text;
    expected.append(golden.size - 1 - expected.size(), ' ') += '\n';
    EXPECT_EQ(data::make_npy_header(golden.dtype, golden.shape), expected);
  }
}

TEST(Npy, RoundTripsEveryTypeAndSize) {
  const Scratch scratch;
  const Shape shapes[] = {{}, {0}, {1}, {31}, {32}, {33}, {1001}, {3, 0, 2}, {7, 11, 13}};
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : shapes) {
      const Tensor tensor = patterned(shape, dtype);
      expect_same(read_npy(write_npy(tensor)), tensor);
      save_npy(scratch / "x.npy", tensor);
      expect_same(load_npy(scratch / "x.npy"), tensor);
      const std::vector<std::byte> written = write_npy(tensor);
      EXPECT_EQ(contents(scratch / "x.npy"),
                std::string(reinterpret_cast<const char*>(written.data()), written.size()));
    }
  }
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(Npy, SavesViewsInRowMajorOrder) {
  const Tensor tensor = patterned({4, 6}, DType::i32);
  for (const Tensor& view :
       {tensor.transpose(), tensor.slice(1, 1, 6, 2), tensor.slice(0, 3, 0, -1),
        tensor.select(1, 2), tensor.unsqueeze(1).expand({4, 3, 6})}) {
    expect_same(read_npy(write_npy(view)), view.clone());
  }
}

TEST(Npy, ReadsFortranOrderAsStrides) {
  // np.asfortranarray(np.arange(6, dtype="i1").reshape(1, 2, 3)): column-major.
  const std::string data = "\0\3\1\4\2\5"s;
  const Tensor tensor = read_npy(bytes(npy_file(dictionary("'|i1'", "(1, 2, 3)", "True"), data)));
  EXPECT_EQ(tensor.shape(), Shape({1, 2, 3}));
  EXPECT_EQ(tensor.strides()[1], 1);
  EXPECT_EQ(tensor.strides()[2], 2);
  EXPECT_EQ(raw(tensor), "\0\1\2\3\4\5"s);
  for (const auto& [shape, size] :
       {std::pair{"()", 1}, std::pair{"(3,)", 3}, std::pair{"(0, 3)", 0}}) {
    const std::string file = npy_file(dictionary("'|i1'", shape, "True"), data.substr(0, size));
    EXPECT_EQ(raw(read_npy(bytes(file))), data.substr(0, size));
  }
}

TEST(Npy, ReadsFilesOfOtherWriters) {
  const std::string data = "\x80\x3f\x00\xc0"s;  // 1 and -2 in bf16
  for (const char* descr : {"'<V2'", "'|V2'", "'V2'", "'bfloat16'", "\"bfloat16\""}) {
    const Tensor tensor = read_npy(bytes(npy_file(dictionary(descr, "(2,)"), data)));
    ASSERT_EQ(tensor.dtype(), DType::bf16) << descr;
    EXPECT_EQ(tensor.to(DType::f32).to_vector<float>(), (std::vector<float>{1, -2}));
  }
  const std::string dictionaries[] = {
      "{'shape': (2L,), 'fortran_order': False, 'descr': '<i2'}",  // Python 2, any order
      "{\"descr\":\"<i2\",\"fortran_order\":False,\"shape\":(2,)}",
      "  { 'descr' : '=i2' , 'fortran_order' : False , 'shape' : ( 2 , ) , }  \n\n",
  };
  for (const std::string& text : dictionaries) {
    for (const int major : {1, 2, 3}) {
      const Tensor tensor = read_npy(bytes(npy_file(text, data, major)));
      EXPECT_EQ(tensor.dtype(), DType::i16) << text;
      EXPECT_EQ(raw(tensor), data);
    }
  }
}

TEST(Npy, RejectsInvalidHeaders) {
  struct Case {
    std::string dictionary;
    std::string part;  // of the message
  };
  const Case cases[] = {
      {dictionary("'>f4'", "(1,)"), "expected little-endian elements, got \">f4\"; convert"},
      {dictionary("'<u4'", "(1,)"), "got \"<u4\"; convert them with astype"},
      {dictionary("'<c8'", "(1,)"), "got \"<c8\""},
      {dictionary("'|V1'", "(1,)"), "got \"|V1\""},
      {dictionary("'|O'", "(1,)"), "got \"|O\""},
      {dictionary("''", "(1,)"), "got \"\""},
      {dictionary("'<f44'", "(1,)"), "got \"<f44\""},
      {dictionary("[('a', '<f4')]", "(1,)"), "structured"},
      {dictionary("None", "(1,)"), "expected one element type in quotes"},
      {dictionary("'<f4'", "(-1,)"), "expected a non-negative size"},
      {dictionary("'<f4'", "(1.5,)"), "',' or ')'"},
      {dictionary("'<f4'", "(1)"), "a tuple such as (3,)"},
      {dictionary("'<f4'", "(1 2)"), "',' or ')'"},
      {dictionary("'<f4'", "[1]"), "a tuple of sizes"},
      {dictionary("'<f4'", "(,)"), "a non-negative size"},
      {dictionary("'<f4'", "(+1,)"), "a non-negative size"},
      {dictionary("'<f4'", "(1,,)"), "a non-negative size"},
      {dictionary("'<f4'", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "at most 8 dimensions"},
      {dictionary("'<f4'", "(9223372036854775808,)"), "at most 63 bits"},
      {dictionary("'<f4'", "(9223372036854775807,)"), "exceeds 63 bits"},
      {dictionary("'<f4'", "(4294967296, 4294967296)"), "exceeds 63 bits"},
      {dictionary("'<f4'", "(0, 4294967296, 4294967296)"), "exceeds 63 bits"},
      {dictionary("'<f4'", "(2305843009213693951,)"), "expected 9223372036854775804 bytes"},
      {dictionary("'<f4'", "(1,)", "0"), "True or False"},
      {dictionary("'<f4'", "(1,)", "Falsey"), "expected '}'"},
      {dictionary("'<f4'", "(1,)") + "x", "only whitespace"},
      {dictionary("'<f\\x34'", "(1,)"), "a string without escapes"},
      {"", "expected '{' in the header, which ends there"},
      {"{", "a key in quotes"},
      {"{}", "'descr' is missing"},
      {"{'descr': '<f4'}", "'shape' is missing"},
      {"{'descr': '<f4', 'shape': ()}", "'fortran_order' is missing"},
      {"{'descr': '<f4', 'descr': '<f4'}", "duplicate key \"descr\" in the header"},
      {"{'shape': (), 'shape': ()}", "duplicate key \"shape\" in the header"},
      {"{'fortran_order': True, 'fortran_order': True}",
       "duplicate key \"fortran_order\" in the header"},
      {"{'colour': 1}", "got \"colour\""},
      {"{'descr", "a closing quote"},
      {"{\x1b[31m", "got \"\\x1b[31m\""},
      {std::string(60'000, '('), "expected '{' at byte 0"},
      {std::string(60'000, '{'), "a key in quotes"},
  };
  for (const Case& wrong : cases) {
    EXPECT_TRUE(says(npy_failure(npy_file(wrong.dictionary, "\0\0\0\0"s)), "format: [read_npy] ",
                     wrong.part))
        << wrong.dictionary.substr(0, 100);
  }
}

TEST(Npy, RejectsInvalidMagicAndVersion) {
  EXPECT_TRUE(says(npy_failure(""), "format:", "got \"\"; is it an .npy file?"));
  EXPECT_TRUE(says(npy_failure("PK\3\4 and so on"), "format:", "unpack the .npz archive first"));
  EXPECT_TRUE(says(npy_failure("\x93NUMPY\4\0\0\0"s), "format:", "got 4.0"));
  EXPECT_TRUE(says(npy_failure("\x93NUMPY\1\1\0\0"s), "format:", "got 1.1"));
  EXPECT_TRUE(
      says(npy_failure("\x93NUMPY\1\0\3\0{}"s), "format:", "expected 3 bytes of header, got 2"));
  EXPECT_TRUE(says(npy_failure("\x93NUMPY\1\0\xff\xff{}"s),
                   "format:", "expected 65535 bytes of header, got 2"));
  EXPECT_TRUE(says(npy_failure("\x93NUMPY\2\0\xff\xff\xff\xff{}"s),
                   "format:", "expected 4294967295 bytes of header, got 2"));
}

TEST(Npy, RejectsEveryTruncationAndExtension) {
  const std::vector<std::byte> whole = write_npy(patterned({2, 3}, DType::f32));
  const std::string file(reinterpret_cast<const char*>(whole.data()), whole.size());
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_TRUE(says(npy_failure(file.substr(0, size)), "format: [read_npy] ")) << size;
  }
  EXPECT_TRUE(says(npy_failure(file + '\0'), "format:", "expected 24 bytes of data"));
}

TEST(Npy, SurvivesEveryFlippedBit) {
  const std::vector<std::byte> whole = write_npy(patterned({2, 3}, DType::boolean));
  const std::string file(reinterpret_cast<const char*>(whole.data()), whole.size());
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const std::string message = failure([&] {
      EXPECT_EQ(read_npy(bytes(damaged)).n_bytes(), 6u) << bit;  // (2, 3) can turn into (3, 2)
    });
    EXPECT_TRUE(message.empty() || says(message, "format:")) << bit;
  }
}

TEST(Npy, RejectsInvalidBools) {
  EXPECT_TRUE(says(npy_failure(npy_file(dictionary("'|b1'", "(3,)"), "\0\1\2"s)),
                   "format:", "expected bools to be 0 or 1, got 2 in element 2"));
}

TEST(Npy, ChecksSizesBeforeAllocating) {
  const std::string file = npy_file(dictionary("'<f8'", "(1000000000000,)"), "12345678");
  const std::uint64_t before = pool_of(Device::cpu()).stats().allocations;
  EXPECT_TRUE(says(npy_failure(file), "format:", "expected 8000000000000 bytes"));
  EXPECT_EQ(pool_of(Device::cpu()).stats().allocations, before);
}

TEST(Npy, ErrorsNameTheFile) {
  const Scratch scratch;
  const std::string path = (scratch / "x.npy").string();
  EXPECT_TRUE(says(failure([&] { load_npy(path); }),
                   "io: [load_npy] cannot read \"" + path + "\": No such file"));
  put(path, "");
  EXPECT_TRUE(
      says(failure([&] { load_npy(path); }), "format: [load_npy] \"" + path + "\": expected"));
  EXPECT_TRUE(says(failure([&] { save_npy(scratch / "none/x.npy", Tensor()); }),
                   "io: [save_npy] cannot write \"", "none/x.npy\": No such file"));
  EXPECT_TRUE(says(failure([&] { save_npy("/dev/full", Tensor()); }),
                   "io: [save_npy] cannot write \"/dev/full\": No space left on device"));
}

TEST(GpuNpy, RoundTripsThroughTheDevice) {
  CAUSEWAY_REQUIRE_GPU();
  const Scratch scratch;
  const Tensor tensor = patterned({33, 1001}, DType::f32);
  save_npy(scratch / "x.npy", tensor.to(Device::cuda()).transpose());
  const Tensor loaded = load_npy(scratch / "x.npy", Device::cuda());
  EXPECT_EQ(loaded.device(), Device::cuda());
  expect_same(loaded.to(Device::cpu()), tensor.transpose());
  const std::string fortran = npy_file(dictionary("'|i1'", "(2, 3)", "True"), "\0\3\1\4\2\5"s);
  EXPECT_EQ(raw(read_npy(bytes(fortran), Device::cuda()).to(Device::cpu())), "\0\1\2\3\4\5"s);
}

}  // namespace
}  // namespace causeway::data_test
