// Power flows with known answers, the Jacobian, and what happens without a solution.

#include "examples/power_flow/power_flow.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "examples/power_flow/grid.h"
#include "examples/power_flow/parse_case.h"
#include "examples/power_flow/wscc9.h"
#include "testing/contains.h"
#include "testing/schedules.h"

namespace lulab::examples::power_flow {
namespace {

using Complex = std::complex<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double degree = std::numbers::pi / 180;

const Rung& rung(std::string_view id) { return **find_rung(every_rung(), id); }

/// A slack bus, a branch and a load.
Network two_buses(Branch branch, double load_mw, double load_mvar) {
  Network network;
  network.base_mva = 10;
  network.buses = {{1, BusType::slack, 3, 4}, {2, BusType::pq, load_mw, load_mvar}};
  network.generators = {{0, 0, 0, 1.02}};
  network.branches = {branch};
  return network;
}

/// The voltage of the load: V1 conj(V2) = |V2|² + Z conj(S), of which the magnitude is a quadratic equation.
Complex voltage_at_load(double v1, Complex z, Complex s) {
  const double half = v1 * v1 / 2 - (z * std::conj(s)).real();
  const double square = half + std::sqrt(half * half - std::norm(z) * std::norm(s));
  return std::polar(std::sqrt(square), -std::arg(square + z * std::conj(s)));
}

Solution solved(const Network& network, const Options& options = {}) {
  const Status possible = check_network(network);
  EXPECT_TRUE(possible.ok()) << possible.to_string();
  const auto solution = solve(make_equations(network), options);
  EXPECT_TRUE(solution.ok()) << solution.status().to_string();
  return solution.ok() ? *solution : Solution();
}

TEST(PowerFlow, OfTwoBusesIsTheClosedForm) {
  const Options options{.tolerance_pu = 1e-12};
  for (const auto& [mw, mvar] : {std::pair(5.0, 2.0), {-4.0, 1.0}, {10.0, -3.0}, {0.0, 0.0}}) {
    for (const auto& [ratio, shift] : {std::pair(1.0, 0.0), {0.97, 0.0}, {1.05, 30.0}}) {
      const Solution s = solved(two_buses({0, 1, 0.02, 0.1, 0, ratio, shift}, mw, mvar), options);
      ASSERT_TRUE(s.converged);
      const Complex expected = voltage_at_load(1.02 / ratio, {0.02, 0.1}, Complex(mw, mvar) / 10.0);
      EXPECT_NEAR(s.state.magnitude[1], std::abs(expected), 1e-11);
      EXPECT_NEAR(s.state.angle[1], std::arg(expected) - shift * degree, 1e-11);
      EXPECT_EQ(s.state.magnitude[0], 1.02);
      EXPECT_EQ(s.state.angle[0], 0);
    }
  }
}

TEST(PowerFlow, BeyondTheLargestLoadDoesNotConverge) {
  // Without resistance and with Q = 0 the line carries V²/2X = 5.202 p.u. at most.
  for (const double mw : {51.0, 53.0}) {
    const Network network = two_buses({0, 1, 0, 0.1, 0}, mw, 0);
    const Solution s = solved(network);
    EXPECT_EQ(s.converged, mw < 52) << mw;
    ASSERT_EQ(s.mismatch_pu.size(), static_cast<std::size_t>(s.iterations()) + 1);
    EXPECT_EQ(s.mismatch_pu.back() <= 1e-8, s.converged);
    const Equations equations = make_equations(network);
    const Worst worst = worst_mismatch(equations, s.state);
    EXPECT_EQ(worst.bus, 1);
    EXPECT_EQ(worst.mismatch_pu <= 1e-8, s.converged);
  }
}

TEST(PowerFlow, OfTheNineBusSystemIsThePublishedOne) {
  const auto network = parse_case(wscc9);
  ASSERT_TRUE(network.ok());
  const Equations equations = make_equations(*network);
  const double magnitude[] = {1.04, 1.025, 1.025, 1.0258, 0.9956, 1.0127, 1.0258, 1.0159, 1.0324};
  const double angle_deg[] = {0, 9.2800, 4.6648, -2.2168, -3.9888, -3.6874, 3.7197, 0.7275, 1.9667};
  for (const Rung* r : {static_cast<const Rung*>(nullptr), &rung("90_klu"), &rung("01_warp_per_column")}) {
    if (r && r->facts.device == lulab::Device::gpu && simt::machine() == simt::Machine::gpu &&
        !simt::device_properties().ok())
      continue;
    const auto solution = solve(equations, {.rung = r});
    ASSERT_TRUE(solution.ok()) << solution.status().to_string();
    EXPECT_TRUE(solution->converged);
    EXPECT_LE(solution->iterations(), 5);
    for (int i = 0; i < 9; ++i) {  // half a unit of the last published digit
      EXPECT_NEAR(solution->state.magnitude[i], magnitude[i], 0.6e-4) << i + 1;
      EXPECT_NEAR(solution->state.angle[i] / degree, angle_deg[i], 0.6e-4) << i + 1;
    }
    const std::vector<Power> injected = injections(equations, solution->state);
    EXPECT_NEAR(injected[0].p, 0.7164, 1e-4);
    EXPECT_NEAR(injected[0].q, 0.2705, 1e-4);
    EXPECT_NEAR(injected[1].q, 0.0665, 1e-4);
    EXPECT_NEAR(injected[2].q, -0.1086, 1e-4);
    EXPECT_NEAR(injected[4].p, -1.25, 1e-8);
    EXPECT_NEAR(injected[4].q, -0.5, 1e-8);
  }
}

TEST(Admittance, OfABranchIsThatOfTheManual) {
  Network network = two_buses({0, 1, 0.03, 0.04, 0.5, 0.9, 20}, 0, 0);
  network.buses[1].shunt_mw = 1;
  network.buses[1].shunt_mvar = 2;
  network.branches.push_back({1, 0, 0, 0.5, 0, 1, 0});  // beside the other one
  const Admittance y = make_admittance(network);
  ASSERT_EQ(y.nnz(), 4);
  ASSERT_EQ(y.diagonal, (std::vector<std::int64_t>{0, 3}));
  const Complex series = 1.0 / Complex(0.03, 0.04), beside(0, -2), half(0, 0.25), tap = std::polar(0.9, 20 * degree);
  const Complex expected[] = {(series + half) / 0.81 + beside, -series / std::conj(tap) - beside,
                              -series / tap - beside, series + half + beside + Complex(0.1, 0.2)};
  for (int k = 0; k < 4; ++k) EXPECT_TRUE(std::abs(Complex(y.g[k], y.b[k]) - expected[k]) <= 1e-13) << k;
}

TEST(Equations, TheJacobianIsTheDerivativeOfWhatIsInjected) {
  const auto grid = make_grid(30, 4);
  ASSERT_TRUE(grid.ok());
  const Equations e = make_equations(grid->network);
  ASSERT_TRUE(check_sorted(e.jacobian).ok());
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> angle(-0.5, 0.5), magnitude(0.8, 1.2);
  State at = e.start;
  for (double& a : at.angle) a = angle(random);
  for (double& m : at.magnitude) m = magnitude(random);
  std::vector<double> values(e.jacobian.nnz(), nan), b(e.unknowns(), nan), before(e.unknowns()), after(e.unknowns());
  const double most = stamp(e, at, values, b);
  double largest = 0;
  for (const double r : b) largest = std::max(largest, std::abs(r));
  EXPECT_EQ(most, largest);
  std::vector<double> unused(values.size());
  const double h = 1e-5;  // central differences: h² and eps / h, times entries of up to 100
  for (std::int32_t j = 0; j < e.unknowns(); ++j) {
    std::vector<double> x(e.unknowns(), 0.0), column(e.unknowns(), 0.0);
    State forward = at, backward = at;
    x[j] = h;
    update(e, x, forward);
    x[j] = -h;
    update(e, x, backward);
    (void)stamp(e, forward, unused, after);
    (void)stamp(e, backward, unused, before);
    for (std::int64_t k = e.jacobian.col_ptr[j]; k < e.jacobian.col_ptr[j + 1]; ++k)
      column[e.jacobian.row_idx[k]] = values[k];
    for (std::int32_t i = 0; i < e.unknowns(); ++i)
      EXPECT_TRUE(std::abs((before[i] - after[i]) / (2 * h) - column[i]) <= 1e-7) << i << " " << j;
  }
}

TEST(Equations, AMismatchThatIsNotANumberIsTheLargest) {
  const Network network = two_buses({0, 1, 0, 0.1, 0}, 5, 0);
  const Equations e = make_equations(network);
  State state = e.start;
  state.angle[1] = nan;
  std::vector<double> values(e.jacobian.nnz()), b(e.unknowns());
  EXPECT_TRUE(std::isnan(stamp(e, state, values, b)));
  EXPECT_TRUE(std::isnan(worst_mismatch(e, state).mismatch_pu));
}

TEST(PowerFlow, OfAGridIsTheOneItWasMadeFrom) {
  for (const std::int32_t buses : {2, 3, 10, 57, 500}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto grid = make_grid(buses, seed);
      ASSERT_TRUE(grid.ok());
      const Solution s = solved(grid->network);
      ASSERT_TRUE(s.converged) << buses << " " << seed;
      EXPECT_EQ(s.repivots, 0);
      double error = 0;
      for (std::int32_t i = 0; i < buses; ++i) {
        error = std::max(error, std::abs(s.state.magnitude[i] - grid->magnitude_pu[i]));
        error = std::max(error, std::abs(s.state.angle[i] - grid->angle_deg[i] * degree));
        EXPECT_FALSE(std::isnan(s.state.angle[i]) || std::isnan(s.state.magnitude[i]));
      }
      EXPECT_TRUE(error <= 1e-6) << buses << " " << seed << ": " << error;  // 1e-8 p.u. over small impedances
    }
  }
  EXPECT_EQ(make_grid(1, 1).status().code, StatusCode::invalid_argument);
}

TEST(PowerFlow, OfALargeGridConvergesFromAFlatStart) {
  const std::int32_t buses = simt::instrumented ? 1000 : 20'000;
  const auto grid = make_grid(buses, 1);
  ASSERT_TRUE(grid.ok());
  const Solution s = solved(grid->network, {.rung = &rung("90_klu")});
  EXPECT_TRUE(s.converged);
  EXPECT_LE(s.iterations(), 8);
}

TEST(PowerFlow, AGeneratorOutOfServiceMakesItsBusALoad) {
  auto network = *parse_case(wscc9);
  network.generators.pop_back();
  const Equations equations = make_equations(network);
  EXPECT_GE(equations.magnitude_of[2], 0);
  EXPECT_EQ(equations.unknowns(), 8 + 7);
  const Solution s = solved(network);
  EXPECT_TRUE(s.converged);
}

TEST(PowerFlow, IsolatedBusesTakeNoPart) {
  auto network = *parse_case(wscc9);
  const Solution expected = solved(network);
  network.buses.push_back({10, BusType::isolated, 1e6, 1e6, 0, 0, 0, 0});
  const Solution s = solved(network);
  ASSERT_TRUE(s.converged);
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(s.state.angle[i], expected.state.angle[i], 1e-12);
}

TEST(PowerFlow, ASlackBusAloneIsSolved) {
  Network network;
  network.buses = {{1, BusType::slack}};
  network.generators = {{0, 0, 0, 1}};
  const Solution s = solved(network);
  EXPECT_TRUE(s.converged);
  EXPECT_EQ(s.iterations(), 0);
}

TEST(PowerFlow, ASingularJacobianNamesItsBus) {
  // Two branches that cancel: nothing at the slack bus has an effect at bus 2.
  Network network = two_buses({0, 1, 0, 0.25, 0}, 5, 0);
  network.branches.push_back({0, 1, 0, -0.25, 0});
  const auto s = solve(make_equations(network));
  ASSERT_FALSE(s.ok());
  EXPECT_TRUE(s.status().code == StatusCode::numerically_singular ||
              s.status().code == StatusCode::structurally_singular)
      << s.status().to_string();
  EXPECT_EQ(s.status().where.columns, std::vector<std::int32_t>{1}) << s.status().to_string();
  EXPECT_TRUE(contains(s.status().message, "Jacobian")) << s.status().to_string();
}

TEST(PowerFlow, ALimitOnIterationsIsKept) {
  const auto grid = make_grid(50, 1);
  const Solution s = solved(grid->network, {.max_iterations = 2});
  EXPECT_FALSE(s.converged);
  EXPECT_EQ(s.iterations(), 2);
  for (const double tolerance : {0.0, -1.0, nan})
    EXPECT_EQ(solve(make_equations(grid->network), {.tolerance_pu = tolerance}).status().code,
              StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab::examples::power_flow
