// The gallery's pictures, each an SVG element: colours come from the page's style sheet.
#pragma once

#include "causeway/report/gallery.h"

#include <string>
#include <vector>

namespace causeway::report {

// Rows as points of columns a and b, coloured by class; b < 0: of column a alone.
std::string draw_classes(const GalleryDataset& dataset, int a, int b);

// The target over column a, and its mean along it.
std::string draw_curve(const GalleryDataset& dataset, int a);

// The graph in layers, causes on top.
std::string draw_graph(const std::vector<GalleryNode>& nodes);

// How often values occur; n_classes > 0: one bar a class, in its colour.
std::string draw_histogram(const std::vector<float>& values, int n_classes);

}  // namespace causeway::report
