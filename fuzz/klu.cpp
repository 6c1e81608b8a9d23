// Programs that call libklu.so.1, in 32 and 64 bits: analyze, then any sequence of factor, refactor, solve, tsolve,
// extract and the rest. Where values are of moderate size, a solution with KLU_OK solves the system of the last ones,
// factors reproduce it, and a matrix far from singular has both. The first characters: bits, n, scale, order, btf, tol,
// halt_if_singular; then A, and calls.

#include <dlfcn.h>
#include <klu.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "fuzz/characters.h"
#include "fuzz/solves.h"

using namespace lulab;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

void* library() {
  static void* const loaded = dlopen(LULAB_KLU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  fuzz::require(loaded != nullptr, "{} cannot be loaded", LULAB_KLU_LIBRARY);
  return loaded;
}

template <class Int>
class Program {
  static constexpr bool is_long = sizeof(Int) == 8;
  using Symbolic = std::conditional_t<is_long, klu_l_symbolic, klu_symbolic>;
  using Numeric = std::conditional_t<is_long, klu_l_numeric, klu_numeric>;
  using Common = std::conditional_t<is_long, klu_l_common, klu_common>;
  using Answer = std::conditional_t<is_long, decltype(klu_l_defaults(nullptr)), int>;

 public:
  explicit Program(fuzz::Characters& in) : in_(in) {
    constexpr double tols[] = {0.001, 1, 0.1, 0};
    call<Answer>("defaults", &c_);
    n_ = 1 + in.choice(8);
    c_.scale = 2 - in.choice(4);  // 2: largest, 1: sum, 0: none, -1: none and no check
    order_ = in.choice(3);
    c_.btf = 1 - in.choice(2);
    c_.tol = tols[in.choice(4)];
    c_.halt_if_singular = 1 - in.choice(2);
    system_.a = in.matrix(static_cast<int>(n_));
    col_ptr_.assign(system_.a.col_ptr.begin(), system_.a.col_ptr.end());
    row_idx_.assign(system_.a.row_idx.begin(), system_.a.row_idx.end());
  }
  ~Program() {
    call<Answer>("free_numeric", &numeric_, &c_);
    call<Answer>("free_symbolic", &symbolic_, &c_);
    fuzz::require(numeric_ == nullptr && symbolic_ == nullptr, "freed objects leave pointers");
  }

  void run() {
    analyze();
    factor();
    for (int calls = 0; calls < 12 && !in_.at_end(); ++calls) switch (in_.choice(8)) {
        case 0: factor(); break;
        case 1: refactor(); break;
        case 2: solve(1, 0, false); break;
        case 3: solve(1, 0, true); break;
        case 4: solve(10, 1, in_.choice(2) == 1); break;
        case 5: extract(); break;
        case 6: measure(); break;
        case 7:
          call<Answer>("free_symbolic", &symbolic_, &c_);
          call<Answer>("free_numeric", &numeric_, &c_);
          is_good_ = false;
          analyze();
          break;
      }
  }

 private:
  /// The functions that a program is linked with.
  template <class Result, class... Args>
  Result call(const char* name, Args... args) {
    const std::string symbol = std::string(is_long ? "klu_l_" : "klu_") + name;
    void* const function = dlsym(library(), symbol.c_str());
    fuzz::require(function != nullptr, "{} is missing", symbol);
    return reinterpret_cast<Result (*)(Args...)>(function)(args...);
  }

  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> wrong, Args&&... args) const {
    if (!holds) fmt::print(stderr, "{}calls: {}\n", fuzz::text_of(system_), calls_);
    fuzz::require(holds, wrong, std::forward<Args>(args)...);
  }

  /// KLU scales rows at most: with other values pivots are small or large by the columns that they stand in.
  bool is_sane() const {
    return std::ranges::all_of(system_.a.values,
                               [](double v) { return v == 0 || (std::abs(v) > 1e-3 && std::abs(v) < 1e3); });
  }
  fuzz::Truth truth() const { return fuzz::all_finite(system_.a.values) ? fuzz::truth_of(system_) : fuzz::Truth{}; }
  /// Of values of moderate size, as were those that the pivots were chosen for.
  void expect_good_factors(const char* function, bool answer) {
    calls_ += std::string(" ") + function;
    require(c_.status >= KLU_INVALID - 1 && c_.status <= KLU_SINGULAR, "{} has the status {}", function, c_.status);
    is_good_ = answer && c_.status == KLU_OK && fuzz::all_finite(system_.a.values);  // KLU factors others, x is NaN
    system_.b.assign(n_, 1);
    system_.transposed = false;
    sane_ = sane_ && is_sane();
    if (!is_good_ && sane_) {
      const double condition = static_cast<double>(truth().condition);
      require(!(condition < 1e8), "condition {}, but {} says {}", condition, function, c_.status);
    }
  }

  void analyze() {
    std::vector<Int> natural(n_);
    std::iota(natural.begin(), natural.end(), Int(0));
    c_.ordering = order_ == 1 ? 1 : 0;
    symbolic_ = order_ == 2 ? call<Symbolic*>("analyze_given", Int(n_), col_ptr_.data(), row_idx_.data(),
                                              natural.data(), natural.data(), &c_)
                            : call<Symbolic*>("analyze", Int(n_), col_ptr_.data(), row_idx_.data(), &c_);
    calls_ += " analyze";
    require((symbolic_ != nullptr) == (c_.status >= KLU_OK), "analyze has the status {}", c_.status);
  }
  void factor() {
    if (symbolic_ == nullptr) return;
    call<Answer>("free_numeric", &numeric_, &c_);
    sane_ = true;
    numeric_ = call<Numeric*>("factor", col_ptr_.data(), row_idx_.data(), system_.a.values.data(), symbolic_, &c_);
    expect_good_factors("factor", numeric_ != nullptr);
  }
  void refactor() {
    if (numeric_ == nullptr) return;
    for (double& v : system_.a.values) v = in_.entry().value_or(v);
    expect_good_factors("refactor", call<Answer>("refactor", col_ptr_.data(), row_idx_.data(), system_.a.values.data(),
                                                 symbolic_, numeric_, &c_) == 1);
  }

  void solve(Int columns, Int room, bool transposed) {
    if (numeric_ == nullptr) return;
    const Int leading = n_ + room;
    std::vector<double> b = in_.vector(static_cast<int>(n_)), x;
    for (Int c = 0; c < columns; ++c) {  // multiples, so that all are as good
      for (Int i = 0; i < n_; ++i) x.push_back(b[i] * std::ldexp(1.0, static_cast<int>(c)));
      x.resize(leading * (c + 1), nan);
    }
    const bool done =
        call<Answer>(transposed ? "tsolve" : "solve", symbolic_, numeric_, leading, columns, x.data(), &c_) == 1;
    calls_ += transposed ? " tsolve" : " solve";
    require(done == (c_.status == KLU_OK), "solve returns {} with the status {}", done, c_.status);
    require(is_good_ || !done || !fuzz::all_finite(std::vector(x.begin(), x.begin() + n_)),
            "solve by factors that are not there");
    if (!is_good_ || !fuzz::all_finite(b)) return;
    system_.b = b;
    system_.transposed = transposed;
    const fuzz::Truth known = truth();  // of each column: they are multiples
    for (Int c = 0; c < columns; ++c) {
      for (Int i = n_; i < leading; ++i) require(std::isnan(x[leading * c + i]), "solve writes beside x");
      for (Int i = 0; i < n_; ++i) system_.b[i] = b[i] * std::ldexp(1.0, static_cast<int>(c));
      if (!sane_ || !known.in_range || !(known.condition < 1e8)) continue;
      require(done, "condition {}, but solve has the status {}", static_cast<double>(known.condition), c_.status);
      const std::vector<double> of_column(x.begin() + leading * c, x.begin() + leading * c + n_);
      require(fuzz::all_finite(of_column), "a solution is not finite");
      const double error = fuzz::error_of(system_, of_column);
      require(error <= 1e-10, "KLU_OK, but the backward error is {}", error);
    }
  }

  /// L U + F = R \ A(P,Q).
  void extract() {
    if (numeric_ == nullptr || !is_good_) return;
    const Int n = n_;
    std::vector<Int> Lp(n + 1), Up(n + 1), Fp(n + 1), Li(numeric_->lnz + 1), Ui(numeric_->unz + 1),
        Fi(numeric_->nzoff + 1), P(n), Q(n), R(n + 1);
    std::vector<double> Lx(Li.size()), Ux(Ui.size()), Fx(Fi.size()), Rs(n, 1);
    const bool done =
        call<Answer>("extract", numeric_, symbolic_, Lp.data(), Li.data(), Lx.data(), Up.data(), Ui.data(), Ux.data(),
                     Fp.data(), Fi.data(), Fx.data(), P.data(), Q.data(), Rs.data(), R.data(), &c_) == 1;
    calls_ += " extract";
    require(done == (c_.status == KLU_OK), "extract returns {} with the status {}", done, c_.status);
    if (!done) return require(c_.status == KLU_INVALID || c_.status == KLU_SINGULAR, "extract: {}", c_.status);
    if (!sane_) return;
    const fuzz::Dense a = fuzz::to_dense(system_.a);
    for (Int j = 0; j < n; ++j) {
      fuzz::Dense product(n, 0), size(n, 0);
      for (Int u = Up[j]; u < Up[j + 1]; ++u)
        for (Int l = Lp[Ui[u]]; l < Lp[Ui[u] + 1]; ++l) {
          const long double term = static_cast<long double>(Lx[l]) * Ux[u];
          product[Li[l]] += term;
          size[Li[l]] += std::abs(term);
        }
      for (Int k = Fp[j]; k < Fp[j + 1]; ++k) product[Fi[k]] += Fx[k];
      for (Int i = 0; i < n; ++i) {
        const long double expected = a[P[i] * n + Q[j]] / Rs[i];
        const long double error = std::abs(product[i] - expected);
        require(error <= n * 0x1p-51L * (size[i] + std::abs(expected)), "entry ({}, {}) of L U + F is off by {}", i, j,
                static_cast<double>(error));
      }
    }
  }

  void measure() {
    if (numeric_ == nullptr) return;
    calls_ += " measure";
    double* const values = system_.a.values.data();
    call<Answer>("sort", symbolic_, numeric_, &c_);
    call<Answer>("flops", symbolic_, numeric_, &c_);
    call<Answer>("rcond", symbolic_, numeric_, &c_);
    if (is_good_ && sane_) require(c_.rcond >= 0 && c_.rcond <= 1, "rcond is {}", c_.rcond);
    call<Answer>("rgrowth", col_ptr_.data(), row_idx_.data(), values, symbolic_, numeric_, &c_);
    call<Answer>("condest", col_ptr_.data(), values, symbolic_, numeric_, &c_);
    if (is_good_ && sane_ && c_.status == KLU_OK) require(c_.condest >= 0.99, "condest is {}", c_.condest);
  }

  fuzz::Characters& in_;
  Common c_{};
  Int n_ = 0;
  int order_ = 0;
  fuzz::System system_;
  std::vector<Int> col_ptr_, row_idx_;
  Symbolic* symbolic_ = nullptr;
  Numeric* numeric_ = nullptr;
  bool is_good_ = false;  // the last factorization was
  bool sane_ = false;     // so were the values that pivots were chosen for, and those since
  std::string calls_;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return setenv("LULAB_CALIBRATION", "off", 1); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Characters in(data, size);
  if (in.choice(2) == 0)
    Program<std::int32_t>(in).run();
  else
    Program<SuiteSparse_long>(in).run();
  return 0;
}
