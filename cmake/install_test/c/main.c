/* A C program of another project, linked with liblulab.so alone: solves, and has factors judged. */
#include <lulab.h>
#include <lulab_judge.h>
#include <stdio.h>
#include <string.h>

/* A = | 2 1 |   L = | 1 0 |   U = | 2 1 |
 *     | 4 5 |       | 2 1 |       | 0 3 | */
static const int64_t a_ptr[] = {0, 2, 4}, l_ptr[] = {0, 1, 1}, u_ptr[] = {0, 1, 3};
static const int32_t a_rows[] = {0, 1, 0, 1}, l_rows[] = {1}, u_rows[] = {0, 0, 1};
static const double a[] = {2, 4, 1, 5}, l[] = {2};

static int fail(const char* what) {
  lulab_error error;
  error.size = sizeof error;
  lulab_last_error(&error);
  fprintf(stderr, "%s: %s\n", what, error.message);
  return 1;
}

static int solve(void) {
  const double b[] = {3, 9}; /* A (1, 1) */
  double x[] = {0, 0};
  lulab_solver* solver;
  lulab_matrix m;
  memset(&m, 0, sizeof m);
  m.size = sizeof m, m.n = 2, m.nnz = 4, m.pointer_bits = 64, m.index_bits = 32;
  m.ptr = a_ptr, m.idx = a_rows, m.values = a;
  if (lulab_create(&solver, LULAB_DOUBLE, LULAB_ABI) != LULAB_OK) return fail("create");
  if (lulab_analyze(solver, &m) != LULAB_OK) return fail("analyze");
  if (lulab_factor(solver, 4, a) != LULAB_OK) return fail("factor");
  if (lulab_step(solver, 4, a, 2, b, x) != LULAB_OK) return fail("step");
  if (!(x[0] - 1 <= 1e-14 && 1 - x[0] <= 1e-14 && x[1] - 1 <= 1e-14 && 1 - x[1] <= 1e-14)) return fail("x");
  if (lulab_destroy(solver) != LULAB_OK) return fail("destroy");
  return lulab_destroy(solver) == LULAB_WRONG_HANDLE ? 0 : fail("destroy again");
}

static int judge(void) {
  double u[] = {2, 1, 3};
  lulab_judge_input input;
  static lulab_judge_report report;
  lulab_judge_init(&input, sizeof input, &report, sizeof report);
  input.n = 2;
  input.a.col_ptr = a_ptr, input.a.row_idx = a_rows, input.a.values = a;
  input.l.col_ptr = l_ptr, input.l.row_idx = l_rows, input.l.values = l;
  input.u.col_ptr = u_ptr, input.u.row_idx = u_rows, input.u.values = u;
  if (lulab_judge(&input, &report) != LULAB_JUDGE_OK || !report.accepted) return 2;
  u[2] = 4;
  if (lulab_judge(&input, &report) != LULAB_JUDGE_OK || report.accepted) return 3;
  if (report.row != 1 || report.column != 1) return 4;
  return strcmp(lulab_judge_fault_name(report.fault), "wrong_value") == 0 ? 0 : 5;
}

int main(void) {
  const int status = solve() + judge();
  if (status == 0) printf("solved and judged with lulab %s\n", lulab_version());
  return status;
}
