#pragma once
// What klu_analyze() finds: the pattern as it was given, and KLU's order of it.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "driver/solver.h"

namespace lulab::klu_shape {

/// Of a block C, which it may change, to `order`. Returns nnz(L) or what it knows of it; 0: it failed.
using UserOrder = std::function<double(std::span<int> Cp, std::span<int> Ci, std::span<int> order)>;

constexpr double much_work = 1e9;                      // flops of a factorization
constexpr std::int64_t most_kept_entries = 2'000'000;  // of L and U, some 100 MB, once the pattern was freed

enum class Ordering { amd = 0, colamd = 1, given = 2, user = 3 };

struct OrderOptions {
  Ordering ordering = Ordering::amd;
  bool blocks = true;
  double max_work = 0;                          // of the search for a matching, times nnz(A); 0: no limit
  UserOrder user_order = {};                    // of Ordering::user
  std::span<const std::int32_t> rows, columns;  // of Ordering::given: permutations, or empty for the identity
};

/// A(p,q) is block upper triangular. -1: not computed.
struct BlockOrder {
  std::vector<std::int32_t> p, q, block_ptr;
  std::vector<double> block_lnz;
  std::int32_t biggest = 1, outside = 0;  // columns of the largest block, entries outside of the blocks
  std::int32_t structural_rank = -1;
  double symmetry = -1, lnz = -1, flops = -1;
  double work = 0;       // of the search for a matching
  double amd_bytes = 0;  // at most

  std::int32_t n_blocks() const { return static_cast<std::int32_t>(block_ptr.size()) - 1; }
};

/// Shared by what klu_analyze() gave and all that klu_factor() made of it, in whatever order they are freed.
struct Pattern {
  std::vector<int> Ap, Ai;                 // as the caller gave them
  CscPattern a;                            // sorted
  std::vector<std::int32_t> place;         // (nnz) where the caller has the value of each entry of a; empty: there
  BlockOrder order;                        // KLU's
  std::vector<std::int32_t> block_of_row;  // (n)
  Ordering ordering = Ordering::amd;
  bool blocks = true;
  double max_work = 0;
  std::mutex lock;                        // of what follows
  std::unique_ptr<Solver<double>> spare;  // of factors that were freed: it knows the pattern
  bool is_freed = false;                  // no klu_symbolic has it
  bool pivots_change = false;             // pivots of earlier values did not suit later ones
  double cpu_ms = 0;                      // of factorizations and solves, since the GPU was asked
  std::optional<double> gpu_setup_us;     // of a GPU, which is asked when the CPU has worked for as long; infinite: no

  std::int32_t n() const { return a.n_cols; }
  /// The caller chose the order: none of our choice is taken.
  bool keeps_order() const { return ordering != Ordering::amd; }
};

template <class Int>
bool same_pattern(const Pattern& known, const Int* Ap, const Int* Ai) {
  return Ap != nullptr && Ai != nullptr && std::equal(known.Ap.begin(), known.Ap.end(), Ap) &&
         std::equal(known.Ai.begin(), known.Ai.end(), Ai);
}

/// The patterns that were freed last, for programs that call klu_analyze() for each matrix of one pattern: it has
/// nothing left to do then, and klu_factor() finds a Solver that knows the pattern.
class FreedPatterns {
 public:
  FreedPatterns() { patterns_.reserve(most_patterns); }
  /// Null: it is none of them.   Ap, Ai: (n + 1), (Ap[n]), or null.
  template <class Int>
  std::shared_ptr<Pattern> find(Int n, const Int* Ap, const Int* Ai, const OrderOptions& options) {
    const std::scoped_lock lock(lock_);
    const auto found = search(n, Ap, Ai, options);
    if (found == patterns_.end()) return nullptr;
    const std::scoped_lock of_pattern((*found)->lock);
    (*found)->is_freed = false;
    return *found;
  }
  /// In place of the same pattern, or of the one that was freed first. Factors with more than most_kept_entries are not
  /// kept.
  void keep(std::shared_ptr<Pattern> pattern) noexcept;

 private:
  /// options: OrderOptions, or a Pattern
  template <class Int, class Options>
  auto search(Int n, const Int* Ap, const Int* Ai, const Options& options) {
    return std::ranges::find_if(patterns_, [&](const auto& known) {
      return known->ordering == options.ordering && known->blocks == options.blocks &&
             known->max_work == options.max_work && known->n() == n && same_pattern(*known, Ap, Ai);
    });
  }

  static constexpr std::size_t most_patterns = 4;

  std::mutex lock_;
  std::vector<std::shared_ptr<Pattern>> patterns_;  // the last one at the end
};

/// Orders A as KLU does.
///
/// Requires  Ap and Ai are those of a matrix, without duplicates.
/// Ensures   status KLU_OK, or what KLU says: KLU_INVALID, KLU_OUT_OF_MEMORY, KLU_TOO_LARGE.
/// Source    Davis & Palamadai Natarajan 2010, section 3; AMD, COLAMD, BTF.
int order_blocks(std::span<int> Ap, std::span<int> Ai, const OrderOptions& options, BlockOrder& order);

/// Fills in a, place and block_of_row from the rest.
void complete(Pattern& pattern);

}  // namespace lulab::klu_shape
