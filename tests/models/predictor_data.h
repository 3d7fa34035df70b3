// Small models, data and comparisons for tests of the predictor.
#pragma once

#include "tests/models/tables.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace causeway {

inline std::shared_ptr<models::TabularTransformer> make_model(const models::TabularConfig& config) {
  Generator generator(5);
  return std::make_shared<models::TabularTransformer>(
      config, nn::Placement{DType::f32, Device::cpu(), &generator});
}

struct Data {
  Tensor x;
  Tensor y;
  Tensor query;
};

inline Data draw_data(std::int64_t n_features, std::int64_t n_classes, std::int64_t n_rows = 20) {
  Generator generator(7);
  const Tensor y = n_classes > 0 ? generator.integers({n_rows}, 0, n_classes).to(DType::f64)
                                 : generator.normal({n_rows}, 3, 2, DType::f64);
  return {generator.normal({n_rows, n_features}, 0, 1, DType::f64), y,
          generator.normal({9, n_features}, 0, 1, DType::f64)};
}

inline void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

inline void expect_within(const Tensor& got, const Tensor& want, double limit,
                          const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const auto a = got.to_vector<double>();
  const auto b = want.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], limit) << what << ", " << i;
}

}  // namespace causeway
