/* lulab in C (C99): factor a sparse matrix once, then refactor and solve for new values of the same pattern.
 *
 *   lulab_solver* s;
 *   lulab_matrix a = {.size = sizeof a, .n = n, .nnz = nnz, .pointer_bits = 64, .index_bits = 32,
 *                     .ptr = col_ptr, .idx = row_idx, .values = values};
 *   if (lulab_create(&s, LULAB_DOUBLE, LULAB_ABI) || lulab_analyze(s, &a) || lulab_factor(s, nnz, values)) fail();
 *   for (each time step) lulab_step(s, nnz, values, n, b, x);      // refactor, then A x = b
 *   lulab_destroy(s);
 *
 * Every function that returns int returns a status, LULAB_OK = 0; lulab_last_error() has the message and the place.
 * Nothing here prints, exits or lets a C++ exception out. Threads: different solvers do not disturb each other. Of two
 * threads that call with the same solver at once, the second gets LULAB_BUSY; one after the other is allowed.
 *
 * Stable: numbers of enumerators and the order of members stay; new members are added at the end, and `size`, which the
 * caller sets, says which of them it knows. Memory given to a call is not kept after it, but for lulab_step() in device
 * memory. man 3 lulab; link with `pkg-config --cflags --libs lulab`, or lulab::c in CMake.
 */
#ifndef LULAB_C_H
#define LULAB_C_H

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

#define LULAB_ABI 1

enum {
  LULAB_OK = 0,
  LULAB_INVALID_ARGUMENT = 1,
  LULAB_WRONG_HANDLE = 2,    /* NULL, destroyed already, or never a solver */
  LULAB_BUSY = 3,            /* another thread is in a call with this solver */
  LULAB_WRONG_ABI = 4,       /* header and library do not belong together */
  LULAB_WRONG_ORDER = 5,     /* a call before the one that it needs */
  LULAB_UNKNOWN_OPTION = 6,  /* the message lists the keys */
  LULAB_PATTERN_CHANGED = 7, /* another pattern than the one analyzed */
  LULAB_NOT_FINITE = 8,      /* NaN or infinity in A or b */
  LULAB_STRUCTURALLY_SINGULAR = 9,
  LULAB_NUMERICALLY_SINGULAR = 10,
  LULAB_NEEDS_REPIVOT = 11, /* the pivots do not suit the values: call lulab_factor() */
  LULAB_NOT_CONVERGED = 12, /* x was computed, but its backward error is not small */
  LULAB_OUT_OF_MEMORY = 13, /* of host or device */
  LULAB_DEVICE_ERROR = 14,  /* of the GPU, or of a kernel */
  LULAB_NOT_IMPLEMENTED = 15,
  LULAB_INTERNAL = 16 /* a mistake of lulab; please report it */
};

/* Of the factors. Values, b and x are always double: float factors are refined to double accuracy. */
enum { LULAB_DOUBLE = 0, LULAB_FLOAT = 1 };
enum { LULAB_CSC = 0, LULAB_CSR = 1 };
enum { LULAB_HOST = 0, LULAB_DEVICE = 1 };

/* Stands for a solver; not an address. A destroyed one is never given out again. */
typedef struct lulab_solver lulab_solver;

/* n x n, in host memory. Rows within a column (CSC), columns within a row (CSR) in any order, none twice. Sorted CSC is
 * taken as it is; otherwise every call moves the values into that order first. */
typedef struct lulab_matrix {
  size_t size; /* sizeof(lulab_matrix) */
  int64_t n;
  int64_t nnz;          /* ptr[n] - ptr[0] */
  int32_t format;       /* LULAB_CSC or LULAB_CSR */
  int32_t index_base;   /* 0 or 1: of ptr and idx here, of rows and columns in lulab_error */
  int32_t pointer_bits; /* of ptr: 32 or 64 */
  int32_t index_bits;   /* of idx: 32 or 64 */
  const void* ptr;      /* (n + 1) */
  const void* idx;      /* (nnz) */
  const double* values; /* (nnz); lulab_check_pattern() does not read them */
} lulab_matrix;

enum { LULAB_MESSAGE = 512 };

typedef struct lulab_error {
  size_t size; /* sizeof(lulab_error) */
  int32_t status;
  int32_t system;              /* of a batch, from 0; -1: none */
  int64_t row, column;         /* of A, in its index_base; -1: unknown */
  char message[LULAB_MESSAGE]; /* what happened, what to do; UTF-8, cut to this length; empty after LULAB_OK */
} lulab_error;

/* NaN or -1: not known. */
typedef struct lulab_statistics {
  size_t size;                  /* sizeof(lulab_statistics) */
  int64_t n, nnz, nnz_l, nnz_u; /* L without its unit diagonal */
  int64_t structural_rank, numerical_rank, off_diagonal_pivots, perturbed_pivots, repivots;
  int64_t peak_bytes;
  int64_t systems, failed, recovered; /* of a batch; one system otherwise */
  double pivot_growth, rcond;         /* max|U| / max|P R A C Q|; min|U(j,j)| / max|U(j,j)| */
  double backward_error, omega;       /* of the last solution, componentwise; the worst of several */
  int64_t refinements;                /* likewise */
  /* Of the last numeric call; pivots_ms: taking other pivots, or preparing for all expected steps. */
  double pivots_ms, upload_ms, refactor_ms, judge_ms, solve_ms, download_ms;
  char rung[64]; /* the algorithm that works, "sparse_leftlooking/07_threads" */
  char order[32];
  char reason[256]; /* why this rung; empty: the caller named it */
} lulab_statistics;

/* The LULAB_ABI of the library, and its version, "0.1.0". */
LULAB_API int lulab_abi(void);
LULAB_API const char* lulab_version(void);
/* "numerically_singular"; "unknown" for other numbers. */
LULAB_API const char* lulab_status_name(int status);
/* Of the last call of this thread. Set error->size before. */
LULAB_API int lulab_last_error(lulab_error* error);

/* precision: LULAB_DOUBLE or LULAB_FLOAT; abi: LULAB_ABI. On failure *solver is NULL. */
LULAB_API int lulab_create(lulab_solver** solver, int32_t precision, int32_t abi);
/* NULL is allowed. */
LULAB_API int lulab_destroy(lulab_solver* solver);

/* Options by key, both texts; they hold from the next analysis on. "rung.NAME" is an option of the rung alone. */
LULAB_API int lulab_set_option(lulab_solver* solver, const char* key, const char* value);
LULAB_API int lulab_get_option(lulab_solver* solver, const char* key, char* value, size_t size);
/* The keys, from index 0 on; NULL: no more. */
LULAB_API const char* lulab_option_key(int32_t index);

/* An order of your own, for analyses from now on until the option "order" is set: columns[k] is the column of A, from
 * index_base, to be eliminated as number k; the rows follow the matching. lulab_analyze() refuses an order of another
 * number of columns. */
LULAB_API int lulab_set_column_order(lulab_solver* solver, int64_t n, const int64_t* columns, int32_t index_base);

/* Matching, ordering and fill, once for a pattern. The values of A should be typical. */
LULAB_API int lulab_analyze(lulab_solver* solver, const lulab_matrix* a);
/* The same for so many matrices of the pattern; then values are (nnz, systems), b and x (n, systems). */
LULAB_API int lulab_analyze_batch(lulab_solver* solver, const lulab_matrix* a, int32_t systems);
/* LULAB_OK: A has the pattern, format and order of entries that were analyzed; else LULAB_PATTERN_CHANGED. */
LULAB_API int lulab_check_pattern(lulab_solver* solver, const lulab_matrix* a);

/* Where values, b and x of the calls below lie. stream: the cudaStream_t that orders them, NULL: the default stream;
 * ignored for LULAB_HOST. It must live until the solver is destroyed or gets another. */
LULAB_API int lulab_set_memory(lulab_solver* solver, int32_t where, void* stream);

/* values: (nnz), in the order of idx; count: how many there are. lulab_factor() may choose pivots, lulab_refactor()
 * keeps those of the last lulab_factor() unless they do not suit the values. */
LULAB_API int lulab_factor(lulab_solver* solver, int64_t count, const double* values);
LULAB_API int lulab_refactor(lulab_solver* solver, int64_t count, const double* values);
/* A x = b and A^T x = b; size: n times the number of right-hand sides, one after the other. x may be b.
 * After an error x is NaN, so that no old x is taken for an answer. LULAB_NOT_CONVERGED gives the x that there is; a
 * batch, the x of the systems that did not fail. LULAB_INVALID_ARGUMENT, LULAB_WRONG_HANDLE and LULAB_BUSY leave x. */
LULAB_API int lulab_solve(lulab_solver* solver, int64_t size, const double* b, double* x);
LULAB_API int lulab_tsolve(lulab_solver* solver, int64_t size, const double* b, double* x);
/* lulab_refactor(), then lulab_solve() for one right-hand side. In device memory it is only enqueued on the stream. */
LULAB_API int lulab_step(lulab_solver* solver, int64_t count, const double* values, int64_t size, const double* b,
                         double* x);
/* Waits for the last lulab_step() and returns what became of it. */
LULAB_API int lulab_wait(lulab_solver* solver);

/* Estimates 1 / (||A|| ||A^-1||), and the same of R A C; either may be NULL. NaN after an error. */
LULAB_API int lulab_condition(lulab_solver* solver, double* rcond, double* rcond_scaled);
/* Set statistics->size before. */
LULAB_API int lulab_get_statistics(lulab_solver* solver, lulab_statistics* statistics);
/* What became of one system of a batch, from 0, in the last call; returns that status. error may be NULL. */
LULAB_API int lulab_system_status(lulab_solver* solver, int32_t system, lulab_error* error);

#ifdef __cplusplus
}
#endif

#endif
