/* Is this an LU factorization of A? The judge of lulab (`lulab judge`) as a C interface, in memory.
 *
 *   lulab_judge_input input;
 *   lulab_judge_report report;
 *   lulab_judge_init(&input, sizeof input, &report, sizeof report);
 *   input.n = n;  input.a.col_ptr = ...;  input.convention = LULAB_JUDGE_KLU;  ...
 *   if (lulab_judge(&input, &report) == LULAB_JUDGE_OK && !report.accepted) puts(report.what);
 *
 * It prints nothing, sets no locale, never aborts, keeps no pointer and no memory; no C++ exception leaves it. Calls
 * from several threads do not disturb each other.
 *
 * Stable: numbers of enumerators and the order of members stay; new members are added at the end, and `size` says which
 * of them the caller knows. man 3 lulab_judge; link with `pkg-config --cflags --libs lulab`, or lulab::c in CMake.
 */
#ifndef LULAB_JUDGE_H
#define LULAB_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#ifndef LULAB_API
#if defined(__GNUC__)
#define LULAB_API __attribute__((visibility("default")))
#else
#define LULAB_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What p, q, r, c mean; verify/foreign.h describes each. L is unit lower (its ones may be left out), U upper. */
enum {
  LULAB_JUDGE_AUTO = 0, /* the one under which L U comes closest to A */
  LULAB_JUDGE_LULAB = 1,
  LULAB_JUDGE_KLU = 2,
  LULAB_JUDGE_SUPERLU = 3,
  LULAB_JUDGE_SCIPY = 4,
  LULAB_JUDGE_EIGEN = 5,
  LULAB_JUDGE_UMFPACK = 6,
  LULAB_JUDGE_MATLAB = 7,
  LULAB_JUDGE_LAPACK_IPIV = 8
};

/* What is wrong. */
enum {
  LULAB_FAULT_NONE = 0,
  LULAB_FAULT_NOT_FINITE = 1,
  LULAB_FAULT_INDEX_BASE = 2,
  LULAB_FAULT_NOT_A_PERMUTATION = 3,
  LULAB_FAULT_NOT_TRIANGULAR = 4,
  LULAB_FAULT_SWAPPED_FACTORS = 5,
  LULAB_FAULT_TRANSPOSED_FACTORS = 6,
  LULAB_FAULT_UNIT_DIAGONAL = 7,
  LULAB_FAULT_ZERO_PIVOT = 8,
  LULAB_FAULT_TRANSPOSED_INPUT = 9,
  LULAB_FAULT_SWAPPED_P_Q = 10,
  LULAB_FAULT_ROW_PERMUTATION = 11,
  LULAB_FAULT_COLUMN_PERMUTATION = 12,
  LULAB_FAULT_SCALING = 13,
  LULAB_FAULT_PIVOT_CHOICE = 14,
  LULAB_FAULT_MISSING_FILL = 15,
  LULAB_FAULT_EXTRA_ENTRY = 16,
  LULAB_FAULT_WRONG_VALUE = 17,
  LULAB_FAULT_ROUNDING = 18,
  LULAB_FAULT_SOLUTION = 19
};

/* What lulab_judge() returns. */
enum {
  LULAB_JUDGE_OK = 0,        /* judged; report.accepted is the verdict */
  LULAB_JUDGE_BAD_INPUT = 1, /* sizes or indices do not fit; report.what says which */
  LULAB_JUDGE_OUT_OF_MEMORY = 2,
  LULAB_JUDGE_INTERNAL = 3 /* a mistake of the judge */
};

/* How a check ended. */
enum { LULAB_CHECK_FAILED = 0, LULAB_CHECK_PASSED = 1, LULAB_CHECK_REPORTED = 2 };

/* n x n by columns; rows in any order, none twice. All from 0 or, with index_base 1, from 1. */
typedef struct lulab_judge_matrix {
  const int64_t* col_ptr; /* (n + 1) */
  const int32_t* row_idx;
  const double* values;
} lulab_judge_matrix;

typedef struct lulab_judge_input {
  size_t size; /* sizeof(lulab_judge_input) */
  int32_t n;
  int32_t convention; /* LULAB_JUDGE_... */
  int32_t index_base; /* of col_ptr and row_idx of A, L, U, F: 0 or 1 */
  int32_t order_base; /* of p and q: 0 or 1; -1: that of the convention */
  lulab_judge_matrix a, l, u;
  lulab_judge_matrix f; /* KLU's entries above its blocks; null pointers: none */
  const int64_t *p, *q; /* (n); null: in order */
  const double *r, *c;  /* (n); null: ones */
  const double *x, *b;  /* (n); null: no solution to judge */
  double tolerance;     /* what residuals may measure; 0: the usual 30 */
  uint64_t seed;        /* of right-hand sides and probes */
} lulab_judge_input;

typedef struct lulab_judge_check {
  const char* name;    /* for ever valid */
  const char* formula; /* for ever valid */
  double value;        /* 1 and 0 for yes and no */
  double limit;        /* at most; NaN: reported, not judged */
  int32_t verdict;     /* LULAB_CHECK_... */
} lulab_judge_check;

enum { LULAB_JUDGE_CHECKS = 40, LULAB_JUDGE_WINDOW = 6, LULAB_JUDGE_TEXT = 512 };

typedef struct lulab_judge_report {
  size_t size;                   /* sizeof(lulab_judge_report) */
  int32_t accepted;              /* 1: every judged check passed */
  int32_t fault;                 /* LULAB_FAULT_... of the first failure */
  int32_t convention;            /* in which the factors were read */
  int32_t row, column;           /* place of the fault in L + U, from 0; -1: none */
  double found, wanted;          /* the entry there, and what it should be; equal: unknown */
  char what[LULAB_JUDGE_TEXT];   /* a sentence, UTF-8, cut to this length; empty when accepted */
  char advice[LULAB_JUDGE_TEXT]; /* what to try */
  int32_t check_count;
  lulab_judge_check checks[LULAB_JUDGE_CHECKS];
  int32_t window_row, window_column, window_rows, window_columns; /* the piece around the fault; 0 x 0: none */
  double window_wanted[LULAB_JUDGE_WINDOW * LULAB_JUDGE_WINDOW];  /* P R A C Q, row by row, 6 a row */
  double window_found[LULAB_JUDGE_WINDOW * LULAB_JUDGE_WINDOW];   /* L U */
} lulab_judge_report;

/* Sets all members to 0 and `size`, order_base to -1, tolerance to 30, seed to 1. */
LULAB_API void lulab_judge_init(lulab_judge_input* input, size_t input_size, lulab_judge_report* report,
                                size_t report_size);

/* Judges. Writes no more than report->size bytes. */
LULAB_API int lulab_judge(const lulab_judge_input* input, lulab_judge_report* report);

/* "klu", "missing_fill"; "unknown" for other numbers. For ever valid. */
LULAB_API const char* lulab_judge_convention_name(int convention);
LULAB_API const char* lulab_judge_fault_name(int fault);

#ifdef __cplusplus
}
#endif

#endif
