// Both rungs behind the choice, each forced: the same factors, on whatever runs kernels here.

#include <limits>

#include "core/batch_factorizer.h"
#include "core/simt/test_device.h"
#include "dense/fixed_pivot_testing.h"
#include "sparse_auto/automatic_factorizer.h"
#include "sparse_auto/rungs.h"

namespace lulab {

namespace sparse_leftlooking {
extern const Rung threads;
}
namespace sparse_syncfree {
extern const Rung supernode_panels;
}

namespace sparse_auto {
namespace {

using testing::analysis_for;
using testing::expect_like;
using testing::random_unsymmetric;

constexpr Candidates candidates = {.cpu = &sparse_leftlooking::threads, .gpu = &sparse_syncfree::supernode_panels};

template <bool gpu>
Prospects forced(const FilledPattern&, int) {
  return {.cpu_us = gpu ? 2.0 : 1.0, .gpu_us = gpu ? 1.0 : 2.0};
}

template <class T>
void expect_both_factor(std::int32_t n, std::uint64_t seed) {
  const auto a = random_unsymmetric<T>(n, 0.1, 10, seed);
  const Analysis analysis = analysis_for(a.pattern());
  std::vector<std::vector<T>> values;
  for (const bool gpu : {false, true}) {
    AutomaticFactorizer<T> f(candidates, {}, gpu ? forced<true> : forced<false>);
    LULAB_ASSERT_OK(f.analyze(analysis));
    EXPECT_EQ(f.choice()->rung, gpu ? candidates.gpu : candidates.cpu);
    EXPECT_EQ(f.stream() != nullptr, gpu);
    EXPECT_EQ(f.device_arrays().lu != nullptr, gpu && n > 0);
    LULAB_ASSERT_OK(f.upload(a.values));
    LULAB_ASSERT_OK(f.factor());
    LULAB_ASSERT_OK(f.refactor());
    LULAB_ASSERT_OK(f.wait());
    std::vector<T> lu(analysis.filled.row_idx.size(), std::numeric_limits<T>::quiet_NaN());
    LULAB_ASSERT_OK(f.download_values(lu));
    const auto factors = f.download();
    LULAB_ASSERT_OK(factors);
    EXPECT_EQ(factors->values, lu);
    EXPECT_EQ(f.statistics().perturbed_pivots, 0);
    values.push_back(std::move(lu));
  }
  expect_like(values[1], values[0], n);
}

TEST(Automatic, FactorsABatch) {
  LULAB_NEED_DEVICE();
  const std::int32_t n = 40, systems = 3;
  const auto a = random_unsymmetric<double>(n, 0.1, 10, 5);
  const Analysis analysis = analysis_for(a.pattern());
  const auto batch = make_batch<double>(automatic);
  LULAB_ASSERT_OK(batch);
  LULAB_ASSERT_OK((*batch)->analyze(analysis, systems));
  std::vector<double> values;
  for (std::int32_t s = 0; s < systems; ++s)
    for (const double v : testing::nearby_values(a, s)) values.push_back(v);
  LULAB_ASSERT_OK((*batch)->upload(values));
  LULAB_ASSERT_OK((*batch)->factor());
  LULAB_ASSERT_OK((*batch)->wait());
  for (std::int32_t s = 0; s < systems; ++s) {
    const auto factors = (*batch)->download(s);
    LULAB_ASSERT_OK(factors);
    auto system = a;
    system.values.assign(values.begin() + s * a.nnz(), values.begin() + (s + 1) * a.nnz());
    EXPECT_LE(testing::lu_error(system, *factors), 30);
  }
}

TEST(Automatic, EitherRungCanBeForced) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    expect_both_factor<double>(40, seed);
    expect_both_factor<float>(40, seed);
  }
}

TEST(Automatic, TheSimulatorIsNoGpu) {
  LULAB_NEED_SIMULATOR();
  const auto a = random_unsymmetric<double>(40, 0.1, 10, 3);
  const Analysis analysis = analysis_for(a.pattern());
  const auto f = automatic.make<double>();
  EXPECT_EQ(f->choice(), nullptr);
  LULAB_ASSERT_OK(f->analyze(analysis));
  EXPECT_EQ(f->choice()->rung, &sparse_leftlooking::threads);
  EXPECT_NE(f->choice()->reason.find("simulator"), std::string::npos) << f->choice()->reason;
  EXPECT_EQ(f->stream(), nullptr);
}

}  // namespace
}  // namespace sparse_auto
}  // namespace lulab
