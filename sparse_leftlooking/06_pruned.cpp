// 00_reference with symmetric pruning: the same pivots and the same rounding, in far less search.
//
// Where column k updates column j, U(j,k) != 0, and row p[k] is in L(:,j), L(:,j)'s other rows are rows of L(:,k), too.
// So a search that comes to column j need only follow the rows of L(:,j) that were pivots then: they lead to column k,
// and from there to the rest. They are moved to the front of L(:,j).
// Source    Eisenstat & Liu 1992 (symmetric pruning); Davis & Palamadai Natarajan 2010 (KLU).

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
class PrunedBackend final : public HostBackend<T> {
 public:
  using HostBackend<T>::HostBackend;

 private:
  static constexpr std::int32_t no_pivot = -1;

  GatheredRows gathered_rows() const override { return GatheredRows::any; }

  Status eliminate() override {
    const std::int32_t n = this->n();
    p_ = pinv_ = identity_permutation(n);
    begin_.assign(1, 0);
    diag_.clear();
    search_end_.assign(n, 0);
    pruned_.assign(n, false);
    mark_.assign(n, no_pivot);
    x_.assign(n, T(0));
    const std::size_t expected = this->analysis().filled.row_idx.size();
    rows_.clear();
    values_.clear();
    rows_.reserve(expected);
    values_.reserve(expected);
    for (std::int32_t k = 0; k < n; ++k) {
      reach(k);
      solve(k);
      if (!pivot(k))
        return this->column_error(StatusCode::numerically_singular, k,
                                  "only zeros are left to choose its pivot from; the matrix is singular");
      if (!store(k))
        return this->column_error(StatusCode::numerically_singular, k, "its elimination overflows; scale the matrix");
      prune(k);
    }
    return {};
  }

  /// u_cols_, ascending, and l_rows_ as in 00_reference.
  void reach(std::int32_t k) {
    const CscView<T> b = this->pracq();
    u_cols_.clear();
    l_rows_.clear();
    for (std::int64_t s = b.col_ptr[k]; s < b.col_ptr[k + 1]; ++s) {
      discover(b.row_idx[s], k);
      while (!stack_.empty()) {
        auto& [j, next] = stack_.back();
        if (next == search_end_[j])
          stack_.pop_back();
        else
          discover(rows_[next++], k);
      }
    }
    std::sort(u_cols_.begin(), u_cols_.end());
  }

  void discover(std::int32_t i, std::int32_t k) {
    if (mark_[i] == k) return;
    mark_[i] = k;
    if (const std::int32_t j = pinv_[i]; j < k) {
      u_cols_.push_back(j);
      if (diag_[j] + 1 < search_end_[j]) stack_.emplace_back(j, diag_[j] + 1);
    } else {
      l_rows_.push_back(i);
    }
  }

  void solve(std::int32_t k) {
    const CscView<T> b = this->pracq();
    for (std::int64_t s = b.col_ptr[k]; s < b.col_ptr[k + 1]; ++s) x_[b.row_idx[s]] = b.values[s];
    T* const x = x_.data();
    for (const std::int32_t j : u_cols_) {
      const T u = x[p_[j]];
      const std::int32_t* const rows = rows_.data();
      const T* const values = values_.data();
      for (std::int64_t s = diag_[j] + 1; s < begin_[j + 1]; ++s) x[rows[s]] -= values[s] * u;
    }
  }

  /// As in 00_reference; of rows with equally large entries, the one that was preferred for the earliest column.
  bool pivot(std::int32_t k) {
    T largest = 0;
    std::int32_t row = -1;
    for (const std::int32_t i : l_rows_) {
      const T size = std::abs(x_[i]);
      if (size < largest || size == T(0) || (size == largest && pinv_[i] > pinv_[row])) continue;
      largest = size;
      row = i;
    }
    if (row < 0) return false;
    const T preferred = mark_[p_[k]] == k ? std::abs(x_[p_[k]]) : T(0);
    if (preferred > 0 && preferred >= static_cast<T>(this->options().pivot_tol) * largest) return true;
    const std::int32_t other = pinv_[row];
    std::swap(p_[k], p_[other]);
    std::swap(pinv_[p_[k]], pinv_[p_[other]]);
    return true;
  }

  /// Appends column k: U with its columns for rows, the pivot, L. Clears x.   Returns false when a value is not finite.
  bool store(std::int32_t k) {
    const T pivot = x_[p_[k]];
    T all_finite = pivot - pivot;  // 0 unless one is not
    const auto append = [&](std::int32_t i, T value) {
      all_finite += value - value;
      rows_.push_back(i);
      values_.push_back(value);
    };
    for (const std::int32_t j : u_cols_) append(j, std::exchange(x_[p_[j]], T(0)));
    diag_.push_back(static_cast<std::int64_t>(rows_.size()));
    append(p_[k], pivot);
    for (const std::int32_t i : l_rows_)
      if (const T value = std::exchange(x_[i], T(0)); i != p_[k]) append(i, value / pivot);
    begin_.push_back(static_cast<std::int64_t>(rows_.size()));
    search_end_[k] = begin_.back();
    return all_finite == T(0);
  }

  void prune(std::int32_t k) {
    for (const std::int32_t j : u_cols_) {
      if (pruned_[j]) continue;
      const auto begin = rows_.begin() + diag_[j] + 1, end = rows_.begin() + begin_[j + 1];
      if (std::find(begin, end, p_[k]) == end) continue;
      pruned_[j] = true;
      std::int64_t low = diag_[j] + 1;
      for (std::int64_t s = low; s < begin_[j + 1]; ++s) {
        if (pinv_[rows_[s]] > k) continue;
        std::swap(rows_[s], rows_[low]);
        std::swap(values_[s], values_[low++]);
      }
      search_end_[j] = low;
    }
  }

  Factors<T> result() override {
    const std::int32_t n = this->n();
    Factors<T> f;
    f.plan = this->plan();
    f.plan.p = compose(f.plan.p, p_);
    CscMatrix<T> lu;
    lu.n_rows = lu.n_cols = n;
    lu.col_ptr = begin_;
    lu.row_idx = rows_;
    lu.values = values_;
    for (std::int32_t j = 0; j < n; ++j)  // rows of B -> the columns they are pivots of
      for (std::int64_t s = diag_[j]; s < begin_[j + 1]; ++s) lu.row_idx[s] = pinv_[lu.row_idx[s]];
    lu = transpose(transpose(lu.view()).view());  // sorts rows
    f.filled = {n, std::move(lu.col_ptr), std::move(lu.row_idx), diag_};
    f.values = std::move(lu.values);
    f.statistics.flops = factor_flops(f.filled);
    return f;
  }

  Permutation p_, pinv_;                    // as in 00_reference
  std::vector<std::int64_t> begin_, diag_;  // (columns + 1), (columns) into rows_ and values_
  std::vector<std::int32_t> rows_;          // of U its columns, ascending; the pivot and L in B's numbering
  std::vector<T> values_;
  std::vector<std::int64_t> search_end_;  // (n) of the rows of L(:,j) that a search follows
  std::vector<bool> pruned_;              // (n)
  std::vector<T> x_;                      // (n) the column in work, zero between columns
  std::vector<std::int32_t> mark_;        // mark[i] == k: row i is reached by column k
  std::vector<std::int32_t> u_cols_, l_rows_;
  std::vector<std::pair<std::int32_t, std::int64_t>> stack_;  // (column of L, its next entry to follow)
};

}  // namespace

const Rung pruned = rung_of<PrunedBackend>(
    {.id = "sparse_leftlooking/06_pruned",
     .stage = "sparse_leftlooking",
     .paper = "Gilbert & Peierls 1988; Eisenstat & Liu 1992 (symmetric pruning)",
     .idea = "00_reference with a short search: a column of L is followed only up to the first later column that has "
             "the rest of its rows",
     .pivoting = Pivoting::threshold});

}  // namespace lulab::sparse_leftlooking
