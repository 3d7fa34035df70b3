// What the encoder of a tabular transformer reads: batches of tables, what is measured of their
// context rows, and the input vector of every cell.
#pragma once

#include "causeway/models/kernels/tabular.h"
#include "causeway/tensor/create.h"

#include <optional>

namespace causeway::models {

// A batch of tables, padded and contiguous, on one device: see kernels/tabular.h.
struct Tables {
  Tensor x;      // (tables, rows, features) f32
  Tensor y;      // (tables, rows) f32
  Tensor sizes;  // (tables, 3) i64: rows, features, context rows, which come first
};

// Tables with rows, features and, if they have classes, labels in reverse order.
Tables reversed(const Tables& tables, bool has_classes);

// Measured on the context rows: see kernels/tabular.h.
struct TableStatistics {
  Tensor moments;                // (tables, features + 1, 2) f32
  std::optional<Tensor> sorted;  // (tables, features, rows) f32, for radial inputs
};

// The number of feature tokens of tables with so many features, both i64 tensors.
Tensor feature_tokens(const kernels::TableInputs& inputs, const Tensor& n_features);

// Throws unless the tables are well formed and on the device of the encoder's weight.
void require_tables(const Tables& tables, const Tensor& encoder);

TableStatistics measure_tables(const kernels::TableInputs& inputs, const Tables& tables);

// The encoder's inputs, (tables, rows, tokens, inputs). With `with_thinking`, the thinking rows
// come first.
Tensor encoder_inputs(const kernels::TableInputs& inputs, const Tables& tables,
                      const TableStatistics& statistics, bool with_thinking, DType dtype);

// Initialises the encoder's weight (width, inputs) like two linear layers with biases, one for
// features and one for targets.
void init_encoder(const Tensor& weight, const kernels::TableInputs& inputs, Generator& generator);

}  // namespace causeway::models
