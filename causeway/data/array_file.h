// What HDF5 and npz dumps share: named arrays whose first axis counts entries, filled in piece by
// piece. All room is laid out at the start, so that a writer killed at any moment leaves a file
// that opens; which entries hold something the file does not know: its writer keeps account.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/shape.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::data {

// One array: `entry` is the shape of one of its entries, () for a number each.
struct ArrayColumn {
  std::string name;
  DType dtype = DType::f32;
  Shape entry;
};

// A value that stands once in the file: a text where there is one, else a number.
struct ArrayConstant {
  std::string name;
  std::int64_t number = 0;
  std::string text;
};

struct ArrayLayout {
  std::int64_t n_entries = 0;
  std::int64_t chunk = 1;  // entries written together
  std::vector<ArrayColumn> columns;
  std::vector<ArrayConstant> constants;  // not told again by files that were opened
};

// The column's place in the layout, or -1.
int find_column(const ArrayLayout& layout, std::string_view name);

class ArrayFile {
 public:
  ArrayFile() = default;
  virtual ~ArrayFile() = default;
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;

  virtual const ArrayLayout& layout() const = 0;
  // Puts values (n, entry...) at entries first ... first + n - 1.
  virtual void write(std::string_view name, std::int64_t first, const Tensor& values) = 0;
  virtual Tensor read(std::string_view name, std::int64_t first, std::int64_t count) = 0;
  // Brings everything to the disk and closes; nothing may follow.
  virtual void finish() = 0;
};

}  // namespace causeway::data
