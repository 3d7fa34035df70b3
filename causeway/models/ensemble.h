// The members of a predictor's ensemble: which rows and columns each reads, in which form, and how
// their predictions are combined.
#pragma once

#include "causeway/models/column_transform.h"
#include "causeway/models/principal_components.h"
#include "causeway/models/target_bins.h"
#include "causeway/tensor/create.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace causeway::models {

inline constexpr const char* kTabularPredictor = "tabular predictor";  // in messages

struct EnsembleMember {
  std::vector<std::int64_t> rows;     // context rows; a row may occur several times
  std::vector<std::int64_t> columns;  // in the order in which the model reads them, if it does
  std::vector<std::int64_t> codes;    // the model's class of each class; empty for numbers
  Transform transform = Transform::none;
  TargetTransform target_transform = TargetTransform::none;  // of numbers
  // Of Transform::components: what the model reads instead of the columns, and in which order.
  std::shared_ptr<const PrincipalComponents> components = nullptr;
  std::vector<std::int64_t> component_order = {};

  // The number of columns that the model reads.
  std::int64_t n_inputs() const {
    return components == nullptr ? std::ssize(columns) : std::ssize(component_order);
  }
};

// What is averaged over members.
enum class Average { probabilities, logits };

const char* to_string(Average average);
Average parse_average(const std::string& name);

// The number of members that predict groups of `n_classes` classes with a model of `most` classes,
// so that every pair of classes is in different groups of some member.
std::int64_t members_for_classes(std::int64_t n_classes, std::int64_t most);

// Member i's order of `n` columns, or `count` of them if those are fewer. Members take turns, so
// that each column is read by about as many members.
std::vector<std::vector<std::int64_t>> draw_columns(std::int64_t n_members, std::int64_t n,
                                                    std::int64_t count, std::uint64_t seed);
// The model's class for each class: member i's rotation of the classes, or random groups of equal
// size if there are more than `most`.
std::vector<std::int64_t> draw_codes(std::int64_t i, std::int64_t n_classes, std::int64_t most,
                                     std::uint64_t seed);

// Fits the components of members whose transform is `components` to the table x (rows, features),
// at most `most`. `positions` are those of the columns in x. The first of these members reads its
// components in descending order of variance, the others in a random one. A member with one column,
// or without a component, gets the transform `none` instead.
void fit_components(std::vector<EnsembleMember>& members, const Tensor& x,
                    const std::vector<std::int64_t>& positions, const tables::Features& features,
                    std::int64_t most, std::uint64_t seed);

struct Combination {
  Average average = Average::probabilities;
  double temperature = 1;                 // divides the logits
  std::vector<double> weights = {};       // of members, which sum to 1; empty: equal
  std::vector<double> frequencies = {};   // of classes in the context rows
  std::vector<double> class_weight = {};  // multiplies probabilities; empty: 1
};

// Probabilities (rows, n_outputs) f64 from the logits (rows, members, outputs) f32 of all members.
// Where members predict groups of classes, the result is the distribution whose groups are closest
// to theirs, and the weights are not used. Throws invalid_argument if a logit is not finite.
Tensor combine_members(const Tensor& logits, const std::vector<EnsembleMember>& members,
                       std::int64_t n_outputs, const Combination& how);

}  // namespace causeway::models
