#include "causeway/core/error.h"
#include "causeway/runtime/threads.h"
#include "causeway/tensor/dlpack.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/reduce.h"
#include "causeway/tensor/sort.h"
#include "tests/tensor/devices.h"

namespace causeway {
namespace {

std::vector<float> values(const Tensor& x) { return x.to(DType::f32).to_vector<float>(); }

Tensor counting(const Shape& shape) {
  return arange(0, numel(shape), 1, DType::f32).reshape(shape);
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_mentions(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" in: " << text;
  }
}

TEST(Tensor, ViewsShareMemory) {
  const Tensor x = counting({3, 4});
  const Tensor column = x.select(1, 2);
  EXPECT_EQ(values(column), (std::vector<float>{2, 6, 10}));
  column.copy_from(zeros({3}));
  EXPECT_EQ(values(x.select(0, 1)), (std::vector<float>{4, 5, 0, 7}));
  EXPECT_EQ(x.transpose().data(), x.data());
  EXPECT_EQ(x.reshape({2, 6}).data(), x.data());
  EXPECT_EQ(x.unsqueeze(1).squeeze().data(), x.data());
}

TEST(Tensor, SlicesLikePython) {
  const Tensor x = counting({7});
  EXPECT_EQ(values(x.slice(0, 2, 5)), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(values(x.slice(0, -3)), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(values(x.slice(0, 0, Tensor::kEnd, 3)), (std::vector<float>{0, 3, 6}));
  EXPECT_EQ(values(x.slice(0, -1, Tensor::kEnd, -2)), (std::vector<float>{6, 4, 2, 0}));
  EXPECT_EQ(values(x.slice(0, 5, 1, -2)), (std::vector<float>{5, 3}));
  EXPECT_EQ(x.slice(0, 5, 2).numel(), 0);
  EXPECT_EQ(x.slice(0, 100, 200).numel(), 0);
  EXPECT_EQ(values(x.slice(0, -100, 2)), (std::vector<float>{0, 1}));
}

TEST(Tensor, ReshapeIsAViewIfPossible) {
  const Tensor x = counting({4, 6});
  const Tensor half = x.slice(1, 0, 3);  // rows of 3 out of 6
  EXPECT_EQ(half.reshape({2, 2, 3}).data(), half.data());
  EXPECT_NE(half.reshape({12}).data(), half.data());
  EXPECT_EQ(values(half.reshape({12})), values(half));
  EXPECT_EQ(values(x.transpose().reshape({24})), values(x.transpose()));
  EXPECT_EQ(x.reshape({2, -1}).shape(), (Shape{2, 12}));
  EXPECT_EQ(zeros({0, 3}).reshape({3, 0}).shape(), (Shape{3, 0}));
  EXPECT_EQ(values(x.transpose().unsqueeze(1).reshape({6, 2, 2})), values(x.transpose()));
}

TEST(Tensor, MessagesNameOperationShapesAndFix) {
  const Tensor x = zeros({2, 3});
  expect_mentions(message_of([&] { x.reshape({4, -1}); }), {"[reshape]", "(2, 3)", "(4, -1)"});
  expect_mentions(message_of([&] { x.expand({2, 4}); }), {"[expand]", "(2, 3)", "(2, 4)"});
  expect_mentions(message_of([&] { x + zeros({2}); }), {"[add]", "(2, 3)", "(2,)"});
  expect_mentions(message_of([&] {
                    matmul(x, zeros({4, 3}));
                  }),
                  {"[matmul]", "(2, 3)", "(4, 3)", "transpose"});
  expect_mentions(message_of([&] {
                    matmul(x.to(DType::i32), zeros({3, 2}, DType::i32));
                  }),
                  {"[matmul]", "i32", ".to(\"f32\")"});
  expect_mentions(message_of([&] { x.select(0, 2); }), {"[select]", "index 2", "(2, 3)"});
  expect_mentions(message_of([&] { sum(x, {2}); }), {"[sum]", "axis 2"});
  expect_mentions(message_of([&] { sum(x, {0, -2}); }), {"[sum]", "duplicate"});
  expect_mentions(message_of([&] { max(zeros({0})); }), {"[max]", "(0,)"});
  expect_mentions(message_of([&] { topk(x, 4); }), {"[topk]", "4", "(2, 3)"});
  expect_mentions(message_of([&] { x.item(); }), {"[item]", "(2, 3)"});
  expect_mentions(message_of([&] {
                    gather(x, 1, zeros({3, 3}, DType::i64));
                  }),
                  {"[gather]", "(3, 3)", "(2, 3)"});
  expect_mentions(message_of([&] { index_select(x, 1, full({1}, 3, DType::i64)); }),
                  {"[index_select]", "index 3", "axis 1", "size 3"});
  expect_mentions(message_of([&] { index_select(x, 1, zeros({1})); }), {"f32", "integer dtype"});
  const Tensor list[] = {x, zeros({3, 3})};
  expect_mentions(message_of([&] { stack(list); }), {"[stack]", "(2, 3)", "(3, 3)"});
  const Tensor ragged[] = {x, zeros({3, 4})};
  expect_mentions(message_of([&] { concatenate(ragged); }), {"[concatenate]", "(2, 3)", "(3, 4)"});
  expect_mentions(message_of([&] { x.to(DType::boolean) - x.to(DType::boolean); }),
                  {"[subtract]", "bool"});
  expect_mentions(message_of([&] { full({1}, 1, DType::u8) + 300; }), {"300", "u8"});
}

TEST(Tensor, ZeroSizesWork) {
  for (DType dtype : kAllDTypes) {
    const Tensor nothing = zeros({0, 3}, dtype);
    EXPECT_EQ((nothing.to(DType::f32) + 1.0).shape(), (Shape{0, 3}));
    EXPECT_EQ(sum(nothing, {0}).shape(), (Shape{3}));
    EXPECT_EQ(sum(nothing).item(), 0);
    EXPECT_EQ(sort(nothing, 0).values.shape(), (Shape{0, 3}));
    EXPECT_EQ(cumulative_sum(nothing, 0).shape(), (Shape{0, 3}));
    EXPECT_EQ(nothing.clone().shape(), (Shape{0, 3}));
  }
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 3})).to_vector<float>(), std::vector<float>(6, 0));
  EXPECT_EQ(matmul(zeros({0, 4}), zeros({4, 3})).shape(), (Shape{0, 3}));
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item()));
  EXPECT_EQ(any(zeros({0})).item(), 0);
  EXPECT_EQ(all(zeros({0})).item(), 1);
}

TEST(Tensor, PrintsLikeNumPy) {
  EXPECT_EQ(to_string(counting({2, 3})),
            "tensor([[0., 1., 2.],\n"
            "        [3., 4., 5.]], shape=(2, 3), dtype=f32, device=cpu)");
  EXPECT_EQ(to_string(full({}, 1.5)), "tensor(1.5000, shape=(), dtype=f32, device=cpu)");
  EXPECT_EQ(to_string(zeros({0})), "tensor([], shape=(0,), dtype=f32, device=cpu)");
  EXPECT_EQ(to_string(full({2}, 1, DType::boolean)),
            "tensor([true, true], shape=(2,), dtype=bool, device=cpu)");
  const std::string text = to_string(arange(0, 5000, 1, DType::i64));
  EXPECT_EQ(
      text,
      "tensor([   0,    1,    2, ..., 4997, 4998, 4999], shape=(5000,), dtype=i64, device=cpu)");
}

TEST(Tensor, SumsAreStable) {
  // 0.1 in f32, ten million times: a naive running sum is off by 9%.
  const double total = sum(full({10000000}, 0.1)).item();
  EXPECT_NEAR(total, 1000000.0149, 0.5);
  const Tensor shifted = Generator(1).normal({100000}, 10000, 1);
  EXPECT_NEAR(variance(shifted).item(), 1, 0.02);
}

TEST(Tensor, ReductionsDoNotDependOnTheNumberOfThreads) {
  const Tensor x = Generator(3).normal({777, 1234});
  const Tensor tall = Generator(4).normal({300001, 3});
  std::vector<std::uint64_t> hashes[2];
  for (int threads : {1, 2}) {
    set_thread_count(threads);
    for (const Tensor& t : {sum(x), sum(x, {0}), sum(x, {1}), variance(x, {0}), sum(tall, {0})}) {
      hashes[threads - 1].push_back(hash_of(t));
    }
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Tensor, MatmulDoesNotCopyTransposedViews) {
  // Integers: BLAS may sum in another order where an operand is transposed.
  const Tensor a = counting({33, 17});
  const Tensor b = counting({17, 9});
  const Tensor want = matmul(a, b);
  EXPECT_EQ(values(matmul(b.transpose(), a.transpose()).transpose()), values(want));
  const std::size_t before = pool_of(Device::cpu()).stats().allocations;
  matmul(b.transpose(), a.transpose());
  EXPECT_EQ(pool_of(Device::cpu()).stats().allocations, before + 1);  // only the result
  const Tensor narrow_a = a.to(DType::bf16);
  const Tensor narrow_b = b.to(DType::bf16);
  expect_same_bytes(matmul(narrow_a, narrow_b),
                    matmul(narrow_a.to(DType::f32), narrow_b.to(DType::f32)).to(DType::bf16),
                    "bf16");
}

TEST(Tensor, OutOfMemoryLeaksNothing) {
  Pool& pool = pool_of(Device::cpu());
  Generator generator(1);
  const Tensor x = generator.normal({64, 64});
  const std::size_t before = pool.stats().current;
  const auto work = [&] {
    const Tensor y = matmul(x, x.transpose()) + x.to(DType::f16).to(DType::f32);
    const Sorted sorted = sort(sum(y, {0}).unsqueeze(0), 1);
    return concatenate(std::vector<Tensor>{sorted.values, sorted.values}).item();
  };
  int failures = 0;
  for (std::uint64_t n = 1; n < 100; ++n) {
    pool.fail_nth(n);
    try {
      work();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory) break;  // after the last allocation
      ++failures;
    }
    EXPECT_EQ(pool.stats().current, before);
  }
  pool.fail_nth(0);
  EXPECT_GT(failures, 5);
}

TEST(DLPack, RoundTripsShareAndReleaseMemory) {
  const Tensor x = counting({3, 4}).transpose();
  const long owners = x.storage().use_count();
  {
    const Tensor y = dlpack::import_tensor(dlpack::export_tensor(x));
    EXPECT_EQ(y.data(), x.data());
    EXPECT_EQ(y.strides(), x.strides());
    EXPECT_EQ(values(y), values(x));
    const Tensor z = dlpack::import_versioned(dlpack::export_versioned(x));
    EXPECT_EQ(z.data(), x.data());
    EXPECT_EQ(x.storage().use_count(), owners + 2);
  }
  EXPECT_EQ(x.storage().use_count(), owners);
}

TEST(DLPack, UnsupportedTensorsAreRejectedAndReleased) {
  const Tensor x = counting({3});
  const long owners = x.storage().use_count();
  auto* complex = dlpack::export_tensor(x);
  complex->dl_tensor.dtype.code = 5;
  EXPECT_THROW(dlpack::import_tensor(complex), Error);
  auto* elsewhere = dlpack::export_tensor(x);
  elsewhere->dl_tensor.device.device_type = 8;
  EXPECT_THROW(dlpack::import_tensor(elsewhere), Error);
  auto* newer = dlpack::export_versioned(x);
  newer->version.major = 2;
  EXPECT_THROW(dlpack::import_versioned(newer), Error);
  EXPECT_EQ(x.storage().use_count(), owners);
  auto* read_only = dlpack::export_versioned(x);
  read_only->flags = dlpack::kReadOnly;
  EXPECT_THROW(dlpack::import_versioned(read_only).copy_from(zeros({3})), Error);
}

}  // namespace
}  // namespace causeway
