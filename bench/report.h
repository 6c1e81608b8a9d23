#pragma once
// What a benchmark run says: one row a benchmark, as a line for people and as Google-Benchmark-style JSON for tools.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/limits.h"
#include "bench/name.h"

namespace lulab::bench {

struct Row {
  Name name;
  std::string error;   // why there is no time; empty: measured and verified
  std::string label;   // "pivots of sparse_leftlooking/00_reference", "cold L2", ...
  double time_ms = 0;  // median of the samples
  double min_ms = 0, max_ms = 0;
  std::int64_t samples = 0;
  double bound_ms = 0;          // 0: no bound is known for this phase or device
  std::string bound_by;         // flops, bytes, chain
  double backward_error = 0;    // of the last timed result, before refinement; NaN: the phase makes no factors
  std::int64_t peak_bytes = 0;  // device memory; 0 for CPU rungs
};

/// 100 · bound / time; nullopt without a bound or a time.
std::optional<double> percent_of_bound(const Row& row);

/// Rows in the order in which they were measured, and klu_refactor of each matrix among them (f64, the yardstick).
class Report {
 public:
  void add(Row row);
  const std::vector<Row>& rows() const { return rows_; }
  /// klu_refactor(matrix) / time: above 1 the row is faster. nullopt: either is not measured, or the phase is no
  /// factorization.
  std::optional<double> speed_against_klu(const Row& row) const;

 private:
  std::vector<Row> rows_;
  std::map<std::string, double> klu_refactor_ms_;
};

/// Column titles and one line, without line ends. An error row says why instead of a time.
std::string table_header();
std::string table_line(const Report& report, const Row& row);

/// Google Benchmark's layout: {"context": {...}, "benchmarks": [{"name", "run_name", "run_type", "real_time",
/// "cpu_time", "time_unit", ...}]}. Figures that are NaN or infinite are null.
nlohmann::ordered_json to_json(const Report& report, const nlohmann::ordered_json& context);

}  // namespace lulab::bench
