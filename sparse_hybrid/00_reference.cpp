// Hybrid right-looking LU, column by column.                                            Peng & Tan 2020, Algorithm 2
//
//   for j = 1 to n
//     for k > j with As(k,j) != 0:    As(k,j) = As(k,j) / As(j,j)
//     for k > j with As(j,k) != 0:                                       the subcolumns of column j
//       for i > j with As(i,j) != 0:  As(i,k) = As(i,k) - As(i,j) * As(j,k)

#include <cmath>
#include <vector>

#include "core/host_backend.h"
#include "sparse_hybrid/rungs.h"
#include "symbolic/rows_of_u.h"

namespace lulab::sparse_hybrid {
namespace {

template <class T>
class ReferenceBackend final : public HostBackend<T> {
 public:
  using HostBackend<T>::HostBackend;

 private:
  Status prepare_rung() override {
    as_ = {this->plan(), this->analysis().filled, std::vector<T>(this->analysis().filled.nnz()), {}};
    u_ = rows_of_u(as_.filled);
    return {};
  }

  Status eliminate() override {
    const FilledPattern& f = as_.filled;
    scatter();
    for (std::int32_t j = 0; j < f.n; ++j) {
      if (!divide(j))
        return this->column_error(StatusCode::needs_repivot, j,
                                  as_.values[f.diag[j]] == T(0) ? "its pivot is zero; choose pivots by value"
                                                                : "it overflows; choose pivots by value");
      for (std::int64_t q = u_.ptr[j]; q < u_.ptr[j + 1]; ++q) update(j, u_.pos[q]);
    }
    return {};
  }

  Factors<T> result() override { return as_; }

  /// As = P·R·A·C·Q, zero at fill-in.
  void scatter() {
    const CscView<T> b = this->pracq();
    const FilledPattern& f = as_.filled;
    for (std::int32_t k = 0; k < f.n; ++k)
      for (std::int64_t p = f.col_ptr[k], s = b.col_ptr[k]; p < f.col_ptr[k + 1]; ++p) {
        const bool stored = s < b.col_ptr[k + 1] && b.row_idx[s] == f.row_idx[p];
        as_.values[p] = stored ? b.values[s++] : T(0);
      }
  }

  /// L(:,j) = As(j+1:n,j) / As(j,j).   Returns false when the pivot is zero or an entry of column j is not finite.
  bool divide(std::int32_t j) {
    const FilledPattern& f = as_.filled;
    std::vector<T>& As = as_.values;
    const T pivot = As[f.diag[j]];
    bool sound = pivot != T(0);
    for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p) As[p] /= pivot;
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) sound = sound && std::isfinite(As[p]);
    return sound;
  }

  /// As(j+1:n,k) -= L(:,j) · As(j,k), where entry (j,k) lies at `jk`. Column k has every row of L(:,j): that is its
  /// fill.
  void update(std::int32_t j, std::int64_t jk) {
    const FilledPattern& f = as_.filled;
    std::vector<T>& As = as_.values;
    std::int64_t ik = jk + 1;
    for (std::int64_t ij = f.diag[j] + 1; ij < f.col_ptr[j + 1]; ++ij, ++ik) {
      while (f.row_idx[ik] != f.row_idx[ij]) ++ik;
      As[ik] -= As[ij] * As[jk];
    }
  }

  Factors<T> as_;
  RowsOfU u_;
};

}  // namespace

const Rung reference = rung_of<ReferenceBackend>(
    {.id = "sparse_hybrid/00_reference",
     .stage = "sparse_hybrid",
     .paper = "Peng & Tan 2020, Algorithm 2",
     .idea = "column by column: divide by the pivot, then update every column to the right that has an entry "
             "in the pivot's row",
     .pivoting = Pivoting::fixed,
     .refactors = true});

}  // namespace lulab::sparse_hybrid
