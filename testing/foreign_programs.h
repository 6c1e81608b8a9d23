#pragma once
// For tests of the judge: factors as KLU, SuperLU, UMFPACK, LAPACK, Eigen and SciPy return them, each in its own
// convention.

#include <klu.h>

#include <Eigen/SparseLU>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix/matrix_market.h"
#include "testing/program.h"
#include "verify/foreign.h"
#ifdef LULAB_UMFPACK
#include <umfpack.h>
#endif
#ifdef LULAB_SUPERLU
#include <slu_ddefs.h>
#endif

extern "C" {
void dgesvx_(const char* fact, const char* trans, const int* n, const int* nrhs, double* a, const int* lda, double* af,
             const int* ldaf, int* ipiv, char* equed, double* r, double* c, double* b, const int* ldb, double* x,
             const int* ldx, double* rcond, double* ferr, double* berr, double* work, int* iwork, int* info,
             std::size_t, std::size_t, std::size_t);
}

namespace lulab::testing {

/// A program's factors and what it says of them; NaN: nothing.
struct ProgramAnswer {
  ForeignFactors factors;
  double reciprocal_growth = std::numeric_limits<double>::quiet_NaN();
  double rcond = std::numeric_limits<double>::quiet_NaN();
  std::string skipped;   // why there are no factors
  bool missing = false;  // because the program is not here
};

struct ForeignProgram {
  const char* name;
  Convention convention;
  bool scales;  // its factors are those of a scaled A
  /// `weak`: take pivots however small, the diagonal first.
  std::function<ProgramAnswer(const CscMatrix<double>& a, bool weak)> factor;
};

inline CscMatrix<double> csc_of(std::int32_t n, const std::vector<int>& ptr, const std::vector<int>& idx,
                                const std::vector<double>& values) {
  std::vector<std::int32_t> rows(idx.begin(), idx.end()), columns;
  for (std::int32_t j = 0; j < n; ++j) columns.insert(columns.end(), ptr[j + 1] - ptr[j], j);
  rows.resize(columns.size());
  return from_triplets<double>(n, n, rows, columns, std::span(values).first(columns.size()));
}

inline CscMatrix<double> by_rows(std::int32_t n, const std::vector<int>& ptr, const std::vector<int>& idx,
                                 const std::vector<double>& values) {
  return transpose(csc_of(n, ptr, idx, values).view());
}

inline ProgramAnswer klu_factors(const CscMatrix<double>& a, bool weak, bool btf) {
  klu_common common;
  klu_defaults(&common);
  common.btf = btf;
  common.scale = weak ? 0 : 2;
  if (weak) common.tol = 0;
  const std::int32_t n = a.n_cols;
  std::vector<int> ap(a.col_ptr.begin(), a.col_ptr.end()), ai(a.row_idx.begin(), a.row_idx.end());
  std::vector<double> ax = a.values;
  klu_symbolic* symbolic = weak ? klu_analyze_given(n, ap.data(), ai.data(), nullptr, nullptr, &common)
                                : klu_analyze(n, ap.data(), ai.data(), &common);
  klu_numeric* numeric = klu_factor(ap.data(), ai.data(), ax.data(), symbolic, &common);
  ProgramAnswer answer;
  if (numeric == nullptr)
    return answer.skipped = "KLU finds it singular", klu_free_symbolic(&symbolic, &common), answer;
  std::vector<int> lp(n + 1), li(numeric->lnz), up(n + 1), ui(numeric->unz), fp(n + 1), fi(numeric->nzoff), p(n), q(n);
  std::vector<double> lx(numeric->lnz), ux(numeric->unz), fx(numeric->nzoff), rs(n);
  std::vector<int> blocks(n + 1);
  EXPECT_TRUE(klu_extract(numeric, symbolic, lp.data(), li.data(), lx.data(), up.data(), ui.data(), ux.data(),
                          fp.data(), fi.data(), fx.data(), p.data(), q.data(), rs.data(), blocks.data(), &common));
  klu_rgrowth(ap.data(), ai.data(), ax.data(), symbolic, numeric, &common);
  answer.reciprocal_growth = common.rgrowth;
  klu_condest(ap.data(), ax.data(), symbolic, numeric, &common);
  answer.rcond = 1 / common.condest;
  answer.factors = {csc_of(n, lp, li, lx),
                    csc_of(n, up, ui, ux),
                    csc_of(n, fp, fi, fx),
                    {p.begin(), p.end()},
                    {q.begin(), q.end()},
                    rs,
                    {}};
  klu_free_numeric(&numeric, &common);
  klu_free_symbolic(&symbolic, &common);
  return answer;
}

inline ProgramAnswer umfpack_factors(const CscMatrix<double>& a, bool weak) {
  ProgramAnswer answer;
#ifdef LULAB_UMFPACK
  const int n = a.n_cols;
  std::vector<int> ap(a.col_ptr.begin(), a.col_ptr.end()), ai(a.row_idx.begin(), a.row_idx.end());
  double control[UMFPACK_CONTROL];
  umfpack_di_defaults(control);
  if (weak) {
    control[UMFPACK_PIVOT_TOLERANCE] = control[UMFPACK_SYM_PIVOT_TOLERANCE] = 1e-300;
    control[UMFPACK_SCALE] = UMFPACK_SCALE_NONE;
    control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
  }
  void *symbolic = nullptr, *numeric = nullptr;
  if (umfpack_di_symbolic(n, n, ap.data(), ai.data(), a.values.data(), &symbolic, control, nullptr) != UMFPACK_OK ||
      umfpack_di_numeric(ap.data(), ai.data(), a.values.data(), symbolic, &numeric, control, nullptr) != UMFPACK_OK)
    answer.skipped = "UMFPACK finds it singular";
  else {
    int lnz, unz, rows, columns, nz_udiag, do_recip;
    umfpack_di_get_lunz(&lnz, &unz, &rows, &columns, &nz_udiag, numeric);
    std::vector<int> lp(n + 1), lj(lnz), up(n + 1), ui(unz), p(n), q(n);
    std::vector<double> lx(lnz), ux(unz), d(n), rs(n);
    umfpack_di_get_numeric(lp.data(), lj.data(), lx.data(), up.data(), ui.data(), ux.data(), p.data(), q.data(),
                           d.data(), &do_recip, rs.data(), numeric);
    if (!do_recip)
      for (double& r : rs) r = 1 / r;
    // Its L comes by rows; taken for columns, as a program would, it is L transposed.
    answer.factors = {
        csc_of(n, lp, lj, lx), csc_of(n, up, ui, ux), {}, {p.begin(), p.end()}, {q.begin(), q.end()}, rs, {}};
  }
  umfpack_di_free_numeric(&numeric);
  umfpack_di_free_symbolic(&symbolic);
#else
  (void)a, (void)weak;
  answer.skipped = "built without UMFPACK";
  answer.missing = true;
#endif
  return answer;
}

inline ProgramAnswer superlu_factors(const CscMatrix<double>& a, bool weak) {
  ProgramAnswer answer;
#ifdef LULAB_SUPERLU
  const int n = a.n_cols;
  std::vector<int> ap(a.col_ptr.begin(), a.col_ptr.end()), ai(a.row_idx.begin(), a.row_idx.end());
  std::vector<double> ax = a.values, rhs(n, 1.0), solution(n, 0.0), r(n), c(n), ferr(1), berr(1);
  std::vector<int> perm_r(n), perm_c(n), etree(n);
  superlu_options_t options;
  set_default_options(&options);
  options.Equil = weak ? NO : YES;
  options.PivotGrowth = YES;
  options.ConditionNumber = YES;
  options.PrintStat = NO;
  if (weak) {
    options.DiagPivotThresh = 0;
    options.ColPerm = NATURAL;
    options.SymmetricMode = YES;
  }
  SuperMatrix m, l, u, b, x;
  dCreate_CompCol_Matrix(&m, n, n, static_cast<int>(a.nnz()), ax.data(), ai.data(), ap.data(), SLU_NC, SLU_D, SLU_GE);
  dCreate_Dense_Matrix(&b, n, 1, rhs.data(), n, SLU_DN, SLU_D, SLU_GE);
  dCreate_Dense_Matrix(&x, n, 1, solution.data(), n, SLU_DN, SLU_D, SLU_GE);
  SuperLUStat_t stat;
  StatInit(&stat);
  GlobalLU_t global;
  mem_usage_t memory;
  char equed[2] = "N";
  int info = 0;
  dgssvx(&options, &m, perm_c.data(), perm_r.data(), etree.data(), equed, r.data(), c.data(), &l, &u, nullptr, 0, &b,
         &x, &answer.reciprocal_growth, &answer.rcond, ferr.data(), berr.data(), &global, &memory, &stat, &info);
  if (info > 0 && info <= n) answer.skipped = "SuperLU finds it singular";
  // The diagonal blocks of U lie in the supernodes of L.
  const auto* sl = static_cast<const SCformat*>(l.Store);
  const auto* su = static_cast<const NCformat*>(u.Store);
  std::vector<std::int32_t> li, lj, ui, uj;
  std::vector<double> lx, ux;
  for (int j = 0; j < n && answer.skipped.empty(); ++j) {
    const int first = sl->sup_to_col[sl->col_to_sup[j]];
    const int* rows = sl->rowind + sl->rowind_colptr[first];
    const int count = sl->rowind_colptr[first + 1] - sl->rowind_colptr[first];
    const double* values = static_cast<const double*>(sl->nzval) + sl->nzval_colptr[j];
    for (int k = 0; k < count; ++k) {
      const bool upper = rows[k] <= j;
      if (values[k] == 0 && rows[k] != j) continue;  // supernodes are padded
      (upper ? ui : li).push_back(rows[k]);
      (upper ? uj : lj).push_back(j);
      (upper ? ux : lx).push_back(values[k]);
    }
    for (int k = su->colptr[j]; k < su->colptr[j + 1]; ++k) {
      ui.push_back(su->rowind[k]);
      uj.push_back(j);
      ux.push_back(static_cast<const double*>(su->nzval)[k]);
    }
  }
  answer.factors.l = from_triplets<double>(n, n, li, lj, lx);
  answer.factors.u = from_triplets<double>(n, n, ui, uj, ux);
  answer.factors.p.assign(perm_r.begin(), perm_r.end());
  answer.factors.q.assign(perm_c.begin(), perm_c.end());
  if (equed[0] == 'R' || equed[0] == 'B') answer.factors.r = r;
  if (equed[0] == 'C' || equed[0] == 'B') answer.factors.c = c;
  StatFree(&stat);
  Destroy_SuperMatrix_Store(&m);
  Destroy_SuperMatrix_Store(&b);
  Destroy_SuperMatrix_Store(&x);
  Destroy_SuperNode_Matrix(&l);
  Destroy_CompCol_Matrix(&u);
#else
  (void)a, (void)weak;
  answer.skipped = "built without SuperLU";
  answer.missing = true;
#endif
  return answer;
}

inline std::vector<double> dense_values(const CscMatrix<double>& a) {
  std::vector<double> d(static_cast<std::size_t>(a.n_cols) * a.n_cols, 0.0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      d[a.row_idx[k] + static_cast<std::size_t>(j) * a.n_cols] = a.values[k];
  return d;
}

inline CscMatrix<double> nonzeros(std::int32_t n, const std::vector<double>& d,
                                  const std::function<bool(std::int32_t, std::int32_t)>& keep) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i)
      if (const double v = d[i + static_cast<std::size_t>(j) * n]; keep(i, j) && (v != 0 || i == j)) {
        a.row_idx.push_back(i);
        a.values.push_back(v);
      }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// dgesvx, which equilibrates where that helps; `weak`: elimination without exchanges, which LAPACK does not offer.
inline ProgramAnswer lapack_factors(const CscMatrix<double>& a, bool weak) {
  const int n = a.n_cols, one = 1;
  std::vector<double> d = dense_values(a), af(d.size()), r(n, 1), c(n, 1), b(n, 1), x(n), ferr(1), berr(1), work(4 * n);
  std::vector<int> ipiv(n), iwork(n);
  char equed = 'N';
  int info = 0;
  ProgramAnswer answer;
  if (weak) {
    af = d;
    for (int k = 0; k < n; ++k) {
      ipiv[k] = k + 1;
      for (int i = k + 1; i < n; ++i) {
        const double m = af[i + std::size_t(k) * n] /= af[k + std::size_t(k) * n];
        for (int j = k + 1; j < n; ++j) af[i + std::size_t(j) * n] -= m * af[k + std::size_t(j) * n];
      }
    }
  } else {
    dgesvx_("E", "N", &n, &one, d.data(), &n, af.data(), &n, ipiv.data(), &equed, r.data(), c.data(), b.data(), &n,
            x.data(), &n, &answer.rcond, ferr.data(), berr.data(), work.data(), iwork.data(), &info, 1, 1, 1);
    answer.reciprocal_growth = work[0];
    if (info > 0 && info <= n) answer.skipped = "LAPACK finds it singular";
  }
  answer.factors.l = nonzeros(n, af, [](auto i, auto j) { return i > j; });
  answer.factors.u = nonzeros(n, af, [](auto i, auto j) { return i <= j; });
  answer.factors.p.assign(ipiv.begin(), ipiv.end());
  if (equed == 'R' || equed == 'B') answer.factors.r = r;
  if (equed == 'C' || equed == 'B') answer.factors.c = c;
  return answer;
}

inline ProgramAnswer eigen_factors(const CscMatrix<double>& a, bool weak) {
  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  std::vector<Eigen::Triplet<double>> entries;
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) entries.emplace_back(a.row_idx[k], j, a.values[k]);
  Matrix m(a.n_cols, a.n_cols);
  m.setFromTriplets(entries.begin(), entries.end());
  m.makeCompressed();
  Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<int>> lu;
  lu.isSymmetric(weak);
  if (weak) lu.setPivotThreshold(0);
  lu.compute(m);
  ProgramAnswer answer;
  if (lu.info() != Eigen::Success) return answer.skipped = "Eigen finds it singular", answer;
  const int n = a.n_cols;
  std::vector<double> l(static_cast<std::size_t>(n) * n, 0.0), u = l;
  const auto& supernodes = lu.matrixL().m_mapL;
  for (int j = 0; j < n; ++j)
    for (typename std::decay_t<decltype(supernodes)>::InnerIterator it(supernodes, j); it; ++it)
      (it.row() > j ? l : u)[it.row() + static_cast<std::size_t>(j) * n] = it.value();
  const auto& above = lu.matrixU().m_mapU;
  for (int j = 0; j < n; ++j)
    for (typename std::decay_t<decltype(above)>::InnerIterator it(above, j); it; ++it)
      u[it.row() + static_cast<std::size_t>(j) * n] = it.value();
  answer.factors.l = nonzeros(n, l, [](auto i, auto j) { return i > j; });
  answer.factors.u = nonzeros(n, u, [](auto i, auto j) { return i <= j; });
  const auto& p = lu.rowsPermutation().indices();
  const auto& q = lu.colsPermutation().indices();
  answer.factors.p.assign(p.data(), p.data() + n);
  answer.factors.q.assign(q.data(), q.data() + n);
  return answer;
}

/// scipy.sparse.linalg.splu in a process of its own.
inline ProgramAnswer scipy_factors(const CscMatrix<double>& a, bool weak) {
  static const bool there = run_command("python3 -c 'import scipy.sparse.linalg'").code == 0;
  ProgramAnswer answer;
  answer.missing = !there;
  if (!there) return answer.skipped = "python3 has no scipy", answer;
  const TemporaryFolder folder;
  EXPECT_TRUE(write_matrix_market(folder.path("A.mtx"), a).ok());
  const std::string options =
      weak ? ", permc_spec='NATURAL', diag_pivot_thresh=0, options=dict(SymmetricMode=True)" : "";
  const std::string script = folder.write("factor.py", R"(import sys
import numpy as np
from scipy.io import mmread, mmwrite
from scipy.sparse.linalg import splu
folder = sys.argv[1]
lu = splu(mmread(folder + "/A.mtx").tocsc())" + options + R"()
mmwrite(folder + "/L.mtx", lu.L, precision=17)
mmwrite(folder + "/U.mtx", lu.U, precision=17)
for name, order in (("p", lu.perm_r), ("q", lu.perm_c)):
    np.savetxt(folder + "/" + name, order, fmt="%d")
)");
  const Answer python = run_command("python3 '" + script + "' '" + folder.path("") + "'");
  if (python.code != 0) return answer.skipped = "SciPy refused: " + python.err, answer;
  answer.factors.l = read_matrix_market(folder.path("L.mtx")).value().matrix;
  answer.factors.u = read_matrix_market(folder.path("U.mtx")).value().matrix;
  for (const auto& [name, numbers] : {std::pair{"p", &answer.factors.p}, std::pair{"q", &answer.factors.q}}) {
    std::ifstream file(folder.path(name));
    for (std::int64_t number; file >> number;) numbers->push_back(number);
  }
  return answer;
}

/// Every program that this test was built with.
inline const std::vector<ForeignProgram>& foreign_programs() {
  static const std::vector<ForeignProgram> programs = {
      {"klu", Convention::klu, true, [](const auto& a, bool weak) { return klu_factors(a, weak, !weak); }},
      {"superlu", Convention::superlu, true, superlu_factors},
      {"umfpack", Convention::umfpack, true, umfpack_factors},
      {"lapack", Convention::lapack_ipiv, true, lapack_factors},
      {"eigen", Convention::eigen, false, eigen_factors},
      {"scipy", Convention::scipy, false, scipy_factors},
  };
  return programs;
}

}  // namespace lulab::testing
