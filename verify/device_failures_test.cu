// Every rung on the GPU where the device refuses memory, or work on it fails.

#include "core/factorizer.h"
#include "testing/device.h"
#include "testing/every_refusal.h"
#include "testing/failing_operations.h"
#include "testing/fixed_pivots.h"

namespace lulab::testing {
namespace {

template <class T>
class RungUser {
 public:
  explicit RungUser(const Rung& rung)
      : a_(random_unsymmetric<T>(12, 0.2, 4.0, 1)),
        analysis_(analysis_with(a_, random_plan(12, true, 1))),
        factorizer_(rung.make<T>()) {}

  std::vector<Call> calls() {
    return {{"analyze", [this] { return factorizer_->analyze(analysis_); }},
            {"factor", [this] { return factor(1, false); }},
            {"refactor", [this] { return factor(2, true); }},
            {"analyze again", [this] { return factorizer_->analyze(analysis_); }},
            {"factor again", [this] { return factor(3, false); }}};
  }
  /// After a call that failed there are no factors, unless only their download did.
  void look() { EXPECT_TRUE(has_factors_ || !factorizer_->download().ok()); }

 private:
  Status factor(std::uint64_t seed, bool again) {
    CscMatrix<T> now = a_;
    now.values = nearby_values(a_, seed);
    has_factors_ = false;
    LULAB_RETURN_IF_ERROR(factorizer_->upload(now.values));
    LULAB_RETURN_IF_ERROR(again ? factorizer_->refactor() : factorizer_->factor());
    LULAB_RETURN_IF_ERROR(factorizer_->wait());
    has_factors_ = true;
    LULAB_ASSIGN_OR_RETURN(const auto factors, factorizer_->download());
    const double error = lu_error(now, factors);
    EXPECT_TRUE(error <= 30) << error;
    return {};
  }

  const CscMatrix<T> a_;
  const Analysis analysis_;
  std::unique_ptr<Factorizer<T>> factorizer_;
  bool has_factors_ = false;
};

using RungParam = ::testing::TestWithParam<const Rung*>;
class OutOfDeviceMemory : public RungParam {};
class FailedOperations : public RungParam {};

template <class T, class Refusal = DeviceMemoryLimit>
void expect_recovers(const Rung& rung, RefusalOptions options = {}) {
  if (!rung.supports<T>()) GTEST_SKIP() << "not in this precision";
  int failed = 0;
  expect_recovers_from_every_refusal<RungUser<T>, Refusal>([&] { return std::make_unique<RungUser<T>>(rung); }, failed,
                                                           options);
  EXPECT_GT(failed, 0);
}

TEST_P(OutOfDeviceMemory, ARungInFloatSaysSoAndGoesOn) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  expect_recovers<float>(*GetParam());
}
TEST_P(OutOfDeviceMemory, ARungInDoubleSaysSoAndGoesOn) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  expect_recovers<double>(*GetParam());
}
INSTANTIATE_TEST_SUITE_P(Rungs, OutOfDeviceMemory, ::testing::ValuesIn(gpu_rungs(all_rungs())), name_of_rung);

TEST_P(FailedOperations, OfARungAreTold) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_recovers<double, FailingOperations<false>>(*GetParam(), {.must_tell = true});
}
TEST_P(FailedOperations, OfARungAreToldByWait) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_recovers<double, FailingOperations<true>>(*GetParam(), {.must_tell = true});
}
INSTANTIATE_TEST_SUITE_P(Rungs, FailedOperations, ::testing::ValuesIn(gpu_rungs(all_rungs())), name_of_rung);

}  // namespace
}  // namespace lulab::testing
