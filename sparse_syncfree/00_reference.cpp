// Synchronization-free LU, its columns taking turns.                                      Zhao et al. 2021, Algorithm 2
//
//   for all columns k, in parallel                                    here: one after another goes on as far as it can
//     for i = 0 to k-1 with As(i,k) != 0
//       while degree[i] != 0: busy wait                               here: step aside until column i is finished
//       for j > i with As(j,i) != 0:  As(j,k) = As(j,k) - As(j,i) * As(i,k)
//       degree[k] = degree[k] - 1
//     for i > k with As(i,k) != 0:  As(i,k) = As(i,k) / As(k,k)
//     degree[k] = degree[k] - 1
//
// degree[k] starts as the number of entries of U(:,k), its diagonal included: that one stands for the division. 0 says
// that column k is finished. The paper's inner loop names the rows by As(j,k) != 0; where As(j,i) is no entry nothing
// changes.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/host_backend.h"
#include "sparse_syncfree/rungs.h"

namespace lulab::sparse_syncfree {
namespace {

template <class T>
class ReferenceBackend final : public HostBackend<T> {
 public:
  using HostBackend<T>::HostBackend;
  Statistics statistics(std::int32_t) const override { return as_.statistics; }

 private:
  Status prepare_rung() override {
    as_ = {this->plan(), this->analysis().filled, std::vector<T>(this->analysis().filled.nnz()), {}};
    degree_.resize(as_.filled.n);
    next_.resize(as_.filled.n);
    waiting_for_.resize(as_.filled.n);
    return {};
  }

  Status eliminate() override {
    start();
    std::vector<std::int32_t> can_go_on(as_.filled.n);
    for (std::int32_t k = 0; k < as_.filled.n; ++k) can_go_on[k] = k;
    while (!can_go_on.empty()) {
      const std::int32_t k = can_go_on.back();  // the last column first, so that there is something to wait for
      can_go_on.pop_back();
      const std::int32_t i = go_on(k);
      if (i != k) {
        waiting_for_[i].push_back(k);
        continue;
      }
      can_go_on.insert(can_go_on.end(), waiting_for_[k].begin(), waiting_for_[k].end());
      waiting_for_[k].clear();
    }
    if (failed_ == as_.filled.n) return {};
    return this->column_error(StatusCode::needs_repivot, failed_,
                              as_.values[as_.filled.diag[failed_]] == T(0) ? "its pivot is zero; choose pivots by value"
                                                                           : "it overflows; choose pivots by value");
  }

  Factors<T> result() override { return as_; }

  /// As = P·R·A·C·Q, zero at fill-in; every column at the first of its entries.
  void start() {
    const CscView<T> b = this->pracq();
    const FilledPattern& f = as_.filled;
    failed_ = f.n;
    least_pivot_ = this->least_pivot();
    as_.statistics.perturbed_pivots = 0;
    for (std::int32_t k = 0; k < f.n; ++k) {
      for (std::int64_t p = f.col_ptr[k], s = b.col_ptr[k]; p < f.col_ptr[k + 1]; ++p) {
        const bool stored = s < b.col_ptr[k + 1] && b.row_idx[s] == f.row_idx[p];
        as_.values[p] = stored ? b.values[s++] : T(0);
      }
      degree_[k] = f.diag[k] - f.col_ptr[k] + 1;
      next_[k] = f.col_ptr[k];
    }
  }

  /// The body of the paper's outer loop, from where column k stepped aside.   Returns the column that it waits for now,
  /// k when it is finished.
  std::int32_t go_on(std::int32_t k) {
    const FilledPattern& f = as_.filled;
    for (std::int64_t& ik = next_[k]; ik < f.diag[k]; ++ik) {  // for i = 0 to k-1 with As(i,k) != 0
      const std::int32_t i = f.row_idx[ik];
      if (degree_[i] != 0) return i;  // while degree[i] != 0: busy wait
      update(i, ik);
      degree_[k] -= 1;
    }
    divide(k);
    degree_[k] -= 1;
    return k;
  }

  /// As(i+1:n,k) -= L(i+1:n,i) · As(i,k), where entry (i,k) lies at `ik`. Column k has every row of L(:,i): that is its
  /// fill.
  void update(std::int32_t i, std::int64_t ik) {
    const FilledPattern& f = as_.filled;
    std::vector<T>& As = as_.values;
    std::int64_t jk = ik + 1;
    for (std::int64_t ji = f.diag[i] + 1; ji < f.col_ptr[i + 1]; ++ji, ++jk) {
      while (f.row_idx[jk] != f.row_idx[ji]) ++jk;
      As[jk] -= As[ji] * As[ik];
    }
  }

  /// L(:,k) = As(k+1:n,k) / As(k,k), the pivot perturbed if it is small. A zero pivot and values that are not finite
  /// are noted; no column waits for them.
  void divide(std::int32_t k) {
    const FilledPattern& f = as_.filled;
    std::vector<T>& As = as_.values;
    T& pivot = As[f.diag[k]];
    if (std::abs(pivot) < least_pivot_) {
      pivot = pivot < T(0) ? -least_pivot_ : least_pivot_;
      as_.statistics.perturbed_pivots += 1;
    }
    bool sound = pivot != T(0);
    for (std::int64_t p = f.diag[k] + 1; p < f.col_ptr[k + 1]; ++p) As[p] /= pivot;
    for (std::int64_t p = f.col_ptr[k]; p < f.col_ptr[k + 1]; ++p) sound = sound && std::isfinite(As[p]);
    if (!sound) failed_ = std::min(failed_, k);
  }

  Factors<T> as_;
  std::vector<std::int64_t> degree_;                    // (n)
  std::vector<std::int64_t> next_;                      // (n) entry of U(:,k) at which column k goes on
  std::vector<std::vector<std::int32_t>> waiting_for_;  // (n) columns that stepped aside for column i
  T least_pivot_ = T(0);
  std::int32_t failed_ = 0;  // smallest column that is not sound; n: none
};

}  // namespace

const Rung reference = rung_of<ReferenceBackend>(
    {.id = "sparse_syncfree/00_reference",
     .stage = "sparse_syncfree",
     .paper = "Zhao et al. 2021 (SFLU), Algorithm 2",
     .idea = "column by column: each column waits until the degree of a column is zero before it subtracts "
             "that column",
     .pivoting = Pivoting::fixed,
     .refactors = true,
     .perturbs_pivots = true});

}  // namespace lulab::sparse_syncfree
