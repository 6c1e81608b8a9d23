#include "core/matrix/generate.h"

#include <new>
#include <string>

#include <fmt/format.h>

#include "core/matrix/generate_families.h"

namespace lulab {

namespace {

constexpr std::string_view exact = "exact";
constexpr std::string_view square = "rounded down to m^2";
constexpr std::string_view cube = "rounded down to m^3";

constexpr GeneratorFamily table[] = {
    {"power_grid", "post-layout power grid: three metal layers, vias, package leads, decoupling capacitors",
     "rounded down to a square grid with its layers and leads", false, families::power_grid},
    {"sram_array", "memory array: six-transistor cells on word and bit lines of high fan-out",
     "rounded down to 2m^2 + 3m, at least 5", false, families::sram_array},
    {"logic_rent", "logic gates with RC wires, connected by Rent's rule, and a clock net",
     "rounded down to whole gates, at least 4", false, families::logic_rent},
    {"ladder", "one long RC ladder with gain stages: tridiagonal", exact, false, families::ladder},

    {"grid2d", "2-D grid of random conductances, slightly unsymmetric", square, false, families::grid2d},
    {"grid3d", "3-D grid of random conductances, slightly unsymmetric", cube, false, families::grid3d},
    {"convection2d", "2-D convection-diffusion, upwind, strongly unsymmetric", square, false, families::convection2d},
    {"convection3d", "3-D convection-diffusion, upwind, strongly unsymmetric", cube, false, families::convection3d},

    {"arrow_first", "dense first row, column and diagonal: fills completely in natural order", exact, false,
     families::arrow_first},
    {"arrow_last", "dense last row, column and diagonal: does not fill in natural order", exact, false,
     families::arrow_last},
    {"banded", "full band of half width `degree`, diagonally dominant", exact, false, families::banded},
    {"dense_row", "sparse random matrix with one dense row, dominant by columns", exact, false, families::dense_row},
    {"dense_column", "sparse random matrix with one dense column, dominant by rows", exact, false,
     families::dense_column},
    {"random_dominant", "`degree` random entries per row, diagonally dominant", exact, false,
     families::random_dominant},
    {"random", "`degree` random entries per row, diagonal not dominant: needs pivoting", exact, false,
     families::random_unsymmetric},

    {"badly_scaled", "random_dominant with rows and columns scaled by powers of two up to 10^±`decades`", exact, false,
     families::badly_scaled},
    {"zero_diagonal", "no nonzero on the diagonal; a row matching makes it dominant", exact, false,
     families::zero_diagonal},
    {"wilkinson_growth", "dense lower triangle whose pivots grow to 2^(n-1) under partial pivoting",
     "exact, at most 1024", false, families::wilkinson_growth},
    {"structurally_singular", "two columns share their only row: structural rank n - 1", exact, true,
     families::structurally_singular},
    {"numerically_singular", "two columns form an exact 2 x 2 block of rank 1: numerical rank n - 1", exact, true,
     families::numerically_singular},
};

}  // namespace

std::span<const GeneratorFamily> generator_families() { return table; }

Result<CscMatrix<double>> generate(std::string_view family, const GenerateOptions& options) {
  const auto refuse = [](std::string message) {
    return Status::error(StatusCode::invalid_argument, std::move(message));
  };
  const auto found = std::ranges::find(table, family, &GeneratorFamily::name);
  if (found == std::end(table)) {
    std::string names;
    for (const GeneratorFamily& f : table) names += (names.empty() ? "" : ", ") + std::string(f.name);
    return refuse(fmt::format("unknown family '{}'; choose one of: {}", family, names));
  }
  if (options.n < 1) return refuse(fmt::format("n = {}, but at least 1 is needed", options.n));
  if (options.degree < 0 || options.degree > 1000000)
    return refuse(fmt::format("degree = {}; expected 0..1000000", options.degree));
  if (options.decades < 0 || options.decades > 100)
    return refuse(fmt::format("decades = {}; expected 0..100", options.decades));
  if (found->make == families::wilkinson_growth && options.n > 1024)
    return refuse(
        fmt::format("n = {}, but wilkinson_growth reaches 2^(n-1), which exceeds a double for n > 1024", options.n));
  try {
    return found->make(options);
  } catch (const std::bad_alloc&) {
    return Status::error(StatusCode::out_of_memory,
                         fmt::format("not enough memory for {} with n = {}", family, options.n));
  }
}

std::vector<double> random_vector(std::int32_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& v : x) v = random.value();
  return x;
}

}  // namespace lulab
