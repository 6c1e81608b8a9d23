// The power flow on the device is that of the host.

#include <cmath>
#include <limits>
#include <random>

#include "examples/power_flow/device_equations.h"
#include "examples/power_flow/grid.h"
#include "examples/power_flow/power_flow.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab::examples::power_flow {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t size = simt::race_detection ? 12 : 40;

const Rung& rung(std::string_view id) { return **find_rung(every_rung(), id); }

std::vector<double> copy_of(const double* d_from, std::size_t size, simt::Stream& stream) {
  std::vector<double> to(size, nan);
  EXPECT_TRUE(simt::copy_to_host(to.data(), d_from, size * sizeof(double), stream).ok());
  EXPECT_TRUE(stream.wait().ok());
  return to;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    EXPECT_TRUE(std::abs(a[k] - b[k]) <= tolerance) << k << ": " << a[k] << " " << b[k];
}

TEST(DeviceEquations, StampsAndUpdatesAsOnTheHost) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t buses : {2, size}) {
    const auto grid = make_grid(buses, 3);
    ASSERT_TRUE(grid.ok());
    const Equations e = make_equations(grid->network);
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> angle(-0.5, 0.5), magnitude(0.8, 1.2);
    State state = e.start;
    for (double& a : state.angle) a = angle(random);
    for (double& m : state.magnitude) m = magnitude(random);
    std::vector<double> x(e.unknowns());
    for (double& step : x) step = angle(random) / 5;
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      const simt::SimulatorScope scope({.seed = seed});
      auto stream = simt::Stream::create();
      LULAB_ASSERT_OK(stream);
      auto device = DeviceEquations::create(e, *stream);
      LULAB_ASSERT_OK(device);
      LULAB_ASSERT_OK(device->upload(state));
      State host = state, other;
      for (int k = 0; k < 3; ++k) {
        std::vector<double> values(e.jacobian.nnz(), nan), b(e.unknowns(), nan);
        const double most = stamp(e, host, values, b);
        LULAB_ASSERT_OK(device->stamp());
        // Sums of up to 5 terms of at most 50: 5 · 50 · 5 · eps, and angles that differ by rounding.
        expect_near(copy_of(device->values(), values.size(), *stream), values, 1e-12);
        expect_near(copy_of(device->b(), b.size(), *stream), b, 1e-12);
        EXPECT_TRUE(std::abs(device->largest_mismatch() - most) <= 1e-12);
        LULAB_ASSERT_OK(simt::copy_to_device(device->x(), x.data(), x.size() * sizeof(double), *stream));
        LULAB_ASSERT_OK(device->update());
        LULAB_ASSERT_OK(device->download_previous(other));
        LULAB_ASSERT_OK(stream->wait());
        expect_near(other.angle, host.angle, 1e-15);
        update(e, x, host);
        LULAB_ASSERT_OK(device->download(other));
        LULAB_ASSERT_OK(stream->wait());
        expect_near(other.angle, host.angle, 1e-15);
        expect_near(other.magnitude, host.magnitude, 1e-15);
      }
    }
  }
}

TEST(DeviceEquations, AMismatchThatIsNotANumberIsTheLargest) {
  LULAB_NEED_DEVICE();
  const auto grid = make_grid(size, 3);
  ASSERT_TRUE(grid.ok());
  const Equations e = make_equations(grid->network);
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto device = DeviceEquations::create(e, *stream);
  LULAB_ASSERT_OK(device);
  State state = e.start;
  for (const bool spoilt : {true, false}) {
    state.angle[size / 2] = spoilt ? nan : 0;
    LULAB_ASSERT_OK(device->upload(state));
    LULAB_ASSERT_OK(device->stamp());
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(std::isnan(device->largest_mismatch()), spoilt);
  }
}

TEST(PowerFlowOnDevice, IsThatOfTheHost) {
  LULAB_NEED_DEVICE();
  const auto grid = make_grid(size, 2);
  ASSERT_TRUE(grid.ok());
  const Equations e = make_equations(grid->network);
  const auto expected = solve(e, {.place = Place::host});
  LULAB_ASSERT_OK(expected);
  ASSERT_TRUE(expected->converged);
  EXPECT_FALSE(expected->on_device);
  for (const char* id : {"sparse_syncfree/10_supernode_panels", "sparse_leftlooking/90_klu"}) {
    const auto solution = solve(e, {.place = Place::device, .rung = &rung(id)});
    LULAB_ASSERT_OK(solution);
    EXPECT_TRUE(solution->converged) << id;
    EXPECT_TRUE(solution->on_device) << id;
    EXPECT_EQ(solution->repivots, 0) << id;
    EXPECT_EQ(solution->iterations(), expected->iterations()) << id;
    // Both are where Newton stops: 1e-8 squared by then.
    expect_near(solution->state.angle, expected->state.angle, 1e-10);
    expect_near(solution->state.magnitude, expected->state.magnitude, 1e-10);
  }
}

/// The factors of its second launch, the first step after the factorization, hold an infinite entry.
int launches = 0;

class SpoiltOnce final : public DeviceBackend<double> {
 public:
  SpoiltOnce() : DeviceBackend<double>({}) {}

 protected:
  Status prepare_rung() override { return {}; }
  Status launch(const DeviceFactorsView<double>& f, simt::Stream& stream) override {
    const double wrong = ++launches == 2 ? std::numeric_limits<double>::infinity() : nan;  // NaN: nothing is wrong
    return simt::launch(testing::eliminate_by_one_thread_kernel<double>, {.grid = 1, .block = 1}, stream, f, wrong);
  }
  std::int64_t work_bytes() const override { return 0; }
};

TEST(PowerFlowOnDevice, RepeatsStepsWhosePivotsAreRefused) {
  LULAB_NEED_DEVICE();
  const auto grid = make_grid(size, 2);
  ASSERT_TRUE(grid.ok());
  const Equations e = make_equations(grid->network);
  const Rung spoilt = rung_in_double<SpoiltOnce>({.id = "test/spoilt_once", .device = lulab::Device::gpu});
  launches = 0;
  const auto solution = solve(e, {.place = Place::device, .rung = &spoilt});
  LULAB_ASSERT_OK(solution);
  EXPECT_GT(launches, 2);
  EXPECT_TRUE(solution->converged);
  EXPECT_GE(solution->repivots, 1);
  const auto expected = solve(e, {.place = Place::host});
  LULAB_ASSERT_OK(expected);
  EXPECT_EQ(solution->iterations(), expected->iterations());
  expect_near(solution->state.angle, expected->state.angle, 1e-10);
}

TEST(PowerFlowOnDevice, SaysWhenItDoesNotConverge) {
  LULAB_NEED_DEVICE();
  auto grid = make_grid(size, 2);
  ASSERT_TRUE(grid.ok());
  for (Bus& bus : grid->network.buses) bus.load_mw *= 50;
  const auto solution =
      solve(make_equations(grid->network),
            {.place = Place::device, .rung = &rung("sparse_syncfree/10_supernode_panels"), .max_iterations = 4});
  if (!solution.ok()) return;  // a Jacobian on the way may be singular
  EXPECT_FALSE(solution->converged);
  EXPECT_FALSE(solution->mismatch_pu.back() <= 1e-8);
}

}  // namespace
}  // namespace lulab::examples::power_flow
