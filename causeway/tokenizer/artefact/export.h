// Export of a fitted tokenizer to other libraries.
#pragma once

#include "causeway/tokenizer/tokenizer.h"

#include <string>
#include <vector>

namespace causeway::tokenizer {

// Hugging Face tokenizer.json: a WordLevel vocabulary in which every token is "<slot>_<value>",
// such as "age_17", "city_Rome", "age_[NAN]", with the ids that encode() uses for a global
// vocabulary. Text is split at spaces.
std::string export_hugging_face(const Tokenizer& tokenizer);

// LightGBM forcedbins_filename: [{"feature": 0, "bin_upper_bound": [...]}, ...] of the numeric
// columns. LightGBM bins are closed on the right; edges of left-closed bins are moved to the next
// lower number.
std::string export_lightgbm(const Tokenizer& tokenizer);

// XGBoost cuts as returned by DMatrix.get_quantile_cut(), as JSON: values[indptr[c], indptr[c + 1])
// are the exclusive upper bounds of column c's bins; the last is above all observed values.
std::string export_xgboost(const Tokenizer& tokenizer);

// scikit-learn KBinsDiscretizer.bin_edges_, one list per numeric column; [-inf, inf] for a single
// bin. As JSON, infinities as strings.
std::string export_scikit_learn(const Tokenizer& tokenizer);

// By name: hugging-face, lightgbm, xgboost, scikit-learn.
std::string export_as(const Tokenizer& tokenizer, std::string_view format);

// The names of all tokens of a slot, in order: "age_0", "age_[NAN]".
std::vector<std::string> token_names(const Tokenizer& tokenizer, const Slot& slot);

}  // namespace causeway::tokenizer
