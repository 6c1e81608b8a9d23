#include "sparse_leftlooking/05_supernode_updates.h"

#include "symbolic/supernodes.h"

namespace lulab::sparse_leftlooking {

SupernodeUpdates make_supernode_updates(const FilledPattern& f, std::int32_t max_width, std::int32_t min_width,
                                        std::int32_t max_narrow) {
  const Supernodes supernodes = find_supernodes(f, max_width);
  const auto l_size = [&](std::int32_t k) { return static_cast<std::int32_t>(f.col_ptr[k + 1] - f.diag[k] - 1); };

  SupernodeUpdates p;
  p.l_begin.resize(f.n);
  std::vector<std::int32_t> ld(supernodes.size());
  for (std::int32_t s = 0; s < supernodes.size(); ++s) {
    const std::int32_t first = supernodes.first[s], end = supernodes.first[s + 1];
    ld[s] = end - first + l_size(end - 1);
    for (std::int32_t k = first; k < end; ++k) p.l_begin[k] = p.size + std::int64_t(k - first) * (ld[s] + 1) + 1;
    p.size += std::int64_t(end - first) * ld[s];
  }

  for (std::int32_t j = 0; j < f.n; ++j) {
    const auto add = [&](std::int64_t from, std::int64_t to) {  // the entries of U(:,j) at from .. to - 1
      const std::int32_t first = f.row_idx[from], last = f.row_idx[to - 1];
      const bool narrow = first == last && l_size(last) <= max_narrow;
      p.updates.push_back({p.l_begin[first] - 1, f.diag[last] + 1, p.map_size, ld[supernodes.of[first]],
                           last - first + 1, l_size(last), static_cast<std::int32_t>(from - f.col_ptr[j]), narrow});
      p.map_size += l_size(last);
    };
    for (std::int64_t from = f.col_ptr[j]; from < f.diag[j];) {
      std::int64_t to = from + 1;
      while (to < f.diag[j] && supernodes.of[f.row_idx[to]] == supernodes.of[f.row_idx[from]]) ++to;
      const std::int64_t step = to - from < min_width ? 1 : to - from;
      for (; from < to; from += step) add(from, from + step);
    }
    for (auto s = static_cast<std::int64_t>(p.updates.size()) - 2; s >= p.update_ptr.back(); --s)
      if (p.updates[s].narrow > 0) p.updates[s].narrow += p.updates[s + 1].narrow;
    p.update_ptr.push_back(static_cast<std::int64_t>(p.updates.size()));
  }
  return p;
}

}  // namespace lulab::sparse_leftlooking
