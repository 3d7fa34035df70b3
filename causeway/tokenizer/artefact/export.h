// A fitted tokenizer in the words of other libraries.
#pragma once

#include "causeway/tokenizer/tokenizer.h"

#include <string>
#include <vector>

namespace causeway::tokenizer {

// Hugging Face's tokenizer.json: a WordLevel vocabulary in which every token is "<slot>_<value>",
// such as "age_17", "city_Rome", "age_[NAN]", under the number that encode() gives it in one
// vocabulary for all columns. Text is split at spaces.
std::string export_hugging_face(const Tokenizer& tokenizer);

// LightGBM's forcedbins_filename: [{"feature": 0, "bin_upper_bound": [...]}, ...] of the numeric
// columns. LightGBM's bins are closed on the right; edges of left-closed bins are moved down to the
// number before.
std::string export_lightgbm(const Tokenizer& tokenizer);

// XGBoost's cuts as DMatrix.get_quantile_cut() gives them: values[indptr[c], indptr[c + 1]) are the
// upper ends, exclusive, of column c's bins; the last is above everything seen. As JSON.
std::string export_xgboost(const Tokenizer& tokenizer);

// scikit-learn's KBinsDiscretizer.bin_edges_, a list a numeric column; [-inf, inf] for a column of
// one bin. As JSON, infinities as text.
std::string export_scikit_learn(const Tokenizer& tokenizer);

// By name: hugging-face, lightgbm, xgboost, scikit-learn.
std::string export_as(const Tokenizer& tokenizer, std::string_view format);

// The names of all tokens of a slot, in order: "age_0", "age_[NAN]".
std::vector<std::string> token_names(const Tokenizer& tokenizer, const Slot& slot);

}  // namespace causeway::tokenizer
