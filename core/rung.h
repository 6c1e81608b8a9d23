#pragma once
// A rung: one published way of factoring A = L·U, with the facts about itself. Adding one is a file in a stage's
// folder plus one line in that stage's rungs.def; tests, benchmark and command line pick it up from every_rung().

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include "core/factor_options.h"
#include "core/scalar.h"
#include "core/status.h"

namespace lulab {

enum class Pivoting {
  fixed,      // pivots stay on the plan's diagonal
  threshold,  // row pivoting that prefers the diagonal when it is >= pivot_tol · max
  partial,    // the largest entry of the column
};

/// What a column waits for, hence which chain of steps bounds a rung from below.
enum class Dependencies {
  none,     // a sequential program, or one whose steps do not follow the pattern (dense)
  levels,   // all columns of a level, then a barrier: levels x the cheapest of launch, graph node, grid barrier
  walking,  // a warp or block walks the U entries of its column in order and waits for each: walking chain x hop
  fine,     // independent U entries of one column proceed in parallel: fine chain x hop
  values,   // values of L are awaited one by one, or levels need not meet: levels x a hop without flag
  panels,   // the same, but columns of a panel are eliminated inside one block: chain of panels x that hop
};

enum class Device { cpu, gpu };  // gpu: through core/simt, so the simulator where the build has no CUDA

struct RungFacts {
  std::string_view id = {};     // "sparse_leftlooking/01_warp_per_column"; stable
  std::string_view stage = {};  // "sparse_leftlooking"
  std::string_view paper = {};  // source: section / algorithm
  std::string_view idea = {};   // one sentence
  Pivoting pivoting = Pivoting::fixed;
  Device device = Device::cpu;
  Dependencies dependencies = Dependencies::none;
  bool deterministic = true;     // bitwise equal results run to run
  bool refactors = true;         // Phase::refactor is cheaper than Phase::factor
  bool exact_pattern = true;     // factors store exactly the structural fill (supernodal wrappers may store more)
  bool perturbs_pivots = false;  // uses FactorOptions::perturb_pivots
  bool uses_threads = false;     // and FactorOptions::threads; finds out in its first refactor()s how many pay
  double max_dense_bytes = 0;    // > 0: works on a dense n x n copy; refuses when it would need more
  std::int32_t max_n = 0;        // > 0: takes no larger matrix, whatever the scalar type
  std::string_view fault =
      {};  // not empty: wrong by design, kept to teach why; runs only where it is asked for by name
  std::span<const RungOption> options = {};  // those of this rung alone (FactorOptions::of_rung)
  bool takes_batches = false;  // in device memory, where they stay; otherwise they go through it one by one
};

/// Of a backend that belongs to no rung of the ladder: fixed pivots, no options.
inline constexpr RungFacts fixed_pivots_facts = {.id = "(unnamed)"};

template <class T>
class Backend;  // core/backend.h
template <class T>
class Factorizer;  // core/factorizer.h

template <class T>
using MakeBackend = std::unique_ptr<Backend<T>> (*)(const FactorOptions&);

struct Rung {
  RungFacts facts;
  std::tuple<MakeBackend<float>, MakeBackend<double>> make_backend = {};  // null: the rung has no such scalar type

  /// null: the rung has no such scalar type. The Rung must outlive the Factorizer.
  template <class T>
  std::unique_ptr<Factorizer<T>> make(const FactorOptions& options = {}) const;

  template <class T>
  bool supports() const {
    return std::get<MakeBackend<T>>(make_backend) != nullptr;
  }
};

template <class B, class T>
std::unique_ptr<Backend<T>> make_backend(const FactorOptions& options) {
  if constexpr (std::is_constructible_v<B, const FactorOptions&>)
    return std::make_unique<B>(options);
  else
    return std::make_unique<B>();
}

/// A rung of every scalar type: OfScalar<T> is its Backend<T>, made from FactorOptions or from nothing.
template <template <class> class OfScalar>
constexpr Rung rung_of(const RungFacts& facts) {
  return {facts, {make_backend<OfScalar<float>, float>, make_backend<OfScalar<double>, double>}};
}

/// A rung in double alone.
template <class OfDouble>
constexpr Rung rung_in_double(const RungFacts& facts) {
  return {facts, {nullptr, make_backend<OfDouble, double>}};
}

/// Every rung of every stage, in ladder order.
std::span<const Rung* const> every_rung();

/// Those of every_rung() that have no fault: what runs where no rung is named.
std::span<const Rung* const> all_rungs();

/// The place of this id, or of the one id with this part ("01_warp_per_column", "klu").
/// Errors    invalid_argument listing the ids there are.
Result<std::size_t> find_id(std::span<const std::string_view> ids, std::string_view name);

/// The rung of `rungs` with this id or with this unique part of an id ("01_warp_per_column", "klu").
/// Errors    invalid_argument listing the ids there are.
Result<const Rung*> find_rung(std::span<const Rung* const> rungs, std::string_view id);

}  // namespace lulab
