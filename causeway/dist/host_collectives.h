// Collectives of CPU tensors over a transport. Each begins with a word to all others about what is
// meant, so that ranks that differ find out instead of waiting for each other.
#pragma once

#include "causeway/dist/transport.h"

#include <string>
#include <string_view>
#include <vector>

namespace causeway::dist {

enum class Operation : std::uint8_t { barrier, all_gather, all_reduce, broadcast };

// A call as the ranks compare it. Plain bytes: it travels as it is.
struct Call {
  Operation operation = Operation::barrier;
  Reduction reduction = Reduction::sum;
  DType dtype = DType::u8;
  DeviceKind device = DeviceKind::cpu;
  std::int32_t root = 0;
  std::int32_t n_dims = 0;
  std::int32_t unused = 0;  // no byte without a value
  std::int64_t sizes[kMaxDims] = {};

  static Call of(Operation operation, const Tensor& x);
};

// "all_reduce mean of f32 (2, 3) on cpu".
std::string to_string(const Call& call);

// Tells all ranks and hears from them; throws a distributed error on every rank unless all make the
// same call. Of all_gather the sizes may differ. Returns the calls in rank order.
std::vector<Call> agree(Transport& transport, const Call& mine);

// The ranks' values are combined in rank order, whatever the timing: rank r does so for the r-th
// part of the tensor and sends the result to all. Moves 2 (n - 1) / n of the tensor out of each
// rank and into it.
void all_reduce(Transport& transport, const Tensor& x, Reduction how);
void broadcast(Transport& transport, const Tensor& x, int root);
std::vector<std::string> all_gather(Transport& transport, std::string_view bytes);

}  // namespace causeway::dist
