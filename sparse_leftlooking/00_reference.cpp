// Gilbert & Peierls' left-looking LU with threshold partial pivoting. Column k of B = P·R·A·C·Q:
//   1. reach   which rows become nonzero: all that B(:,k) reaches in the graph of the columns of L found so far
//   2. solve   x = L \ B(:,k), touching only those rows
//   3. pivot   the preferred row of column k if its entry is large enough, else the row of the largest entry
//   4. store   U(:,k) = the rows of x that are pivots of earlier columns, L(:,k) = the others divided by the pivot
// A refactorization knows the pattern and the pivots, so only steps 2 and 4 remain: Chen et al. 2015, Algorithm 1.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/factors.h"
#include "core/host_backend.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/fill.h"

namespace lulab::sparse_leftlooking {

namespace {

template <class T>
class ReferenceBackend final : public HostBackend<T> {
 public:
  using HostBackend<T>::HostBackend;

 private:
  Status eliminate() override {
    const std::int32_t n = this->n();
    l_ = u_ = CscMatrix<T>{};
    l_.n_rows = l_.n_cols = u_.n_rows = u_.n_cols = n;
    p_ = pinv_ = identity_permutation(n);
    mark_.assign(n, -1);
    x_.assign(n, T(0));
    for (std::int32_t k = 0; k < n; ++k) {
      reach(k);
      solve(k);
      if (!pivot(k))
        return this->column_error(StatusCode::numerically_singular, k,
                                  "only zeros are left to choose its pivot from; the matrix is singular");
      if (!store(k))
        return this->column_error(StatusCode::numerically_singular, k, "its elimination overflows; scale the matrix");
    }
    for (std::int32_t& i : l_.row_idx) i = pinv_[i];  // rows of B -> the columns they are pivots of
    Plan plan = this->plan();
    plan.p = compose(plan.p, p_);
    factors_ = join_factors(std::move(plan), l_.view(), u_.view());
    factors_.statistics.flops = factor_flops(factors_.filled);
    l_ = u_ = CscMatrix<T>{};
    return {};
  }

  /// u_cols_ = columns of L that update column k; l_rows_ = rows that B(:,k) reaches and that are no pivots yet.
  /// In the graph, row i that is the pivot of column j leads to all rows of L(:,j).  Gilbert & Peierls 1988, section 3
  void reach(std::int32_t k) {
    const CscView<T> b = this->pracq();
    u_cols_.clear();
    l_rows_.clear();
    for (std::int64_t s = b.col_ptr[k]; s < b.col_ptr[k + 1]; ++s) {
      discover(b.row_idx[s], k);
      while (!stack_.empty()) {  // depth first, without recursion
        auto& [j, next] = stack_.back();
        if (next == l_.col_ptr[j + 1])
          stack_.pop_back();
        else
          discover(l_.row_idx[next++], k);
      }
    }
    // Step 2 may take them in any topological order. In the ascending one, factor, refactor and every rung that walks
    // down U(:,k) round alike.
    std::sort(u_cols_.begin(), u_cols_.end());
  }

  void discover(std::int32_t i, std::int32_t k) {
    if (mark_[i] == k) return;
    mark_[i] = k;
    if (const std::int32_t j = pinv_[i]; j < k) {
      u_cols_.push_back(j);
      stack_.emplace_back(j, l_.col_ptr[j]);
    } else {
      l_rows_.push_back(i);
    }
  }

  /// x = L \ B(:,k) on the rows that reach(k) found. x is zero on entry.
  void solve(std::int32_t k) {
    const CscView<T> b = this->pracq();
    for (std::int64_t s = b.col_ptr[k]; s < b.col_ptr[k + 1]; ++s) x_[b.row_idx[s]] = b.values[s];
    for (std::int32_t j : u_cols_) {
      const T u = x_[p_[j]];  // U(j,k): all columns before j are applied
      for (std::int64_t s = l_.col_ptr[j]; s < l_.col_ptr[j + 1]; ++s)
        x_[l_.row_idx[s]] -= l_.values[s] * u;  // x(i) -= L(i,j) * U(j,k)
    }
  }

  /// Makes p[k] the pivot row of column k. On entry p[k] is the preferred row: the plan's, or the one that an earlier
  /// column gave in exchange for its pivot.   Returns false when every candidate is zero.
  bool pivot(std::int32_t k) {
    // lab: threshold begin
    T largest = 0;
    std::int32_t row = -1;
    for (std::int32_t i : l_rows_) {
      if (std::abs(x_[i]) <= largest) continue;
      largest = std::abs(x_[i]);
      row = i;
    }
    if (row < 0) return false;
    const T preferred = mark_[p_[k]] == k ? std::abs(x_[p_[k]]) : T(0);
    if (preferred > 0 && preferred >= static_cast<T>(this->options().pivot_tol) * largest) return true;
    const std::int32_t other = pinv_[row];
    std::swap(p_[k], p_[other]);
    std::swap(pinv_[p_[k]], pinv_[p_[other]]);
    return true;
    // lab: threshold end
  }

  /// Appends U(:,k), then L(:,k) without its unit diagonal, and clears x.   Returns false when a value is not finite.
  bool store(std::int32_t k) {
    const T pivot = x_[p_[k]];
    bool finite = std::isfinite(pivot);
    const auto append = [&](CscMatrix<T>& to, std::int32_t i, T value) {
      finite = finite && std::isfinite(value);
      to.row_idx.push_back(i);
      to.values.push_back(value);
    };
    for (std::int32_t j : u_cols_) append(u_, j, std::exchange(x_[p_[j]], T(0)));
    append(u_, k, pivot);
    for (std::int32_t i : l_rows_)
      if (const T value = std::exchange(x_[i], T(0)); i != p_[k]) append(l_, i, value / pivot);
    u_.col_ptr.push_back(u_.nnz());
    l_.col_ptr.push_back(l_.nnz());
    return finite;
  }

  /// Rows are pivot positions here, so that L and U lie sorted in one array and no graph is searched.
  Status eliminate_again() override {
    const CscView<T> b = this->pracq();
    const FilledPattern& as = factors_.filled;
    std::vector<T>& lu = factors_.values;
    x_.assign(as.n, T(0));
    for (std::int32_t k = 0; k < as.n; ++k) {
      for (std::int64_t s = b.col_ptr[k]; s < b.col_ptr[k + 1]; ++s) x_[pinv_[b.row_idx[s]]] = b.values[s];
      for (std::int64_t p = as.col_ptr[k]; p < as.diag[k]; ++p) {  // U(j,k) != 0, ascending j
        const std::int32_t j = as.row_idx[p];
        const T u = x_[j];
        for (std::int64_t s = as.diag[j] + 1; s < as.col_ptr[j + 1]; ++s) x_[as.row_idx[s]] -= lu[s] * u;
      }
      const T pivot = x_[k];
      bool usable = pivot != T(0);
      for (std::int64_t p = as.col_ptr[k]; p < as.col_ptr[k + 1]; ++p) {
        const T value = std::exchange(x_[as.row_idx[p]], T(0));
        lu[p] = p <= as.diag[k] ? value : value / pivot;
        usable = usable && std::isfinite(lu[p]);
      }
      if (!usable)
        return this->column_error(
            StatusCode::needs_repivot, k,
            pivot == T(0) ? "its pivot became zero; factor() again" : "it overflows; factor() again");
    }
    return {};
  }

  Factors<T> result() override { return factors_; }

  Permutation p_, pinv_;            // p[k]: row of B that is, or is preferred as, the pivot of column k
  CscMatrix<T> l_, u_;              // columns 0..k-1; rows of L in B's numbering, without the unit diagonal; U sorted
  std::vector<T> x_;                // (n) the column in work, zero between columns
  std::vector<std::int32_t> mark_;  // mark[i] == k: row i is reached by column k
  std::vector<std::int32_t> u_cols_, l_rows_;
  std::vector<std::pair<std::int32_t, std::int64_t>> stack_;  // (column of L, its next entry to follow)
  Factors<T> factors_;
};

}  // namespace

const Rung reference = rung_of<ReferenceBackend>(
    {.id = "sparse_leftlooking/00_reference",
     .stage = "sparse_leftlooking",
     .paper = "Gilbert & Peierls 1988, section 3; Chen et al. 2015, Algorithm 1",
     .idea = "column by column: find the rows that become nonzero, solve with the columns of L on the left, "
             "choose the pivot",
     .pivoting = Pivoting::threshold});

}  // namespace lulab::sparse_leftlooking
