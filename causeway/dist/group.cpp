#include "causeway/dist/group.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/dist/host_collectives.h"
#include "causeway/dist/nccl.h"
#include "causeway/dist/worker.h"

#include <cstring>
#include <exception>

#include <fmt/format.h>

namespace causeway::dist {

namespace {

std::unique_ptr<Transport> connect(const Launch& launch, const Timeouts& timeouts) {
  const bool by_tcp = launch.launcher != Launcher::mpirun ||
                      (mpi_status().version.empty() && !launch.address.empty());
  return by_tcp ? connect_tcp(launch, timeouts) : connect_mpi(launch, timeouts);
}

void require_usable(const char* operation, const Tensor& x) {
  if (!x.is_contiguous()) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("the tensor of shape {} is not contiguous; pass contiguous() of it and copy "
                     "the result back",
                     to_string(x.shape())));
  }
  if (x.storage()->read_only) {
    fail(ErrorKind::invalid_argument, operation,
         "the tensor's memory is read-only; clone() it first");
  }
}

void require_reducible(const char* operation, const Tensor& x, Reduction how) {
  require_usable(operation, x);
  const DType dtype = x.dtype();
  if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::bf16 && dtype != DType::i64) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("{} does not support {}; convert it to f32, f64, bf16 or i64", operation,
                     to_string(dtype)));
  }
  if (how == Reduction::mean && dtype == DType::i64) {
    fail(ErrorKind::invalid_argument, operation,
         "integer tensors cannot be averaged; use sum, or convert to f64");
  }
}

void require_parts(const char* operation, const Tensor& x, int n_ranks) {
  if (x.n_dims() == 1 && x.numel() % n_ranks == 0) return;
  fail(ErrorKind::shape_mismatch, operation,
       fmt::format("a tensor of shape {} is not flat with {} equal parts", to_string(x.shape()),
                   n_ranks));
}

std::chrono::milliseconds read_seconds(const char* name, std::chrono::milliseconds otherwise) {
  const auto text = environment(name);
  if (!text.has_value()) return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  if (*end != '\0' || !(seconds > 0) || seconds > 1e9) {
    fail(ErrorKind::invalid_argument, name,
         fmt::format("\"{}\" is not a positive number of seconds", *text));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

Timeouts read_timeouts() {
  const Timeouts usual;
  return {read_seconds("CAUSEWAY_DIST_JOIN_TIMEOUT", usual.join),
          read_seconds("CAUSEWAY_DIST_TIMEOUT", usual.collective),
          read_seconds("CAUSEWAY_DIST_ALIVE_TIMEOUT", usual.alive)};
}

struct Group::State {
  State(const Launch& launch, const Timeouts& limits)
      : timeouts(limits), worker([&] { return connect(launch, limits); }) {}

  ~State() {
    if (std::uncaught_exceptions() > n_exceptions) {
      worker.give_up("[group] it stopped because of an error; see its output");
    }
    worker.watch(nullptr);
  }

  // Either all ranks' tensors are on GPUs or none: the first GPU collective connects NCCL.
  DeviceCollectives& on(Device device, const Launch& launch) {
    if (nccl == nullptr) {
      const auto share = [&](const std::string& bytes) {
        std::string of_rank_0;
        worker.run([&](Transport& transport) { of_rank_0 = dist::all_gather(transport, bytes)[0]; })
            .get();
        return of_rank_0;
      };
      nccl = connect_nccl(
          {device, launch.rank, launch.size}, share, [this] { worker.check(); }, timeouts);
      nccl_device = device;
      worker.watch(nccl);
    }
    if (device != nccl_device) {
      fail(ErrorKind::invalid_argument, "group",
           fmt::format("this rank uses {}, but the tensor is on {}; a rank uses one device",
                       to_string(nccl_device), to_string(device)));
    }
    return *nccl;
  }

  // Runs `body` in the worker after the ranks have agreed on the call.
  Pending start(const Call& call, Worker::Task body) {
    auto done = std::make_shared<std::future<void>>(
        worker.run([call, task = std::move(body)](Transport& transport) {
          agree(transport, call);
          if (task) task(transport);
        }));
    return Pending([done] { done->get(); });
  }

  int n_exceptions = std::uncaught_exceptions();
  Timeouts timeouts;
  Worker worker;
  std::shared_ptr<DeviceCollectives> nccl;  // destroyed before the worker, which notifies others
  Device nccl_device;
};

Group::Group() = default;

Group::Group(const Launch& launch, const Timeouts& timeouts) : launch_(launch) {
  if (launch.size > 1) state_ = std::make_unique<State>(launch, timeouts);
}

Group::~Group() = default;
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;

// `on_cpu` runs in the worker, `on_device` here.
Pending Group::start(const Call& call, const Tensor& x, std::function<void(Transport&)> on_cpu,
                     const std::function<Pending(DeviceCollectives&)>& on_device) {
  if (state_ == nullptr) return {};
  state_->worker.check();
  if (x.device().is_cpu()) return state_->start(call, std::move(on_cpu));
  DeviceCollectives& device = state_->on(x.device(), launch_);
  state_->start(call, nullptr);  // mismatched calls are detected while the device waits
  try {
    return on_device(device);
  } catch (const Error& error) {
    state_->worker.give_up(error.message());
    throw;
  }
}

Pending Group::start_all_reduce(const Tensor& x, Reduction how) {
  require_reducible("all_reduce", x, how);
  Call call = Call::of(Operation::all_reduce, x);
  call.reduction = how;
  return start(
      call, x, [x, how](Transport& by) { dist::all_reduce(by, x, how); },
      [&](DeviceCollectives& by) { return by.all_reduce(x, how); });
}

Pending Group::start_reduce_scatter(const Tensor& x, Reduction how) {
  require_reducible("reduce_scatter", x, how);
  require_parts("reduce_scatter", x, size());
  Call call = Call::of(Operation::reduce_scatter, x);
  call.reduction = how;
  return start(
      call, x, [x, how](Transport& by) { dist::reduce_scatter(by, x, how); },
      [&](DeviceCollectives& by) { return by.reduce_scatter(x, how); });
}

Pending Group::start_all_gather(const Tensor& x) {
  require_usable("all_gather", x);
  require_parts("all_gather", x, size());
  return start(
      Call::of(Operation::all_gather_parts, x), x,
      [x](Transport& by) { dist::all_gather_parts(by, x); },
      [&](DeviceCollectives& by) { return by.all_gather(x); });
}

Pending Group::start_broadcast(const Tensor& x, int root) {
  require_usable("broadcast", x);
  if (root < 0 || root >= size()) {
    fail(ErrorKind::invalid_argument, "broadcast",
         fmt::format("root rank {} is out of range; the group has {} ranks", root, size()));
  }
  Call call = Call::of(Operation::broadcast, x);
  call.root = root;
  return start(
      call, x, [x, root](Transport& by) { dist::broadcast(by, x, root); },
      [&](DeviceCollectives& by) { return by.broadcast(x, root); });
}

void Group::barrier() {
  if (state_ != nullptr) state_->start(Call{}, nullptr).wait();
}

std::vector<std::string> Group::all_gather(std::string_view bytes) {
  if (state_ == nullptr) return {std::string(bytes)};
  std::vector<std::string> all;
  state_->worker.run([&](Transport& by) { all = dist::all_gather(by, bytes); }).get();
  return all;
}

namespace {

template <class T>
std::vector<T> gather_numbers(Group& group, T value) {
  const std::string_view bytes(reinterpret_cast<const char*>(&value), sizeof(value));
  std::vector<T> all;
  for (const std::string& text : group.all_gather(bytes)) {
    if (text.size() != sizeof(T)) {
      fail(ErrorKind::distributed, "all_gather", "a rank sent a value of the wrong size");
    }
    std::memcpy(&all.emplace_back(), text.data(), sizeof(T));
  }
  return all;
}

}  // namespace

std::vector<double> Group::all_gather(double value) { return gather_numbers(*this, value); }
std::vector<std::int64_t> Group::all_gather(std::int64_t value) {
  return gather_numbers(*this, value);
}

void Group::on_failure(std::function<void(const Error&)> report) {
  if (state_ != nullptr) state_->worker.on_failure(std::move(report));
}

void Group::check() const {
  if (state_ != nullptr) state_->worker.check();
}

}  // namespace causeway::dist
