#include "examples/transient_circuit/monte_carlo.h"

#include <cmath>

#include <gtest/gtest.h>

#include "examples/transient_circuit/transient.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab {

namespace examples {
namespace {

SolverOptions by_value() {
  SolverOptions options;
  options.first = FirstFactorization::klu;  // branch equations have a zero on the diagonal
  return options;
}

/// 10 V over two resistors, and a diode beside the lower one.
Netlist divider(bool with_diode) {
  Netlist circuit;
  const Node in = circuit.node("in"), out = circuit.node("out");
  circuit.add(VoltageSource{"v1", in, ground, Constant{10}});
  circuit.add(Resistor{"r1", in, out, 1000});
  circuit.add(Resistor{"r2", out, ground, 1000});
  if (with_diode) circuit.add(Diode{"d1", out, ground});
  return circuit;
}

TEST(MonteCarlo, SpreadOfADividerIsThatOfItsResistors) {
  const MonteCarloOptions options = {.samples = 4000, .tolerance = 0.1, .seed = 5};
  const auto run = run_monte_carlo(divider(false), &sparse_leftlooking::threads, options, by_value());
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  const Spread in = spread_of(run->x, 0, options.samples), out = spread_of(run->x, 1, options.samples);
  EXPECT_TRUE(std::abs(in.mean - 10) <= 1e-12) << in.mean;
  EXPECT_TRUE(in.sigma <= 1e-12) << in.sigma;
  // dv = 10 V · R1 R2 / (R1 + R2)² · (δ2 - δ1), δ evenly in ±0.1: sigma = 2.5 · √2 · 0.1 / √3
  // tol: 4 times the deviation of mean and sigma of 4000 samples
  const double sigma = 2.5 * std::sqrt(2.0 / 3) * 0.1;
  EXPECT_TRUE(std::abs(out.mean - 5) <= 4 * sigma / std::sqrt(4000.0)) << out.mean;
  EXPECT_TRUE(std::abs(out.sigma - sigma) <= 4 * sigma / std::sqrt(2 * 4000.0)) << out.sigma;
  EXPECT_EQ(run->solver.failed, 0);
}

TEST(MonteCarlo, EverySampleIsTheOperatingPointOfItsCircuit) {
  const MonteCarloOptions options = {.samples = 20, .tolerance = 0.5, .seed = 3};
  const auto run = run_monte_carlo(divider(true), &sparse_leftlooking::threads, options, by_value());
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_GT(run->iterations, 1);
  for (std::int32_t s = 0; s < options.samples; ++s) {
    const Netlist varied = vary_resistors(divider(true), options.tolerance, options.seed + s);
    auto newton = Newton::create(varied, &sparse_leftlooking::klu);
    ASSERT_TRUE(newton.ok());
    std::vector<double> x(newton->mna().size());
    ASSERT_TRUE(operating_point(*newton, x).ok());
    for (std::size_t i = 0; i < x.size(); ++i)  // tol: NewtonOptions::relative, of either
      EXPECT_TRUE(std::abs(run->x[x.size() * s + i] - x[i]) <= 2e-6 * std::abs(x[i]) + 2e-9) << s << " " << i;
  }
  EXPECT_TRUE(spread_of(run->x, 1, options.samples).sigma > 1e-4) << "all samples are one";
}

TEST(MonteCarlo, RefusesWhatMakesNoSense) {
  const auto code = [](const MonteCarloOptions& options, const Rung& rung) {
    return run_monte_carlo(divider(false), &rung, options).status().code;
  };
  EXPECT_EQ(code({.samples = 0}, sparse_leftlooking::threads), StatusCode::invalid_argument);
  EXPECT_EQ(code({.tolerance = 1}, sparse_leftlooking::threads), StatusCode::invalid_argument);
  EXPECT_EQ(code({.tolerance = std::nan("")}, sparse_leftlooking::threads), StatusCode::invalid_argument);
  EXPECT_EQ(code({}, sparse_leftlooking::klu), StatusCode::not_implemented);
}

}  // namespace
}  // namespace examples
}  // namespace lulab
