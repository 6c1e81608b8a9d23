#include "model/chains.h"

#include <algorithm>

#include "symbolic/levels.h"

namespace lulab {

namespace {

std::int64_t walking_chain(const FilledPattern& f) {
  std::vector<std::int64_t> done(f.n);
  std::int64_t longest = 0;
  for (std::int32_t j = 0; j < f.n; ++j) {
    std::int64_t t = 0;
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) t = std::max(t, done[f.row_idx[p]]) + 1;
    done[j] = t + 1;
    longest = std::max(longest, done[j]);
  }
  return longest;
}

std::int64_t fine_chain(const FilledPattern& f) {
  std::vector<std::int64_t> done(f.n), ready(f.n, 0);  // ready(i): time of the last update of entry (i,j) so far
  std::vector<std::int64_t> l_end(f.col_ptr.begin() + 1, f.col_ptr.end());  // end of L(:,k) without its pruned rows
  std::int64_t longest = 0;
  for (std::int32_t j = 0; j < f.n; ++j) {
    std::int64_t last = 0;
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) {
      const std::int32_t k = f.row_idx[p];
      const std::int64_t at = std::max(done[k], ready[k]) + 1;
      last = std::max(last, at);
      std::int64_t s = f.diag[k] + 1;
      for (; s < l_end[k] && f.row_idx[s] < j; ++s) ready[f.row_idx[s]] = std::max(ready[f.row_idx[s]], at);
      if (s < l_end[k] && f.row_idx[s] == j) l_end[k] = s + 1;
      ready[k] = 0;
    }
    done[j] = last + 1;
    longest = std::max(longest, done[j]);
  }
  return longest;
}

}  // namespace

Chains critical_chains(const FilledPattern& filled) {
  return {levels_left_looking(filled).n_levels(), walking_chain(filled), fine_chain(filled)};
}

}  // namespace lulab
