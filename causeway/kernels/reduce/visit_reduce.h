// Dispatch from a reduction and an element type to its reducer: calls `body` with it.
#pragma once

#include "causeway/kernels/reduce/reducers_device.h"
#include "causeway/kernels/reduce/reduce.h"

namespace causeway::kernels {

template <class T, class Body>
void visit_reducer(ReduceOp op, std::int64_t count, const Body& body) {
  switch (op) {
    case ReduceOp::sum: return body(reducers::Sum<T>());
    case ReduceOp::mean: return body(reducers::Mean<T>{count});
    case ReduceOp::prod: return body(reducers::Product<T>());
    case ReduceOp::min: return body(reducers::Minimum<T>());
    case ReduceOp::max: return body(reducers::Maximum<T>());
    case ReduceOp::argmin: return body(reducers::ArgMinimum<T>());
    case ReduceOp::argmax: return body(reducers::ArgMaximum<T>());
  }
}

}  // namespace causeway::kernels
