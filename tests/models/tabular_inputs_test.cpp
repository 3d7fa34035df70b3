// The inputs of a tabular transformer's encoder against plain definitions.
#include "causeway/models/kernels/tabular.h"

#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"
#include "tests/models/tables.h"

namespace causeway {
namespace {

using models::LabelPlacement;
using models::Tables;
using models::TabularConfig;

// (tables, thinking + rows, columns, inputs).
Tensor inputs_of(const TabularConfig& config, const Tables& tables) {
  const kernels::TableInputs inputs = config.inputs();
  const StreamView stream = current_stream(Device::cpu());
  const Shape& s = tables.x.shape();
  const Tensor statistics = Tensor::empty({s[0], s[2] + 1, 2}, DType::f32);
  const Tensor out =
      Tensor::empty({s[0], config.thinking + s[1], s[2] + 1, inputs.width()}, DType::f32);
  kernels::table_statistics(stream, operand(tables.x, stream), operand(tables.y, stream),
                            operand(tables.sizes, stream), operand(statistics, stream));
  kernels::table_inputs(stream, inputs, operand(tables.x, stream), operand(tables.y, stream),
                        operand(tables.sizes, stream), operand(statistics, stream),
                        operand(out, stream));
  return out;
}

// Cells of context rows get the inputs of their row's target token; all else stays the same.
TEST(TabularInputs, LabelsInCells) {
  for (TabularConfig config : {small("default"), small("nanotabpfn"), small("default", true)}) {
    const Tables tables =
        draw_tables({{9, 4, 5}, {6, 2, 6}, {3, 1, 0}}, config.is_regression() ? 0 : 2, 7);
    const Tensor want = inputs_of(config, tables).clone();
    const auto* size = tables.sizes.data_as<std::int64_t>();
    for (std::int64_t table = 0; table < 3; ++table, size += 3) {
      for (std::int64_t row = 0; row < size[2]; ++row) {
        const Tensor tokens = want.select(0, table).select(0, config.thinking + row);
        const Tensor cells = tokens.slice(0, 1, size[1] + 1);
        cells.copy_from(cells + tokens.slice(0, 0, 1));
      }
    }
    config.labels = LabelPlacement::cells;
    expect_same_bytes(inputs_of(config, tables), want, name_of(config));
  }
}

}  // namespace
}  // namespace causeway
