#pragma once
// Chunks that grow from left to right by what each column needs. What has room in one is the caller's rule.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "symbolic/chunks.h"
#include "symbolic/rows_of_l.h"

namespace lulab {

/// Each tree is a chunk, which its root stands for.
/// Work: what a chunk is measured by; has +=, of columns in any order
///
/// Source    Tarjan 1975 (path halving).
template <class Work>
class ChunkTrees {
 public:
  /// work: (n) of each column, which is a chunk
  explicit ChunkTrees(std::vector<Work> work) : parent_(work.size()), layer_(work.size(), 0), work_(std::move(work)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  std::int32_t n() const { return static_cast<std::int32_t>(parent_.size()); }
  std::int32_t root(std::int32_t j) {
    while (parent_[j] != j) j = parent_[j] = parent_[parent_[j]];
    return j;
  }
  bool is_root(std::int32_t j) const { return parent_[j] == j; }
  std::int32_t layer(std::int32_t root) const { return layer_[root]; }
  const Work& work(std::int32_t root) const { return work_[root]; }

  /// Two chunks of one layer become one.
  void join(std::int32_t root, std::int32_t other_root) {
    parent_[other_root] = root;
    work_[root] += work_[other_root];
  }

  /// A column needs the columns i < j with an entry in U(i,j) or L(j,i). It joins the chunks of those in their highest
  /// layer, if has_room(column, layer, work of all); otherwise it opens a chunk one layer up.
  ///
  /// Requires  a valid FilledPattern; l: its L by rows; nothing has been joined.
  /// Cost      nearly O(n + nnz).
  template <class HasRoom>
  void grow(const FilledPattern& f, const RowsOfL& l, const HasRoom& has_room) {
    std::vector<std::int32_t> seen_by(n(), -1), highest;
    for (std::int32_t i = 0; i < n(); ++i) {
      std::int32_t top = -1;
      Work together = work_[i];
      highest.clear();
      const auto needs = [&](std::int32_t j) {
        const std::int32_t r = root(j);
        if (seen_by[r] == i || layer_[r] < top) return;
        seen_by[r] = i;
        if (layer_[r] > top) {
          top = layer_[r];
          together = work_[i];
          highest.clear();
        }
        together += work_[r];
        highest.push_back(r);
      };
      for (std::int64_t k = f.col_ptr[i]; k < f.diag[i]; ++k) needs(f.row_idx[k]);
      for (std::int64_t k = l.ptr[i]; k < l.ptr[i + 1]; ++k) needs(l.cols[k]);
      if (top < 0) continue;
      if (!has_room(i, top, together)) {
        layer_[i] = top + 1;
        continue;
      }
      layer_[i] = top;
      for (const std::int32_t r : highest) join(i, r);
    }
  }

  Chunks number() {
    Chunks chunks;
    chunks.of.resize(n());
    std::vector<std::int32_t> number(n(), -1);
    for (std::int32_t i = 0; i < n(); ++i) {
      const std::int32_t r = root(i);
      if (number[r] < 0) {
        number[r] = chunks.size();
        chunks.layer.push_back(layer_[r]);
        chunks.n_layers = std::max(chunks.n_layers, layer_[r] + 1);
      }
      chunks.of[i] = number[r];
    }
    return chunks;
  }

 private:
  std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> layer_;  // of roots
  std::vector<Work> work_;           // of roots
};

}  // namespace lulab
