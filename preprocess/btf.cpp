#include "preprocess/btf.h"

#include <btf.h>

#include <algorithm>
#include <limits>

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

std::int32_t BlockTriangularForm::biggest() const {
  std::int32_t size = 0;
  for (std::int32_t b = 0; b < n_blocks(); ++b) size = std::max(size, block_ptr[b + 1] - block_ptr[b]);
  return size;
}

Result<BlockTriangularForm> strong_components(CscPatternView a) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "strong components"));
  const std::int32_t n = a.n_cols;
  BlockTriangularForm form;
  if (n == 0) return form;
  if (a.nnz() <= std::numeric_limits<std::int32_t>::max()) {
    std::vector<std::int32_t> col_ptr(a.col_ptr.begin(), a.col_ptr.end()), work(4 * std::size_t(n));
    form.p.resize(n);
    form.block_ptr.resize(n + std::size_t(1));
    // BTF reads the rows only, but asks for a pointer to change them.
    const std::int32_t blocks = btf_strongcomp(n, col_ptr.data(), const_cast<std::int32_t*>(a.row_idx.data()), nullptr,
                                               form.p.data(), form.block_ptr.data(), work.data());
    form.block_ptr.resize(blocks + std::size_t(1));
  } else {
    std::vector<SuiteSparse_long> col_ptr = suitesparse::widen(a.col_ptr), row_idx = suitesparse::widen(a.row_idx);
    std::vector<SuiteSparse_long> p(n), block_ptr(n + std::size_t(1)), work(4 * std::size_t(n));
    const SuiteSparse_long blocks =
        btf_l_strongcomp(n, col_ptr.data(), row_idx.data(), nullptr, p.data(), block_ptr.data(), work.data());
    form.p.assign(p.begin(), p.end());
    form.block_ptr.assign(block_ptr.begin(), block_ptr.begin() + blocks + 1);
  }
  form.q = form.p;
  return form;
}

Result<Permutation> block_order(CscPatternView a, const BlockTriangularForm& components,
                                Result<Permutation> (*inside)(CscPatternView)) {
  constexpr std::int32_t elsewhere = -1;
  Permutation q;
  q.reserve(components.q.size());
  std::vector<std::int32_t> place(a.n_cols, elsewhere);  // of a row in the current block
  std::vector<std::int32_t> members;
  CscPattern block;
  for (std::int32_t s = components.n_blocks() - 1; s >= 0; --s) {
    const std::span columns =
        std::span(components.q).subspan(components.block_ptr[s], components.block_ptr[s + 1] - components.block_ptr[s]);
    if (columns.size() <= 2) {
      q.insert(q.end(), columns.begin(), columns.end());
      continue;
    }
    members.assign(columns.begin(), columns.end());
    std::sort(members.begin(), members.end());  // rows of the block stay sorted
    block.col_ptr.resize(1);
    block.row_idx.clear();
    block.n_rows = block.n_cols = static_cast<std::int32_t>(members.size());
    for (std::size_t k = 0; k < members.size(); ++k) place[members[k]] = static_cast<std::int32_t>(k);
    for (const std::int32_t j : members) {
      for (std::int64_t e = a.col_ptr[j]; e < a.col_ptr[j + 1]; ++e)
        if (const std::int32_t i = place[a.row_idx[e]]; i != elsewhere) block.row_idx.push_back(i);
      block.col_ptr.push_back(static_cast<std::int64_t>(block.row_idx.size()));
    }
    LULAB_ASSIGN_OR_RETURN(const auto order, inside(block));
    for (const std::int32_t k : order) q.push_back(members[k]);
    for (const std::int32_t j : members) place[j] = elsewhere;
  }
  return q;
}

bool is_block_order(CscPatternView a, const BlockTriangularForm& components, std::span<const std::int32_t> order) {
  std::vector<std::int32_t> block_of(a.n_cols);
  for (std::int32_t s = 0; s < components.n_blocks(); ++s)
    for (std::int32_t k = components.block_ptr[s]; k < components.block_ptr[s + 1]; ++k) block_of[components.q[k]] = s;
  constexpr std::int32_t unseen = -1;
  std::vector<std::int32_t> turn(components.n_blocks(), unseen);  // of a block in the order
  std::int32_t turns = 0, last = unseen;
  for (const std::int32_t j : order) {
    const std::int32_t block = block_of[j];
    if (block == last) continue;
    if (turn[block] != unseen) return false;
    turn[block] = turns++;
    last = block;
  }
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (turn[block_of[a.row_idx[k]]] < turn[block_of[j]]) return false;
  return true;
}

}  // namespace lulab
