#include "examples/power_flow/grid.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include <fmt/format.h>

#include "examples/power_flow/equations.h"

namespace lulab::examples::power_flow {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  /// Uniform; the same numbers with every standard library.
  double between(double low, double high) {
    return low + (high - low) * std::ldexp(static_cast<double>(random_() >> 11), -53);
  }
  bool happens(double probability) { return between(0, 1) < probability; }

 private:
  std::mt19937_64 random_;
};

Branch make_line(std::int32_t from, std::int32_t to, Draw& draw) {
  const double x = draw.between(0.03, 0.1);
  return {from, to, x * draw.between(0.02, 0.06), x, draw.between(0.02, 0.06), 1, 0};
}

Branch make_transformer(std::int32_t from, std::int32_t to, Draw& draw) {
  const double x = draw.between(0.05, 0.12), shift = draw.happens(0.1) ? draw.between(-1, 1) : 0;
  return {from, to, x * draw.between(0.01, 0.03), x, 0, draw.between(0.97, 1.03), shift};
}

/// Buses lie row by row in a square. Each has a branch to the left or up, and with some probability both.
void connect(Network& network, std::int32_t width, Draw& draw) {
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(network.buses.size()); ++i) {
    const std::int32_t left = i % width > 0 ? i - 1 : -1, up = i >= width ? i - width : -1;
    const bool both = left >= 0 && up >= 0 && draw.happens(0.4), prefer_left = draw.happens(0.5);
    for (const std::int32_t other : {left, up}) {
      const bool preferred = (other == left) == prefer_left || left < 0 || up < 0;
      if (other >= 0 && (both || preferred))
        network.branches.push_back(draw.happens(0.12) ? make_transformer(other, i, draw) : make_line(other, i, draw));
    }
  }
}

/// The number of branches from each bus to the nearest one that holds its voltage.
std::vector<int> distances(const Network& network) {
  const std::size_t n = network.buses.size();
  std::vector<std::vector<std::int32_t>> neighbours(n);
  for (const Branch& branch : network.branches) {
    neighbours[branch.from].push_back(branch.to);
    neighbours[branch.to].push_back(branch.from);
  }
  std::vector<int> distance(n, -1);
  std::vector<std::int32_t> queue;
  for (std::size_t i = 0; i < n; ++i)
    if (network.buses[i].type != BusType::pq) distance[i] = 0, queue.push_back(static_cast<std::int32_t>(i));
  for (std::size_t next = 0; next < queue.size(); ++next)
    for (const std::int32_t j : neighbours[queue[next]])
      if (distance[j] < 0) distance[j] = distance[queue[next]] + 1, queue.push_back(j);
  return distance;
}

std::size_t slack_of(const Network& network) {
  return std::ranges::find(network.buses, BusType::slack, &Bus::type) - network.buses.begin();
}

void choose_power_flow(Grid& grid, std::int32_t width, Draw& draw) {
  const std::vector<int> distance = distances(grid.network);
  for (std::size_t i = 0; i < distance.size(); ++i) {
    const auto column = static_cast<double>(i % width), row = static_cast<double>(i / width);
    const double wave = 3 * std::sin(2 * std::numbers::pi * column / 60) * std::cos(2 * std::numbers::pi * row / 60);
    const double fall = 2.5 * (1 - std::pow(0.4, distance[i]));
    grid.angle_deg.push_back(wave - fall + draw.between(-0.2, 0.2));
    grid.magnitude_pu.push_back(1.03 - 0.01 * std::min(distance[i], 5) + draw.between(-0.005, 0.005));
  }
  const double at_slack = grid.angle_deg[slack_of(grid.network)];
  for (double& angle : grid.angle_deg) angle -= at_slack;
}

/// What a bus injects becomes its load, or its generator where the bus holds its voltage.
void set_powers(Grid& grid, Draw& draw) {
  Network& network = grid.network;
  const Equations equations = make_equations(network);
  State state{grid.angle_deg, grid.magnitude_pu};
  for (double& angle : state.angle) angle *= std::numbers::pi / 180;
  const std::vector<Power> injected = injections(equations, state);
  for (std::size_t i = 0; i < network.buses.size(); ++i) {
    Bus& bus = network.buses[i];
    const double mw = injected[i].p * network.base_mva, mvar = injected[i].q * network.base_mva;
    if (bus.type == BusType::pq) {
      bus.load_mw = -mw, bus.load_mvar = -mvar;
    } else {
      bus.load_mw = draw.between(0, 20), bus.load_mvar = draw.between(0, 5);
      network.generators.push_back(
          {static_cast<std::int32_t>(i), mw + bus.load_mw, mvar + bus.load_mvar, grid.magnitude_pu[i]});
    }
  }
}

}  // namespace

Result<Grid> make_grid(std::int32_t buses, std::uint64_t seed) {
  if (buses < 2)
    return Status::error(StatusCode::invalid_argument, fmt::format("a grid has at least 2 buses, not {}", buses));
  Draw draw(seed);
  Grid grid;
  grid.network.buses.resize(buses);
  for (std::int32_t i = 0; i < buses; ++i) {
    Bus& bus = grid.network.buses[i];
    bus.id = i + 1;
    bus.type = draw.happens(0.125) ? BusType::pv : BusType::pq;
    if (draw.happens(0.05)) bus.shunt_mvar = draw.between(0, 10);
  }
  const auto width = static_cast<std::int32_t>(std::ceil(std::sqrt(buses)));
  const std::int32_t middle = buses / 2 / width * width + width / 2;  // all losses come from there
  grid.network.buses[std::min(middle, buses - 1)].type = BusType::slack;
  connect(grid.network, width, draw);
  choose_power_flow(grid, width, draw);
  set_powers(grid, draw);
  return grid;
}

}  // namespace lulab::examples::power_flow
