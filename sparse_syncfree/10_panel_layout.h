#pragma once
// What is known of each panel before its updates are in order: its rows, its words and its rank.

#include <cstdint>
#include <vector>

#include "symbolic/relaxed_supernodes.h"

namespace lulab::sparse_syncfree {

// Times of an H200 in microseconds, from factorizations that are one long chain.
constexpr double hop_us = 0.5, panel_us = 0.45, gather_us = 0.9, finish_us = 0.8;

/// Columns of X for a panel of this width. The steps are compiled for each stored width, and each one in use costs
/// fetches of instructions (H200, widths 1 and 2 left out, only 4 and 8 in use: 13659pegase 0.20 -> 0.18 ms). So 2 is
/// only for panels that would otherwise be cut into several tasks.
inline std::int32_t stored_width(std::int32_t width, std::int64_t rows, std::int32_t max_scalars) {
  return width > 4 ? 8 : width > 2 || 4 * rows <= max_scalars ? 4 : 2;
}

/// Rows of a task of this panel.
inline std::int32_t most_rows(std::int32_t width, std::int64_t rows, std::int32_t max_scalars) {
  return max_scalars / stored_width(width, rows, max_scalars);
}

struct PanelLayout {
  RelaxedSupernodes panels;                  // a panel K, from its first row in J on, has all its rows in J
  std::vector<std::int32_t> diag, below;     // (panels) place of the diagonal block; rows of L below it
  std::vector<std::int64_t> words, u_words;  // (panels) of L(:,J); of U(:,J), -1 where the panel has one task
  std::vector<std::int32_t> rank;            // (panels) 1 + that of the panels K with U(K,J) != 0 or L(J,K) != 0
  std::vector<std::int64_t> work;            // (panels + 1) rows that it and all panels before it read
  std::int64_t n_words = 0, n_runs = 0;
  double least_us = 0;
};

/// Adds rows of U so that a panel K, from its first row in J on, has all its rows in J: one contiguous run of X.
/// Cost   O(rows of all panels).
PanelLayout lay_out_panels(const RelaxedSupernodes& panels, std::int32_t max_scalars, int host_threads);

}  // namespace lulab::sparse_syncfree
