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
  bool fortran_order = false;   // the first index runs fastest
  std::size_t data_offset = 0;  // where the elements begin
  std::size_t n_bytes = 0;      // of the elements
};

// Reads the header of a whole file and checks that the elements fill the rest of it exactly; throws
// format errors.
NpyHeader parse_npy_header(const Origin& origin, std::span<const std::byte> file);

// The bytes np.save puts before the elements of a row-major array. bf16 is written '<V2', as
// np.save writes ml_dtypes.bfloat16: np.load(path).view(ml_dtypes.bfloat16) reads it back.
std::string make_npy_header(DType dtype, const Shape& shape);
// The same for elements of a type in NumPy's own words, such as "|S14" for fourteen letters.
std::string make_npy_header(std::string_view descr, const Shape& shape);

}  // namespace causeway::data
