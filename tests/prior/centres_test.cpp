// The nearest centres by screening against all sums taken, one after the other.
#include "causeway/prior/device/centres.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace causeway::prior {
namespace {

constexpr int kRows = 32;

struct Case {
  int n_centres, n_columns;
  float p;
};

// Rows (columns by columns) and centres of `draw`, and what is the nearest of each row.
template <class Draw>
void expect_nearest(const Case& of, const Draw& draw, const char* what) {
  const auto [n_centres, n_columns, p] = of;
  std::vector<float> x(static_cast<std::size_t>(n_columns * kRows));
  std::vector<float> centres(static_cast<std::size_t>(n_centres * n_columns));
  for (float& value : x) value = draw();
  for (float& value : centres) value = draw();
  const int room = (n_centres + 3) / 4 * 4;
  std::vector<float> turned(static_cast<std::size_t>(room * n_columns));
  for (int c = 0; c < n_columns; ++c) {
    for (int k = 0; k < room; ++k) {
      turned[static_cast<std::size_t>(c * room + k)] =
          centres[static_cast<std::size_t>(std::min(k, n_centres - 1) * n_columns + c)];
    }
  }
  const auto screened = std::make_unique<Screened<kRows>>();
  screened->x = {x.data(), n_columns, kRows};
  screened->row = 0;
  screened->centres = centres.data();
  screened->n_centres = n_centres;
  screened->p = p;
  screened->find({turned.data(), room});
  for (int b = 0; b < kRows; ++b) {
    float best = kNoCentre;
    int found = 0;
    for (int k = 0; k < n_centres; ++k) {
      float sum = 0;
      for (int c = 0; c < n_columns; ++c) {
        sum += distance_term(x[static_cast<std::size_t>(c * kRows + b)] -
                                 centres[static_cast<std::size_t>(k * n_columns + c)],
                             p);
      }
      if (sum < best) best = sum, found = k;
    }
    ASSERT_EQ(screened->found[b], found)
        << what << ": " << n_centres << " centres, " << n_columns << " columns, p " << p;
  }
}

TEST(PriorCentres, ScreeningFindsWhatTakingAllFinds) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const float huge[] = {0.0f,
                        1e-30f,
                        1e19f,
                        -1e25f,
                        std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN(),
                        3.0f};
  for (const int n_centres : {1, 2, 3, 17, 256}) {
    for (const int n_columns : {1, 2, 9, 40}) {
      for (const float p : {0.5f, 1.0f, 1.9f, 2.0f, 2.1f, 4.0f}) {
        const Case of{n_centres, n_columns, p};
        expect_nearest(
            of, [&] { return normal(random); }, "normal");
        expect_nearest(
            of, [&] { return std::round(normal(random)); }, "ties");
        expect_nearest(
            of, [&] { return 1.0f; }, "all alike");
        expect_nearest(
            of, [&] { return 1e-12f * normal(random); }, "tiny");
        expect_nearest(
            of, [&] { return 1e18f * normal(random); }, "large");
        expect_nearest(
            of, [&] { return huge[random() % 7]; }, "not finite");
      }
    }
  }
}

}  // namespace
}  // namespace causeway::prior
