/* lulab-judge-from-c: factors a small matrix in C, as getrf does, and asks the judge; then spoils one number and asks
 * again. */
#include <lulab_judge.h>
#include <math.h>
#include <stdio.h>

enum { n = 6 };

/* A := L and U in one, rows exchanged by size; ipiv counts from 1. */
static void factor(double a[n][n], int64_t ipiv[n]) {
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (fabs(a[i][k]) > fabs(a[pivot][k])) pivot = i;
    ipiv[k] = pivot + 1;
    for (int j = 0; j < n; ++j) {
      const double swapped = a[k][j];
      a[k][j] = a[pivot][j];
      a[pivot][j] = swapped;
    }
    for (int i = k + 1; i < n; ++i) {
      a[i][k] /= a[k][k];
      for (int j = k + 1; j < n; ++j) a[i][j] -= a[i][k] * a[k][j];
    }
  }
}

/* All n x n numbers by columns. */
static lulab_judge_matrix by_columns(double a[n][n], int64_t col_ptr[n + 1], int32_t row_idx[n * n],
                                     double values[n * n]) {
  for (int j = 0; j <= n; ++j) col_ptr[j] = j * n;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      row_idx[j * n + i] = i;
      values[j * n + i] = a[i][j];
    }
  const lulab_judge_matrix m = {col_ptr, row_idx, values};
  return m;
}

static int judge(const lulab_judge_input* input, lulab_judge_report* report) {
  const int code = lulab_judge(input, report);
  if (code != LULAB_JUDGE_OK) {
    printf("the judge refused: %s\n", report->what);
    return 0;
  }
  if (report->accepted)
    printf("accepted, %d checks\n", report->check_count);
  else
    printf("rejected, %s: %s\n  try: %s\n", lulab_judge_fault_name(report->fault), report->what, report->advice);
  return 1;
}

int main(void) {
  double a[n][n], lu[n][n], a_values[n * n], lu_values[n * n];
  int64_t a_ptr[n + 1], lu_ptr[n + 1], ipiv[n];
  int32_t a_rows[n * n], lu_rows[n * n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) lu[i][j] = a[i][j] = cos(1 + i * n + j * j * (i + 1));
  factor(lu, ipiv);

  lulab_judge_input input;
  static lulab_judge_report report;
  lulab_judge_init(&input, sizeof input, &report, sizeof report);
  input.n = n;
  input.convention = LULAB_JUDGE_LAPACK_IPIV;
  input.a = by_columns(a, a_ptr, a_rows, a_values);
  input.l = input.u = by_columns(lu, lu_ptr, lu_rows, lu_values); /* packed: L and U are the same */
  input.p = ipiv;
  if (!judge(&input, &report) || !report.accepted) return 1;

  lu_values[3 * n + 2] *= 1.01; /* U(3,4) */
  if (!judge(&input, &report) || report.accepted) return 1;
  return report.row == 2 && report.column == 3 ? 0 : 1;
}
