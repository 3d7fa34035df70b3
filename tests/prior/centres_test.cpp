// Nearest centres by screening, compared with a search over all distances.
#include "causeway/prior/device/centres.h"

#include "tests/prior/crew.h"
#include "tests/tensor/devices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace causeway::prior {
namespace {

constexpr int kRows = 45;
constexpr int kStride = 64;  // CPU blocks of rows reach into the padding

struct Case {
  int n_centres, n_columns;
  float p;
};

struct Drawn {
  std::vector<float> x;        // (columns, kStride)
  std::vector<float> centres;  // (centres, columns)
};

std::vector<int> by_taking_all(const Case& of, const Drawn& drawn) {
  std::vector<int> found(kRows);
  for (int row = 0; row < kRows; ++row) {
    float best = kNoCentre;
    for (int k = 0; k < of.n_centres; ++k) {
      float sum = 0;
      for (int c = 0; c < of.n_columns; ++c) {
        sum += distance_term(drawn.x[static_cast<std::size_t>(c * kStride + row)] -
                                 drawn.centres[static_cast<std::size_t>(k * of.n_columns + c)],
                             of.p);
      }
      if (sum < best) best = sum, found[static_cast<std::size_t>(row)] = k;
    }
  }
  return found;
}

// As one thread of a team computes them.
template <class Team>
void find(const Team& team, const Case& of, Drawn& drawn, std::vector<float>& arena,
          std::vector<int>& found) {
  Workspace<Team> w{team, {}, {}, kRows, kRows, kStride};
  w.arena.base = arena.data();
  w.arena.capacity = static_cast<std::int64_t>(arena.size());
  const Columns x{drawn.x.data(), of.n_columns, kStride};
  nearest_centres(w, x, drawn.centres.data(), of.n_centres, of.p, [&](int row, int b, int k) {
    if (row + b < kRows) found[static_cast<std::size_t>(row + b)] = k;
  });
}

template <class Draw>
void expect_nearest(const Case& of, const Draw& draw, const char* what) {
  Drawn drawn;
  drawn.x.resize(static_cast<std::size_t>(of.n_columns * kStride));
  drawn.centres.resize(static_cast<std::size_t>(of.n_centres * of.n_columns));
  for (float& value : drawn.x) value = draw();
  for (float& value : drawn.centres) value = draw();
  const std::vector<int> expected = by_taking_all(of, drawn);
  for (const int to_spare : {0, of.n_centres * kStride}) {
    std::vector<float> arena(
        static_cast<std::size_t>((of.n_centres + 4) * of.n_columns + 16 + to_spare));
    std::vector<int> by_one(kRows, -1);
    std::vector<int> by_many(kRows, -1);
    find(Solo{}, of, drawn, arena, by_one);
    run_crew(3, [&](const Crew& crew) { find(crew, of, drawn, arena, by_many); });
    ASSERT_EQ(by_one, expected) << what << ": " << of.n_centres << " centres, " << of.n_columns
                                << " columns, p " << of.p;
    ASSERT_EQ(by_many, expected) << what << ": " << of.n_centres << " centres, " << of.n_columns
                                 << " columns, p " << of.p << ", " << to_spare << " to spare";
  }
}

TEST(PriorCentres, ScreeningEqualsExhaustiveSearch) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const float huge[] = {0.0f,
                        1e-30f,
                        1e19f,
                        -1e25f,
                        std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN(),
                        3.0f};
  for (const int n_centres : {1, 2, 3, 9, 17, 256}) {
    for (const int n_columns : {1, 2, 9, 40, 100}) {
      for (const float p : {0.5f, 1.0f, 1.9f, 2.0f, 2.1f, 4.0f}) {
        if (few_cases() && n_centres * n_columns > 100) continue;
        const Case of{n_centres, n_columns, p};
        expect_nearest(
            of, [&] { return normal(random); }, "normal");
        expect_nearest(
            of, [&] { return std::round(normal(random)); }, "ties");
        expect_nearest(
            of, [&] { return 1.0f; }, "all equal");
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
