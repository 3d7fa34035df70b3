// Column operations shared by as many threads as a block has: every cell is processed once.
#include "causeway/prior/device/columns.h"

#include "tests/prior/crew.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace causeway::prior {
namespace {

// One of many threads; they run one after the other between barriers.
struct OneOfMany {
  static constexpr int kRows = 1;
  static constexpr bool kTraces = false;
  int member;
  int members;

  int rank() const { return member; }
  int size() const { return members; }
  void sync() const {}
};

constexpr int kSizes[] = {0, 1, 31, 32, 33, 150, 257, 600};

TEST(PriorColumns, EachCellIsVisitedOnce) {
  for (const int members : {1, 3, 128, 512}) {
    for (const int n_rows : kSizes) {
      for (const int n_columns : {0, 1, 7, 40}) {
        std::vector<int> visits(static_cast<std::size_t>(n_rows * n_columns));
        for (int member = 0; member < members; ++member) {
          for_cells<1>(OneOfMany{member, members}, n_rows, n_columns, [&](int row, int c) {
            ++visits[static_cast<std::size_t>(c * n_rows + row)];
          });
        }
        for (const int times : visits) ASSERT_EQ(times, 1);
      }
    }
  }
}

TEST(PriorColumns, MultiplyIsTheSameForAnyTeamSize) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const int n_rows : kSizes) {
    if (n_rows == 0) continue;
    for (const auto& shape : {std::pair(11, 1), {11, 8}, {3, 9}, {4, 40}, {700, 30}}) {
      const int n_in = shape.first;
      const int n_out = shape.second;
      const int stride = padded_rows(n_rows);
      const auto size = [&](int n_columns) { return static_cast<std::size_t>(n_columns * stride); };
      std::vector<float> x(size(n_in));
      std::vector<float> m(static_cast<std::size_t>(n_in * n_out));
      std::vector<float> by_one(size(n_out)), by_many(size(n_out)), arena(32768);
      for (float& value : x) value = normal(random);
      for (float& value : m) value = normal(random);
      const Columns from{x.data(), n_in, stride};
      const Arena memory{arena.data(), static_cast<std::int64_t>(arena.size())};
      Workspace<Solo> solo{{}, {}, memory, n_rows, n_rows, stride};
      multiply(solo, from, m.data(), {by_one.data(), n_out, stride});
      for (const int members : {3, 70}) {
        run_crew(members, [&](const Crew& crew) {
          Workspace<Crew> w{crew, {}, memory, n_rows, n_rows, stride};
          multiply(w, from, m.data(), {by_many.data(), n_out, stride});
        });
        for (int c = 0; c < n_out; ++c) {
          for (int row = 0; row < n_rows; ++row) {
            const auto at = static_cast<std::size_t>(c * stride + row);
            ASSERT_EQ(by_many[at], by_one[at]) << n_rows << " rows, " << n_out << " outputs";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace causeway::prior
