// Collectives of CPU tensors over a transport. Each starts by exchanging a description of the call,
// so that mismatched ranks get an error instead of a deadlock.
#pragma once

#include "causeway/dist/transport.h"

#include <string>
#include <string_view>
#include <vector>

namespace causeway::dist {

enum class Operation : std::uint8_t {
  barrier,
  all_gather,
  all_reduce,
  broadcast,
  reduce_scatter,
  all_gather_parts,
};

// A call as the ranks compare it; sent as plain bytes.
struct Call {
  Operation operation = Operation::barrier;
  Reduction reduction = Reduction::sum;
  DType dtype = DType::u8;
  DeviceKind device = DeviceKind::cpu;
  std::int32_t root = 0;
  std::int32_t n_dims = 0;
  std::int32_t unused = 0;  // explicit padding
  std::int64_t sizes[kMaxDims] = {};

  static Call of(Operation operation, const Tensor& x);
};

// "all_reduce mean of f32 (2, 3) on cpu".
std::string to_string(const Call& call);

// Exchanges the call with all ranks; throws a distributed error on every rank unless all calls
// match. The sizes of all_gather may differ. Returns the calls in rank order.
std::vector<Call> agree(Transport& transport, const Call& mine);

// Values are combined in rank order, independent of timing: rank r reduces part r of the tensor and
// sends it to all. Each rank sends and receives 2 (n - 1) / n of the tensor.
void all_reduce(Transport& transport, const Tensor& x, Reduction how);
// The two halves of all_reduce, for a tensor of as many equal parts as there are ranks.
void reduce_scatter(Transport& transport, const Tensor& x, Reduction how);
void all_gather_parts(Transport& transport, const Tensor& x);
void broadcast(Transport& transport, const Tensor& x, int root);
std::vector<std::string> all_gather(Transport& transport, std::string_view bytes);

}  // namespace causeway::dist
