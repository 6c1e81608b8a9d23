#pragma once
// How a factorization is asked for: options that several rungs know, and by name those of a single rung.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"

namespace lulab {

/// An option of one rung, stated in RungFacts::options.
struct RungOption {
  std::string_view name;
  double default_value = 0;
  double least = 0, most = 0;
  std::string_view meaning = {};  // one sentence, with the unit
};

struct FactorOptions {
  /// Threshold pivoting: keep the diagonal when |diag| >= pivot_tol · max |column| (KLU's default). 0 to 1.
  double pivot_tol = 0.001;
  /// Rungs with RungFacts::perturbs_pivots: a pivot smaller than this times max |P·R·A·C·Q| is replaced by that value,
  /// with its sign, and counted in Statistics::perturbed_pivots. 0 to 1; 0: no pivot is replaced.
  double perturb_pivots = 0;
  /// Rungs on the CPU: at most so many threads, up to 64; 0: as many as the matrix keeps busy.
  int threads = 0;
  /// Options of a single rung by name: {{"group_lanes", 16}}.
  std::map<std::string, double, std::less<>> of_rung = {};

  /// Sets an option of a rung from text: "group_lanes=16".
  /// Errors    invalid_argument: not NAME=VALUE with a finite number.
  Status set(std::string_view text);
  /// The value of an option, or its default.
  double get(const RungOption& option) const;
  /// Without the options of other rungs: for a caller that gives one set of options to several rungs.
  FactorOptions only(std::span<const RungOption> known) const;
};

/// Errors    invalid_argument: pivot_tol or perturb_pivots not in 0..1, an option that `known` does not list, or one
///           outside its range. The message lists the options there are.
Status check_options(const FactorOptions& options, std::string_view rung_id, std::span<const RungOption> known);

}  // namespace lulab
