#include "causeway/dist/host_collectives.h"

#include "causeway/core/error.h"
#include "causeway/kernels/elementwise/functors_device.h"
#include "causeway/kernels/half_device.h"
#include "causeway/runtime/pool.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace causeway::dist {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{8} << 20;  // bytes of a tensor per message

constexpr std::array<const char*, 6> kOperations = {"barrier",   "all_gather",     "all_reduce",
                                                    "broadcast", "reduce_scatter", "all_gather"};
constexpr std::array<const char*, 3> kReductions = {"sum", "mean", "max"};

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

// The ranges of a tensor that the ranks own, in rank order.
using Parts = std::vector<Part>;

Parts equal_parts(std::int64_t begin, std::int64_t count, std::int64_t stride, int n) {
  Parts parts;
  for (int r = 0; r < n; ++r) parts.push_back({begin + r * stride, count});
  return parts;
}

// Sends every rank its part and combines those received into the own one.
template <class T>
class Reducer {
 public:
  Reducer(Transport& transport, Reduction how, std::int64_t longest)
      : transport_(transport),
        how_(how),
        n_(static_cast<std::size_t>(transport.size())),
        longest_(longest),
        room_(pool_of(Device::cpu())
                  .allocate(n_ * static_cast<std::size_t>(longest_) * sizeof(T), StreamView())) {}

  void run(T* data, const Parts& parts) {
    const auto rank = static_cast<std::size_t>(transport_.rank());
    const Part mine = parts[rank];
    Outgoing out(n_);
    Incoming in(n_);
    std::vector<const T*> rows(n_);
    for (std::size_t r = 0; r < n_; ++r) {
      T* row = reinterpret_cast<T*>(room_.data()) + static_cast<std::int64_t>(r) * longest_;
      out[r] =
          std::as_bytes(std::span(data + parts[r].begin, static_cast<std::size_t>(parts[r].count)));
      in[r] = std::as_writable_bytes(std::span(row, static_cast<std::size_t>(mine.count)));
      rows[r] = r == rank ? data + mine.begin : row;
    }
    transport_.exchange(out, in);
    T* result = data + mine.begin;
    if (how_ == Reduction::max) {
      combine_rows<T, functors::Maximum>(rows, mine.count, false, result);
    } else {
      combine_rows<T, functors::Add>(rows, mine.count, how_ == Reduction::mean, result);
    }
  }

 private:
  Transport& transport_;
  Reduction how_;
  std::size_t n_;
  std::int64_t longest_;
  Buffer room_;  // one row per sending rank
};

// Sends the own part to every rank. Parts are in elements of `element` bytes.
void gather(Transport& transport, std::byte* data, std::size_t element, const Parts& parts) {
  Outgoing out(parts.size());
  Incoming in(parts.size());
  const auto bytes_of_part = [&](const Part& part) {
    return std::span(data + part.begin * static_cast<std::int64_t>(element),
                     static_cast<std::size_t>(part.count) * element);
  };
  const auto mine = bytes_of_part(parts[static_cast<std::size_t>(transport.rank())]);
  for (std::size_t r = 0; r < parts.size(); ++r) {
    out[r] = mine;
    in[r] = bytes_of_part(parts[r]);
  }
  transport.exchange(out, in);
}

// Calls `use` with the data and dtype of a tensor that can be reduced, as in use(float*).
template <class Use>
void visit_reduced(const Tensor& x, const Use& use) {
  switch (x.dtype()) {
    case DType::f64: return use(x.data_as<double>());
    case DType::f32: return use(x.data_as<float>());
    case DType::bf16: return use(x.data_as<bf16>());
    case DType::i64: return use(x.data_as<std::int64_t>());
    default: fail(ErrorKind::internal, "all_reduce", "unexpected dtype");
  }
}

// Calls `use` with the ranges of one message of a tensor of equal parts.
template <class Use>
void for_chunks_of_parts(const Tensor& x, int n, const Use& use) {
  const std::int64_t length = x.numel() / n;
  const auto chunk = static_cast<std::int64_t>(kChunkBytes / size_of(x.dtype())) / n + 1;
  for (std::int64_t begin = 0; begin < length; begin += chunk) {
    use(equal_parts(begin, std::min(chunk, length - begin), length, n));
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
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::reduce_scatter:
      text += fmt::format(" {}", kReductions[static_cast<std::size_t>(call.reduction) % 3]);
      break;
    case Operation::broadcast: text += fmt::format(" from rank {}", call.root); break;
    case Operation::all_gather_parts: break;
    default: return text;
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
  for (Call& call : calls) in.push_back(std::as_writable_bytes(std::span(&call, 1)));
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
  visit_reduced(x, [&]<class T>(T* data) {
    constexpr auto kChunk = static_cast<std::int64_t>(kChunkBytes / sizeof(T));
    const int n = transport.size();
    Reducer<T> reducer(transport, how, part_of(std::min(kChunk, x.numel()), n, 0).count);
    for (std::int64_t begin = 0; begin < x.numel(); begin += kChunk) {
      Parts parts;
      for (int r = 0; r < n; ++r) {
        parts.push_back(part_of(std::min(kChunk, x.numel() - begin), n, r));
      }
      reducer.run(data + begin, parts);
      gather(transport, reinterpret_cast<std::byte*>(data + begin), sizeof(T), parts);
    }
  });
}

void reduce_scatter(Transport& transport, const Tensor& x, Reduction how) {
  const MemoryScope name("dist");
  visit_reduced(x, [&]<class T>(T* data) {
    std::optional<Reducer<T>> reducer;
    for_chunks_of_parts(x, transport.size(), [&](const Parts& parts) {
      if (!reducer.has_value()) reducer.emplace(transport, how, parts[0].count);
      reducer->run(data, parts);
    });
  });
}

void all_gather_parts(Transport& transport, const Tensor& x) {
  for_chunks_of_parts(x, transport.size(), [&](const Parts& parts) {
    gather(transport, x.data(), size_of(x.dtype()), parts);
  });
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
