#include "causeway/train/sharded_optimizer.h"

#include "causeway/core/error.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <utility>

#include <fmt/format.h>

namespace causeway::train {

namespace {

bool is_half(DType dtype) { return dtype != DType::f32; }

Tensor flat_piece(const Tensor& parameter, const BucketPiece& piece) {
  return autograd::detach(parameter).flatten().slice(0, piece.begin, piece.begin + piece.count);
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(dist::Group& group, const optim::OptimizerOptions& options,
                                   const std::vector<Tensor>& parameters,
                                   const std::vector<optim::ParameterGroup>& groups)
    : group_(group), optimizer_(options) {
  if (group.size() == 1) {
    for (const auto& [members, how] : groups) optimizer_.add_group(members, how);
    return;
  }
  add_members(parameters, groups);
  BucketOptions layout;
  for (const Member& member : members_) {
    layout.kinds.push_back(static_cast<int>(member.algorithm));
    layout.whole.push_back(member.algorithm == optim::Algorithm::muon);
  }
  sync_.emplace(group, parameters, std::move(layout), true);
  add_shards(groups);
  optimizer_.set_norm_reduction([this](const Tensor& squares) { group_.all_reduce(squares); });
}

void ShardedOptimizer::add_members(const std::vector<Tensor>& parameters,
                                   const std::vector<optim::ParameterGroup>& groups) {
  std::map<const autograd::Record*, Member> by_record;
  std::int64_t number = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].parameters.size(); ++i) {
      const Tensor& parameter = groups[g].parameters[i];
      by_record[parameter.record().get()] = {g, i, number++, groups[g].options.algorithm,
                                             parameter};
    }
  }
  for (const Tensor& parameter : parameters) {
    const auto found = by_record.find(parameter.record().get());
    if (found != by_record.end()) members_.push_back(found->second);
  }
  if (members_.size() == parameters.size() && members_.size() == by_record.size()) return;
  fail(ErrorKind::invalid_argument, "optimizer",
       fmt::format("{} parameters, but {} in groups", parameters.size(), by_record.size()));
}

std::string ShardedOptimizer::Member::key(const std::string& name) const {
  return fmt::format("{}.{}.{}", group, index, name);
}

void ShardedOptimizer::add_shards(const std::vector<optim::ParameterGroup>& groups) {
  const MemoryScope scope("optimizer");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<Tensor> owned;
    for (std::size_t b = 0; b < sync_->layouts().size(); ++b) {
      const BucketLayout& layout = sync_->layouts()[b];
      for (const BucketPiece& piece : layout.pieces) {
        const Member& member = members_[piece.parameter];
        if (member.group != g || layout.owner(piece) != group_.rank()) continue;
        Tensor values = flat_piece(member.parameter, piece);
        if (is_half(values.dtype())) values = values.to(DType::f32);
        if (member.algorithm == optim::Algorithm::muon) {
          values = values.reshape(member.parameter.shape());
        }
        autograd::set_requires_grad(values, true);
        shards_.push_back({b, piece, values, fmt::format("{}.{}.", g, owned.size())});
        owned.push_back(values);
      }
    }
    optimizer_.add_group(owned, groups[g].options);
  }
  for (const std::int64_t count : group_.all_gather(static_cast<std::int64_t>(shards_.size()))) {
    if (count > 0) continue;
    fail(ErrorKind::invalid_argument, "optimizer",
         fmt::format("the model is too small to be divided among {} ranks", group_.size()));
  }
}

void ShardedOptimizer::backward(const Tensor& loss, bool last) {
  if (is_sharded()) {
    sync_->backward(loss, last);
  } else {
    autograd::backward(loss);
  }
}

void ShardedOptimizer::step() {
  for (const Shard& shard : shards_) {
    const Tensor gradient = sync_->gradient(shard.bucket, shard.piece);
    autograd::set_gradient(shard.values, gradient.reshape(shard.values.shape()));
  }
  optimizer_.step();
  optimizer_.zero_grad();
  if (is_sharded()) gather_weights();
}

// While one bucket travels, the next is filled.
void ShardedOptimizer::gather_weights() {
  const autograd::NoGrad plain;
  const MemoryScope scope("gathered weights");
  struct Flight {
    const BucketLayout* layout;
    Tensor weights;
    dist::Pending pending;
  };
  std::optional<Flight> before;
  const auto land = [&] {
    if (!before.has_value()) return;
    before->pending.wait();
    receive_weights(*before->layout, before->weights);
  };
  for (std::size_t b = 0; b < sync_->layouts().size(); ++b) {
    const BucketLayout& layout = sync_->layouts()[b];
    const Tensor weights =
        Tensor::empty({layout.part * group_.size()}, layout.dtype, members_[0].parameter.device());
    for (const Shard& shard : shards_) {
      if (shard.bucket != b) continue;
      const std::int64_t begin = shard.piece.offset;
      weights.slice(0, begin, begin + shard.piece.count)
          .copy_from(autograd::detach(shard.values).flatten());
    }
    dist::Pending pending = group_.start_all_gather(weights);
    land();
    before = Flight{&layout, weights, std::move(pending)};
  }
  land();
}

void ShardedOptimizer::receive_weights(const BucketLayout& layout, const Tensor& weights) {
  for (const BucketPiece& piece : layout.pieces) {
    const Tensor& parameter = members_[piece.parameter].parameter;
    // Own f32 pieces are views of the parameter.
    if (layout.owner(piece) == group_.rank() && !is_half(parameter.dtype())) continue;
    flat_piece(parameter, piece)
        .copy_from(weights.slice(0, piece.offset, piece.offset + piece.count));
  }
}

std::size_t ShardedOptimizer::state_bytes() {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : optimizer_.state()) {
    if (name.find('.') != std::string::npos) bytes += tensor.n_bytes();
  }
  for (const Shard& shard : shards_) {
    if (is_half(members_[shard.piece.parameter].parameter.dtype())) bytes += shard.values.n_bytes();
  }
  return bytes;
}

// Of the parameters in a bucket.
std::vector<std::string> ShardedOptimizer::state_names(const BucketLayout& layout) const {
  const Member& first = members_[layout.pieces.front().parameter];
  std::vector<std::string> names;
  for (const char* name : optim::state_names(first.algorithm)) names.emplace_back(name);
  if (is_half(layout.dtype)) names.emplace_back("master");
  return names;
}

std::map<std::string, Tensor> ShardedOptimizer::state() {
  const std::map<std::string, Tensor> own = optimizer_.state();
  if (!is_sharded()) return own;
  std::map<std::string, Tensor> all;
  for (std::size_t b = 0; b < sync_->layouts().size(); ++b) {
    for (const std::string& name : state_names(sync_->layouts()[b])) collect(b, name, own, all);
  }
  const Tensor missed = collect_missed(own);
  if (group_.rank() != 0) return {};
  all["control"] = own.at("control");
  all["missed"] = missed;
  return all;
}

// Rank 0 gets the state called `name` of a bucket's parameters, in host memory.
void ShardedOptimizer::collect(std::size_t bucket, const std::string& name,
                               const std::map<std::string, Tensor>& own,
                               std::map<std::string, Tensor>& all) {
  const BucketLayout& layout = sync_->layouts()[bucket];
  const Tensor values =
      zeros({layout.part * group_.size()}, DType::f32, members_[0].parameter.device());
  for (const Shard& shard : shards_) {
    if (shard.bucket != bucket) continue;
    const Tensor state =
        name == "master" ? autograd::detach(shard.values) : own.at(shard.prefix + name);
    const std::int64_t begin = shard.piece.offset;
    values.slice(0, begin, begin + shard.piece.count).copy_from(state.flatten());
  }
  group_.start_all_gather(values).wait();
  if (group_.rank() != 0) return;
  const Tensor host = values.to(Device::cpu());
  for (const BucketPiece& piece : layout.pieces) {
    const Member& member = members_[piece.parameter];
    Tensor& whole = all[member.key(name)];
    if (whole.shape() != member.parameter.shape()) whole = zeros(member.parameter.shape());
    flat_piece(whole, piece).copy_from(host.slice(0, piece.offset, piece.offset + piece.count));
  }
}

// The missed steps of all parameters; the pieces of one have missed the same.
Tensor ShardedOptimizer::collect_missed(const std::map<std::string, Tensor>& own) {
  const auto count = static_cast<std::int64_t>(members_.size());
  const Tensor all = zeros({count}, DType::f32, members_[0].parameter.device());
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const std::int64_t at = members_[shards_[i].piece.parameter].number;
    const auto from = static_cast<std::int64_t>(i);
    all.slice(0, at, at + 1).copy_from(own.at("missed").slice(0, from, from + 1));
  }
  group_.all_reduce(all, dist::Reduction::max);
  return all;
}

void ShardedOptimizer::require_state(const std::map<std::string, Tensor>& state) const {
  std::size_t n_known = 2;  // "control" and "missed"
  const auto require = [&](const std::string& key, const Shape* shape) {
    const auto found = state.find(key);
    if (found == state.end()) {
      fail(ErrorKind::format, "optimizer.load_state",
           fmt::format("key \"{}\" is missing; the state belongs to other groups or parameters",
                       key));
    }
    if (shape == nullptr || found->second.shape() == *shape) return;
    fail(ErrorKind::format, "optimizer.load_state",
         fmt::format("\"{}\" is {}, expected {}", key, to_string(found->second.shape()),
                     to_string(*shape)));
  };
  require("control", nullptr);
  const Shape one_each{static_cast<std::int64_t>(members_.size())};
  require("missed", &one_each);
  for (const BucketLayout& layout : sync_->layouts()) {
    std::map<std::size_t, bool> seen;
    for (const BucketPiece& piece : layout.pieces) {
      if (std::exchange(seen[piece.parameter], true)) continue;
      const Member& member = members_[piece.parameter];
      for (const std::string& name : state_names(layout)) {
        require(member.key(name), &member.parameter.shape());
        ++n_known;
      }
    }
  }
  if (state.size() == n_known) return;
  fail(ErrorKind::format, "optimizer.load_state",
       fmt::format("{} entries, expected {}; the state belongs to other groups or parameters",
                   state.size(), n_known));
}

void ShardedOptimizer::load_state(const std::map<std::string, Tensor>& state) {
  if (!is_sharded()) return optimizer_.load_state(state);
  require_state(state);
  const autograd::NoGrad plain;
  std::map<std::string, Tensor> own{{"control", state.at("control")}};
  std::vector<float> missed;
  const auto all_missed = state.at("missed").to(Device::cpu()).to_vector<float>();
  for (const Shard& shard : shards_) {
    const Member& member = members_[shard.piece.parameter];
    missed.push_back(all_missed[static_cast<std::size_t>(member.number)]);
    for (const std::string& name : state_names(sync_->layouts()[shard.bucket])) {
      const Tensor part =
          flat_piece(state.at(member.key(name)), shard.piece).reshape(shard.values.shape());
      if (name == "master") {
        autograd::detach(shard.values).copy_from(part);
      } else {
        own[shard.prefix + name] = part;
      }
    }
  }
  own["missed"] = Tensor::from<float>(missed, {static_cast<std::int64_t>(missed.size())});
  optimizer_.load_state(own);
}

}  // namespace causeway::train
