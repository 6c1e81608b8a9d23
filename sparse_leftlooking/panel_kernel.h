#pragma once
// The arithmetic of one panel: columns of L applied to it, then its own elimination. Knows nothing of threads.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "core/plan.h"
#include "sparse_leftlooking/column_panels.h"

namespace lulab::sparse_leftlooking {

/// One row of a panel: an entry of each column.
template <class T>
struct alignas(ColumnPanels::max_width * sizeof(T)) PanelRow {
  typedef T Lanes __attribute__((vector_size(ColumnPanels::max_width * sizeof(T))));
  Lanes lanes;
};

/// L and U as they are being computed, and the panels of their pattern.
template <class T>
struct PanelFactors {
  const FilledPattern& filled;
  const ColumnPanels& panels;
  T* values;             // (filled.nnz())
  T least_pivot = T(0);  // smaller ones are replaced by it, with their sign
};

/// What one thread needs to eliminate panels; bytes: (sizeof(T) + 4) n + max_width sizeof(T) times the longest panel.
template <class T>
struct PanelWork {
  /// Errors    throws std::bad_alloc.
  PanelWork(std::int32_t n, const ColumnPanels& panels);

  std::vector<T> column;             // (n) a panel of one column: by row of As, zero between panels
  std::vector<PanelRow<T>> compact;  // a wider panel: first its sources, then its rows; zero between panels
  std::vector<std::int32_t> place;   // (n) row of As -> row of compact, valid for the rows of the panel in work
  bool u_is_finite = true;           // as far as update() has come in a panel of one column
  std::int64_t perturbed_pivots = 0;
};

/// The three steps of a panel s, in this order; update() any number of times, until every source is applied.
///
/// start     the panel of B = P·R·A·C·Q goes into the work.
/// update    x(i,:) -= L(i,j) · U(j,:) for the sources j = sources_of(s)[begin .. end) in ascending order.
/// finish    eliminates the panel's columns among themselves, stores L and U and leaves the work zero.
///           Returns the first column of L and U that has a zero pivot or a value that is not finite; none: no_column.
/// Ensures   each entry is computed as in the sequential algorithm, operation by operation: panels and instruction sets
///           change no bit of it but the sign of a zero.
/// Requires  the columns of L that update() applies are finished.
template <class T>
struct PanelKernel {
  static constexpr std::int32_t no_column = std::numeric_limits<std::int32_t>::max();

  void (*start)(const PanelFactors<T>&, const CscView<T>& b, std::int32_t s, PanelWork<T>&);
  void (*update)(const PanelFactors<T>&, std::int32_t s, std::int64_t begin, std::int64_t end, PanelWork<T>&);
  std::int32_t (*finish)(const PanelFactors<T>&, std::int32_t s, PanelWork<T>&);
  /// All three for the panels begin .. end - 1 one after the other, up to the first that fails: on short columns the calls
  /// cost as much as the arithmetic.
  std::int32_t (*eliminate)(const PanelFactors<T>&, const CscView<T>& b, std::int32_t begin, std::int32_t end,
                            PanelWork<T>&);
};

/// The kernels that this processor runs, that with the widest vectors last. They give equal numbers.
template <class T>
std::vector<PanelKernel<T>> panel_kernels();

}  // namespace lulab::sparse_leftlooking
