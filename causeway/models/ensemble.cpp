#include "causeway/models/ensemble.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace causeway::models {

namespace {

// Calls of the generator. Call 0 draws rows of the first member.
constexpr std::uint64_t kColumnCalls = 1;
constexpr std::uint64_t kClassCalls = std::uint64_t{2} << 20;
constexpr std::uint64_t kSubsetCalls = std::uint64_t{3} << 20;

std::vector<std::int64_t> permutation(std::int64_t n, std::uint64_t seed, std::uint64_t call) {
  Generator generator(seed);
  generator.seek(call);
  return generator.permutation(n).to_vector<std::int64_t>();
}

void softmax(std::vector<double>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& value : logits) sum += value = std::exp(value - largest);
  for (double& value : logits) value /= sum;
}

void normalise(double* values, std::size_t n) {
  const double sum = std::accumulate(values, values + n, 0.0);
  for (std::size_t i = 0; i < n; ++i) values[i] /= sum;
}

// Combines one row at a time.
class RowCombiner {
 public:
  RowCombiner(const std::vector<EnsembleMember>& members, std::int64_t n_outputs,
              std::int64_t n_codes, const Combination& how)
      : members_(members),
        n_outputs_(static_cast<std::size_t>(n_outputs)),
        n_codes_(static_cast<std::size_t>(n_codes)),
        how_(how) {}

  // logits (members, stride); writes n_outputs probabilities.
  void combine(const float* logits, std::int64_t stride, double* out) {
    read(logits, stride);
    if (n_codes_ < n_outputs_) {
      from_groups(out);
    } else {
      average(out);
    }
    for (std::size_t c = 0; c < how_.class_weight.size(); ++c) out[c] *= how_.class_weight[c];
    if (!how_.class_weight.empty()) normalise(out, n_outputs_);
  }

 private:
  // Divides by the temperature, and computes probabilities unless logits are averaged.
  void read(const float* logits, std::int64_t stride) {
    of_members_.resize(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i, logits += stride) {
      std::vector<double>& of = of_members_[i];
      of.assign(logits, logits + n_codes_);
      if (!std::all_of(of.begin(), of.end(), [](double logit) { return std::isfinite(logit); })) {
        fail(ErrorKind::invalid_argument, kTabularPredictor,
             "the model's output is not finite: its weights are too large or damaged; use another "
             "model");
      }
      for (double& logit : of) logit /= how_.temperature;
      if (how_.average == Average::probabilities || n_codes_ < n_outputs_) softmax(of);
    }
  }

  std::size_t code(const EnsembleMember& member, std::size_t c) const {
    return member.codes.empty() ? c : static_cast<std::size_t>(member.codes[c]);
  }

  void average(double* out) {
    std::vector<double> sums(n_outputs_, 0);
    const double equal = 1 / static_cast<double>(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const double weight = how_.weights.empty() ? equal : how_.weights[i];
      for (std::size_t c = 0; c < n_outputs_; ++c) {
        sums[c] += weight * of_members_[i][code(members_[i], c)];
      }
    }
    if (how_.average == Average::logits) softmax(sums);
    std::copy(sums.begin(), sums.end(), out);
  }

  // Maximises the mean over members of sum_g p(g) log(sum of the probabilities of the classes of
  // g), by expectation maximisation from the classes' frequencies.
  void from_groups(double* out) {
    constexpr int kRounds = 40;
    std::copy(how_.frequencies.begin(), how_.frequencies.end(), out);
    std::vector<double> factors(n_outputs_);
    std::vector<double> groups(n_codes_);
    for (int round = 0; round < kRounds; ++round) {
      std::fill(factors.begin(), factors.end(), 0);
      for (std::size_t i = 0; i < members_.size(); ++i) {
        std::fill(groups.begin(), groups.end(), 1e-30);
        for (std::size_t c = 0; c < n_outputs_; ++c) groups[code(members_[i], c)] += out[c];
        for (std::size_t c = 0; c < n_outputs_; ++c) {
          const std::size_t g = code(members_[i], c);
          factors[c] += of_members_[i][g] / groups[g];
        }
      }
      for (std::size_t c = 0; c < n_outputs_; ++c) out[c] *= factors[c];
      normalise(out, n_outputs_);
    }
  }

  const std::vector<EnsembleMember>& members_;
  std::size_t n_outputs_;
  std::size_t n_codes_;
  const Combination& how_;
  std::vector<std::vector<double>> of_members_;
};

}  // namespace

const char* to_string(Average average) {
  return average == Average::logits ? "logits" : "probabilities";
}

Average parse_average(const std::string& name) {
  for (const Average each : {Average::probabilities, Average::logits}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::invalid_argument, kTabularPredictor,
       fmt::format("average {}: expected probabilities or logits", shown(name)));
}

std::int64_t members_for_classes(std::int64_t n_classes, std::int64_t most) {
  if (n_classes <= most) return 1;
  std::int64_t digits = 1;  // of the classes' numbers to base `most`
  for (std::int64_t power = most; power < n_classes; power *= most) ++digits;
  return 4 * digits;
}

std::vector<std::vector<std::int64_t>> draw_columns(std::int64_t n_members, std::int64_t n,
                                                    std::int64_t count, std::uint64_t seed) {
  std::vector<std::vector<std::int64_t>> drawn;
  if (n <= count) {
    for (std::int64_t i = 0; i < n_members; ++i) {
      drawn.push_back(permutation(n, seed, kColumnCalls + static_cast<std::uint64_t>(i)));
    }
    std::iota(drawn.front().begin(), drawn.front().end(), 0);
    return drawn;
  }
  std::vector<std::int64_t> deck;
  std::uint64_t n_decks = 0;
  for (std::int64_t i = 0; i < n_members; ++i) {
    std::vector<std::int64_t>& member = drawn.emplace_back();
    std::vector<std::int64_t> later;  // columns that the member has already
    while (std::ssize(member) < count) {
      if (deck.empty()) deck = permutation(n, seed, kSubsetCalls + n_decks++);
      const bool is_new = std::find(member.begin(), member.end(), deck.back()) == member.end();
      (is_new ? member : later).push_back(deck.back());
      deck.pop_back();
    }
    deck.insert(deck.end(), later.begin(), later.end());
  }
  return drawn;
}

std::vector<std::int64_t> draw_codes(std::int64_t i, std::int64_t n_classes, std::int64_t most,
                                     std::uint64_t seed) {
  std::vector<std::int64_t> codes(static_cast<std::size_t>(n_classes));
  if (n_classes <= most) {
    for (std::int64_t c = 0; c < n_classes; ++c) {
      codes[static_cast<std::size_t>(c)] = (c + i) % n_classes;
    }
    return codes;
  }
  const auto order = permutation(n_classes, seed, kClassCalls + static_cast<std::uint64_t>(i));
  for (std::size_t k = 0; k < order.size(); ++k) {
    codes[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k) % most;
  }
  return codes;
}

void fit_components(std::vector<EnsembleMember>& members, const Tensor& x,
                    const std::vector<std::int64_t>& positions, const tables::Features& features,
                    std::int64_t most, std::uint64_t seed) {
  // By their features: all members share the components if each reads all columns.
  std::map<std::vector<std::int64_t>, std::shared_ptr<const PrincipalComponents>> fitted;
  bool is_first = true;
  for (std::size_t i = 0; i < members.size(); ++i) {
    EnsembleMember& member = members[i];
    if (member.transform != Transform::components) continue;
    std::vector<std::int64_t> read;
    for (const std::int64_t column : member.columns) {
      read.push_back(positions[static_cast<std::size_t>(column)]);
    }
    std::sort(read.begin(), read.end());
    std::shared_ptr<const PrincipalComponents>& components = fitted[read];
    if (components == nullptr && read.size() > 1) {
      components = std::make_shared<PrincipalComponents>(x, read, features, most);
    }
    if (components == nullptr || components->size() == 0) {
      member.transform = Transform::none;
      continue;
    }
    member.components = components;
    member.component_order = permutation(components->size(), seed, kColumnCalls + i);
    if (is_first) std::sort(member.component_order.begin(), member.component_order.end());
    is_first = false;
  }
}

Tensor combine_members(const Tensor& logits, const std::vector<EnsembleMember>& members,
                       std::int64_t n_outputs, const Combination& how) {
  const std::int64_t n_rows = logits.size(0);
  const std::int64_t stride = logits.size(2);
  Tensor out = Tensor::empty({n_rows, n_outputs}, DType::f64);
  RowCombiner combiner(members, n_outputs, std::min(n_outputs, stride), how);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    combiner.combine(logits.data_as<float>() + row * logits.size(1) * stride, stride,
                     out.data_as<double>() + row * n_outputs);
  }
  return out;
}

}  // namespace causeway::models
