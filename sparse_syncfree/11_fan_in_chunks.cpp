#include "sparse_syncfree/11_fan_in_chunks.h"

#include <algorithm>
#include <vector>

#include "symbolic/chunk_trees.h"

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
      : f_(f), u_(u), o_(options), trees_(work_of_columns(f, u)) {
    trees_.grow(f, l, [&](std::int32_t i, std::int32_t layer, const Work& w) { return has_room(i, layer, w); });
  }

  Chunks find() {
    pack();
    return trees_.number();
  }

 private:
  static std::vector<Work> work_of_columns(const FilledPattern& f, const RowsOfU& u) {
    std::vector<Work> work(f.n);
    for (std::int32_t i = 0; i < f.n; ++i) {
      const std::int64_t in_l = f.col_ptr[i + 1] - f.diag[i] - 1, in_u = u.ptr[i + 1] - u.ptr[i];
      work[i] = {1, in_l + in_u + 1, in_l * in_u};
    }
    return work;
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
      if (!trees_.is_root(i)) continue;
      const std::int32_t layer = trees_.layer(i);
      if (std::ssize(roots) <= layer) roots.resize(layer + std::size_t(1));
      roots[layer].push_back(i);
    }
    for (std::size_t layer = 0; layer < roots.size(); ++layer)
      if (layer == 0 || std::ssize(roots[layer]) > o_.packs) pack(roots[layer]);
  }
  void pack(const std::vector<std::int32_t>& roots) {
    Work all;
    for (const std::int32_t r : roots) all += trees_.work(r);
    const auto share = [&](std::int64_t total, std::int32_t percent, std::int64_t least, std::int64_t most) {
      return std::clamp(total * percent / 100 / std::max(o_.packs, 1), least, most);
    };
    const Work room = {.columns = share(all.columns, 200, 64, std::min(o_.shape.max_sparse_pivots(), 250)),
                       .entries = share(all.entries, 100, 600, 4000),
                       .products = share(all.products, 150, 4000, 20000)};
    std::int32_t pack = -1;
    for (const std::int32_t r : roots) {
      const auto fits = [&](Work w) {
        w += trees_.work(r);
        return w.columns <= room.columns && w.entries <= room.entries && w.products <= room.products;
      };
      if (!fits({})) continue;
      if (pack < 0 || !fits(trees_.work(pack))) {
        pack = r;
        continue;
      }
      trees_.join(pack, r);
    }
  }

  const FilledPattern& f_;
  const RowsOfU& u_;
  const FanInOptions& o_;
  ChunkTrees<Work> trees_;
};

}  // namespace

Chunks find_fan_in_chunks(const FilledPattern& filled, const RowsOfL& l, const RowsOfU& u,
                          const FanInOptions& options) {
  return Finder(filled, l, u, options).find();
}

}  // namespace lulab::sparse_syncfree
