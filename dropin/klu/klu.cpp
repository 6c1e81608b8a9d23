// libklu.so: the functions of SuiteSparse's klu.h, real values in 32 and 64 bits. Statuses, structures and what is
// filled in when are KLU's; orders, factors and solutions are Solver's. No exception leaves it.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <new>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#pragma GCC visibility push(default)
#include <klu.h>
#pragma GCC visibility pop

#include "core/kept_memory.h"
#include "core/matrix/permutation.h"
#include "dropin/klu/factorization.h"

namespace lulab::klu_shape {

namespace {

template <class Int>
struct Shape;
template <>
struct Shape<int> {
  using Symbolic = klu_symbolic;
  using Numeric = klu_numeric;
  using Common = klu_common;
};
template <>
struct Shape<SuiteSparse_long> {
  using Symbolic = klu_l_symbolic;
  using Numeric = klu_l_numeric;
  using Common = klu_l_common;
};
template <class Int>
using SymbolicOf = typename Shape<Int>::Symbolic;
template <class Int>
using NumericOf = typename Shape<Int>::Numeric;
template <class Int>
using CommonOf = typename Shape<Int>::Common;

/// What programs get a pointer to, and what is ours behind it.
template <class Int>
struct Symbolic : SymbolicOf<Int> {
  std::shared_ptr<Pattern> pattern;
};
template <class Int>
struct Numeric : NumericOf<Int> {
  explicit Numeric(std::shared_ptr<Pattern> pattern) : NumericOf<Int>{}, factorization(std::move(pattern)) {}
  Factorization factorization;
  std::vector<double> row_scale;  // (n) by rows of A
  int scale = 0;                  // Common::scale in the last numeric phase
  bool is_current = false;        // row_scale, Rs and Offx are those of the last values
  bool has_pivots = false;        // likewise Udiag
};

/// The objects that were handed out and not freed since.
class Handles {
 public:
  template <class Object>
  Object* find(const void* pointer) {
    const std::shared_lock lock(mutex_);
    const auto found = kinds_.find(pointer);
    return found == kinds_.end() || found->second != kind<Object>()
               ? nullptr
               : static_cast<Object*>(const_cast<void*>(found->first));
  }
  template <class Object>
  void add(const Object* object) {
    const std::unique_lock lock(mutex_);
    kinds_.emplace(object, kind<Object>());
  }
  /// false: there is no such object.
  template <class Object>
  bool remove(const void* object) {
    const std::unique_lock lock(mutex_);
    const auto found = kinds_.find(object);
    if (found == kinds_.end() || found->second != kind<Object>()) return false;
    kinds_.erase(found);
    return true;
  }

 private:
  template <class Object>
  static const void* kind() {
    static const char address = 0;
    return &address;
  }
  std::shared_mutex mutex_;
  std::unordered_map<const void*, const void*> kinds_;
};
Handles& handles() {
  static auto& all = *new Handles;  // for programs that free in their destructors
  return all;
}
template <class Int>
Symbolic<Int>* find(SymbolicOf<Int>* symbolic) {
  return symbolic == nullptr ? nullptr : handles().find<Symbolic<Int>>(symbolic);
}
template <class Int>
Numeric<Int>* find(NumericOf<Int>* numeric) {
  return numeric == nullptr ? nullptr : handles().find<Numeric<Int>>(numeric);
}

/// Runs `work`, and turns what it throws into a status.
template <class Common, class Work>
auto guarded(Common* c, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    c->status = KLU_OUT_OF_MEMORY;
  } catch (...) {
    c->status = KLU_INVALID;
  }
  return {};
}

template <class Common>
bool refuse(Common* c, int status = KLU_INVALID) {
  c->status = status;
  return false;
}

inline int status_of(const Status& error) {
  return error.code == StatusCode::out_of_memory ? KLU_OUT_OF_MEMORY : KLU_INVALID;
}
template <class Common>
bool refuse(Common* c, const Status& error) {
  return refuse(c, status_of(error));
}

template <class Int>
void* allocate(std::size_t n, std::size_t size, CommonOf<Int>* c) {
  if (c == nullptr) return nullptr;
  if (size == 0 || n >= static_cast<std::size_t>(std::numeric_limits<Int>::max())) {
    c->status = size == 0 ? KLU_INVALID : KLU_TOO_LARGE;
    return nullptr;
  }
  void* const p = SuiteSparse_malloc(n, size);
  if (p == nullptr) {
    c->status = KLU_OUT_OF_MEMORY;
    return nullptr;
  }
  c->memusage += std::max<std::size_t>(n, 1) * size;
  c->mempeak = std::max(c->mempeak, c->memusage);
  return p;
}
template <class Int>
void* release(void* p, std::size_t n, std::size_t size, CommonOf<Int>* c) {
  if (p != nullptr && c != nullptr) {
    SuiteSparse_free(p);
    c->memusage -= std::max<std::size_t>(n, 1) * size;
  }
  return nullptr;
}
template <class Int>
void* reallocate(std::size_t n, std::size_t before, std::size_t size, void* p, CommonOf<Int>* c) {
  if (c == nullptr) return nullptr;
  if (size == 0) {
    c->status = KLU_INVALID;
    return nullptr;
  }
  if (p == nullptr) return allocate<Int>(n, size, c);
  if (n >= static_cast<std::size_t>(std::numeric_limits<Int>::max())) {
    c->status = KLU_TOO_LARGE;
    return p;
  }
  int ok = 1;
  p = SuiteSparse_realloc(n, before, size, p, &ok);
  if (ok) {
    c->memusage += (n - before) * size;
    c->mempeak = std::max(c->mempeak, c->memusage);
  } else {
    c->status = KLU_OUT_OF_MEMORY;
  }
  return p;
}

/// An array of klu_symbolic or klu_numeric with these values.
template <class Int, class To, class From>
void give(To*& array, const From& values, std::size_t size, CommonOf<Int>* c) {
  array = static_cast<To*>(allocate<Int>(size, sizeof(To), c));
  if (array == nullptr) throw std::bad_alloc();
  std::copy(std::begin(values), std::end(values), array);
}
template <class Int, class To>
void give(To*& array, std::size_t size, CommonOf<Int>* c) {
  give<Int>(array, std::vector<To>(), size, c);
  std::fill_n(array, size, To());
}

template <class Int>
int defaults(CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  *c = {};
  c->tol = 0.001;
  c->memgrow = 1.2;
  c->initmem_amd = 1.2;
  c->initmem = 10;
  c->btf = 1;
  c->scale = 2;
  c->halt_if_singular = 1;
  c->structural_rank = c->numerical_rank = c->singular_col = c->noffdiag = -1;
  c->flops = c->rcond = c->condest = c->rgrowth = -1;
  return 1;
}

/// Of columns that may be unsorted: no duplicates, every row in its range.
template <class Int>
int check_pattern(Int n, const Int* Ap, const Int* Ai) {
  constexpr Int most = std::numeric_limits<std::int32_t>::max() - 1;
  if (n <= 0 || Ap == nullptr || Ai == nullptr || Ap[0] != 0) return KLU_INVALID;
  if (n > most) return KLU_TOO_LARGE;
  for (Int j = 0; j < n; ++j)
    if (Ap[j] > Ap[j + 1]) return KLU_INVALID;
  if (Ap[n] > most) return KLU_TOO_LARGE;
  std::vector<Int> last_column(n, -1);
  for (Int j = 0; j < n; ++j)
    for (Int s = Ap[j]; s < Ap[j + 1]; ++s) {
      const Int i = Ai[s];
      if (i < 0 || i >= n || last_column[i] == j) return KLU_INVALID;
      last_column[i] = j;
    }
  return KLU_OK;
}

template <class Int>
UserOrder user_order(CommonOf<Int>* c) {
  return [c](std::span<int> Cp, std::span<int> Ci, std::span<int> order) -> double {
    std::vector<Int> p(Cp.begin(), Cp.end()), i(Ci.begin(), Ci.end()), found(order.begin(), order.end());
    i.push_back(0);  // no null pointer
    const Int lnz = c->user_order(static_cast<Int>(order.size()), p.data(), i.data(), found.data(), c);
    for (std::size_t k = 0; k < order.size(); ++k)
      order[k] = found[k] == static_cast<int>(found[k]) ? static_cast<int>(found[k]) : -1;
    return static_cast<double>(lnz);
  };
}

template <class Int>
void free_arrays(Symbolic<Int>& s, CommonOf<Int>* c) {
  release<Int>(s.P, s.n, sizeof(Int), c);
  release<Int>(s.Q, s.n, sizeof(Int), c);
  release<Int>(s.R, s.n + 1, sizeof(Int), c);
  release<Int>(s.Lnz, s.n, sizeof(double), c);
}

template <class Int>
void report_order(const BlockOrder& order, const OrderOptions& options, CommonOf<Int>* c) {
  c->mempeak = std::max(c->mempeak, c->memusage + static_cast<std::size_t>(order.amd_bytes));
  c->work = options.ordering == Ordering::given ? 0 : order.work;
  if (options.blocks && options.ordering != Ordering::given) c->structural_rank = order.structural_rank;
}

/// What klu_analyze() finds of a pattern that is sound. Null: the status says why.
template <class Int>
std::shared_ptr<Pattern> find_order(Int n, const Int* Ap, const Int* Ai, const OrderOptions& options,
                                    CommonOf<Int>* c) {
  constexpr std::int64_t solvers = 2;  // one chooses pivots by value, the other keeps them
  keep_freed_memory(solvers * first_answer_bytes * (std::int64_t{n} + Ap[n]));
  auto pattern = std::make_shared<Pattern>();
  pattern->Ap.assign(Ap, Ap + n + 1);
  pattern->Ai.assign(Ai, Ai + Ap[n]);
  pattern->ordering = options.ordering;
  pattern->blocks = options.blocks;
  pattern->max_work = options.max_work;
  c->status = order_blocks(pattern->Ap, pattern->Ai, options, pattern->order);
  if (c->status == KLU_OK) complete(*pattern);
  report_order<Int>(pattern->order, options, c);
  return c->status == KLU_OK ? pattern : nullptr;
}

template <class Int>
SymbolicOf<Int>* hand_out(std::shared_ptr<Pattern> pattern, CommonOf<Int>* c) {
  const BlockOrder& order = pattern->order;
  const std::int32_t n = pattern->n();
  auto symbolic = std::make_unique<Symbolic<Int>>();
  Symbolic<Int>& s = *symbolic;
  s.symmetry = order.symmetry;
  s.est_flops = order.flops;
  s.lnz = s.unz = order.lnz;
  s.n = n;
  s.nz = static_cast<Int>(pattern->Ai.size());
  s.nzoff = order.outside;
  s.nblocks = order.n_blocks();
  s.maxblock = order.biggest;
  s.ordering = static_cast<Int>(pattern->ordering);
  s.do_btf = pattern->blocks;
  s.structural_rank = order.structural_rank;
  try {
    give<Int>(s.P, order.p, n, c);
    give<Int>(s.Q, order.q, n, c);
    give<Int>(s.R, order.block_ptr, n + 1, c);
    give<Int>(s.Lnz, order.block_lnz, n, c);
    s.pattern = std::move(pattern);
    handles().add(&s);
  } catch (const std::bad_alloc&) {
    free_arrays(s, c);
    throw;
  }
  return symbolic.release();
}

/// A child of fork() has none of the threads that were made for them, and may not use the GPU: it begins with none.
FreedPatterns& freed_patterns() {
  static auto& all = *new std::atomic<FreedPatterns*>(new FreedPatterns);  // never destroyed, as handles()
  // RACE: the child has this one thread while it stores; what others it starts later loads comes after.
  static const int in_child = pthread_atfork(nullptr, nullptr, [] { all.store(new FreedPatterns); });
  (void)in_child;
  return *all.load();
}

template <class Int>
SymbolicOf<Int>* analyze_as(Int n, const Int* Ap, const Int* Ai, const OrderOptions& options, CommonOf<Int>* c) {
  auto pattern = find_order(n, Ap, Ai, options, c);
  return pattern ? hand_out<Int>(std::move(pattern), c) : nullptr;
}

template <class Int>
SymbolicOf<Int>* analyze_given(Int n, Int* Ap, Int* Ai, const Int* P, const Int* Q, CommonOf<Int>* c) {
  if (c == nullptr) return nullptr;
  return guarded(c, [&]() -> SymbolicOf<Int>* {
    c->status = check_pattern(n, Ap, Ai);
    if (c->status != KLU_OK) return nullptr;
    Permutation rows, columns;
    for (const auto& [from, to] : {std::pair(P, &rows), std::pair(Q, &columns)}) {
      if (from == nullptr) continue;
      for (Int k = 0; k < n; ++k) to->push_back(from[k] >= 0 && from[k] < n ? static_cast<int>(from[k]) : -1);
      if (is_permutation(*to)) continue;
      c->status = KLU_INVALID;
      return nullptr;
    }
    OrderOptions options;
    options.ordering = Ordering::given;
    options.blocks = c->btf != 0;
    options.rows = rows;
    options.columns = columns;
    return analyze_as<Int>(n, Ap, Ai, options, c);
  });
}

template <class Int>
SymbolicOf<Int>* analyze(Int n, Int* Ap, Int* Ai, CommonOf<Int>* c) {
  if (c == nullptr) return nullptr;
  if (c->ordering == 2) return analyze_given<Int>(n, Ap, Ai, nullptr, nullptr, c);
  return guarded(c, [&]() -> SymbolicOf<Int>* {
    OrderOptions options;
    options.ordering = static_cast<Ordering>(c->ordering);
    options.blocks = c->btf != 0;
    options.max_work = c->maxwork;
    if (c->ordering == 3 && c->user_order != nullptr) {
      options.user_order = user_order<Int>(c);
    } else if (c->ordering != 0 && c->ordering != 1) {
      c->status = KLU_INVALID;
      return nullptr;
    }
    if (auto known = freed_patterns().find(n, Ap, Ai, options)) {
      c->status = KLU_OK;
      report_order<Int>(known->order, options, c);
      return hand_out<Int>(std::move(known), c);
    }
    c->status = check_pattern(n, Ap, Ai);
    return c->status == KLU_OK ? analyze_as<Int>(n, Ap, Ai, options, c) : nullptr;
  });
}

template <class Int>
int free_symbolic(SymbolicOf<Int>** handle, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  if (handle == nullptr || *handle == nullptr) return 1;
  return guarded(c, [&]() -> int {
    if (!handles().remove<Symbolic<Int>>(*handle)) return refuse(c);
    const std::unique_ptr<Symbolic<Int>> symbolic(static_cast<Symbolic<Int>*>(*handle));
    *handle = nullptr;
    free_arrays(*symbolic, c);
    freed_patterns().keep(std::move(symbolic->pattern));
    return 1;
  });
}

template <class Int>
void free_arrays(Numeric<Int>& f, CommonOf<Int>* c) {
  const auto n = static_cast<std::size_t>(f.n);
  for (Int* of_pivots : {f.Pnum, f.Pinv, f.Lip, f.Uip, f.Llen, f.Ulen}) release<Int>(of_pivots, n, sizeof(Int), c);
  release<Int>(f.LUbx, f.nblocks, sizeof(void*), c);
  release<Int>(f.LUsize, f.nblocks, sizeof(std::size_t), c);
  release<Int>(f.Udiag, n, sizeof(double), c);
  release<Int>(f.Rs, n, sizeof(double), c);
  release<Int>(f.Offp, n + 1, sizeof(Int), c);
  release<Int>(f.Offi, f.nzoff + 1, sizeof(Int), c);
  release<Int>(f.Offx, f.nzoff + 1, sizeof(double), c);
}

template <class Int>
int free_numeric(NumericOf<Int>** handle, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  if (handle == nullptr || *handle == nullptr) return 1;
  return guarded(c, [&]() -> int {
    if (!handles().remove<Numeric<Int>>(*handle)) return refuse(c);
    const std::unique_ptr<Numeric<Int>> numeric(static_cast<Numeric<Int>*>(*handle));
    *handle = nullptr;
    free_arrays(*numeric, c);
    return 1;
  });
}

/// What programs may read of pivots and patterns. Any call that looks at factors may take new pivots.   true: there
/// were new ones.
template <class Int>
bool write_pattern(Numeric<Int>& f) {
  Factorization& of = f.factorization;
  if (!of.take_new_form()) return false;
  const BlockForm& form = of.form();
  f.lnz = static_cast<Int>(form.lnz);
  f.unz = static_cast<Int>(form.unz);
  f.max_lnz_block = static_cast<Int>(form.max_block_lnz);
  f.max_unz_block = static_cast<Int>(form.max_block_unz);
  std::ranges::copy(form.p, f.Pnum);
  for (Int k = 0; k < f.n; ++k) f.Pinv[f.Pnum[k]] = k;
  std::ranges::copy(form.lnz_of, f.Llen);
  std::ranges::copy(form.unz_of, f.Ulen);
  f.is_current = f.has_pivots = false;
  return true;
}

/// What they may read of values: scaling and entries outside of the blocks.
template <class Int>
void write_values(Numeric<Int>& f, CommonOf<Int>* c) {
  write_pattern(f);
  if (f.is_current) return;
  const Factorization& of = f.factorization;
  const BlockForm& form = of.form();
  const Pattern& pattern = of.pattern();
  const std::span<const std::int32_t> block_of_row = pattern.block_of_row;
  f.row_scale.resize(f.n);
  scale_rows<std::int32_t>(f.scale, pattern.a.row_idx, of.values(), f.row_scale);
  if (f.scale > 0 && f.Rs == nullptr) give<Int>(f.Rs, f.n, c);
  if (f.scale <= 0) f.Rs = static_cast<double*>(release<Int>(f.Rs, f.n, sizeof(double), c));
  for (Int k = 0; f.Rs != nullptr && k < f.n; ++k) f.Rs[k] = f.row_scale[form.p[k]];
  f.is_current = true;
  if (f.nzoff == 0 || !form.fits_blocks) return;
  Int at = 0;
  for (Int k = 0; k < f.n; ++k) {
    const std::int32_t j = form.q[k];
    f.Offp[k] = at;
    for (std::int64_t s = pattern.a.col_ptr[j]; s < pattern.a.col_ptr[j + 1]; ++s) {
      const std::int32_t i = pattern.a.row_idx[s];
      if (block_of_row[i] == block_of_row[form.p[k]]) continue;
      f.Offi[at] = f.Pinv[i];
      static_cast<double*>(f.Offx)[at++] = of.values()[s] / f.row_scale[i];
    }
  }
  f.Offp[f.n] = at;
}

/// All of it, with Udiag.
template <class Int>
Status write_numeric(Numeric<Int>& f, CommonOf<Int>* c) {
  write_values(f, c);
  if (f.has_pivots) return {};
  std::vector<double> of_columns(f.n);
  LULAB_RETURN_IF_ERROR(f.factorization.pivots(of_columns));
  const BlockForm& form = f.factorization.form();
  for (Int k = 0; k < f.n; ++k) static_cast<double*>(f.Udiag)[k] = of_columns[form.q[k]] / f.row_scale[form.p[k]];
  f.has_pivots = true;
  return {};
}

/// The status of a numeric phase, and what is left of it to be said in `c`.
template <class Int>
void tell(const Factorization& of, const Status& error, CommonOf<Int>* c) {
  if (!error.ok()) {
    c->status = status_of(error);
  } else if (of.state() == Factorization::State::singular) {
    const std::vector<std::int32_t>& q = of.pattern().order.q;
    c->status = KLU_SINGULAR;
    c->singular_col = of.singular_column();
    c->numerical_rank = static_cast<Int>(std::ranges::find(q, of.singular_column()) - q.begin());
  }
}

template <class Int>
NumericOf<Int>* factor(Int* Ap, Int* Ai, double* Ax, SymbolicOf<Int>* given, CommonOf<Int>* c) {
  if (c == nullptr) return nullptr;
  c->status = KLU_OK;
  c->numerical_rank = c->singular_col = -1;
  return guarded(c, [&]() -> NumericOf<Int>* {
    const Symbolic<Int>* const s = find<Int>(given);
    if (s == nullptr || Ax == nullptr || !same_pattern(*s->pattern, Ap, Ai)) {
      c->status = KLU_INVALID;
      return nullptr;
    }
    c->initmem_amd = std::max(1.0, c->initmem_amd);
    c->initmem = std::max(1.0, c->initmem);
    c->tol = std::max(0.0, std::min(1.0, c->tol));  // NaN is 1
    c->memgrow = std::max(1.0, c->memgrow);
    c->nrealloc = 0;
    c->noffdiag = 0;
    auto numeric = std::make_unique<Numeric<Int>>(s->pattern);
    Numeric<Int>& f = *numeric;
    Factorization& of = f.factorization;
    f.n = s->n;
    f.nblocks = s->nblocks;
    f.nzoff = s->nzoff;
    const auto n = static_cast<std::size_t>(f.n);
    try {
      give<Int>(f.Pnum, s->pattern->order.p, n, c);
      for (Int** of_pivots : {&f.Pinv, &f.Lip, &f.Uip, &f.Llen, &f.Ulen}) give<Int>(*of_pivots, n, c);
      for (std::size_t k = 0; k < n; ++k) f.Pinv[f.Pnum[k]] = static_cast<Int>(k);
      f.LUbx = static_cast<void**>(allocate<Int>(f.nblocks, sizeof(void*), c));
      give<Int>(f.LUsize, f.nblocks, c);
      double *diagonal = nullptr, *outside = nullptr;
      give<Int>(diagonal, n, c);
      f.Udiag = diagonal;
      give<Int>(f.Offp, n + 1, c);
      give<Int>(f.Offi, f.nzoff + 1, c);
      give<Int>(outside, f.nzoff + 1, c);
      f.Offx = outside;
      if (f.LUbx == nullptr) throw std::bad_alloc();
      std::fill_n(f.LUbx, f.nblocks, nullptr);
      tell<Int>(of, of.factor(Ax, {c->tol, static_cast<int>(c->scale)}), c);
      if (c->status < KLU_OK || (c->status == KLU_SINGULAR && c->halt_if_singular)) {
        free_arrays(f, c);
        return nullptr;
      }
      f.scale = static_cast<int>(c->scale);
      write_values(f, c);
      if (of.pivots_at_hand()) (void)write_numeric(f, c);
      handles().add(&f);
    } catch (...) {
      free_arrays(f, c);
      throw;
    }
    if (c->status == KLU_OK) c->numerical_rank = c->singular_col = f.n;
    c->noffdiag = of.form().outside_diagonal;
    return numeric.release();
  });
}

template <class Int>
bool belong_together(const Symbolic<Int>* s, const Numeric<Int>* f) {
  if (s == nullptr || f == nullptr) return false;
  const Pattern &a = *s->pattern, &b = f->factorization.pattern();
  return &a == &b || (a.Ap == b.Ap && a.Ai == b.Ai && a.order.block_ptr == b.order.block_ptr);
}

template <class Int>
int refactor(Int* Ap, Int* Ai, double* Ax, SymbolicOf<Int>* given, NumericOf<Int>* factored, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  c->status = KLU_OK;
  return guarded(c, [&]() -> int {
    Numeric<Int>* const f = find<Int>(factored);
    if (f == nullptr) return refuse(c);
    c->numerical_rank = c->singular_col = -1;
    if (!belong_together(find<Int>(given), f) || Ax == nullptr || !same_pattern(f->factorization.pattern(), Ap, Ai))
      return refuse(c);
    c->nrealloc = 0;
    f->is_current = f->has_pivots = false;
    tell<Int>(f->factorization, f->factorization.refactor(Ax), c);
    if (c->status < KLU_OK) return 0;
    f->scale = static_cast<int>(c->scale);
    write_pattern(*f);
    return c->status == KLU_OK || !c->halt_if_singular;
  });
}

template <class Int>
int solve(SymbolicOf<Int>* given, NumericOf<Int>* factored, Int leading, Int columns, double* B, bool transposed,
          CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  return guarded(c, [&]() -> int {
    Numeric<Int>* const f = find<Int>(factored);
    if (!belong_together(find<Int>(given), f) || leading < f->n || columns < 0 || B == nullptr) return refuse(c);
    c->status = KLU_OK;
    const bool was_factored = f->factorization.state() == Factorization::State::factored;
    const Status done = f->factorization.solve(B, leading, columns, transposed);
    if (!was_factored) return 1;  // zero pivots: as KLU, which divides by them
    tell<Int>(f->factorization, done, c);
    write_pattern(*f);
    return c->status == KLU_OK;
  });
}

/// What the diagnostics have in common. Returns null after it has filled in what is known without factors; `answer` is
/// theirs then.
template <class Int>
Numeric<Int>* start_diagnostic(SymbolicOf<Int>* given, NumericOf<Int>* factored, double* result, double of_singular,
                               CommonOf<Int>* c, int& answer) {
  answer = 0;
  Numeric<Int>* const f = find<Int>(factored);
  if (find<Int>(given) == nullptr || (factored != nullptr && !belong_together(find<Int>(given), f))) {
    c->status = KLU_INVALID;
    return nullptr;
  }
  c->status = KLU_OK;
  if (f != nullptr && f->factorization.state() == Factorization::State::factored) return f;
  *result = of_singular;
  c->status = KLU_SINGULAR;
  answer = 1;
  return nullptr;
}

/// After judging: what a diagnostic answers where no pivots suit.
template <class Int>
bool turned_out_singular(const Numeric<Int>& f, double* result, double of_singular, CommonOf<Int>* c) {
  if (f.factorization.state() == Factorization::State::factored) return false;
  *result = of_singular;
  c->status = KLU_SINGULAR;
  return true;
}

template <class Int>
int rcond(SymbolicOf<Int>* given, NumericOf<Int>* factored, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  return guarded(c, [&]() -> int {
    int answer = 0;
    Numeric<Int>* const f = start_diagnostic<Int>(given, factored, &c->rcond, 0, c, answer);
    if (f == nullptr) return answer;
    if (const Status written = write_numeric(*f, c); !written.ok()) return refuse(c, written);
    const std::span<const double> u(static_cast<double*>(f->Udiag), f->n);
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const double pivot : u) {
      least = std::min(least, std::abs(pivot));
      most = std::max(most, std::abs(pivot));
    }
    c->rcond = least / most;
    if (!(c->rcond > 0)) {
      c->rcond = 0;
      c->status = KLU_SINGULAR;
    }
    return 1;
  });
}

template <class Int>
int condest(const Int* Ap, const double* Ax, SymbolicOf<Int>* given, NumericOf<Int>* factored, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  return guarded(c, [&]() -> int {
    if (Ap == nullptr || Ax == nullptr) return refuse(c);
    int answer = 0;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Numeric<Int>* const f = start_diagnostic<Int>(given, factored, &c->condest, infinity, c, answer);
    if (f == nullptr) return answer;
    if (const Status judged = f->factorization.judge(); !judged.ok()) return refuse(c, judged);
    write_pattern(*f);
    if (turned_out_singular(*f, &c->condest, infinity, c)) return 1;
    const auto estimate = f->factorization.condition();
    if (!estimate.ok()) return refuse(c, estimate.status());
    c->condest = 1 / estimate->rcond;
    if (estimate->rcond == 0) c->status = KLU_SINGULAR;
    return 1;
  });
}

template <class Int>
int rgrowth(const Int* Ap, const Int* Ai, const double* Ax, SymbolicOf<Int>* given, NumericOf<Int>* factored,
            CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  return guarded(c, [&]() -> int {
    if (Ap == nullptr || Ai == nullptr || Ax == nullptr) return refuse(c);
    int answer = 0;
    Numeric<Int>* const f = start_diagnostic<Int>(given, factored, &c->rgrowth, 0, c, answer);
    if (f == nullptr) return answer;
    Factorization& of = f->factorization;
    if (const Status judged = of.judge(); !judged.ok()) return refuse(c, judged);
    write_values(*f, c);
    if (turned_out_singular(*f, &c->rgrowth, 0, c)) return 1;
    const BlockForm& form = of.form();
    if (!form.fits_blocks || !same_pattern(of.pattern(), Ap, Ai)) return refuse(c);
    const auto factors = of.factors(f->row_scale);
    if (!factors.ok()) return refuse(c, factors.status());
    const CscMatrix<double>& u = factors->u;
    const std::vector<std::int32_t>& block_of_row = of.pattern().block_of_row;
    const std::vector<std::int32_t>& block_ptr = of.pattern().order.block_ptr;
    c->rgrowth = 1;
    for (std::int32_t k = 0; k < f->n; ++k) {
      const std::int32_t block = block_of_row[form.p[k]];
      if (block_ptr[block + 1] - block_ptr[block] == 1) continue;
      double largest_a = 0, largest_u = 0;
      for (Int s = Ap[form.q[k]]; s < Ap[form.q[k] + 1]; ++s)
        if (block_of_row[Ai[s]] == block) largest_a = std::max(largest_a, std::abs(Ax[s] / f->row_scale[Ai[s]]));
      for (std::int64_t s = u.col_ptr[k]; s < u.col_ptr[k + 1]; ++s)
        largest_u = std::max(largest_u, std::abs(u.values[s]));
      if (largest_u > 0) c->rgrowth = std::min(c->rgrowth, largest_a / largest_u);
    }
    return 1;
  });
}

template <class Int>
int flops(SymbolicOf<Int>* given, NumericOf<Int>* factored, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  c->flops = -1;
  const Numeric<Int>* const f = find<Int>(factored);
  if (!belong_together(find<Int>(given), f)) return refuse(c);
  c->status = KLU_OK;
  c->flops = f->factorization.form().flops;
  return 1;
}

/// klu_extract() gives sorted columns in any case.
template <class Int>
int sort(SymbolicOf<Int>* given, NumericOf<Int>* factored, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  return guarded(c, [&]() -> int {
    Numeric<Int>* const f = find<Int>(factored);
    if (!belong_together(find<Int>(given), f)) return refuse(c);
    c->status = KLU_OK;
    const Status written = write_numeric(*f, c);
    return written.ok() || refuse(c, written);
  });
}

template <class Int>
int scale(int how, Int n, const Int* Ap, const Int* Ai, const double* Ax, double* Rs, Int* W, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  c->status = KLU_OK;
  if (how < 0) return 1;
  return guarded(c, [&]() -> int {
    if (Ax == nullptr || (how > 0 && Rs == nullptr) || n <= 0 || Ap == nullptr || Ai == nullptr) return refuse(c);
    if (const int status = check_pattern(n, Ap, Ai); status != KLU_OK) {
      // Without W duplicates are no error.
      bool in_range = status == KLU_INVALID && W == nullptr && Ap[0] == 0;
      for (Int j = 0; in_range && j < n; ++j) in_range = Ap[j] <= Ap[j + 1];
      for (Int s = 0; in_range && s < Ap[n]; ++s) in_range = Ai[s] >= 0 && Ai[s] < n;
      if (!in_range) return refuse(c, status);
    }
    if (how > 0) scale_rows<Int>(how, std::span(Ai, Ap[n]), std::span(Ax, Ap[n]), std::span(Rs, n));
    return 1;
  });
}

template <class Int>
void write_matrix(const CscMatrix<double>& from, Int* ptr, Int* idx, double* values) {
  std::ranges::copy(from.col_ptr, ptr);
  std::ranges::copy(from.row_idx, idx);
  std::ranges::copy(from.values, values);
}

template <class Int>
int extract(NumericOf<Int>* factored, SymbolicOf<Int>* given, Int* Lp, Int* Li, double* Lx, Int* Up, Int* Ui,
            double* Ux, Int* Fp, Int* Fi, double* Fx, Int* P, Int* Q, double* Rs, Int* R, CommonOf<Int>* c) {
  if (c == nullptr) return 0;
  return guarded(c, [&]() -> int {
    const Symbolic<Int>* const s = find<Int>(given);
    Numeric<Int>* const f = find<Int>(factored);
    if (!belong_together(s, f)) return refuse(c);
    Factorization& of = f->factorization;
    if (const Status judged = of.judge(); !judged.ok()) return refuse(c, judged);
    const bool has_other_sizes = write_pattern(*f);  // than those that the caller knows
    if (const Status written = write_numeric(*f, c); !written.ok()) return refuse(c, written);
    if (has_other_sizes || !of.form().fits_blocks) return refuse(c);
    const auto factors = of.factors(f->row_scale);
    if (!factors.ok()) return refuse(c, factors.status());
    c->status = KLU_OK;
    const BlockForm& form = of.form();
    if (Rs != nullptr)
      for (Int k = 0; k < f->n; ++k) Rs[k] = f->row_scale[form.p[k]];
    if (R != nullptr) std::copy_n(s->R, s->nblocks + 1, R);
    if (P != nullptr) std::ranges::copy(form.p, P);
    if (Q != nullptr) std::ranges::copy(form.q, Q);
    if (Lp != nullptr && Li != nullptr && Lx != nullptr) write_matrix(factors->l, Lp, Li, Lx);
    if (Up != nullptr && Ui != nullptr && Ux != nullptr) write_matrix(factors->u, Up, Ui, Ux);
    if (Fp != nullptr && Fi != nullptr && Fx != nullptr) {
      std::copy_n(f->Offp, f->n + 1, Fp);
      std::copy_n(f->Offi, f->Offp[f->n], Fi);
      std::copy_n(static_cast<double*>(f->Offx), f->Offp[f->n], Fx);
    }
    return 1;
  });
}

/// Of complex values nothing is done.   nothing_asked: what KLU says to less than a computation.
template <class Common>
int no_complex(Common* c, bool nothing_asked = false) {
  if (c == nullptr) return 0;
  c->status = nothing_asked ? KLU_OK : KLU_INVALID;
  return nothing_asked;
}

}  // namespace

}  // namespace lulab::klu_shape

namespace shape = lulab::klu_shape;
using Long = SuiteSparse_long;
using LongAnswer = decltype(klu_l_defaults(nullptr));  // since KLU 2 int; options are of the same type

extern "C" {

// Those of both sizes of integers; NAME(klu_solve) is klu_solve or klu_l_solve.
#define LULAB_KLU(Int, Answer, NAME, SYMBOLIC, NUMERIC, COMMON)                                                 \
  Answer NAME(defaults)(COMMON * c) { return shape::defaults<Int>(c); }                                         \
  SYMBOLIC* NAME(analyze)(Int n, Int * Ap, Int * Ai, COMMON * c) { return shape::analyze<Int>(n, Ap, Ai, c); }  \
  SYMBOLIC* NAME(analyze_given)(Int n, Int * Ap, Int * Ai, Int * P, Int * Q, COMMON * c) {                      \
    return shape::analyze_given<Int>(n, Ap, Ai, P, Q, c);                                                       \
  }                                                                                                             \
  NUMERIC* NAME(factor)(Int * Ap, Int * Ai, double* Ax, SYMBOLIC* s, COMMON* c) {                               \
    return shape::factor<Int>(Ap, Ai, Ax, s, c);                                                                \
  }                                                                                                             \
  Answer NAME(refactor)(Int * Ap, Int * Ai, double* Ax, SYMBOLIC* s, NUMERIC* f, COMMON* c) {                   \
    return shape::refactor<Int>(Ap, Ai, Ax, s, f, c);                                                           \
  }                                                                                                             \
  Answer NAME(solve)(SYMBOLIC * s, NUMERIC * f, Int leading, Int columns, double* B, COMMON* c) {               \
    return shape::solve<Int>(s, f, leading, columns, B, false, c);                                              \
  }                                                                                                             \
  Answer NAME(tsolve)(SYMBOLIC * s, NUMERIC * f, Int leading, Int columns, double* B, COMMON* c) {              \
    return shape::solve<Int>(s, f, leading, columns, B, true, c);                                               \
  }                                                                                                             \
  Answer NAME(free_symbolic)(SYMBOLIC * *s, COMMON * c) { return shape::free_symbolic<Int>(s, c); }             \
  Answer NAME(free_numeric)(NUMERIC * *f, COMMON * c) { return shape::free_numeric<Int>(f, c); }                \
  Answer NAME(sort)(SYMBOLIC * s, NUMERIC * f, COMMON * c) { return shape::sort<Int>(s, f, c); }                \
  Answer NAME(flops)(SYMBOLIC * s, NUMERIC * f, COMMON * c) { return shape::flops<Int>(s, f, c); }              \
  Answer NAME(rgrowth)(Int * Ap, Int * Ai, double* Ax, SYMBOLIC* s, NUMERIC* f, COMMON* c) {                    \
    return shape::rgrowth<Int>(Ap, Ai, Ax, s, f, c);                                                            \
  }                                                                                                             \
  Answer NAME(condest)(Int * Ap, double* Ax, SYMBOLIC* s, NUMERIC* f, COMMON* c) {                              \
    return shape::condest<Int>(Ap, Ax, s, f, c);                                                                \
  }                                                                                                             \
  Answer NAME(rcond)(SYMBOLIC * s, NUMERIC * f, COMMON * c) { return shape::rcond<Int>(s, f, c); }              \
  Answer NAME(scale)(Answer how, Int n, Int * Ap, Int * Ai, double* Ax, double* Rs, Int* W, COMMON* c) {        \
    return shape::scale<Int>(static_cast<int>(how), n, Ap, Ai, Ax, Rs, W, c);                                   \
  }                                                                                                             \
  Answer NAME(extract)(NUMERIC * f, SYMBOLIC * s, Int * Lp, Int * Li, double* Lx, Int* Up, Int* Ui, double* Ux, \
                       Int* Fp, Int* Fi, double* Fx, Int* P, Int* Q, double* Rs, Int* R, COMMON* c) {           \
    return shape::extract<Int>(f, s, Lp, Li, Lx, Up, Ui, Ux, Fp, Fi, Fx, P, Q, Rs, R, c);                       \
  }                                                                                                             \
  void* NAME(malloc)(size_t n, size_t size, COMMON * c) { return shape::allocate<Int>(n, size, c); }            \
  void* NAME(free)(void* p, size_t n, size_t size, COMMON* c) { return shape::release<Int>(p, n, size, c); }    \
  void* NAME(realloc)(size_t n, size_t before, size_t size, void* p, COMMON* c) {                               \
    return shape::reallocate<Int>(n, before, size, p, c);                                                       \
  }
#define LULAB_KLU_INT(name) klu_##name
#define LULAB_KLU_LONG(name) klu_l_##name
LULAB_KLU(int, int, LULAB_KLU_INT, klu_symbolic, klu_numeric, klu_common)
LULAB_KLU(Long, LongAnswer, LULAB_KLU_LONG, klu_l_symbolic, klu_l_numeric, klu_l_common)

#define LULAB_KLU_COMPLEX(Int, Answer, NAME, SYMBOLIC, NUMERIC, COMMON)                                             \
  NUMERIC* NAME(factor)(Int*, Int*, double*, SYMBOLIC*, COMMON* c) {                                                \
    (void)shape::no_complex(c);                                                                                     \
    return nullptr;                                                                                                 \
  }                                                                                                                 \
  Answer NAME(refactor)(Int*, Int*, double*, SYMBOLIC*, NUMERIC*, COMMON* c) { return shape::no_complex(c); }       \
  Answer NAME(solve)(SYMBOLIC*, NUMERIC*, Int, Int, double*, COMMON* c) { return shape::no_complex(c); }            \
  Answer NAME(tsolve)(SYMBOLIC*, NUMERIC*, Int, Int, double*, Answer, COMMON* c) { return shape::no_complex(c); }   \
  Answer NAME(free_numeric)(NUMERIC * *f, COMMON * c) {                                                             \
    return f == nullptr || *f == nullptr ? c != nullptr : shape::no_complex(c);                                     \
  }                                                                                                                 \
  Answer NAME(sort)(SYMBOLIC*, NUMERIC*, COMMON * c) { return shape::no_complex(c); }                               \
  Answer NAME(flops)(SYMBOLIC*, NUMERIC*, COMMON * c) { return shape::no_complex(c); }                              \
  Answer NAME(rgrowth)(Int*, Int*, double*, SYMBOLIC*, NUMERIC*, COMMON* c) { return shape::no_complex(c); }        \
  Answer NAME(condest)(Int*, double*, SYMBOLIC*, NUMERIC*, COMMON* c) { return shape::no_complex(c); }              \
  Answer NAME(rcond)(SYMBOLIC*, NUMERIC*, COMMON * c) { return shape::no_complex(c); }                              \
  Answer NAME(scale)(Answer how, Int, Int*, Int*, double*, double*, Int*, COMMON* c) {                              \
    return shape::no_complex(c, how < 0);                                                                           \
  }                                                                                                                 \
  Answer NAME(extract)(NUMERIC*, SYMBOLIC*, Int*, Int*, double*, double*, Int*, Int*, double*, double*, Int*, Int*, \
                       double*, double*, Int*, Int*, double*, Int*, COMMON* c) {                                    \
    return shape::no_complex(c);                                                                                    \
  }
#define LULAB_KLU_Z(name) klu_z_##name
#define LULAB_KLU_ZL(name) klu_zl_##name
LULAB_KLU_COMPLEX(int, int, LULAB_KLU_Z, klu_symbolic, klu_numeric, klu_common)
LULAB_KLU_COMPLEX(Long, LongAnswer, LULAB_KLU_ZL, klu_l_symbolic, klu_l_numeric, klu_l_common)

#if KLU_MAIN_VERSION >= 2
void klu_version(int version[3]) {
  const int of_header[] = {KLU_MAIN_VERSION, KLU_SUB_VERSION, KLU_SUBSUB_VERSION};
  std::ranges::copy(of_header, version);
}
#endif

}  // extern "C"
