#pragma once
// A rung: one published way of factoring A = L·U, with the facts about itself. Adding one is a file in a stage's
// folder plus one line in that stage's rungs.def; tests, benchmark and command line pick it up from every_rung().

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/plan.h"
#include "core/simt/device.h"
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
  std::string_view id;     // "sparse_leftlooking/01_warp_per_column"; stable
  std::string_view stage;  // "sparse_leftlooking"
  std::string_view paper;  // source: section / algorithm
  std::string_view idea;   // one sentence
  Pivoting pivoting = Pivoting::fixed;
  Device device = Device::cpu;
  Dependencies dependencies = Dependencies::none;
  bool deterministic = true;     // bitwise equal results run to run
  bool refactors = true;         // has a refactor() of its own that is cheaper than factor()
  bool exact_pattern = true;     // factors store exactly the structural fill (supernodal wrappers may store more)
  bool perturbs_pivots = false;  // heeds FactorOptions::perturb_pivots
  double max_dense_bytes = 0;    // > 0: works on a dense n x n copy; refuse when it would need more
  std::int32_t max_n = 0;        // > 0: takes no larger matrix, whatever the scalar type
  std::string_view fault =
      {};  // not empty: wrong by design, kept to teach why; runs only where it is asked for by name
};

struct FactorOptions {
  double pivot_tol =
      0.001;            // threshold pivoting: keep the diagonal when |diag| >= pivot_tol · max|column| (KLU's default)
  int group_lanes = 8;  // sparse_leftlooking/04: lanes that share a column where levels are wide; 1, 2, 4, ..., 32
  int group_warps = 2;  // sparse_leftlooking/04: warps that share a column where levels are narrow; 1, 2, 4, 8, 16
  int warps_per_sm = 0;           // sparse_leftlooking/01 to 03: at most so many resident; 0: as many as pay
  bool shuffle_nonzeros = false;  // sparse_leftlooking/01 to 03: rows of L in no order in each column, as they come
                                  // from a pivoting factorization
  int threads = 0;         // of rungs that use several threads of the CPU, at most 64; 0: what the matrix keeps busy
  int total_warps = 0;     // sparse_hybrid/03, 04: shared out among the columns of a level; 0: as many as the device
                           // holds; -1: never less than a large block a column
  int stream_columns = 0;  // sparse_hybrid/03, 04: most columns of a level in stream mode; 0: by the device; -1: none
  int dense_columns = 0;   // sparse_hybrid/01 to 04: at most so many in memory at once; 0: a quarter of the memory
  /// Of rungs that perturb: a pivot smaller than this times max |P·R·A·C·Q| is replaced by that, with its sign, and counted
  /// in Statistics::perturbed_pivots. At most 1; 0: none is.
  double perturb_pivots = 0;
  /// sparse_syncfree/10: device memory in units of what L and U take (values and rows), above which it does without tables
  /// that save time; 8 MiB are always allowed.
  double memory_ratio = 4;
};

/// Arrays of a rung on the GPU, in device memory; null where it has none that are laid out like this.
template <class T>
struct DeviceArrays {
  const T* a = nullptr;   // (nnz(A)) as last uploaded
  const T* lu = nullptr;  // (nnz(L+U)) of the last factor() or refactor(), as download() would give them
};

struct Rung;

/// What a rung that stands for several chose in analyze().
struct Choice {
  const Rung* rung = nullptr;
  std::string reason;  // one sentence
};

/// One factorization at work. Calls in order: analyze, then upload + factor, then any number of upload + refactor;
/// wait() before download(). Rungs on the GPU only enqueue in upload/factor/refactor and report in wait().
///
/// Errors    invalid_argument (wrong shape, call order, a value of A that is not finite), numerically_singular from
///           factor(), needs_repivot from refactor() or where pivots are fixed (where.columns = column in A's numbering),
///           out_of_memory, device_error, deadlock. After an error the factors are not to be had: download() answers
///           with it until a later factor() or refactor() succeeds. Factors that are handed out are finite, their pivots
///           not zero: CPU wrappers of libraries look for overflow as late as download().
template <class T>
class Factorizer {
 public:
  virtual ~Factorizer() = default;
  /// Takes the pattern-only results; they must outlive the factorizer.
  virtual Status analyze(const Analysis& analysis) = 0;
  /// values: (nnz(A)) of the analyzed pattern, in its order.
  virtual Status upload(std::span<const T> values) = 0;
  virtual Status factor() = 0;
  /// Same pattern and pivots as the last factor(), the values last uploaded.
  virtual Status refactor() { return factor(); }
  virtual Status wait() { return {}; }
  virtual Result<Factors<T>> download() = 0;
  /// The values of L and U alone, in the order of download()'s: for who keeps the Factors of an earlier refactorization.
  /// They are there on return.
  ///
  /// Shapes    values: (nnz(L+U)).
  /// Errors    as download(); invalid_argument for another size.
  virtual Status download_values(std::span<T> values) {
    const auto factors = download();
    LULAB_RETURN_IF_ERROR(factors.status());
    LULAB_RETURN_IF_ERROR(check_size(values.size(), factors->values.size()));
    std::copy(factors->values.begin(), factors->values.end(), values.begin());
    return {};
  }
  /// What is known of the last factor() or refactor() after wait(), without download(): peak_bytes, perturbed_pivots.
  virtual Statistics statistics() const { return {}; }
  /// They stay where they are until the next analyze(); what is in them is enqueued on stream().
  virtual DeviceArrays<T> device_arrays() const { return {}; }
  /// Of a rung that chooses, after analyze(); else nullptr.
  virtual const Choice* choice() const { return nullptr; }
  /// The stream the work is enqueued on; nullptr for CPU rungs.
  virtual simt::Stream* stream() { return nullptr; }

 protected:
  static Status check_size(std::size_t given, std::size_t nnz) {
    if (given == nnz) return {};
    return Status::error(StatusCode::invalid_argument, "download_values(): room for " + std::to_string(given) +
                                                           " values was given, L and U have " + std::to_string(nnz));
  }
};

/// Errors    invalid_argument: not in 0..1.
Status check_perturb_pivots(double perturb_pivots);

template <class T>
class BatchFactorizer;  // core/batch_factorizer.h

struct Rung {
  RungFacts facts;
  std::unique_ptr<Factorizer<float>> (*make_float)(const FactorOptions&) = nullptr;  // nullptr: no such scalar type
  std::unique_ptr<Factorizer<double>> (*make_double)(const FactorOptions&) = nullptr;
  // Batches of the rung's own; where there are none make_batch() takes one system after another.
  std::unique_ptr<BatchFactorizer<float>> (*make_batch_float)(const FactorOptions&) = nullptr;
  std::unique_ptr<BatchFactorizer<double>> (*make_batch_double)(const FactorOptions&) = nullptr;

  template <class T>
  std::unique_ptr<Factorizer<T>> make(const FactorOptions& options = {}) const {
    if constexpr (std::is_same_v<T, float>)
      return make_float ? make_float(options) : nullptr;
    else
      return make_double ? make_double(options) : nullptr;
  }
  template <class T>
  bool supports() const {
    return std::is_same_v<T, float> ? make_float != nullptr : make_double != nullptr;
  }
};

/// Every rung of every stage, in ladder order.
std::span<const Rung* const> every_rung();

/// Those of every_rung() that have no fault: what runs where no rung is named.
std::span<const Rung* const> all_rungs();

/// The rung of `rungs` with this id or with this unique part of an id ("01_warp_per_column", "klu").
/// Errors    invalid_argument listing the ids there are.
Result<const Rung*> find_rung(std::span<const Rung* const> rungs, std::string_view id);

}  // namespace lulab
