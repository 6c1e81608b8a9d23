/* lulab-klu-program: a program that calls KLU, and knows nothing of lulab. Times the first answer and steps with new
 * values by the libklu that it loads: SuiteSparse's, or ours where its folder is in LD_LIBRARY_PATH.
 *
 *   zcat A.mtx.gz | lulab-klu-program [steps]
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <cholmod.h>
#include <klu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* A NaN is the worst. */
static double worse(double a, double b) { return isnan(a) || a > b ? a : b; }

/* max |b - A x| / max (|A| |x| + |b|)   r, size: room for n numbers */
static double backward_error(const cholmod_sparse* a, const double* values, const double* b, const double* x, double* r,
                             double* size) {
  const int *col_ptr = a->p, *row_idx = a->i;
  const int n = (int)a->ncol;
  double error = 0, scale = 0;
  for (int i = 0; i < n; ++i) r[i] = b[i], size[i] = fabs(b[i]);
  for (int j = 0; j < n; ++j)
    for (int k = col_ptr[j]; k < col_ptr[j + 1]; ++k) {
      r[row_idx[k]] -= values[k] * x[j];
      size[row_idx[k]] += fabs(values[k] * x[j]);
    }
  for (int i = 0; i < n; ++i) {
    error = worse(fabs(r[i]), error);
    scale = worse(size[i], scale);
  }
  return error / scale;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int fail(const char* call, int status) {
  fprintf(stderr, "%s: status %d of klu.h\n", call, status);
  return 1;
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 100;
  if (argc > 2 || steps < 1) {
    fprintf(stderr, "usage: zcat A.mtx.gz | %s [steps, at least 1]\n", argv[0]);
    return 2;
  }
  cholmod_common cholmod;
  cholmod_start(&cholmod);
  cholmod_sparse* half = cholmod_read_sparse(stdin, &cholmod);
  cholmod_sparse* a = half && half->stype ? cholmod_copy(half, 0, 1, &cholmod) : half; /* both triangles */
  if (!a || a->nrow != a->ncol || a->xtype != CHOLMOD_REAL) {
    fprintf(stderr, "the input is no square real matrix in the Matrix Market format\n");
    return 2;
  }
  const int n = (int)a->ncol, nnz = ((int*)a->p)[n];
  double *values = malloc(nnz * sizeof *values), *x = malloc(n * sizeof *x), *b = malloc(n * sizeof *b);
  double *r = malloc(n * sizeof *r), *size = malloc(n * sizeof *size), *ms = malloc(steps * sizeof *ms);
  if (!values || !x || !b || !r || !size || !ms) return fail("malloc", KLU_OUT_OF_MEMORY);
  for (int i = 0; i < n; ++i) x[i] = b[i] = 1 + 0.1 * (i % 7);

  klu_common klu;
  klu_defaults(&klu);
  const double start = now_ms();
  klu_symbolic* symbolic = klu_analyze(n, a->p, a->i, &klu);
  if (!symbolic) return fail("klu_analyze", klu.status);
  const double analyzed = now_ms();
  klu_numeric* numeric = klu_factor(a->p, a->i, a->x, symbolic, &klu);
  if (!numeric) return fail("klu_factor", klu.status);
  const double factored = now_ms();
  if (!klu_solve(symbolic, numeric, n, 1, x, &klu)) return fail("klu_solve", klu.status);
  const double solved = now_ms();
  double error = backward_error(a, a->x, b, x, r, size);

  double sum_ms = 0;
  for (int step = 0; step < steps; ++step) {
    for (int k = 0; k < nnz; ++k) values[k] = ((double*)a->x)[k] * (1 + 1e-3 * ((k + 31 * step) % 101 - 50));
    for (int i = 0; i < n; ++i) x[i] = b[i];
    const double begin = now_ms();
    if (!klu_refactor(a->p, a->i, values, symbolic, numeric, &klu)) return fail("klu_refactor", klu.status);
    if (!klu_solve(symbolic, numeric, n, 1, x, &klu)) return fail("klu_solve", klu.status);
    ms[step] = now_ms() - begin;
    sum_ms += ms[step];
    error = worse(backward_error(a, values, b, x, r, size), error);
  }
  qsort(ms, steps, sizeof *ms, compare);
  printf("n %d, entries %d: first answer %.3g ms (analyze %.3g, factor %.3g, solve %.3g)\n", n, nnz, solved - start,
         analyzed - start, factored - analyzed, solved - factored);
  printf("%d steps: %.4g ms, median %.3g ms, backward error %.1e\n", steps, sum_ms, ms[steps / 2], error);

  klu_free_numeric(&numeric, &klu);
  klu_free_symbolic(&symbolic, &klu);
  if (a != half) cholmod_free_sparse(&half, &cholmod);
  cholmod_free_sparse(&a, &cholmod);
  cholmod_finish(&cholmod);
  free(values), free(x), free(b), free(r), free(size), free(ms);
  return !(error <= 1e-7);
}
