// Text output of tensors.
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/tensor.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace causeway {

namespace {

constexpr std::int64_t kAllBelow = 1000;  // longer tensors are summarised
constexpr std::int64_t kEdge = 3;         // entries shown at each end of a summary
constexpr int kLine = 96;

// One notation for all finite values: integers if possible, otherwise four decimals or exponents.
class NumberFormat {
 public:
  explicit NumberFormat(const std::vector<double>& values) {
    double largest = 0;
    double smallest = INFINITY;
    for (double value : values) {
      if (!std::isfinite(value)) continue;
      whole_ = whole_ && value == std::rint(value);
      largest = std::max(largest, std::fabs(value));
      if (value != 0) smallest = std::min(smallest, std::fabs(value));
    }
    exponent_ =
        largest >= 1e8 || (!whole_ && smallest < 1e-4) || (!whole_ && largest / smallest > 1e6);
  }
  std::string operator()(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    if (exponent_) return fmt::format("{:.4e}", value);
    if (whole_) return fmt::format("{:.0f}.", value);
    return fmt::format("{:.4f}", value);
  }

 private:
  bool whole_ = true;
  bool exponent_ = false;
};

// Host copies of the printed entries: both ends of each long axis.
Tensor edges(const Tensor& x, bool shorten) {
  Tensor shown = x;
  if (!shorten) return shown;
  for (int axis = 0; axis < x.n_dims(); ++axis) {
    const std::int64_t size = x.shape()[axis];
    if (size <= 2 * kEdge) continue;
    Shape shape = shown.shape();
    shape[axis] = 2 * kEdge;
    Tensor cut = Tensor::empty(shape, x.dtype(), x.device());
    cut.slice(axis, 0, kEdge).copy_from(shown.slice(axis, 0, kEdge));
    cut.slice(axis, kEdge).copy_from(shown.slice(axis, size - kEdge));
    shown = cut;
  }
  return shown;
}

std::vector<std::string> cells(const Tensor& shown) {
  const Tensor host = shown.to(Device::cpu()).contiguous();
  std::vector<std::string> texts;
  if (host.dtype() == DType::boolean) {
    for (bool value : host.to_vector<bool>()) texts.emplace_back(value ? "true" : "false");
  } else if (is_floating(host.dtype())) {
    const std::vector<double> values = host.to(DType::f64).to_vector<double>();
    const NumberFormat format(values);
    for (double value : values) texts.push_back(format(value));
  } else {
    for (std::int64_t value : host.to(DType::i64).to_vector<std::int64_t>()) {
      texts.push_back(std::to_string(value));
    }
  }
  return texts;
}

struct Writer {
  const std::vector<std::string>& texts;
  const Shape& full;   // shape of the tensor
  const Shape& shown;  // shape of the printed part
  int width;
  std::size_t next = 0;
  std::string out;

  void write(int dim, int indent) {
    if (dim == shown.size()) {
      out += fmt::format("{:>{}}", texts[next++], width);
      return;
    }
    const bool last = dim == shown.size() - 1;
    const bool gap = shown[dim] < full[dim];
    out += '[';
    int column = indent + 1;
    for (std::int64_t i = 0; i < shown[dim]; ++i) {
      if (i > 0 && last) {
        out += ", ";
        column += width + 2;
        if (column + width > kLine) {
          out += '\n' + std::string(static_cast<std::size_t>(indent + 1), ' ');
          column = indent + 1;
        }
      } else if (i > 0) {
        out += ',' + std::string(static_cast<std::size_t>(shown.size() - 1 - dim), '\n') +
               std::string(static_cast<std::size_t>(indent + 1), ' ');
      }
      if (gap && i == kEdge) {
        out += last ? "..., " : "...,\n" + std::string(static_cast<std::size_t>(indent + 1), ' ');
        column += 5;
      }
      write(dim + 1, indent + 1);
    }
    out += ']';
  }
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  const Tensor shown = edges(tensor, tensor.numel() > kAllBelow);
  const std::vector<std::string> texts = cells(shown);
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  Writer writer{texts, tensor.shape(), shown.shape(), static_cast<int>(width), 0, {}};
  const std::string head = "tensor(";
  writer.write(0, static_cast<int>(head.size()));
  return fmt::format("{}{}, shape={}, dtype={}, device={})", head, writer.out,
                     to_string(tensor.shape()), to_string(tensor.dtype()),
                     to_string(tensor.device()));
}

}  // namespace causeway
