// Ranks the columns of a dataset by mutual information with the target, estimated over a few bins.
#pragma once

#include "causeway/report/gallery.h"

#include <vector>

namespace causeway::report {

// Columns, the most informative first; a pair that is more informative together comes first.
std::vector<int> informative_columns(const GalleryDataset& dataset);

// Quantiles at k / n_bins, k = 0 … n_bins, without NaN.
std::vector<float> quantiles(std::vector<float> values, int n_bins);

}  // namespace causeway::report
