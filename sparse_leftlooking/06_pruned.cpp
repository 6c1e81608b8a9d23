// 00_reference with symmetric pruning: the same pivots and the same rounding, in far less search.
//
// Where column j updates column k, U(j,k) != 0, and row p[k] is in L(:,j), L(:,j)'s other rows are rows of L(:,k), too.
// So a search that comes to column j need only follow the rows of L(:,j) that were pivots then: they lead to column k,
// and from there to the rest. They are moved to the front of L(:,j).
// Source    Eisenstat & Liu 1992 (symmetric pruning); Davis & Palamadai Natarajan 2010 (KLU).

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/factors.h"
#include "core/host_backend.h"
#include "core/uninitialized_vector.h"
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
    filled_.n = n;
    filled_.col_ptr.assign(1, 0);
    filled_.row_idx.clear();
    filled_.diag.clear();
    filled_.col_ptr.reserve(std::size_t(n) + 1);
    filled_.diag.reserve(n);
    values_.clear();
    const std::size_t known = this->analysis().filled.row_idx.size();
    const std::size_t expected = known > 0 ? known : 4 * this->pracq().row_idx.size();  // more entries find room, too
    filled_.row_idx.reserve(expected);
    values_.reserve(expected);
    search_end_.resize(n);
    pruned_.assign(n, false);
    mark_.assign(n, no_pivot);
    x_.assign(n, T(0));
    u_room_.resize(n);
    l_room_.resize(n);
    stack_.resize(n);
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
    number_by_pivots();
    return {};
  }

  /// u_cols_, ascending, and l_rows_ as in 00_reference.
  void reach(std::int32_t k) {
    const CscView<T> b = this->pracq();
    const std::int32_t* const rows = filled_.row_idx.data();
    const std::int64_t* const diag = filled_.diag.data();
    const std::int32_t* const pinv = pinv_.data();
    std::int32_t* const mark = mark_.data();
    std::int32_t* u_end = u_room_.data();
    std::int32_t* l_end = l_room_.data();
    Search* top = stack_.data();  // of those whose columns of L are followed, the one after the last
    const auto discover = [&](std::int32_t i) {
      if (mark[i] == k) return;
      mark[i] = k;
      const std::int32_t j = pinv[i];
      if (j >= k) {
        *l_end++ = i;
        return;
      }
      *u_end++ = j;
      if (diag[j] + 1 < search_end_[j]) *top++ = {rows + diag[j] + 1, rows + search_end_[j]};
    };
    for (std::int64_t s = b.col_ptr[k]; s < b.col_ptr[k + 1]; ++s) {
      discover(b.row_idx[s]);
      while (top != stack_.data()) {
        if (Search& last = top[-1]; last.next == last.end)
          --top;
        else
          discover(*last.next++);
      }
    }
    u_cols_ = {u_room_.data(), u_end};
    l_rows_ = {l_room_.data(), l_end};
    std::ranges::sort(u_cols_);
  }

  void solve(std::int32_t k) {
    const CscView<T> b = this->pracq();
    for (std::int64_t s = b.col_ptr[k]; s < b.col_ptr[k + 1]; ++s) x_[b.row_idx[s]] = b.values[s];
    const std::int32_t* const rows = filled_.row_idx.data();
    const T* const values = values_.data();
    T* const x = x_.data();
    for (const std::int32_t j : u_cols_) {
      const T u = x[p_[j]];
      const std::int64_t end = filled_.col_ptr[j + 1];
      for (std::int64_t s = filled_.diag[j] + 1; s < end; ++s) x[rows[s]] -= values[s] * u;
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
    const std::int64_t begin = filled_.col_ptr.back(), diag = begin + std::ssize(u_cols_);
    const std::int64_t end = diag + std::ssize(l_rows_);
    filled_.row_idx.resize(end);
    values_.resize(end);
    const std::int32_t pivot_row = p_[k];
    const std::int32_t* const p = p_.data();
    std::int32_t* row = filled_.row_idx.data() + begin;
    T* value = values_.data() + begin;
    T* const x = x_.data();
    const T pivot = x[pivot_row];
    T all_finite = pivot - pivot;  // 0 unless one is not
    const auto append = [&](std::int32_t i, T v) {
      all_finite += v - v;
      *row++ = i;
      *value++ = v;
    };
    for (const std::int32_t j : u_cols_) append(j, std::exchange(x[p[j]], T(0)));
    append(pivot_row, pivot);
    for (const std::int32_t i : l_rows_)
      if (const T v = std::exchange(x[i], T(0)); i != pivot_row) append(i, v / pivot);
    filled_.diag.push_back(diag);
    filled_.col_ptr.push_back(end);
    search_end_[k] = end;
    return all_finite == T(0);
  }

  void prune(std::int32_t k) {
    std::int32_t* const rows = filled_.row_idx.data();
    for (const std::int32_t j : u_cols_) {
      if (pruned_[j]) continue;
      std::int64_t low = filled_.diag[j] + 1;
      const std::int64_t end = filled_.col_ptr[j + 1];
      if (std::find(rows + low, rows + end, p_[k]) == rows + end) continue;
      pruned_[j] = true;
      for (std::int64_t s = low; s < end; ++s) {
        if (pinv_[rows[s]] > k) continue;
        std::swap(rows[s], rows[low]);
        std::swap(values_[s], values_[low++]);
      }
      search_end_[j] = low;
    }
  }

  /// The rows of L become the columns that they are pivots of, ascending.
  void number_by_pivots() {
    std::vector<std::pair<std::int32_t, T>> l;
    for (std::int32_t j = 0; j < this->n(); ++j) {
      const std::int64_t diag = filled_.diag[j], end = filled_.col_ptr[j + 1];
      filled_.row_idx[diag] = j;
      l.clear();
      for (std::int64_t s = diag + 1; s < end; ++s) l.emplace_back(pinv_[filled_.row_idx[s]], values_[s]);
      std::ranges::sort(l, {}, &std::pair<std::int32_t, T>::first);
      for (std::int64_t s = diag + 1; s < end; ++s) std::tie(filled_.row_idx[s], values_[s]) = l[s - diag - 1];
    }
    plan_ = this->plan();
    plan_.p = compose(plan_.p, p_);
  }

  Factors<T> result() override {
    Factors<T> f{plan_, filled_, values_, {}};
    f.statistics.flops = factor_flops(filled_);
    return f;
  }
  HostArrays<T> checked() const override { return {.lu = values_, .plan = &plan_, .filled = &filled_}; }

  struct Search {
    const std::int32_t *next, *end;  // rows of a column of L
  };

  Permutation p_, pinv_;  // as in 00_reference
  Plan plan_;
  FilledPattern filled_;                               // during elimination the pivots' rows and L's are rows of B
  std::vector<T> values_;                              // (nnz(L+U))
  UninitializedVector<std::int64_t> search_end_;       // (n) of the rows of L(:,j) that a search follows
  std::vector<bool> pruned_;                           // (n)
  std::vector<T> x_;                                   // (n) the column in work, zero between columns
  std::vector<std::int32_t> mark_;                     // mark[i] == k: row i is reached by column k
  UninitializedVector<std::int32_t> u_room_, l_room_;  // (n)
  UninitializedVector<Search> stack_;                  // (n)
  std::span<std::int32_t> u_cols_, l_rows_;
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
