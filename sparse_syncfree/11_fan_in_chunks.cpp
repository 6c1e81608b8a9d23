#include "sparse_syncfree/11_fan_in_chunks.h"

#include <algorithm>
#include <numeric>

namespace lulab::sparse_syncfree {
namespace {

/// What one block would have to do.
struct Work {
  std::int64_t columns = 0, entries = 0, products = 0;

  Work& operator+=(const Work& w) {
    columns += w.columns;
    entries += w.entries;
    products += w.products;
    return *this;
  }
};

class Finder {
 public:
  Finder(const FilledPattern& f, const RowsOfL& l, const RowsOfU& u, const FanInOptions& options)
      : f_(f), l_(l), u_(u), o_(options), parent_(f.n), layer_(f.n, 0), work_(f.n) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (std::int32_t i = 0; i < f.n; ++i) {
      const std::int64_t l = f.col_ptr[i + 1] - f.diag[i] - 1, in_u = u.ptr[i + 1] - u.ptr[i];
      work_[i] = {1, l + in_u + 1, l * in_u};
    }
  }

  Chunks find() {
    grow();
    pack();
    Chunks chunks;
    chunks.of.resize(f_.n);
    std::vector<std::int32_t> number(f_.n, -1);
    for (std::int32_t i = 0; i < f_.n; ++i) {
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
  std::int32_t root(std::int32_t j) {
    while (parent_[j] != j) j = parent_[j] = parent_[parent_[j]];
    return j;
  }

  /// Column i joins the chunks that it needs in their highest layer, where they have room.
  void grow() {
    std::vector<std::int32_t> seen_by(f_.n, -1), highest;
    for (std::int32_t i = 0; i < f_.n; ++i) {
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
      for (std::int64_t p = f_.col_ptr[i]; p < f_.diag[i]; ++p) needs(f_.row_idx[p]);
      for (std::int64_t q = l_.ptr[i]; q < l_.ptr[i + 1]; ++q) needs(l_.cols[q]);
      if (top < 0) continue;
      if (!has_room(i, top, together)) {
        layer_[i] = top + 1;
        continue;
      }
      layer_[i] = top;
      work_[i] = together;
      for (const std::int32_t r : highest) parent_[r] = i;
    }
  }

  bool has_room(std::int32_t i, std::int32_t layer, const Work& w) const {
    const std::int32_t most = layer == 0 ? o_.bottom_columns : o_.columns;
    if (w.columns <= most && w.entries <= o_.max_entries && w.products <= o_.max_products) return true;
    const std::int64_t front = w.columns + std::max(f_.col_ptr[i + 1] - f_.diag[i] - 1, u_.ptr[i + 1] - u_.ptr[i]);
    return w.columns <= (front <= o_.max_front - 8 ? std::min(o_.columns, o_.max_front / 2) : split_columns());
  }
  std::int32_t split_columns() const { return std::min(o_.split_columns, o_.max_front / 2); }

  /// Small chunks of a layer become about o_.packs tasks. Above the lowest, where tasks wait for others, only if there
  /// are more than that: a task waits for all that its chunks need.
  void pack() {
    std::vector<std::vector<std::int32_t>> roots;  // of each layer
    for (std::int32_t i = 0; i < f_.n; ++i) {
      if (parent_[i] != i) continue;
      if (std::ssize(roots) <= layer_[i]) roots.resize(layer_[i] + std::size_t(1));
      roots[layer_[i]].push_back(i);
    }
    for (std::size_t layer = 0; layer < roots.size(); ++layer)
      if (layer == 0 || std::ssize(roots[layer]) > o_.packs) pack(roots[layer]);
  }
  void pack(const std::vector<std::int32_t>& roots) {
    Work all;
    for (const std::int32_t r : roots) all += work_[r];
    const auto share = [&](std::int64_t total, std::int32_t percent, std::int64_t least, std::int64_t most) {
      return std::clamp(total * percent / 100 / std::max(o_.packs, 1), least, most);
    };
    const Work room = {.columns = share(all.columns, 200, 64, std::min(o_.shape.max_sparse_pivots(), 250)),
                       .entries = share(all.entries, 100, 600, 4000),
                       .products = share(all.products, 150, 4000, 20000)};
    std::int32_t pack = -1;
    for (const std::int32_t r : roots) {
      const auto fits = [&](Work w) {
        w += work_[r];
        return w.columns <= room.columns && w.entries <= room.entries && w.products <= room.products;
      };
      if (!fits({})) continue;
      if (pack < 0 || !fits(work_[pack])) {
        pack = r;
        continue;
      }
      parent_[r] = pack;
      work_[pack] += work_[r];
    }
  }

  const FilledPattern& f_;
  const RowsOfL& l_;
  const RowsOfU& u_;
  const FanInOptions& o_;
  std::vector<std::int32_t> parent_;  // trees of columns; the root of a tree stands for its chunk
  std::vector<std::int32_t> layer_;   // of roots
  std::vector<Work> work_;            // of roots
};

}  // namespace

Chunks find_fan_in_chunks(const FilledPattern& filled, const RowsOfL& l, const RowsOfU& u,
                          const FanInOptions& options) {
  return Finder(filled, l, u, options).find();
}

}  // namespace lulab::sparse_syncfree
