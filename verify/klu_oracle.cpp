#include "verify/klu_oracle.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <klu.h>

#include "preprocess/btf.h"
#include "preprocess/suitesparse.h"
#include "symbolic/fill.h"
#include "verify/rebuild.h"

namespace lulab {

namespace {

using Long = SuiteSparse_long;

struct FreeSymbolic {
  klu_l_common* common;
  void operator()(klu_l_symbolic* s) const { klu_l_free_symbolic(&s, common); }
};
struct FreeNumeric {
  klu_l_common* common;
  void operator()(klu_l_numeric* s) const { klu_l_free_numeric(&s, common); }
};

// What KLU found: pattern(L+U) of the block-diagonal part under P and Q, the entries F outside the blocks, the blocks.
struct KluPattern {
  FilledPattern filled;
  CscPattern outside;
  Permutation p, q;
  std::vector<std::int32_t> block_ptr;
};

Status klu_error(const char* phase, const klu_l_common& common) {
  if (common.status == KLU_OUT_OF_MEMORY || common.status == KLU_TOO_LARGE)
    return Status::error(StatusCode::out_of_memory, fmt::format("KLU oracle: {} ran out of memory", phase));
  return Status::error(StatusCode::not_implemented,
                       fmt::format("KLU oracle: {} answered status {}", phase, static_cast<long long>(common.status)));
}

// Column by column: every off-diagonal entry in [0.5, 1], the pivot larger than their sum.
std::vector<double> dominant_values(CscPatternView a, std::span<const std::int32_t> pivot_row_of_column) {
  std::mt19937_64 random(20100907);
  std::vector<double> values(a.nnz());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      values[k] = a.row_idx[k] == pivot_row_of_column[j] ? static_cast<double>(a.col_ptr[j + 1] - a.col_ptr[j] + 1)
                                                         : std::uniform_real_distribution<double>(0.5, 1)(random);
  return values;
}

// Both triangles joined and sorted. KLU stores the unit diagonal of L and the diagonal of U.
FilledPattern join_sorted(Long n, const std::vector<Long>& lp, const std::vector<Long>& li, const std::vector<Long>& up,
                          const std::vector<Long>& ui) {
  FilledPattern f;
  f.n = static_cast<std::int32_t>(n);
  for (Long j = 0; j < n; ++j) {
    const auto begin = f.row_idx.size();
    f.row_idx.insert(f.row_idx.end(), ui.begin() + up[j], ui.begin() + up[j + 1]);
    for (Long k = lp[j]; k < lp[j + 1]; ++k)
      if (li[k] != j) f.row_idx.push_back(static_cast<std::int32_t>(li[k]));
    std::sort(f.row_idx.begin() + begin, f.row_idx.end());
    f.diag.push_back(std::find(f.row_idx.begin() + begin, f.row_idx.end(), j) - f.row_idx.begin());
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

Result<KluPattern> factor_with_klu(CscPatternView a, bool btf) {
  const Long n = a.n_cols;
  klu_l_common common;
  klu_l_defaults(&common);
  common.btf = btf;
  common.tol = 0;
  common.scale = 0;
  std::vector<Long> ap = suitesparse::widen(a.col_ptr), ai = suitesparse::widen(a.row_idx);
  const std::unique_ptr<klu_l_symbolic, FreeSymbolic> symbolic(
      btf ? klu_l_analyze(n, ap.data(), ai.data(), &common)
          : klu_l_analyze_given(n, ap.data(), ai.data(), nullptr, nullptr, &common),
      FreeSymbolic{&common});
  if (!symbolic) return klu_error("analysis", common);
  Permutation pivot_row(n);
  for (Long k = 0; k < n; ++k) pivot_row[symbolic->Q[k]] = static_cast<std::int32_t>(symbolic->P[k]);
  std::vector<double> values = dominant_values(a, pivot_row);
  const std::unique_ptr<klu_l_numeric, FreeNumeric> numeric(
      klu_l_factor(ap.data(), ai.data(), values.data(), symbolic.get(), &common), FreeNumeric{&common});
  if (!numeric) return klu_error("factorization", common);

  std::vector<Long> lp(n + 1), li(numeric->lnz), up(n + 1), ui(numeric->unz), fp(n + 1), fi(numeric->nzoff), p(n), q(n),
      r(symbolic->nblocks + 1);
  std::vector<double> lx(numeric->lnz), ux(numeric->unz), fx(numeric->nzoff);
  if (!klu_l_extract(numeric.get(), symbolic.get(), lp.data(), li.data(), lx.data(), up.data(), ui.data(), ux.data(),
                     fp.data(), fi.data(), fx.data(), p.data(), q.data(), nullptr, r.data(), &common))
    return klu_error("extraction", common);
  KluPattern result;
  result.filled = join_sorted(n, lp, li, up, ui);
  result.p.assign(p.begin(), p.end());
  result.q.assign(q.begin(), q.end());
  result.block_ptr.assign(r.begin(), r.end());
  result.outside.n_rows = result.outside.n_cols = static_cast<std::int32_t>(n);
  result.outside.col_ptr.assign(fp.begin(), fp.end());
  result.outside.row_idx.assign(fi.begin(), fi.end());
  for (Long j = 0; j < n; ++j)
    std::sort(result.outside.row_idx.begin() + fp[j], result.outside.row_idx.begin() + fp[j + 1]);
  return result;
}

// The first entry that only one of two sorted patterns has; the first column is `offset` + 1.
std::optional<std::string> first_difference(CscPatternView ours, CscPatternView klu, std::int32_t offset,
                                            const char* where) {
  for (std::int32_t j = 0; j < ours.n_cols; ++j) {
    const auto mine = ours.row_idx.subspan(ours.col_ptr[j], ours.col_ptr[j + 1] - ours.col_ptr[j]);
    const auto theirs = klu.row_idx.subspan(klu.col_ptr[j], klu.col_ptr[j + 1] - klu.col_ptr[j]);
    const auto [m, t] = std::ranges::mismatch(mine, theirs);
    if (m == mine.end() && t == theirs.end()) continue;
    const bool only_mine = t == theirs.end() || (m != mine.end() && *m < *t);
    const std::int32_t i = only_mine ? *m : *t;
    return fmt::format("{}column {}: {}({},{}) is in {} factors only", where, j + offset + 1, i > j ? 'L' : 'U',
                       i + offset + 1, j + offset + 1, only_mine ? "our" : "KLU's");
  }
  return std::nullopt;
}

CscPattern with_full_diagonal(const CscPattern& a) {
  CscPattern b;
  b.n_rows = a.n_rows;
  b.n_cols = a.n_cols;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    const auto first = a.row_idx.begin() + a.col_ptr[j], last = a.row_idx.begin() + a.col_ptr[j + 1];
    const auto middle = std::lower_bound(first, last, j);
    b.row_idx.insert(b.row_idx.end(), first, middle);
    if (middle == last || *middle != j) b.row_idx.push_back(j);
    b.row_idx.insert(b.row_idx.end(), middle, last);
    b.col_ptr.push_back(b.nnz());
  }
  return b;
}

// Rows and columns [first, last) of a, and in `above` the rows < first of those columns. Entries below the block: the
// message.
std::optional<std::string> split_block(const CscPattern& a, std::int32_t first, std::int32_t last, CscPattern& block,
                                       CscPattern& above) {
  block = CscPattern{};
  block.n_rows = block.n_cols = last - first;
  for (std::int32_t j = first; j < last; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = a.row_idx[k];
      if (i >= last)
        return fmt::format("({},{}) of P·A·Q lies below KLU's diagonal block {}..{}", i + 1, j + 1, first + 1, last);
      if (i < first)
        above.row_idx.push_back(i);
      else
        block.row_idx.push_back(i - first);
    }
    above.col_ptr.push_back(above.nnz());
    block.col_ptr.push_back(block.nnz());
  }
  return std::nullopt;
}

// The blocks as sets of columns, so that their order does not matter.
std::vector<std::vector<std::int32_t>> column_sets(const Permutation& q, const std::vector<std::int32_t>& block_ptr) {
  std::vector<std::vector<std::int32_t>> sets;
  for (std::size_t b = 0; b + 1 < block_ptr.size(); ++b) {
    sets.emplace_back(q.begin() + block_ptr[b], q.begin() + block_ptr[b + 1]);
    std::ranges::sort(sets.back());
  }
  std::ranges::sort(sets);
  return sets;
}

}  // namespace

Result<PatternComparison> compare_with_klu(CscPatternView a, const Plan& plan, const FilledPattern& filled) {
  if (a.n_cols == 0) return PatternComparison{true, ""};
  LULAB_ASSIGN_OR_RETURN(const auto klu, factor_with_klu(with_full_diagonal(rebuild::paq(plan.p, plan.q, a)), false));
  auto difference = first_difference(filled.view(), klu.filled.view(), 0, "");
  return PatternComparison{!difference, difference.value_or("")};
}

Result<PatternComparison> compare_blocks_with_klu(CscPatternView a) {
  if (a.n_cols == 0) return PatternComparison{true, ""};
  LULAB_ASSIGN_OR_RETURN(const auto ours, block_triangular_form(a));
  LULAB_ASSIGN_OR_RETURN(const auto klu, factor_with_klu(a, true));
  if (column_sets(ours.q, ours.block_ptr) != column_sets(klu.q, klu.block_ptr))
    return PatternComparison{
        false, fmt::format("the columns fall into {} blocks here and {} blocks in KLU, or into other ones",
                           ours.n_blocks(), klu.block_ptr.size() - 1)};
  const CscPattern b = rebuild::paq(klu.p, klu.q, a);
  CscPattern block, above;
  above.n_rows = above.n_cols = a.n_cols;
  for (std::size_t i = 0; i + 1 < klu.block_ptr.size(); ++i) {
    const std::int32_t first = klu.block_ptr[i], last = klu.block_ptr[i + 1];
    if (auto below = split_block(b, first, last, block, above)) return PatternComparison{false, *below};
    LULAB_ASSIGN_OR_RETURN(const auto filled, fill_gilbert_peierls(block));
    CscPattern theirs;
    theirs.n_rows = theirs.n_cols = last - first;
    for (std::int32_t j = first; j < last; ++j) {
      for (std::int64_t k = klu.filled.col_ptr[j]; k < klu.filled.col_ptr[j + 1]; ++k)
        theirs.row_idx.push_back(klu.filled.row_idx[k] - first);
      theirs.col_ptr.push_back(theirs.nnz());
    }
    if (auto d = first_difference(filled.view(), theirs, first, "in a diagonal block, "))
      return PatternComparison{false, *d};
  }
  if (auto d = first_difference(above, klu.outside, 0, "outside the blocks, ")) return PatternComparison{false, *d};
  return PatternComparison{true, ""};
}

}  // namespace lulab
