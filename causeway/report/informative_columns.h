// Which columns of a dataset tell most about its target, by mutual information over a few bins.
#pragma once

#include "causeway/report/gallery.h"

#include <vector>

namespace causeway::report {

// The columns, the most telling first; of two columns that matter together, both stand in front.
std::vector<int> informative_columns(const GalleryDataset& dataset);

// The values' quantiles at k / n_bins, k from 0 to n_bins; NaN left out.
std::vector<float> quantiles(std::vector<float> values, int n_bins);

}  // namespace causeway::report
