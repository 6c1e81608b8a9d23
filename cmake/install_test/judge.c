/* A C program of another project: the installed judge accepts right factors and rejects wrong ones. */
#include <lulab/lulab_judge.h>

int main(void) {
  /* A = | 2 1 |   L = | 1 0 |   U = | 2 1 |
   *     | 4 5 |       | 2 1 |       | 0 3 | */
  const int64_t a_ptr[] = {0, 2, 4}, l_ptr[] = {0, 1, 1}, u_ptr[] = {0, 1, 3};
  const int32_t a_rows[] = {0, 1, 0, 1}, l_rows[] = {1}, u_rows[] = {0, 0, 1};
  const double a[] = {2, 4, 1, 5}, l[] = {2};
  double u[] = {2, 1, 3};
  lulab_judge_input input;
  lulab_judge_report report;
  lulab_judge_init(&input, sizeof input, &report, sizeof report);
  input.n = 2;
  input.a.col_ptr = a_ptr, input.a.row_idx = a_rows, input.a.values = a;
  input.l.col_ptr = l_ptr, input.l.row_idx = l_rows, input.l.values = l;
  input.u.col_ptr = u_ptr, input.u.row_idx = u_rows, input.u.values = u;
  if (lulab_judge(&input, &report) != LULAB_JUDGE_OK || !report.accepted) return 1;
  u[2] = 4;
  if (lulab_judge(&input, &report) != LULAB_JUDGE_OK || report.accepted) return 2;
  return report.fault == LULAB_FAULT_WRONG_VALUE && report.row == 1 && report.column == 1 ? 0 : 3;
}
