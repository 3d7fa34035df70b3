// One column of an Arrow table: all its chunks as one column of ours.
#pragma once

#include "causeway/tables/arrow.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace causeway::tables {

[[noreturn]] void refuse_arrow(const std::string& message);

// One column in all its chunks, on one device.
class ArrowColumnReader {
 public:
  ArrowColumnReader(const ArrowSchema& schema, std::vector<const ArrowArray*> parts,
                    std::shared_ptr<void> owner, Device device)
      : schema_(schema), parts_(std::move(parts)), owner_(std::move(owner)), device_(device) {
    for (const ArrowArray* part : parts_) n_rows_ += part->length;
  }

  TableColumn read();

 private:
  void read_plain(const std::string& format);
  void read_dictionary();
  void read_missing();
  void read_bools();
  void read_views();
  template <class Offset>
  void read_text();
  template <class T>
  void read_numbers();
  template <class From>
  void read_converted(std::int64_t factor);

  void set_text(std::string bytes, std::vector<std::int64_t> offsets);
  void require_host(const std::string& format) const;

  const ArrowSchema& schema_;
  std::vector<const ArrowArray*> parts_;
  std::shared_ptr<void> owner_;
  Device device_;
  std::int64_t n_rows_ = 0;
  TableColumn column_;
};

}  // namespace causeway::tables
