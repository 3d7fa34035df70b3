#include "causeway/dist/host_collectives.h"

#include "causeway/core/error.h"
#include "causeway/kernels/elementwise/functors_device.h"
#include "causeway/kernels/half_device.h"
#include "causeway/runtime/pool.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace causeway::dist {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{8} << 20;  // bytes of a tensor per message

constexpr std::array<const char*, 4> kOperations = {"barrier", "all_gather", "all_reduce",
                                                    "broadcast"};
constexpr std::array<const char*, 3> kReductions = {"sum", "mean", "max"};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

bool same(const Call& a, const Call& b) {
  if (a.operation == Operation::all_gather && b.operation == Operation::all_gather) return true;
  return std::memcmp(&a, &b, sizeof(Call)) == 0;
}

// Part r of n of a range; the first parts are longer by one if n does not divide it.
struct Part {
  std::int64_t begin;
  std::int64_t count;
};
Part part_of(std::int64_t count, int n, int r) {
  return {count / n * r + std::min<std::int64_t>(r, count % n),
          count / n + (r < count % n ? 1 : 0)};
}

// out[i] = the i-th values of all rows combined, in row order.
template <class T, class Combine>
void combine_rows(const std::vector<const T*>& rows, std::int64_t count, bool mean, T* out) {
  using Sum = Compute<T>;
  constexpr std::int64_t kBlock = 512;  // partial sums that fit in L1
  std::array<Sum, kBlock> sums;
  const Combine combine;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    for (std::int64_t i = 0; i < n; ++i) sums[i] = static_cast<Sum>(rows[0][begin + i]);
    for (std::size_t r = 1; r < rows.size(); ++r) {
      const T* row = rows[r] + begin;
      for (std::int64_t i = 0; i < n; ++i) sums[i] = combine(sums[i], static_cast<Sum>(row[i]));
    }
    if (mean) {
      const Sum size = static_cast<Sum>(rows.size());
      for (std::int64_t i = 0; i < n; ++i) sums[i] = sums[i] / size;
    }
    for (std::int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<T>(sums[i]);
  }
}

template <class T>
class Reducer {
 public:
  Reducer(Transport& transport, Reduction how, std::int64_t chunk)
      : transport_(transport),
        how_(how),
        n_(static_cast<std::size_t>(transport.size())),
        longest_(part_of(chunk, transport.size(), 0).count),
        room_(pool_of(Device::cpu())
                  .allocate(n_ * static_cast<std::size_t>(longest_) * sizeof(T), StreamView())) {}

  void run(T* data, std::int64_t count) {
    const int rank = transport_.rank();
    const Part mine = part(count, rank);
    Outgoing out(n_);
    Incoming in(n_);
    std::vector<const T*> rows(n_);
    for (std::size_t r = 0; r < n_; ++r) {
      const Part theirs = part(count, static_cast<int>(r));
      T* row = reinterpret_cast<T*>(room_.data()) + static_cast<std::int64_t>(r) * longest_;
      out[r] =
          std::as_bytes(std::span(data + theirs.begin, static_cast<std::size_t>(theirs.count)));
      in[r] = std::as_writable_bytes(std::span(row, static_cast<std::size_t>(mine.count)));
      rows[r] = static_cast<int>(r) == rank ? data + mine.begin : row;
    }
    transport_.exchange(out, in);
    T* result = data + mine.begin;
    if (how_ == Reduction::max) {
      combine_rows<T, functors::Maximum>(rows, mine.count, false, result);
    } else {
      combine_rows<T, functors::Add>(rows, mine.count, how_ == Reduction::mean, result);
    }
    for (std::size_t r = 0; r < n_; ++r) {
      const Part theirs = part(count, static_cast<int>(r));
      out[r] = std::as_bytes(std::span(result, static_cast<std::size_t>(mine.count)));
      in[r] = std::as_writable_bytes(
          std::span(data + theirs.begin, static_cast<std::size_t>(theirs.count)));
    }
    transport_.exchange(out, in);
  }

 private:
  Part part(std::int64_t count, int r) const { return part_of(count, transport_.size(), r); }

  Transport& transport_;
  Reduction how_;
  std::size_t n_;
  std::int64_t longest_;
  Buffer room_;  // one row per sending rank
};

template <class T>
void reduce(Transport& transport, const Tensor& x, Reduction how) {
  constexpr auto kChunk = static_cast<std::int64_t>(kChunkBytes / sizeof(T));
  Reducer<T> reducer(transport, how, std::min(kChunk, x.numel()));
  for (std::int64_t begin = 0; begin < x.numel(); begin += kChunk) {
    reducer.run(x.data_as<T>() + begin, std::min(kChunk, x.numel() - begin));
  }
}

}  // namespace

Call Call::of(Operation operation, const Tensor& x) {
  Call call;
  call.operation = operation;
  call.dtype = x.dtype();
  call.device = x.device().kind;
  call.n_dims = x.n_dims();
  std::copy(x.shape().begin(), x.shape().end(), call.sizes);
  return call;
}

std::string to_string(const Call& call) {
  const auto operation = static_cast<std::size_t>(call.operation);
  std::string text = operation < kOperations.size() ? kOperations[operation] : "an unknown call";
  if (call.operation != Operation::all_reduce && call.operation != Operation::broadcast)
    return text;
  if (call.operation == Operation::all_reduce) {
    text += fmt::format(" {}", kReductions[static_cast<std::size_t>(call.reduction) % 3]);
  } else {
    text += fmt::format(" from rank {}", call.root);
  }
  const auto n_dims = static_cast<std::size_t>(std::clamp(call.n_dims, 0, kMaxDims));
  return fmt::format("{} of {} {} on {}", text, causeway::to_string(call.dtype),
                     causeway::to_string(Shape(std::span(call.sizes, n_dims))),
                     call.device == DeviceKind::cpu ? "cpu" : "cuda");
}

std::vector<Call> agree(Transport& transport, const Call& mine) {
  const auto n = static_cast<std::size_t>(transport.size());
  std::vector<Call> calls(n, mine);
  Outgoing out(n, std::as_bytes(std::span(&mine, 1)));
  Incoming in;
  for (Call& call : calls) in.push_back(bytes_of(call));
  transport.exchange(out, in);
  for (std::size_t r = 1; r < n; ++r) {
    if (same(calls[0], calls[r])) continue;
    fail(
        ErrorKind::distributed, kOperations[static_cast<std::size_t>(mine.operation)],
        fmt::format("the ranks differ: rank 0 calls {}, rank {} calls {}; every rank must make the "
                    "same calls in the same order",
                    to_string(calls[0]), r, to_string(calls[r])));
  }
  return calls;
}

void all_reduce(Transport& transport, const Tensor& x, Reduction how) {
  const MemoryScope name("dist");
  switch (x.dtype()) {
    case DType::f64: return reduce<double>(transport, x, how);
    case DType::f32: return reduce<float>(transport, x, how);
    case DType::bf16: return reduce<bf16>(transport, x, how);
    case DType::i64: return reduce<std::int64_t>(transport, x, how);
    default: fail(ErrorKind::internal, "all_reduce", "unexpected dtype");
  }
}

void broadcast(Transport& transport, const Tensor& x, int root) {
  const auto n = static_cast<std::size_t>(transport.size());
  const std::span<std::byte> all(x.data(), x.n_bytes());
  for (std::size_t begin = 0; begin < all.size(); begin += kChunkBytes) {
    const auto chunk = all.subspan(begin, std::min(kChunkBytes, all.size() - begin));
    Outgoing out(n);
    Incoming in(n);
    if (transport.rank() == root) {
      std::fill(out.begin(), out.end(), chunk);
    } else {
      in[static_cast<std::size_t>(root)] = chunk;
    }
    transport.exchange(out, in);
  }
}

std::vector<std::string> all_gather(Transport& transport, std::string_view bytes) {
  Call mine;
  mine.operation = Operation::all_gather;
  mine.n_dims = 1;
  mine.sizes[0] = static_cast<std::int64_t>(bytes.size());
  const std::vector<Call> calls = agree(transport, mine);
  std::vector<std::string> all(calls.size());
  Outgoing out(calls.size(), std::as_bytes(std::span(bytes)));
  Incoming in;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    all[r].resize(static_cast<std::size_t>(calls[r].sizes[0]));
    in.push_back(std::as_writable_bytes(std::span(all[r])));
  }
  transport.exchange(out, in);
  all[static_cast<std::size_t>(transport.rank())] = bytes;
  return all;
}

}  // namespace causeway::dist
