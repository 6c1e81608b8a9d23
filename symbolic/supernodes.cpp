#include "symbolic/supernodes.h"

#include <algorithm>

namespace lulab {
namespace {

bool continues(const FilledPattern& f, std::int32_t k) {  // whether column k + 1 belongs to the supernode of column k
  // lab: supernodes begin
  const auto l = f.row_idx.begin() + f.diag[k] + 1, l_end = f.row_idx.begin() + f.col_ptr[k + 1];
  const auto next = f.row_idx.begin() + f.diag[k + 1] + 1, next_end = f.row_idx.begin() + f.col_ptr[k + 2];
  if (l == l_end || *l != k + 1 || !std::equal(l + 1, l_end, next, next_end)) return false;
  return f.diag[k + 1] > f.col_ptr[k + 1] && f.row_idx[f.diag[k + 1] - 1] == k;
  // lab: supernodes end
}

}  // namespace

Supernodes find_supernodes(const FilledPattern& f, std::int32_t max_width) {
  Supernodes s;
  s.of.resize(f.n);
  for (std::int32_t k = 0; k < f.n; ++k) {
    // lab: supernodes begin
    const bool same = k > 0 && k - s.first.back() < max_width && continues(f, k - 1);
    if (k > 0 && !same) s.first.push_back(k);
    s.of[k] = s.size();
    // lab: supernodes end
  }
  if (f.n > 0) s.first.push_back(f.n);
  return s;
}

}  // namespace lulab
