#pragma once
// A matrix to be timed on, with everything that is computed once from its pattern.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/name.h"
#include "core/matrix/csc.h"
#include "driver/choose_rung.h"
#include "model/limits.h"
#include "preprocess/preprocess.h"

namespace lulab::bench {

/// Where a matrix comes from; it is read or generated only when its turn comes.
struct ProblemSource {
  std::string name;  // as in benchmark names
  std::function<Result<CscMatrix<double>>()> load;
  bool dense = false;       // every entry is stored: dense rungs only
  std::string folder = {};  // of the sequence that it is a step of; empty: of none
};

enum class Set {
  quick,
  all,
  dense,         // no sparse matrices: the dense ladder on matrices made on the device (bench/dense_ladder.h)
  gsofa,         // the evaluation of Gaihre et al. 2021 (bench/gsofa_set.h)
  alternatives,  // the sparse matrices of quick: what else could solve with them (bench/alternatives.h)
};
/// Errors    invalid_argument.
Result<Set> parse_set(std::string_view text);

/// The matrices of a set: real ones where the collection has them, else generated circuits, grids, and dense n=...
/// problems. None for Set::dense.
std::vector<ProblemSource> problems_of(Set set);
/// A Matrix Market file; its name is the file's without folders and extension, except that step files of a sequence
/// ("seq_x/A_00.mtx.gz") take the folder's name.
ProblemSource problem_from_file(const std::string& path);

/// FNV-1a over sizes, pattern and value bits: equal matrices have equal hashes on every machine.
std::uint64_t matrix_hash(const CscView<double>& a);

/// Values of A, column by column, and b.
struct System {
  std::vector<double> values, b;
};

/// As matrix_hash().
std::uint64_t sequence_hash(std::span<const System> systems);

struct Problem {
  std::string name;
  CscMatrix<double> a;
  bool dense = false;
  std::vector<System> sequence;                    // all steps of A's sequence, in order: none, or several
  PreprocessOptions requested;                     // as given to load_problem()
  double expected_steps = default_expected_steps;  // of the phases step, first and run
  bool prepare_at_once = false;                    // likewise
  PreprocessOptions preprocess;                    // order: the one that was chosen
  Analysis analysis;
  Limits limits_f32, limits_f64;
  std::uint64_t hash = 0;

  const Limits& limits(Scalar scalar) const { return scalar == Scalar::f32 ? limits_f32 : limits_f64; }
};

/// Each entry times a factor in [0.9, 1.1]: close enough for the same pivots, far enough that stale factors show.
std::vector<double> perturbed(std::span<const double> values, std::uint64_t seed);

/// Loads and analyzes. Dense problems keep their natural order and values.
/// Errors    those of load() and analyze(); invalid_argument when the matrix is not square; of the steps of a sequence
///           those of core/matrix/sequence_files.h.
Result<Problem> load_problem(const ProblemSource& source, const PreprocessOptions& preprocess,
                             const DeviceConstants& constants);

}  // namespace lulab::bench
