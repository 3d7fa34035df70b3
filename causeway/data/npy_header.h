// The header of NumPy's .npy files: magic, version, length, and a Python dictionary with the
// element type, the order and the shape. Versions 1.0, 2.0 and 3.0 are read; 1.0 is written.
#pragma once

#include "causeway/data/input_check.h"

#include <cstddef>
#include <span>
#include <string>

namespace causeway::data {

struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;   // column-major
  std::size_t data_offset = 0;  // offset of the first element
  std::size_t n_bytes = 0;      // size of the elements
};

// Parses the header of a whole file and checks that the elements fill the rest exactly; throws
// format errors.
NpyHeader parse_npy_header(const Origin& origin, std::span<const std::byte> file);

// The bytes that np.save writes before the elements of a row-major array. bf16 is written as '<V2',
// like ml_dtypes.bfloat16 by np.save: np.load(path).view(ml_dtypes.bfloat16) reads it back.
std::string make_npy_header(DType dtype, const Shape& shape);
// For elements of a NumPy type string, such as "|S14".
std::string make_npy_header(std::string_view descr, const Shape& shape);

}  // namespace causeway::data
