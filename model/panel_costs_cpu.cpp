#include "model/panel_costs_cpu.h"

#include <algorithm>
#include <vector>

namespace lulab {
namespace {

constexpr double processor =
    1.5;  // the constants below were measured on a processor with faster threads than most servers have
constexpr double start_cpu_us = 0.5 * processor;
constexpr double column_us = 0.003 * processor;
constexpr double find_column_us = 0.003 * processor;     // per entry of U: find a column of L
constexpr double multiply_add_us = 0.00013 * processor;  // of columns side by side in vector registers
constexpr double short_us =
    0.0005 * processor;  // extra for each of the first rows of a column of L, which are processed one by one
constexpr double first_rows = 8;
constexpr double work_per_thread_us =
    300 * processor;                // with less work per thread, starting one more thread does not pay
constexpr double efficiency = 0.7;  // of several threads, which wait for each other and share memory

}  // namespace

double least_cpu_us(std::int32_t n, std::int64_t entries) {
  return start_cpu_us + column_us * n + find_column_us * 0.5 * static_cast<double>(entries - n);
}

double multiply_adds_us(double multiply_adds, int cores) {
  return multiply_add_us * multiply_adds / std::max(1.0, efficiency * cores);
}

CpuCosts cpu_costs(const FilledPattern& f, int cores) {
  CpuCosts costs;
  struct Column {
    double finished;  // its time, if every column has a thread of its own
    double length;    // entries of L
    double step;      // time of an update by it
  };
  std::vector<Column> columns(f.n);
  for (std::int32_t j = 0; j < f.n; ++j) {
    double steps = 0, waited = 0;  // waited: the longest that a step had to wait, less the steps before it
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) {
      const Column& k = columns[f.row_idx[p]];
      waited = std::max(waited, k.finished - steps);
      steps += k.step;
      costs.multiply_adds += k.length;
    }
    costs.work_us += steps + column_us;
    const auto length = static_cast<double>(f.col_ptr[j + 1] - f.diag[j] - 1);
    columns[j] = {waited + steps + column_us, length,
                  find_column_us + multiply_add_us * length + short_us * std::min(length, first_rows)};
    costs.chain_us = std::max(costs.chain_us, columns[j].finished);
  }
  return on_cores(costs, cores);
}

CpuCosts on_cores(CpuCosts costs, int cores) {
  if (costs.work_us == 0) return costs;  // of an empty matrix
  const double busy = std::min(costs.work_us / work_per_thread_us, costs.work_us / costs.chain_us);
  costs.threads = static_cast<int>(std::clamp(busy, 1.0, static_cast<double>(std::max(cores, 1))));
  const double speedup = std::max(1.0, efficiency * costs.threads);
  costs.predicted_us = start_cpu_us + costs.work_us / speedup + (costs.threads > 1 ? costs.chain_us : 0);
  return costs;
}

}  // namespace lulab
