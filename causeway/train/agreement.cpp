#include "causeway/train/agreement.h"

#include "causeway/autograd/tape.h"
#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/reduce.h"
#include "causeway/train/manifest.h"

#include <cstring>

#include <fmt/format.h>

namespace causeway::train {

void require_same_settings(const std::string& operation, dist::Group& group,
                           const std::string& settings) {
  if (group.size() == 1) return;
  Json mine = Json::parse(settings);
  mine["causeway"] = causeway_version();
  const std::vector<std::string> all = group.all_gather(mine.dump());
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    std::string list;
    for (const std::string& difference :
         config_differences(Json::parse(all[0]), Json::parse(all[r]))) {
      list += (list.empty() ? "" : ", ") + difference;
    }
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("rank {} has other settings than rank 0: {}; start all ranks with the same "
                     "options and version",
                     r, list));
  }
}

void require_same_weights(const std::string& operation, dist::Group& group,
                          const std::vector<Tensor>& parameters) {
  if (group.size() == 1) return;
  const autograd::NoGrad plain;
  std::vector<Tensor> sums;
  for (const Tensor& parameter : parameters) {
    sums.push_back(sum(autograd::detach(parameter).to(DType::f32)));
  }
  const std::vector<float> mine = stack(sums).to(Device::cpu()).to_vector<float>();
  const auto bytes = std::as_bytes(std::span(mine));
  const std::vector<std::string> all =
      group.all_gather({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    std::size_t at = 0;
    while (std::memcmp(&all[r][at * sizeof(float)], &all[0][at * sizeof(float)], sizeof(float)) ==
           0) {
      ++at;
    }
    fail(ErrorKind::distributed, operation,
         fmt::format("the weights of rank {} differ from those of rank 0, first in parameter {} of "
                     "shape {}: a rank may have another build, faulty memory or other data; resume "
                     "from an earlier checkpoint",
                     r, at, to_string(parameters[at].shape())));
  }
}

}  // namespace causeway::train
