// KLU (SuiteSparse) has no symbolic factorization that stands alone: it finds the pattern of a column, by the same
// search with symmetric pruning as 01, just before it computes the column's values. So it gets values, too.

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "symbolic/fill.h"
#include "symbolic/klu_objects.h"
#include "symbolic/rungs.h"
#include "symbolic/sorted_columns.h"

namespace lulab {
namespace {

constexpr int max_entries = std::numeric_limits<int>::max();

Status too_large() {
  return Status::error(StatusCode::out_of_memory, "L + U outgrow KLU's 32-bit indices; take another rung");
}

Status klu_error(const klu_common& common) {
  switch (common.status) {
    case KLU_OK: return {};
    case KLU_OUT_OF_MEMORY: return no_memory_for_fill();
    case KLU_TOO_LARGE: return too_large();
    default:
      return Status::error(StatusCode::not_implemented, fmt::format("KLU answers with status {}", common.status));
  }
}

/// B with every diagonal entry, and made-up values, those of an M-matrix: -1 off the diagonal, and there a little more
/// than the sum of the others in the column. So the diagonal entry is the pivot, whatever the threshold, and stays so
/// while columns are eliminated; and what elimination adds off the diagonal has the sign of what is there: nothing
/// cancels. (KLU would keep zeros.)
struct MMatrix {
  std::vector<int> col_ptr = {0}, row_idx;
  std::vector<double> values;

  explicit MMatrix(CscPatternView b) {
    row_idx.reserve(b.row_idx.size() + b.n_cols);
    values.reserve(b.row_idx.size() + b.n_cols);
    for (std::int32_t j = 0; j < b.n_cols; ++j) {
      for (std::int64_t s = b.col_ptr[j]; s < b.col_ptr[j + 1]; ++s)
        if (b.row_idx[s] != j) row_idx.push_back(b.row_idx[s]);
      values.resize(row_idx.size(), -1);
      row_idx.push_back(j);
      values.push_back(static_cast<double>(std::ssize(row_idx) - 1 - col_ptr.back()) + 1.0 / 64);
      col_ptr.push_back(static_cast<int>(row_idx.size()));
    }
  }
};

/// The pattern of L + U, rows of a column in any order.
Result<CscPattern> factor_with_klu(CscPatternView b) {
  MMatrix a(b);
  KluObjects klu;
  klu_common& common = klu.common;
  common.btf = 0;
  common.scale = -1;  // no scaling, no second check of the pattern
  klu.symbolic = klu_analyze_given(b.n_cols, a.col_ptr.data(), a.row_idx.data(), nullptr, nullptr, &common);
  LULAB_RETURN_IF_ERROR(klu_error(common));
  klu.numeric = klu_factor(a.col_ptr.data(), a.row_idx.data(), a.values.data(), klu.symbolic, &common);
  LULAB_RETURN_IF_ERROR(klu_error(common));
  const klu_numeric& k = *klu.numeric;
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    if (k.Pnum[j] != j) return Status::error(StatusCode::not_implemented, "KLU took a pivot off the diagonal");
  std::vector<int> l_ptr(b.n_cols + 1), u_ptr(b.n_cols + 1), l_rows(k.lnz), u_rows(k.unz);
  std::vector<double> values(std::max(k.lnz, k.unz));  // of both, one after the other: nobody reads them
  klu_extract(klu.numeric, klu.symbolic, l_ptr.data(), l_rows.data(), values.data(), u_ptr.data(), u_rows.data(),
              values.data(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &common);
  LULAB_RETURN_IF_ERROR(klu_error(common));
  CscPattern f;
  f.n_rows = f.n_cols = b.n_cols;
  f.row_idx.reserve(l_rows.size() + u_rows.size() - b.n_cols);
  for (std::int32_t j = 0; j < b.n_cols; ++j) {
    f.row_idx.insert(f.row_idx.end(), u_rows.begin() + u_ptr[j], u_rows.begin() + u_ptr[j + 1]);
    std::copy_if(l_rows.begin() + l_ptr[j], l_rows.begin() + l_ptr[j + 1], std::back_inserter(f.row_idx),
                 [j](int i) { return i != j; });
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

Result<FilledPattern> fill_klu(CscPatternView b) try {
  if (b.nnz() > max_entries - b.n_cols) return too_large();  // first: the check reads all rows
  LULAB_RETURN_IF_ERROR(check_fillable(b));
  if (b.n_cols == 0) return fill_reference(b);  // KLU takes none without columns
  LULAB_ASSIGN_OR_RETURN(auto found, factor_with_klu(b));
  return sorted_columns(std::move(found));
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

}  // namespace

const FillRung fill_rungs::klu = {
    .id = "symbolic/90_klu",
    .paper = "Davis & Palamadai Natarajan 2010 (SuiteSparse KLU)",
    .idea = "the search of 01 inside of klu_factor: the time contains the numeric factorization of made-up values",
    .device = Device::cpu,
    .fill = [](CscPatternView b, const FillLimits&, FillWork*) { return fill_klu(b); }};

}  // namespace lulab
