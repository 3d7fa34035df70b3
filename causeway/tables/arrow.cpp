#include "causeway/tables/arrow.h"

#include "causeway/runtime/driver.h"
#include "causeway/runtime/stream.h"
#include "causeway/tables/arrow_column.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::tables {

namespace {

// A moved-out structure; releases it at the end.
template <class T>
struct Owned {
  T value{};
  Owned() = default;
  explicit Owned(T* from) : value(*from) { from->release = nullptr; }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (value.release != nullptr) value.release(&value);
  }
};
using Chunk = std::shared_ptr<Owned<ArrowArray>>;

Table read_table(const ArrowSchema& schema, const std::vector<Chunk>& chunks, Device device) {
  if (std::string_view(schema.format) != "+s") {
    refuse_arrow("expected a table of named columns, got one Arrow array; wrap it in a table");
  }
  std::int64_t n_rows = 0;
  for (const Chunk& chunk : chunks) n_rows += chunk->value.length;
  const auto owner = std::make_shared<std::vector<Chunk>>(chunks);
  std::vector<TableColumn> columns;
  for (std::int64_t c = 0; c < schema.n_children; ++c) {
    std::vector<const ArrowArray*> parts;
    for (const Chunk& chunk : chunks) {
      if (chunk->value.offset != 0)
        refuse_arrow("an Arrow table that starts inside its columns; copy it");
      parts.push_back(chunk->value.children[c]);
    }
    columns.push_back(ArrowColumnReader(*schema.children[c], parts, owner, device).read());
  }
  return Table(std::move(columns), n_rows);
}

}  // namespace

Table import_arrow_stream(ArrowArrayStream* given) {
  Owned<ArrowArrayStream> stream(given);
  Owned<ArrowSchema> schema;
  const auto check = [&](int status) {
    if (status == 0) return;
    const char* words = stream.value.get_last_error(&stream.value);
    refuse_arrow(std::string("the Arrow stream failed: ") +
                 (words == nullptr ? "no reason given" : words));
  };
  check(stream.value.get_schema(&stream.value, &schema.value));
  std::vector<Chunk> chunks;
  while (true) {
    auto chunk = std::make_shared<Owned<ArrowArray>>();
    check(stream.value.get_next(&stream.value, &chunk->value));
    if (chunk->value.release == nullptr) break;
    chunks.push_back(std::move(chunk));
  }
  return read_table(schema.value, chunks, Device::cpu());
}

Table import_arrow_array(ArrowSchema* given_schema, ArrowArray* array) {
  const Owned<ArrowSchema> schema(given_schema);
  const std::vector<Chunk> chunks{std::make_shared<Owned<ArrowArray>>(array)};
  return read_table(schema.value, chunks, Device::cpu());
}

Table import_arrow_device_array(ArrowSchema* given_schema, ArrowDeviceArray* given) {
  const Owned<ArrowSchema> schema(given_schema);
  constexpr std::int32_t kCuda = 2;
  const bool cuda = given->device_type == kCuda;
  const Device device = cuda ? Device::cuda(static_cast<int>(given->device_id)) : Device::cpu();
  if (cuda && given->sync_event != nullptr) {
    driver::wait(device.index, current_stream(device).handle(),
                 *static_cast<CUevent_st**>(given->sync_event));
  }
  const std::vector<Chunk> chunks{std::make_shared<Owned<ArrowArray>>(&given->array)};
  return read_table(schema.value, chunks, device);
}

}  // namespace causeway::tables
