// Figures of the gallery, each an SVG element. Colours come from the style sheet.
#pragma once

#include "causeway/report/gallery.h"

#include <string>
#include <vector>

namespace causeway::report {

// A scatter plot of columns a and b, coloured by class; b < 0: column a with vertical jitter.
std::string draw_classes(const GalleryDataset& dataset, int a, int b);

// A scatter plot of the target over column a, with its running mean.
std::string draw_curve(const GalleryDataset& dataset, int a);

// The causal graph in layers, causes on top.
std::string draw_graph(const std::vector<GalleryNode>& nodes);

// A histogram; n_classes > 0: one bar per class, in its colour.
std::string draw_histogram(const std::vector<float>& values, int n_classes);

}  // namespace causeway::report
