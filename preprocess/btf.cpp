#include "preprocess/btf.h"

#include <btf.h>

#include "preprocess/checks.h"
#include "preprocess/suitesparse.h"

namespace lulab {

Result<BlockTriangularForm> block_triangular_form(CscPatternView a) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "block triangular form"));
  const std::int32_t n = a.n_cols;
  if (n == 0) return BlockTriangularForm{};
  std::vector<SuiteSparse_long> col_ptr = suitesparse::widen(a.col_ptr), row_idx = suitesparse::widen(a.row_idx);
  std::vector<SuiteSparse_long> p(n), q(n), block_ptr(n + std::size_t(1)), work(5 * std::size_t(n));
  double effort = 0;
  SuiteSparse_long matched = 0;
  const SuiteSparse_long blocks = btf_l_order(n, col_ptr.data(), row_idx.data(), 0, &effort, p.data(), q.data(),
                                              block_ptr.data(), &matched, work.data());
  if (matched < n) {
    Where deficient;
    for (std::int32_t k = 0; k < n; ++k) {
      if (!BTF_ISFLIPPED(q[k])) continue;
      deficient.rows.push_back(static_cast<std::int32_t>(p[k]));
      deficient.columns.push_back(static_cast<std::int32_t>(BTF_UNFLIP(q[k])));
    }
    return checks::structurally_singular(n, std::move(deficient));
  }
  BlockTriangularForm form;
  form.p.assign(p.begin(), p.end());
  form.q.assign(q.begin(), q.end());
  form.block_ptr.assign(block_ptr.begin(), block_ptr.begin() + blocks + 1);
  return form;
}

}  // namespace lulab
