#include "causeway/train/run_parts.h"

#include "causeway/core/error.h"
#include "causeway/random/philox.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/indexing.h"

#include <map>

#include <fmt/format.h>

namespace causeway::train {

namespace {

constexpr std::uint64_t kFamilyStream = 0x66616d696c79;  // draws no built-in family uses

// The family of a dataset; families.size() if it is one of the prior's.
std::size_t family_of(std::span<const CustomFamily> families, std::uint64_t seed,
                      std::uint64_t index) {
  const double draw = philox(seed, kFamilyStream, index).word[0] / 4294967296.0;
  double sum = 0;
  for (std::size_t k = 0; k < families.size(); ++k) {
    sum += families[k].share;
    if (draw < sum) return k;
  }
  return families.size();
}

void require_shape(const CustomFamily& family, const char* what, const Tensor& found,
                   const Shape& expected) {
  if (found.shape() == expected && found.dtype() == DType::f32) return;
  fail(ErrorKind::invalid_argument, "pretrain",
       fmt::format("family \"{}\": expected {} {} f32, got {} {}", family.name, what,
                   to_string(expected), to_string(found.shape()), to_string(found.dtype())));
}

// Which of the datasets that are filled are generated together.
struct Group {
  std::size_t family;
  int n_rows;
  int n_features;

  friend auto operator<=>(const Group&, const Group&) = default;
};

void generate(const CustomFamily& family, const CustomRequest& request,
              std::span<const prior::Batch::Offsets> offsets, const Tensor& x, const Tensor& y) {
  const auto [made_x, made_y] = family.generate(request);
  const auto count = static_cast<std::int64_t>(request.indices.size());
  require_shape(family, "x", made_x, {count, request.n_rows, request.n_features});
  require_shape(family, "y", made_y, {count, request.n_rows});
  for (std::int64_t k = 0; k < count; ++k) {
    const prior::Batch::Offsets& at = offsets[static_cast<std::size_t>(k)];
    x.slice(0, at.x, at.x + request.n_rows * at.row_stride)
        .reshape({request.n_rows, at.row_stride})
        .slice(1, 0, request.n_features)
        .copy_from(made_x.select(0, k));
    y.slice(0, at.y, at.y + request.n_rows).copy_from(made_y.select(0, k));
  }
}

}  // namespace

Tensor fill_tables(const prior::Prior& prior, std::span<const CustomFamily> families,
                   std::span<const std::uint64_t> indices,
                   std::span<const prior::Batch::Offsets> offsets, const Tensor& x,
                   const Tensor& y) {
  if (families.empty()) return prior.fill(indices, offsets, x, y);
  const std::uint64_t seed = prior.config().seed;
  std::vector<std::uint64_t> own;
  std::vector<prior::Batch::Offsets> own_offsets;
  std::map<Group, std::pair<CustomRequest, std::vector<prior::Batch::Offsets>>> groups;
  std::vector<std::int64_t> custom_sizes;  // rows, features, context rows of each
  std::vector<std::int64_t> order;         // entries of the sizes; negative: of custom_sizes
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::size_t family = family_of(families, seed, indices[k]);
    if (family == families.size()) {
      order.push_back(static_cast<std::int64_t>(own.size()));
      own.push_back(indices[k]);
      own_offsets.push_back(offsets[k]);
      continue;
    }
    const prior::RequestedSizes sizes = prior.requested_sizes(indices[k]);
    auto& [request, its_offsets] = groups[{family, sizes.n_rows, sizes.n_features}];
    request.seed = seed;
    request.device = prior.device();
    request.n_rows = sizes.n_rows;
    request.n_features = sizes.n_features;
    request.indices.push_back(indices[k]);
    request.n_classes.push_back(sizes.n_classes);
    its_offsets.push_back(offsets[k]);
    order.push_back(-1 - static_cast<std::int64_t>(custom_sizes.size() / 3));
    custom_sizes.insert(custom_sizes.end(), {sizes.n_rows, sizes.n_features, sizes.n_train});
  }
  for (const auto& [group, what] : groups) {
    generate(families[group.family], what.first, what.second, x, y);
  }
  const auto n_own = static_cast<std::int64_t>(own.size());
  for (std::int64_t& at : order) at = at < 0 ? n_own - 1 - at : at;
  std::vector<Tensor> all;
  if (n_own > 0) all.push_back(prior.fill(own, own_offsets, x, y));
  if (!custom_sizes.empty()) {
    const auto n_custom = static_cast<std::int64_t>(custom_sizes.size() / 3);
    all.push_back(Tensor::from<std::int64_t>(custom_sizes, {n_custom, 3}, prior.device()));
  }
  const auto count = static_cast<std::int64_t>(order.size());
  return index_select(concatenate(all), 0,
                      Tensor::from<std::int64_t>(order, {count}, prior.device()));
}

}  // namespace causeway::train
