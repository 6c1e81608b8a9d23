/* lulab-solve-from-c: ten steps of a small circuit in plain C: analyze and factor once, then refactor and solve. */
#include <lulab.h>
#include <math.h>
#include <stdio.h>

/* A chain of amplifiers: each node has a conductance to its neighbours, a capacitor to ground, and a current source
 * that the node before it controls. The matrix is tridiagonal and unsymmetric. */
enum { n = 100, nnz = 3 * n - 2 };

static void build_pattern(int32_t col_ptr[n + 1], int32_t row_idx[nnz]) {
  int32_t k = 0;
  for (int32_t j = 0; j < n; ++j) {
    col_ptr[j] = k;
    for (int32_t i = j - 1; i <= j + 1; ++i)
      if (i >= 0 && i < n) row_idx[k++] = i;
  }
  col_ptr[n] = k;
}

/* capacitor: its conductance C / (time step) */
static void stamp(const int32_t col_ptr[n + 1], const int32_t row_idx[nnz], double capacitor, double gain,
                  double values[nnz]) {
  for (int32_t j = 0; j < n; ++j)
    for (int32_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) {
      const int32_t i = row_idx[k];
      values[k] = i == j ? 2 + capacitor : i == j + 1 ? -1 + gain : -1;
    }
}

/* max |b - A x| */
static double residual(const int32_t col_ptr[n + 1], const int32_t row_idx[nnz], const double values[nnz],
                       const double b[n], const double x[n]) {
  double r[n], largest = 0;
  for (int32_t i = 0; i < n; ++i) r[i] = b[i];
  for (int32_t j = 0; j < n; ++j)
    for (int32_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) r[row_idx[k]] -= values[k] * x[j];
  for (int32_t i = 0; i < n; ++i) largest = fmax(largest, fabs(r[i]));
  return largest;
}

static int fail(const char* call) {
  lulab_error error = {.size = sizeof error};
  lulab_last_error(&error);
  fprintf(stderr, "%s: %s: %s\n", call, lulab_status_name(error.status), error.message);
  return 1;
}

int main(void) {
  int32_t col_ptr[n + 1], row_idx[nnz];
  double values[nnz], b[n], x[n] = {0};
  build_pattern(col_ptr, row_idx);
  stamp(col_ptr, row_idx, 0.5, 0.1, values);

  const lulab_matrix a = {.size = sizeof a,
                          .n = n,
                          .nnz = nnz,
                          .format = LULAB_CSC,
                          .pointer_bits = 32,
                          .index_bits = 32,
                          .ptr = col_ptr,
                          .idx = row_idx,
                          .values = values};
  lulab_solver* solver;
  if (lulab_create(&solver, LULAB_DOUBLE, LULAB_ABI) != LULAB_OK) return fail("create");
  if (lulab_analyze(solver, &a) != LULAB_OK) return fail("analyze");
  if (lulab_factor(solver, nnz, values) != LULAB_OK) return fail("factor");

  double worst = 0;
  for (int step = 0; step < 10; ++step) {
    const double capacitor = step < 5 ? 0.5 : 0.25; /* the time step doubles */
    stamp(col_ptr, row_idx, capacitor, 0.1 * sin(step), values);
    for (int32_t i = 0; i < n; ++i) b[i] = capacitor * x[i]; /* currents of the capacitors */
    b[0] += 1;
    if (lulab_step(solver, nnz, values, n, b, x) != LULAB_OK) return fail("step");
    const double r = residual(col_ptr, row_idx, values, b, x);
    printf("step %2d  v(1) = %.6f  v(%d) = %.3e  residual = %.1e\n", step + 1, x[0], n, x[n - 1], r);
    worst = fmax(worst, r);
  }

  lulab_statistics known = {.size = sizeof known};
  if (lulab_get_statistics(solver, &known) != LULAB_OK) return fail("get_statistics");
  printf("%s, order %s, %lld entries in L and U, pivot growth %.1f\n", known.rung, known.order,
         (long long)known.nnz_l + (long long)known.nnz_u, known.pivot_growth);
  if (lulab_destroy(solver) != LULAB_OK) return fail("destroy");
  return worst <= 1e-13 ? 0 : 1; /* 100 eps * max |A| |x|, which is below 4 */
}
