#pragma once
// What a benchmark run says: one row a benchmark, as a line for people and as Google-Benchmark-style JSON for tools.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/energy.h"
#include "bench/name.h"
#include "model/limits.h"

namespace lulab::bench {

/// A part of a time, as a solver divides it.
struct Part {
  std::string name;
  double ms = 0;  // median of the samples
};

/// What a search from many columns on the device did in one run (symbolic/fill_limits.h).
struct FillFigures {
  std::int64_t edges = 0;  // entries of B read
  std::int64_t groups = 0;
  std::int64_t most_at_once = 0;      // columns of the largest group
  std::int64_t workspace_bytes = 0;   // that was allocated
  std::int64_t six_arrays_bytes = 0;  // n entries in each of six, for as many columns: Gaihre et al. 2021, Table 2
  std::int64_t pattern_bytes = 0;     // of B: 8 a column, 4 an entry
  std::int64_t moved_bytes = 0;       // that the kernels read and write at least: bench/fill_cases.h
  double bandwidth_bytes_per_s = 0;   // of a copy; 0: not known

  double workspace_ratio() const { return static_cast<double>(workspace_bytes) / static_cast<double>(pattern_bytes); }
};

struct Row {
  Name name;
  std::string error = {};          // why there is no time; empty: measured and verified
  std::string label = {};          // "pivots of sparse_leftlooking/00_reference", "cold L2", ...
  std::string chosen_rung = {};    // of a rung that chooses
  std::string choice_reason = {};  // likewise
  double time_ms = 0;              // median of the samples
  double min_ms = 0, max_ms = 0;
  double p10_ms = 0, p90_ms = 0;  // a tenth of the samples is smaller, a tenth larger
  std::int64_t samples = 0;
  std::vector<double> some_ms = {};   // at most max_stored_samples of them, as they came, evenly spread over the run
  std::vector<Part> parts = {};       // where the time goes; empty: not divided
  int threads = 1;                    // of the host that worked, the calling one among them
  double bound_ms = 0;                // 0: no bound is known for this phase or device
  std::string bound_by = {};          // flops, bytes, chain
  double backward_error = 0;          // of the last timed result, before refinement; NaN: the phase makes no factors;
                                      // step, first: the largest of all runs, of x as it was given back
  std::int64_t peak_bytes = 0;        // device memory; 0 for CPU rungs
  std::int64_t host_bytes = 0;        // phases first and run: the most host memory that one solver adds; 0: not known
  std::int64_t device_bytes = 0;      // likewise, device memory when x is there
  std::optional<Energy> energy = {};  // of the GPU in a step
  double flops = 0;                   // of one run of a dense measurement (bench/dense_ladder.h); 0: any other row
  double lu_residual = 0;             // dense measurements: DenseVerdict of the last timed result
  double growth = 0;
  std::int64_t solver_iterations = 0;  // of an iterative solver; 0: any other row
  std::optional<FillFigures> fill = {};
};

inline constexpr std::size_t max_stored_samples = 20;

/// Requires at least one.
double median(std::vector<double> times);

/// Median, smallest, largest, tenths and number of these times, and some of them.   Requires at least one.   Unit ms.
void set_times(Row& row, std::vector<double> ms);

/// Of a dense measurement; nullopt for other rows and without a time.
std::optional<double> gflops_per_s(const Row& row);

/// KLU as its users call it, with its own defaults and with the order of our analysis (bench/solver_phases.h).
inline constexpr std::string_view klu_peer_id = "peers/klu";
inline constexpr std::string_view klu_our_order_peer_id = "peers/klu_our_order";

/// Traversed edges: entries of B read a second. nullopt for other rows and without a time.
std::optional<double> edges_per_s(const Row& row);
/// 100 · moved_bytes / time / bandwidth of a copy; nullopt where one of them is not known.
std::optional<double> percent_of_copy_bandwidth(const Row& row);

/// What the speed of a row is told against: klu_refactor of the same matrix, f64; of the phases step and first the same
/// phase of KLU, under its own defaults or our order, whichever is faster; for dense measurements the library's
/// routine on the same shape in the same precision; for solves of --set alternatives the host's triangular solves; for
/// rungs of symbolic/ the one in use.
enum class Yardstick { klu, klu_step, klu_step_device, klu_first, klu_run, cusolver, cublas, host_solve, fill };
Yardstick yardstick_of(const Row& row);
/// "dense/90_cusolver"
std::string_view rung_of(Yardstick yardstick);

/// 100 · bound / time; nullopt without a bound or a time.
std::optional<double> percent_of_bound(const Row& row);

/// Rows in the order in which they were measured, and the yardsticks among them.
class Report {
 public:
  void add(Row row);
  const std::vector<Row>& rows() const { return rows_; }
  /// Time of yardstick_of(row) / time: above 1 the row is faster. nullopt: either is not measured, or the phase has
  /// no yardstick.
  std::optional<double> speed(const Row& row) const;
  /// Of a row with a time in the phases step and first, other than KLU's: the row of KLU that counts; nullptr: none has
  /// a time.
  const Row* klu_of(const Row& row) const;
  /// Why there is none: "peers/klu: numerically_singular ...; ..."; empty where there is one, or KLU was not measured.
  std::string why_no_klu(const Row& row) const;

 private:
  std::vector<Row> rows_;
  std::map<std::string, double> yardstick_ms_;  // by its row's name
};

/// Column titles and one line, without line ends. An error row says why instead of a time. Lines of dense measurements
/// have a column more: GFLOP/s.
std::string table_header(Yardstick yardstick);
std::string table_line(const Report& report, const Row& row);

/// Google Benchmark's layout: {"context": {...}, "benchmarks": [{"name", "run_name", "run_type", "real_time",
/// "cpu_time", "time_unit", ...}]}. Figures that are NaN or infinite are null.
nlohmann::ordered_json to_json(const Report& report, const nlohmann::ordered_json& context);

}  // namespace lulab::bench
