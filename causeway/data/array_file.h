// The common interface of HDF5, npz and Parquet dumps: named arrays whose first axis counts
// entries, written in parts. The whole file is allocated at creation, so a killed writer leaves a
// file that opens. The file does not record which entries were written; the writer keeps track.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/shape.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::data {

// One array; `entry` is the shape of one entry, () for a scalar.
struct ArrayColumn {
  std::string name;
  DType dtype = DType::f32;
  Shape entry;
};

// A value stored once per file: the text if not empty, otherwise the number.
struct ArrayConstant {
  std::string name;
  std::int64_t number = 0;
  std::string text;
};

struct ArrayLayout {
  std::int64_t n_entries = 0;
  std::int64_t chunk = 1;  // entries per chunk
  std::vector<ArrayColumn> columns;
  std::vector<ArrayConstant> constants;  // not returned by files that were opened
};

// Index of a column in the layout, or -1.
int find_column(const ArrayLayout& layout, std::string_view name);

class ArrayFile {
 public:
  ArrayFile() = default;
  virtual ~ArrayFile() = default;
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;

  virtual const ArrayLayout& layout() const = 0;
  // Writes values (n, entry...) to entries first ... first + n - 1.
  virtual void write(std::string_view name, std::int64_t first, const Tensor& values) = 0;
  virtual Tensor read(std::string_view name, std::int64_t first, std::int64_t count) = 0;
  // Flushes everything to disk and closes the file; no calls may follow.
  virtual void finish() = 0;
};

}  // namespace causeway::data
