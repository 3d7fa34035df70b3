#include "causeway/data/npy_header.h"

#include "causeway/data/python_literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace causeway::data {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kNpyAlignment = 64;  // of the first element, for memory mapping

struct TypeCode {
  DType dtype;
  std::string_view code;
};
constexpr TypeCode kTypeCodes[] = {{DType::f64, "f8"},  {DType::f32, "f4"},    {DType::f16, "f2"},
                                   {DType::bf16, "V2"}, {DType::i64, "i8"},    {DType::i32, "i4"},
                                   {DType::i16, "i2"},  {DType::i8, "i1"},     {DType::u8, "u1"},
                                   {DType::u16, "u2"},  {DType::boolean, "b1"}};

std::string_view code_of(DType dtype) {
  for (const TypeCode& known : kTypeCodes) {
    if (known.dtype == dtype) return known.code;
  }
  return "";
}

DType parse_descr(const Origin& origin, std::string_view descr) {
  // NumPy writes bfloat16 as two raw bytes; other writers use the name.
  if (descr == "bfloat16") return DType::bf16;
  const char order = descr.empty() ? '\0' : descr[0];
  const bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
  const std::string_view code = descr.substr(has_order ? 1 : 0);
  for (const TypeCode& known : kTypeCodes) {
    if (known.code != code) continue;
    if (order == '>' && size_of(known.dtype) > 1) {
      origin.fail_format(
          fmt::format("expected little-endian elements, got {}; convert them with "
                      "a.astype(a.dtype.newbyteorder(\"<\"))",
                      shown(descr)));
    }
    return known.dtype;
  }
  origin.fail_format(
      fmt::format("expected elements of type f8 f4 f2 i8 i4 i2 i1 u2 u1 b1 or "
                  "bfloat16, got {}; convert them with astype before saving",
                  shown(descr)));
}

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<std::size_t>(bytes[i]) << (8 * i);
  }
  return value;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Finds the dictionary in the file; checks magic, version and length.
std::span<const std::byte> find_dictionary(const Origin& origin, std::span<const std::byte> file) {
  const std::string_view start = as_text(file.first(std::min(file.size(), kNpyMagic.size())));
  if (start != kNpyMagic) {
    origin.fail_format(fmt::format(
        "expected \"\\x93NUMPY\" at the start, got {}; {}", shown(start),
        start.starts_with("PK") ? "unpack the .npz archive first" : "is it an .npy file?"));
  }
  const auto rest = file.subspan(kNpyMagic.size());
  if (rest.size() < 2)
    origin.fail_format("the file ends within the version; it is truncated, copy it again");
  const int major = std::to_integer<int>(rest[0]);
  const int minor = std::to_integer<int>(rest[1]);
  if (major < 1 || major > 3 || minor != 0) {
    origin.fail_format(
        fmt::format("expected version 1.0, 2.0 or 3.0 of the .npy format, got {}.{}; "
                    "save the array again with np.save",
                    major, minor));
  }
  const std::size_t length_size = major == 1 ? 2 : 4;
  if (rest.size() < 2 + length_size) {
    origin.fail_format("the file ends within the header length; it is truncated, copy it again");
  }
  const std::size_t length = little_endian(rest.subspan(2, length_size));
  const auto after = rest.subspan(2 + length_size);
  if (length > after.size()) {
    origin.fail_format(
        fmt::format("expected {} bytes of header, got {}; the file is truncated, copy "
                    "it again",
                    length, after.size()));
  }
  return after.first(length);
}

struct Dictionary {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, keys in any order.
Dictionary parse_dictionary(const Origin& origin, std::string_view text) {
  Dictionary found;
  PythonLiteral literal(origin, text);
  literal.expect('{');
  while (!literal.take('}')) {
    const std::string_view key = literal.string("a key in quotes");
    literal.expect(':');
    bool repeated = false;
    if (key == "descr") {
      repeated = found.descr.has_value();
      found.descr = literal.string(
          "one element type in quotes; save the fields of a structured "
          "array one by one");
    } else if (key == "fortran_order") {
      repeated = found.fortran_order.has_value();
      found.fortran_order = literal.boolean();
    } else if (key == "shape") {
      repeated = found.shape.has_value();
      found.shape = literal.shape();
    } else {
      origin.fail_format(
          fmt::format("expected the keys 'descr', 'fortran_order' and 'shape' in the "
                      "header, got {}; save the array again with np.save",
                      shown(key)));
    }
    if (repeated) origin.fail_format(fmt::format("duplicate key {} in the header", shown(key)));
    if (!literal.take(',')) {
      literal.expect('}');
      break;
    }
  }
  literal.expect_end();
  return found;
}

}  // namespace

NpyHeader parse_npy_header(const Origin& origin, std::span<const std::byte> file) {
  const auto dictionary = find_dictionary(origin, file);
  const Dictionary found = parse_dictionary(origin, as_text(dictionary));
  if (!found.descr || !found.fortran_order || !found.shape) {
    origin.fail_format(fmt::format(
        "expected the keys 'descr', 'fortran_order' and 'shape' in the header, but '{}' is missing",
        !found.descr ? "descr" : (!found.shape ? "shape" : "fortran_order")));
  }
  NpyHeader header;
  header.dtype = parse_descr(origin, *found.descr);
  header.shape = *found.shape;
  header.fortran_order = *found.fortran_order;
  header.data_offset =
      static_cast<std::size_t>(dictionary.data() - file.data()) + dictionary.size();
  const std::optional<std::uint64_t> bytes = count_bytes(header.shape, header.dtype);
  if (!bytes) {
    origin.fail_format(
        fmt::format("the size of shape {} of {} exceeds 63 bits; the header is "
                    "damaged",
                    to_string(header.shape), to_string(header.dtype)));
  }
  header.n_bytes = *bytes;
  const std::size_t available = file.size() - header.data_offset;
  if (available != header.n_bytes) {
    origin.fail_format(
        fmt::format("expected {} bytes of data for shape {} of {}, got {}; the file {}",
                    header.n_bytes, to_string(header.shape), to_string(header.dtype), available,
                    available < header.n_bytes
                        ? "is truncated, copy it again"
                        : "is damaged or contains several arrays, save each to its own file"));
  }
  return header;
}

std::string make_npy_header(DType dtype, const Shape& shape) {
  const std::string descr = fmt::format("{}{}", size_of(dtype) == 1 ? '|' : '<', code_of(dtype));
  return make_npy_header(descr, shape);
}

std::string make_npy_header(std::string_view descr, const Shape& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr,
                                 to_string(shape));
  // NumPy pads the header so that the first size can grow in place.
  constexpr std::size_t kLongestSize = 21;
  if (!shape.empty()) text.append(kLongestSize - std::to_string(shape[0]).size(), ' ');
  const std::size_t unpadded = kNpyMagic.size() + 2 + 2 + text.size() + 1;
  text.append(kNpyAlignment - unpadded % kNpyAlignment, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace causeway::data
