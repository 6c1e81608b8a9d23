// libklu.so as a program sees it, beside the libklu.so of the system where there is one: what both say is the same,
// but where KLU calls a wrong x right.
#include <dlfcn.h>
#include <klu.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testing/program.h"
#include "testing/read_only.h"
#include "testing/refused_memory.h"

namespace lulab {
namespace {

const std::string ours = LULAB_KLU_LIBRARY;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// By path: a name alone would be that of the one loaded before. Null: there is none.
void* load(const std::string& path) { return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

/// The functions of one library, in one size of integers.
template <class Int>
struct Klu {
  static constexpr bool is_long = sizeof(Int) == 8;
  using Symbolic = std::conditional_t<is_long, klu_l_symbolic, klu_symbolic>;
  using Numeric = std::conditional_t<is_long, klu_l_numeric, klu_numeric>;
  using Common = std::conditional_t<is_long, klu_l_common, klu_common>;

  using Answer = std::conditional_t<is_long, decltype(klu_l_defaults(nullptr)), int>;

  explicit Klu(const std::string& path) : library(load(path)) {
    if (library == nullptr) return;
    get(defaults, "defaults"), get(analyze, "analyze"), get(analyze_given, "analyze_given"), get(factor, "factor");
    get(refactor, "refactor"), get(solve, "solve"), get(tsolve, "tsolve"), get(free_symbolic, "free_symbolic");
    get(free_numeric, "free_numeric"), get(extract, "extract"), get(rcond, "rcond"), get(condest, "condest");
    get(rgrowth, "rgrowth"), get(flops, "flops"), get(scale, "scale"), get(sort, "sort"), get(allocate, "malloc");
    get(release, "free"), get(reallocate, "realloc");
  }
  template <class Function>
  void get(Function*& function, const std::string& name) {
    function = reinterpret_cast<Function*>(dlsym(library, ((is_long ? "klu_l_" : "klu_") + name).c_str()));
    EXPECT_NE(function, nullptr) << name;
  }

  void* library;
  Answer (*defaults)(Common*) = nullptr;
  Symbolic* (*analyze)(Int, Int*, Int*, Common*) = nullptr;
  Symbolic* (*analyze_given)(Int, Int*, Int*, Int*, Int*, Common*) = nullptr;
  Numeric* (*factor)(Int*, Int*, double*, Symbolic*, Common*) = nullptr;
  Answer (*refactor)(Int*, Int*, double*, Symbolic*, Numeric*, Common*) = nullptr;
  Answer (*solve)(Symbolic*, Numeric*, Int, Int, double*, Common*) = nullptr;
  Answer (*tsolve)(Symbolic*, Numeric*, Int, Int, double*, Common*) = nullptr;
  Answer (*free_symbolic)(Symbolic**, Common*) = nullptr;
  Answer (*free_numeric)(Numeric**, Common*) = nullptr;
  Answer (*extract)(Numeric*, Symbolic*, Int*, Int*, double*, Int*, Int*, double*, Int*, Int*, double*, Int*, Int*,
                    double*, Int*, Common*) = nullptr;
  Answer (*rcond)(Symbolic*, Numeric*, Common*) = nullptr;
  Answer (*condest)(Int*, double*, Symbolic*, Numeric*, Common*) = nullptr;
  Answer (*rgrowth)(Int*, Int*, double*, Symbolic*, Numeric*, Common*) = nullptr;
  Answer (*flops)(Symbolic*, Numeric*, Common*) = nullptr;
  Answer (*scale)(Answer, Int, Int*, Int*, double*, double*, Int*, Common*) = nullptr;
  Answer (*sort)(Symbolic*, Numeric*, Common*) = nullptr;
  void* (*allocate)(std::size_t, std::size_t, Common*) = nullptr;
  void* (*release)(void*, std::size_t, std::size_t, Common*) = nullptr;
  void* (*reallocate)(std::size_t, std::size_t, std::size_t, void*, Common*) = nullptr;
};

template <class Int>
struct Matrix {
  Int n = 0;
  std::vector<Int> Ap = {0}, Ai;
  std::vector<double> Ax;

  double residual(std::span<const double> x, std::span<const double> b, bool transposed = false) const {
    std::vector<double> r(b.begin(), b.end()), size(n);
    for (Int j = 0; j < n; ++j)
      for (Int s = Ap[j]; s < Ap[j + 1]; ++s) {
        const Int to = transposed ? j : Ai[s], from = transposed ? Ai[s] : j;
        r[to] -= Ax[s] * x[from];
        size[to] += std::abs(Ax[s] * x[from]);
      }
    double worst = 0;
    for (Int i = 0; i < n; ++i) {
      const double error = std::abs(r[i]) / (size[i] + std::abs(b[i]));
      worst = std::isnan(error) || error > worst ? error : worst;
    }
    return worst;
  }
  double at(Int i, Int j) const {
    for (Int s = Ap[j]; s < Ap[j + 1]; ++s)
      if (Ai[s] == i) return Ax[s];
    return 0;
  }
};

/// Unsymmetric, with a matching off the diagonal, columns unsorted, and reducible: rows and columns of a block upper
/// triangular matrix in any order.
template <class Int>
Matrix<Int> random_matrix(Int n, double density, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Int> row(n), column(n);
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  std::shuffle(row.begin(), row.end(), random);
  std::shuffle(column.begin(), column.end(), random);
  std::vector<std::vector<std::pair<Int, double>>> columns(n);
  for (Int k = 0; k < n; ++k)
    for (Int i = 0; i < n; ++i) {
      const bool in_upper_form = i <= k || (i / 7 == k / 7 && k >= n / 2) || k < n / 2;
      if (i != k && (!in_upper_form || (i >= n / 2 && k < n / 2) || uniform(random) > density)) continue;
      const double value = (uniform(random) + 0.1) * (uniform(random) < 0.5 ? -1 : 1);
      columns[column[k]].emplace_back(row[i], i == k ? 4 * value : value);
    }
  Matrix<Int> a;
  a.n = n;
  for (auto& entries : columns) {
    std::shuffle(entries.begin(), entries.end(), random);
    for (const auto& [i, value] : entries) {
      a.Ai.push_back(i);
      a.Ax.push_back(value);
    }
    a.Ap.push_back(static_cast<Int>(a.Ai.size()));
  }
  return a;
}

/// Of the search for a matching: klu_analyze() knows no pattern that was ordered with this one.
double new_limit() {
  static double limit = 1e6;
  return ++limit;
}

/// One matrix in one library.
template <class Int>
struct Session {
  Session(const Klu<Int>& the_klu, Matrix<Int> the_a) : klu(the_klu), a(std::move(the_a)) { klu.defaults(&c); }
  ~Session() {
    EXPECT_EQ(klu.free_numeric(&numeric, &c), 1);
    EXPECT_EQ(klu.free_symbolic(&symbolic, &c), 1);
    EXPECT_EQ(c.memusage, 0u);
  }
  void analyze() { symbolic = klu.analyze(a.n, a.Ap.data(), a.Ai.data(), &c); }
  void factor() { numeric = klu.factor(a.Ap.data(), a.Ai.data(), a.Ax.data(), symbolic, &c); }
  auto refactor() { return klu.refactor(a.Ap.data(), a.Ai.data(), a.Ax.data(), symbolic, numeric, &c); }
  std::vector<double> solve(std::vector<double> b, bool transposed = false) {
    EXPECT_EQ(
        (transposed ? klu.tsolve : klu.solve)(symbolic, numeric, a.n, static_cast<Int>(b.size()) / a.n, b.data(), &c),
        1);
    return b;
  }

  const Klu<Int>& klu;
  Matrix<Int> a;
  typename Klu<Int>::Common c;
  typename Klu<Int>::Symbolic* symbolic = nullptr;
  typename Klu<Int>::Numeric* numeric = nullptr;
};

std::vector<double> random_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(n);
  for (double& v : values) v = std::uniform_real_distribution<double>(-1, 1)(random);
  return values;
}

template <class Int>
class KluShape : public ::testing::Test {
 protected:
  const Klu<Int> lulab{ours}, system{LULAB_SYSTEM_KLU};
  /// What is to behave alike: ours alone where there is no other.
  std::vector<const Klu<Int>*> both() const {
    return system.library == nullptr ? std::vector{&lulab} : std::vector{&lulab, &system};
  }
};
using Sizes = ::testing::Types<int, SuiteSparse_long>;
TYPED_TEST_SUITE(KluShape, Sizes);

template <class T>
std::vector<T> copy(const T* from, std::size_t n) {
  return {from, from + n};
}

template <class Int>
void expect_same_analysis(const Session<Int>& s, const Session<Int>& t) {
  const auto &x = *s.symbolic, &y = *t.symbolic;
  EXPECT_EQ(std::vector<Int>({x.n, x.nz, x.nzoff, x.nblocks, x.maxblock, x.ordering, x.do_btf}),
            std::vector<Int>({y.n, y.nz, y.nzoff, y.nblocks, y.maxblock, y.ordering, y.do_btf}));
  if (x.do_btf && x.ordering != 2) {
    EXPECT_EQ(x.structural_rank, y.structural_rank);
  }
  EXPECT_EQ(copy(x.P, x.n), copy(y.P, y.n));
  EXPECT_EQ(copy(x.Q, x.n), copy(y.Q, y.n));
  EXPECT_EQ(copy(x.R, x.nblocks + 1), copy(y.R, y.nblocks + 1));
  for (Int b = 0; b < x.nblocks; ++b) EXPECT_TRUE(x.Lnz[b] == -1 || x.Lnz[b] == y.Lnz[b]) << b;
  EXPECT_EQ(x.lnz, y.lnz);
  EXPECT_EQ(x.unz, y.unz);
  if (x.ordering == 0) {
    EXPECT_EQ(x.est_flops, y.est_flops);
    EXPECT_EQ(x.symmetry, y.symmetry);
  }
}

template <class Int>
void expect_same_factors(Session<Int>& s, Session<Int>& t) {
  const auto &x = *s.numeric, &y = *t.numeric;
  const std::size_t n = x.n;
  EXPECT_EQ(std::vector<Int>({x.n, x.nblocks, x.lnz, x.unz, x.max_lnz_block, x.max_unz_block, x.nzoff}),
            std::vector<Int>({y.n, y.nblocks, y.lnz, y.unz, y.max_lnz_block, y.max_unz_block, y.nzoff}));
  EXPECT_EQ(copy(x.Pnum, n), copy(y.Pnum, n));
  EXPECT_EQ(copy(x.Pinv, n), copy(y.Pinv, n));
  for (Int b = 0; b < x.nblocks; ++b) {  // of a block of one column KLU leaves them open
    const std::size_t first = s.symbolic->R[b], size = s.symbolic->R[b + 1] - first;
    if (size == 1) continue;
    EXPECT_EQ(copy(x.Llen + first, size), copy(y.Llen + first, size));
    EXPECT_EQ(copy(x.Ulen + first, size), copy(y.Ulen + first, size));
  }
  EXPECT_EQ(copy(x.Offp, n + 1), copy(y.Offp, n + 1));
  EXPECT_EQ(x.Rs == nullptr, y.Rs == nullptr);
  for (std::size_t k = 0; k < n; ++k) {
    if (x.Rs != nullptr && y.Rs != nullptr) {
      EXPECT_DOUBLE_EQ(x.Rs[k], y.Rs[k]);
    }
    const double u = static_cast<double*>(x.Udiag)[k], v = static_cast<double*>(y.Udiag)[k];
    EXPECT_TRUE(std::abs(u - v) <= 1e-10 * std::abs(v)) << k << ": " << u << ", " << v;
  }
  for (Session<Int>* each : {&s, &t}) {
    EXPECT_EQ(each->klu.rcond(each->symbolic, each->numeric, &each->c), 1);
    EXPECT_EQ(each->klu.flops(each->symbolic, each->numeric, &each->c), 1);
    EXPECT_EQ(each->klu.sort(each->symbolic, each->numeric, &each->c), 1);
    EXPECT_EQ(each->klu.condest(each->a.Ap.data(), each->a.Ax.data(), each->symbolic, each->numeric, &each->c), 1);
    EXPECT_EQ(each->klu.rgrowth(each->a.Ap.data(), each->a.Ai.data(), each->a.Ax.data(), each->symbolic, each->numeric,
                                &each->c),
              1);
    EXPECT_EQ(each->c.status, KLU_OK);
  }
  EXPECT_EQ(s.c.flops, t.c.flops);
  EXPECT_EQ(s.c.noffdiag, t.c.noffdiag);
  EXPECT_EQ(s.c.structural_rank, t.c.structural_rank);
  EXPECT_TRUE(std::abs(s.c.rcond - t.c.rcond) <= 1e-10 * t.c.rcond) << s.c.rcond << ", " << t.c.rcond;
  EXPECT_TRUE(std::abs(s.c.rgrowth - t.c.rgrowth) <= 1e-10 * t.c.rgrowth) << s.c.rgrowth << ", " << t.c.rgrowth;
  EXPECT_TRUE(s.c.condest <= 3 * t.c.condest && t.c.condest <= 3 * s.c.condest) << s.c.condest << ", " << t.c.condest;
}

/// L U + F = R \ A(P,Q), R diagonal.
template <class Int>
void expect_extracts(Session<Int>& s) {
  const Int n = s.a.n;
  auto& f = *s.numeric;
  std::vector<Int> Lp(n + 1, -1), Li(f.lnz, -1), Up(n + 1, -1), Ui(f.unz, -1), Fp(n + 1, -1), Fi(f.nzoff, -1), P(n),
      Q(n), R(s.symbolic->nblocks + 1);
  std::vector<double> Lx(f.lnz, nan), Ux(f.unz, nan), Fx(f.nzoff, nan), Rs(n, nan);
  Fi.reserve(1), Fx.reserve(1);  // no null pointers
  ASSERT_EQ(s.klu.extract(s.numeric, s.symbolic, Lp.data(), Li.data(), Lx.data(), Up.data(), Ui.data(), Ux.data(),
                          Fp.data(), Fi.data(), Fx.data(), P.data(), Q.data(), Rs.data(), R.data(), &s.c),
            1);
  EXPECT_EQ(Lp[n], f.lnz);
  EXPECT_EQ(Up[n], f.unz);
  EXPECT_EQ(Fp[n], f.nzoff);
  EXPECT_EQ(P, copy(f.Pnum, n));
  EXPECT_EQ(Q, copy(s.symbolic->Q, n));
  EXPECT_EQ(R, copy(s.symbolic->R, R.size()));
  std::vector<double> product(n * n), size(n * n);
  for (Int j = 0; j < n; ++j) {
    EXPECT_EQ(Li[Lp[j]], j);
    EXPECT_EQ(Lx[Lp[j]], 1);
    EXPECT_EQ(Ui[Up[j + 1] - 1], j);
    for (Int s2 = Up[j]; s2 < Up[j + 1]; ++s2)
      for (Int s1 = Lp[Ui[s2]]; s1 < Lp[Ui[s2] + 1]; ++s1) {
        product[j * n + Li[s1]] += Lx[s1] * Ux[s2];
        size[j * n + Li[s1]] += std::abs(Lx[s1] * Ux[s2]);
      }
    for (Int s3 = Fp[j]; s3 < Fp[j + 1]; ++s3) product[j * n + Fi[s3]] += Fx[s3];
  }
  for (Int j = 0; j < n; ++j)
    for (Int i = 0; i < n; ++i) {
      const double expected = s.a.at(P[i], Q[j]) / Rs[i];
      // n products, each rounded
      const double tol = n * 0x1p-52 * (size[j * n + i] + std::abs(expected));
      EXPECT_TRUE(std::abs(product[j * n + i] - expected) <= tol) << i << ", " << j;
    }
}

/// One to thirteen right-hand sides, each with room after it.
template <class Int>
void expect_solves(Session<Int>& s, double tol) {
  const Int n = s.a.n;
  for (const int columns : {1, 2, 5, 13})
    for (const bool transposed : {false, true}) {
      const Int leading = n + columns - 1;
      const std::vector<double> b = random_values(leading * columns, 100 + columns);
      std::vector<double> x = b;
      EXPECT_EQ((transposed ? s.klu.tsolve : s.klu.solve)(s.symbolic, s.numeric, leading, columns, x.data(), &s.c), 1);
      EXPECT_EQ(s.c.status, KLU_OK);
      for (int c = 0; c < columns; ++c) {
        const std::span<const double> from(b), to(x);
        const double error = s.a.residual(to.subspan(c * leading, n), from.subspan(c * leading, n), transposed);
        EXPECT_TRUE(error <= tol) << error;
        for (Int k = n; k < leading; ++k) EXPECT_EQ(x[c * leading + k], b[c * leading + k]);
      }
    }
}

TYPED_TEST(KluShape, AnalyzesFactorsAndSolvesAsKluDoes) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const TypeParam n = seed == 4 ? 1 : static_cast<TypeParam>(20 + 25 * seed);
    std::vector<std::unique_ptr<Session<TypeParam>>> sessions;
    for (const auto* klu : this->both()) {
      sessions.push_back(std::make_unique<Session<TypeParam>>(*klu, random_matrix<TypeParam>(n, 0.1, seed)));
      Session<TypeParam>& s = *sessions.back();
      s.c.btf = seed != 2;
      s.c.scale = seed == 2 ? 1 : static_cast<TypeParam>(seed % 3) + 1;  // without ties
      s.analyze();
      ASSERT_NE(s.symbolic, nullptr);
      s.factor();
      ASSERT_NE(s.numeric, nullptr);
      EXPECT_EQ(std::vector<TypeParam>({s.c.status, s.c.numerical_rank, s.c.singular_col}),
                std::vector<TypeParam>({KLU_OK, n, n}));
      expect_extracts(s);
    }
    if (sessions.size() == 2) {
      expect_same_analysis(*sessions[0], *sessions[1]);
      expect_same_factors(*sessions[0], *sessions[1]);
    }
    for (const auto& session : sessions)
      for (const bool again : {false, true}) {
        Session<TypeParam>& s = *session;
        if (again) {
          const std::vector<double> change = random_values(s.a.Ax.size(), seed);
          for (std::size_t k = 0; k < s.a.Ax.size(); ++k) s.a.Ax[k] *= 1 + 0.3 * change[k];
          EXPECT_EQ(s.refactor(), 1);
          EXPECT_EQ(std::vector<TypeParam>({s.c.status, s.c.numerical_rank, s.c.singular_col}),
                    std::vector<TypeParam>({KLU_OK, -1, -1}));
        }
        // KLU's pivots may be a thousandth of the largest in their column.
        expect_solves(s, &s.klu == &this->lulab ? 1e-10 : 1e-9);
        expect_extracts(s);
      }
  }
}

TYPED_TEST(KluShape, KeepsTheOrderThatIsAskedFor) {
  for (const int ordering : {1, 2, 3}) {
    std::vector<std::unique_ptr<Session<TypeParam>>> sessions;
    for (const auto* klu : this->both()) {
      sessions.push_back(std::make_unique<Session<TypeParam>>(*klu, random_matrix<TypeParam>(40, 0.1, 9)));
      Session<TypeParam>& s = *sessions.back();
      s.c.ordering = ordering;
      s.c.user_order = [](TypeParam n, TypeParam* Cp, TypeParam*, TypeParam* order, auto*) {
        for (TypeParam k = 0; k < n; ++k) order[k] = n - 1 - k;
        return Cp[n];
      };
      if (ordering == 2) {  // a matching is given, in the order of the rows
        std::vector<TypeParam> P(40), Q(40);
        s.c.ordering = 0;
        s.analyze();
        for (int k = 0; k < 40; ++k) P[k] = s.symbolic->P[39 - k], Q[k] = s.symbolic->Q[39 - k];
        EXPECT_EQ(klu->free_symbolic(&s.symbolic, &s.c), 1);
        s.symbolic = klu->analyze_given(40, s.a.Ap.data(), s.a.Ai.data(), P.data(), Q.data(), &s.c);
      } else {
        s.analyze();
      }
      ASSERT_NE(s.symbolic, nullptr) << ordering;
      EXPECT_EQ(s.symbolic->ordering, ordering);
      s.factor();
      ASSERT_NE(s.numeric, nullptr);
      const std::vector<double> b = random_values(40, 5);
      const double error = s.a.residual(s.solve(b), b);
      EXPECT_TRUE(error <= 1e-10) << error;
      expect_extracts(s);
    }
    if (sessions.size() < 2) continue;
    expect_same_analysis(*sessions[0], *sessions[1]);
    expect_same_factors(*sessions[0], *sessions[1]);
  }
}

template <class Int>
Matrix<Int> two_by_two(std::vector<double> values) {
  return {2, {0, 2, 4}, {0, 1, 0, 1}, std::move(values)};
}

void expect_near(const std::vector<double>& x, const std::vector<double>& expected) {
  ASSERT_EQ(x.size(), expected.size());
  for (std::size_t k = 0; k < x.size(); ++k) EXPECT_TRUE(std::abs(x[k] - expected[k]) <= 0x1p-50) << k << ": " << x[k];
}

TYPED_TEST(KluShape, TakesAnotherPivotWhereKluCallsAWrongSolutionRight) {
  for (const double tol : {0.001, 0.0}) {
    Session<TypeParam> s(this->lulab, two_by_two<TypeParam>({1e-16, 1, 1, 2}));
    s.c.tol = tol;
    s.analyze();
    s.factor();
    expect_near(s.solve({1, 3}), {1, 1});
  }
  Session<TypeParam> s(this->lulab, two_by_two<TypeParam>({1, 1, 1, 2}));
  s.analyze();
  s.factor();
  s.a.Ax = {1e-16, 1, 1, 2};
  EXPECT_EQ(s.refactor(), 1);
  expect_near(s.solve({1, 3}), {1, 1});
  expect_extracts(s);
}

/// An x with the errors that KLU leaves is given as it is, one with larger ones is corrected.
TYPED_TEST(KluShape, CorrectsSolutionsThatAreWorseThanKluLeavesThem) {
  auto a = two_by_two<TypeParam>({1, 1, 1, 2});
  for (; a.n < 7; ++a.n) {  // that no other test knows: where a GPU has taken over, more is corrected
    a.Ai.push_back(a.n);
    a.Ax.push_back(1);
    a.Ap.push_back(a.Ap.back() + 1);
  }
  for (const double pivot : {1e-5, 1e-7}) {
    double worst = 0;
    for (int seed = 1; seed <= 20; ++seed) {
      Session<TypeParam> s(this->lulab, a);
      s.analyze();
      s.factor();
      const std::vector<double> v = random_values(3, seed), b = random_values(7, 100 + seed);
      std::ranges::copy(std::array{pivot, 1 + v[0] / 2, 1 + v[1] / 2, 1 + v[2] / 2}, s.a.Ax.begin());
      EXPECT_EQ(s.refactor(), 1);
      const double error = s.a.residual(s.solve(b), b);
      EXPECT_TRUE(error <= 1e-10) << error;
      worst = std::max(worst, error);
    }
    EXPECT_GT(worst, 1e-13) << pivot;
  }
}

TYPED_TEST(KluShape, SaysWhereASingularMatrixIsSingular) {
  Matrix<TypeParam> dependent = {4, {0, 2, 4, 7, 8}, {0, 1, 0, 1, 0, 1, 2, 3}, {1, 2, 2, 4, 1, 1, 1, 1}};
  Matrix<TypeParam> empty_column = {3, {0, 2, 2, 4}, {0, 2, 1, 2}, {1, 2, 3, 4}};
  const Matrix<TypeParam> zero = {1, {0, 1}, {0}, {0}};
  for (const auto& a : {dependent, empty_column, zero})
    for (const TypeParam halt : {1, 0})
      for (const auto* klu : this->both()) {
        if (halt == 0 && klu == &this->system) continue;  // it forgets the status where the last pivot is zero
        Session<TypeParam> s(*klu, a);
        s.c.halt_if_singular = halt;
        s.analyze();
        ASSERT_NE(s.symbolic, nullptr);
        EXPECT_EQ(s.c.structural_rank, a.n - (a.n == 3));
        s.factor();
        EXPECT_EQ(s.c.status, KLU_SINGULAR);
        EXPECT_EQ(s.numeric == nullptr, halt == 1);
        EXPECT_GE(s.c.numerical_rank, 0);
        EXPECT_LT(s.c.numerical_rank, a.n);
        EXPECT_EQ(s.symbolic->Q[s.c.numerical_rank], s.c.singular_col);
        const TypeParam last = a.n == 4 ? 1 : a.n == 3 ? 1 : 0;
        EXPECT_TRUE(s.c.singular_col == last || (a.n == 4 && s.c.singular_col == 0)) << s.c.singular_col;
        EXPECT_EQ(klu->rcond(s.symbolic, s.numeric, &s.c), 1);
        EXPECT_EQ(s.c.rcond, 0);
        EXPECT_EQ(s.c.status, KLU_SINGULAR);
        EXPECT_EQ(klu->condest(s.a.Ap.data(), s.a.Ax.data(), s.symbolic, s.numeric, &s.c), 1);
        EXPECT_EQ(s.c.condest, std::numeric_limits<double>::infinity());
        if (halt == 1) continue;
        const std::vector<double> x = s.solve(std::vector<double>(a.n, 1));
        EXPECT_TRUE(std::ranges::any_of(x, [](double v) { return !std::isfinite(v); }));
        if (a.n == 3) continue;
        s.a.Ax.assign(s.a.Ax.size(), 1);
        s.a.Ax[0] = 3;
        EXPECT_EQ(s.refactor(), 1);
        EXPECT_EQ(s.c.status, KLU_OK);
        const std::vector<double> b = random_values(a.n, 1);
        const double error = s.a.residual(s.solve(b), b);
        EXPECT_TRUE(error <= 1e-12) << error;
      }
}

TYPED_TEST(KluShape, SaysThatARefactorizationIsSingular) {
  for (const TypeParam halt : {1, 0})
    for (const auto* klu : this->both()) {
      Session<TypeParam> s(*klu, two_by_two<TypeParam>({1, 1, 1, 2}));
      s.c.halt_if_singular = halt;
      s.analyze();
      s.factor();
      s.a.Ax = {1, 2, 2, 4};
      EXPECT_EQ(s.refactor(), 1 - halt);
      EXPECT_EQ(s.c.status, KLU_SINGULAR);
      EXPECT_EQ(s.symbolic->Q[s.c.numerical_rank], s.c.singular_col);
      s.a.Ax = {4, 1, 1, 2};
      EXPECT_EQ(s.refactor(), 1);
      EXPECT_EQ(s.c.status, KLU_OK);
      const double error = s.a.residual(s.solve({1, 2}), std::vector<double>({1, 2}));
      EXPECT_TRUE(error <= 1e-15) << error;
    }
}

TYPED_TEST(KluShape, ScalesRowsAnewForEachSetOfValues) {
  const auto a = random_matrix<TypeParam>(30, 0.2, 11);
  const std::vector<double> b = random_values(30, 12);
  for (const auto* klu : this->both()) {
    Session<TypeParam> s(*klu, a);
    s.analyze();
    s.factor();
    for (const double factor : {1e-290, 1e290, 1.0, 1e-290}) {
      for (std::size_t k = 0; k < a.Ax.size(); ++k) s.a.Ax[k] = factor * a.Ax[k];
      EXPECT_EQ(s.refactor(), 1) << factor;
      EXPECT_EQ(s.c.status, KLU_OK);
      std::vector<double> scaled = b;
      for (double& v : scaled) v *= factor;
      const std::vector<double> x = s.solve(scaled);
      const double error = a.residual(x, b);  // of the same x
      EXPECT_TRUE(error <= 1e-12) << factor << " " << error;
    }
  }
}

/// Factors the values of s, then these: by klu_refactor(), or freed, by klu_factor(), when the pattern is known.
template <class Int>
void factor_twice(Session<Int>& s, const std::vector<double>& values, bool freed) {
  s.analyze();
  s.factor();
  s.a.Ax = values;
  if (freed) {
    EXPECT_EQ(s.klu.free_numeric(&s.numeric, &s.c), 1);
    s.factor();
  } else {
    EXPECT_EQ(s.refactor(), 1);
  }
  EXPECT_EQ(s.c.status, KLU_OK);
}

/// Where rows were scaled by 2^900 and 2^-900 before, that scaling of other values leaves factors that look good. Then
/// klu_solve() takes others, with pivots of their own.
TYPED_TEST(KluShape, ScalesRowsAnewWhereTheOldScalingGivesABadSolution) {
  int pivots_changed = 0;
  for (const std::uint64_t seed : {11, 12, 13, 14, 15, 16})
    for (const bool freed : {false, true}) {
      const auto a = random_matrix<TypeParam>(30, 0.2, seed);
      Session<TypeParam> s(this->lulab, a);
      s.c.tol = 1;
      const std::vector<double> before = random_values(a.Ax.size(), 20 + seed);
      for (std::size_t k = 0; k < a.Ax.size(); ++k) s.a.Ax[k] = std::ldexp(before[k], a.Ai[k] % 2 ? 900 : -900);
      factor_twice(s, a.Ax, freed);
      const auto known = copy(s.numeric->Pnum, 30);
      expect_solves(s, 1e-11);
      pivots_changed += copy(s.numeric->Pnum, 30) != known;
      expect_extracts(s);
    }
  EXPECT_GT(pivots_changed, 0);
}

/// Likewise of the factors themselves: multipliers that underflow in the old scaling are none in KLU's.
TYPED_TEST(KluShape, ExtractsFactorsOfOtherSizesThanThoseBefore) {
  for (const std::uint64_t seed : {31, 32, 33})
    for (const bool freed : {false, true}) {
      const auto a = random_matrix<TypeParam>(30, 0.2, seed);
      Session<TypeParam> s(this->lulab, a);
      for (std::size_t k = 0; k < a.Ax.size(); ++k) s.a.Ax[k] = std::ldexp(a.Ax[k], a.Ai[k] % 2 ? 1000 : -1000);
      factor_twice(s, a.Ax, freed);
      expect_extracts(s);
      expect_solves(s, 1e-11);
    }
}

TYPED_TEST(KluShape, GivesNoNumbersForValuesThatAreNone) {
  for (const double bad : {nan, std::numeric_limits<double>::infinity()})
    for (const auto* klu : this->both()) {
      Session<TypeParam> s(*klu, two_by_two<TypeParam>({1, bad, 1, 2}));
      s.analyze();
      s.factor();
      EXPECT_EQ(s.c.status, KLU_OK);
      ASSERT_NE(s.numeric, nullptr);
      if (klu == &this->lulab || std::isnan(bad)) {
        for (const double v : s.solve({1, 2})) EXPECT_TRUE(std::isnan(v));
      }
      EXPECT_EQ(s.refactor(), 1);
      EXPECT_EQ(s.c.status, KLU_OK);
      s.a.Ax = {1, 1, 1, 2};
      EXPECT_EQ(s.refactor(), 1);
      expect_near(s.solve({1, 1}), {1, 0});
      s.c.tol = nan;
      EXPECT_EQ(klu->free_numeric(&s.numeric, &s.c), 1);
      s.factor();
      EXPECT_EQ(s.c.status, KLU_OK);
      EXPECT_EQ(s.c.tol, 1);
    }
}

TYPED_TEST(KluShape, RefusesWhatIsNoMatrix) {
  using M = Matrix<TypeParam>;
  const M good = two_by_two<TypeParam>({1, 1, 1, 2});
  std::vector<M> bad(7, good);
  bad[0].n = 0;
  bad[1].n = -1;
  bad[2].Ai[1] = 0;       // twice
  bad[3].Ai[3] = 2;       // no row
  bad[4].Ai[0] = -1;      // no row
  bad[5].Ap = {0, 5, 4};  // goes back
  bad[6].Ap = {1, 2, 4};  // does not start at 0
  for (const auto* klu : this->both()) {
    typename Klu<TypeParam>::Common c;
    EXPECT_EQ(klu->defaults(&c), 1);
    for (M& a : bad) {
      EXPECT_EQ(klu->analyze(a.n, a.Ap.data(), a.Ai.data(), &c), nullptr);
      EXPECT_EQ(std::exchange(c.status, 99), KLU_INVALID);
      EXPECT_EQ(klu->analyze_given(a.n, a.Ap.data(), a.Ai.data(), nullptr, nullptr, &c), nullptr);
      EXPECT_EQ(std::exchange(c.status, 99), KLU_INVALID);
      std::vector<double> Rs(2);
      std::vector<TypeParam> W(2);
      EXPECT_EQ(klu->scale(2, a.n, a.Ap.data(), a.Ai.data(), a.Ax.data(), Rs.data(), W.data(), &c), 0);
      EXPECT_EQ(std::exchange(c.status, 99), KLU_INVALID);
    }
    M a = good;
    std::vector<double> Rs(2, nan);
    EXPECT_EQ(klu->scale(1, 2, a.Ap.data(), a.Ai.data(), a.Ax.data(), Rs.data(), nullptr, &c), 1);
    EXPECT_EQ(Rs, std::vector<double>({2, 3}));
    EXPECT_EQ(klu->scale(2, 2, a.Ap.data(), bad[2].Ai.data(), a.Ax.data(), Rs.data(), nullptr, &c), 1);
    EXPECT_EQ(klu->scale(2, 2, a.Ap.data(), a.Ai.data(), a.Ax.data(), nullptr, nullptr, &c), 0);
    EXPECT_EQ(klu->scale(-1, 2, nullptr, nullptr, nullptr, nullptr, nullptr, &c), 1);
    if (klu == &this->lulab) {  // the other one reads so many
      EXPECT_EQ(klu->analyze(std::numeric_limits<TypeParam>::max(), a.Ap.data(), a.Ai.data(), &c), nullptr);
      EXPECT_EQ(c.status, KLU_TOO_LARGE);
    }
    EXPECT_EQ(klu->analyze(2, nullptr, a.Ai.data(), &c), nullptr);
    EXPECT_EQ(klu->analyze(2, a.Ap.data(), nullptr, &c), nullptr);
    c.ordering = 3;  // without a function
    EXPECT_EQ(klu->analyze(2, a.Ap.data(), a.Ai.data(), &c), nullptr);
    EXPECT_EQ(c.status, KLU_INVALID);
  }
}

TYPED_TEST(KluShape, RefusesWhatIsMissing) {
  for (const auto* klu : this->both()) {
    Session<TypeParam> s(*klu, two_by_two<TypeParam>({1, 1, 1, 2}));
    s.analyze();
    s.factor();
    TypeParam* const Ap = s.a.Ap.data();
    TypeParam* const Ai = s.a.Ai.data();
    double* const Ax = s.a.Ax.data();
    double b[] = {1, 2};
    const auto invalid = [&](bool answer) {
      EXPECT_FALSE(answer);
      EXPECT_EQ(std::exchange(s.c.status, 99), KLU_INVALID);
    };
    invalid(klu->factor(Ap, Ai, Ax, nullptr, &s.c) != nullptr);
    invalid(klu->refactor(Ap, Ai, Ax, s.symbolic, nullptr, &s.c));
    invalid(klu->solve(nullptr, s.numeric, 2, 1, b, &s.c));
    invalid(klu->solve(s.symbolic, nullptr, 2, 1, b, &s.c));
    invalid(klu->solve(s.symbolic, s.numeric, 1, 1, b, &s.c));
    invalid(klu->solve(s.symbolic, s.numeric, 2, -1, b, &s.c));
    invalid(klu->tsolve(s.symbolic, s.numeric, 2, 1, nullptr, &s.c));
    invalid(klu->flops(s.symbolic, nullptr, &s.c));
    invalid(klu->rcond(nullptr, s.numeric, &s.c));
    invalid(klu->condest(Ap, nullptr, s.symbolic, s.numeric, &s.c));
    invalid(klu->rgrowth(Ap, Ai, nullptr, s.symbolic, s.numeric, &s.c));
    invalid(klu->extract(nullptr, s.symbolic, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                         nullptr, nullptr, nullptr, nullptr, nullptr, &s.c));
    EXPECT_EQ(klu->rcond(s.symbolic, nullptr, &s.c), 1);
    EXPECT_EQ(s.c.status, KLU_SINGULAR);
    EXPECT_EQ(klu->solve(s.symbolic, s.numeric, 2, 0, b, &s.c), 1);
    EXPECT_EQ(klu->solve(s.symbolic, s.numeric, 2, 1, b, nullptr), 0);
    EXPECT_EQ(klu->defaults(nullptr), 0);
    EXPECT_EQ(klu->free_numeric(nullptr, &s.c), 1);
    EXPECT_EQ(klu->free_numeric(&s.numeric, nullptr), 0);
    EXPECT_EQ(klu->free_symbolic(nullptr, &s.c), 1);
    EXPECT_EQ(klu->free_symbolic(&s.symbolic, nullptr), 0);
    EXPECT_EQ(b[0], 1);
  }
}

// KLU does not notice these.
TYPED_TEST(KluShape, RefusesAnotherPatternAndWhatWasFreed) {
  const Klu<TypeParam>& klu = this->lulab;
  const auto invalid = [](auto& c, bool answer) {
    EXPECT_FALSE(answer);
    EXPECT_EQ(std::exchange(c.status, 99), KLU_INVALID);
  };
  Session<TypeParam> s(klu, two_by_two<TypeParam>({1, 1, 1, 2})), t(klu, random_matrix<TypeParam>(9, 0.4, 1));
  for (auto* each : {&s, &t}) {
    each->analyze();
    each->factor();
  }
  double b[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<TypeParam> other = {0, 1, 1, 0};
  invalid(s.c, klu.refactor(s.a.Ap.data(), other.data(), s.a.Ax.data(), s.symbolic, s.numeric, &s.c));
  invalid(s.c, klu.factor(s.a.Ap.data(), other.data(), s.a.Ax.data(), s.symbolic, &s.c) != nullptr);
  invalid(s.c, klu.refactor(s.a.Ap.data(), s.a.Ai.data(), nullptr, s.symbolic, s.numeric, &s.c));
  invalid(s.c, klu.sort(s.symbolic, nullptr, &s.c));
  invalid(s.c, klu.solve(t.symbolic, s.numeric, 9, 1, b, &s.c));
  expect_near(s.solve({1, 1}), {1, 0});
  auto* numeric = s.numeric;
  auto* symbolic = s.symbolic;
  auto* no_numeric = reinterpret_cast<typename Klu<TypeParam>::Numeric*>(symbolic);
  auto* no_symbolic = reinterpret_cast<typename Klu<TypeParam>::Symbolic*>(numeric);
  for (const bool is_of_stack : {false, true}) {
    if (is_of_stack) no_numeric = reinterpret_cast<decltype(no_numeric)>(b);
    if (is_of_stack) no_symbolic = reinterpret_cast<decltype(no_symbolic)>(b);
    invalid(s.c, klu.solve(symbolic, no_numeric, 2, 1, b, &s.c));
    invalid(s.c, klu.tsolve(no_symbolic, numeric, 2, 1, b, &s.c));
    invalid(s.c, klu.factor(s.a.Ap.data(), s.a.Ai.data(), s.a.Ax.data(), no_symbolic, &s.c) != nullptr);
    invalid(s.c, klu.free_numeric(&no_numeric, &s.c));
    invalid(s.c, klu.free_symbolic(&no_symbolic, &s.c));
  }
  using Other = std::conditional_t<Klu<TypeParam>::is_long, int, SuiteSparse_long>;  // the integers of the other size
  const Klu<Other> other_size(ours);
  typename Klu<Other>::Common other_c;
  other_size.defaults(&other_c);
  invalid(other_c, other_size.solve(reinterpret_cast<typename Klu<Other>::Symbolic*>(symbolic),
                                    reinterpret_cast<typename Klu<Other>::Numeric*>(numeric), 2, 1, b, &other_c));
  EXPECT_EQ(klu.free_symbolic(&s.symbolic, &s.c), 1);  // before what was made with it
  invalid(s.c, klu.solve(symbolic, numeric, 2, 1, b, &s.c));
  EXPECT_EQ(klu.free_numeric(&s.numeric, &s.c), 1);
  EXPECT_EQ(s.numeric, nullptr);
  EXPECT_EQ(klu.free_numeric(&s.numeric, &s.c), 1);
  invalid(s.c, klu.free_numeric(&numeric, &s.c));
  invalid(s.c, klu.free_symbolic(&symbolic, &s.c));
  EXPECT_EQ(b[0], 1);
}

// That it knows the pattern shows in the pivots: it begins with those of the values before.
TYPED_TEST(KluShape, KnowsAPatternThatWasFreed) {
  const Klu<TypeParam>& klu = this->lulab;
  const auto outside_diagonal = [&](std::vector<double> values, int btf, int ordering) {
    Session<TypeParam> s(klu, two_by_two<TypeParam>(values));
    s.c.btf = btf;
    s.c.ordering = ordering;
    s.analyze();
    s.factor();
    EXPECT_EQ(s.symbolic->do_btf, btf);
    EXPECT_EQ(s.symbolic->ordering, ordering);
    const std::vector<double> b = random_values(2, 7), x = s.solve(b);
    const double error = s.a.residual(x, b);
    EXPECT_TRUE(error <= 1e-15) << error;
    EXPECT_EQ(klu.free_symbolic(&s.symbolic, &s.c), 1);  // before what was made with it
    return s.c.noffdiag;
  };
  const std::vector<double> weak = {1e-16, 1, 1, 2}, strong = {2, 1, 1, 2};
  EXPECT_EQ(outside_diagonal(weak, 1, 0), 1);
  EXPECT_EQ(outside_diagonal(strong, 1, 0), 1);
  EXPECT_EQ(outside_diagonal(strong, 0, 0), 0);  // asked for otherwise
  EXPECT_EQ(outside_diagonal(strong, 1, 1), 0);
  EXPECT_EQ(outside_diagonal({1, 1e-5, 1, 1}, 1, 0), 0);  // pivots smaller than klu_factor() takes
  EXPECT_EQ(outside_diagonal(weak, 1, 0), 1);
  EXPECT_EQ(outside_diagonal({1, 1e-16, 2, 1}, 1, 0), 0);  // none that anybody takes
  EXPECT_EQ(outside_diagonal(weak, 1, 0), 1);
  for (int n = 3; n < 7; ++n) {  // others in its place
    Session<TypeParam> s(klu, random_matrix<TypeParam>(n, 1, n));
    s.analyze();
    s.factor();
  }
  EXPECT_EQ(outside_diagonal(strong, 1, 0), 0);
  Session<TypeParam> sparser(klu, two_by_two<TypeParam>({2, 1, 1, 2}));  // the same n, another pattern
  sparser.a.Ap = {0, 2, 3}, sparser.a.Ai = {0, 1, 1}, sparser.a.Ax = {2, 1, 4};
  sparser.analyze();
  sparser.factor();
  EXPECT_EQ(sparser.symbolic->nblocks, 2);
  expect_near(sparser.solve({2, 5}), {1, 1});
}

TYPED_TEST(KluShape, AnalyzesFactorsAndFreesOnePatternInThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 8; ++round) {
        Session<TypeParam> s(this->lulab, random_matrix<TypeParam>(30, 0.2, round % 2));
        for (double& v : s.a.Ax) v *= 1 + 0.01 * t;
        s.analyze();
        ASSERT_NE(s.symbolic, nullptr);
        s.factor();
        ASSERT_NE(s.numeric, nullptr);
        expect_solves(s, 1e-10);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

/// Random calls with values that are good (0), have a column of zeros (1) or a NaN (2).
template <class Int>
void call_at_random(const Klu<Int>& klu, typename Klu<Int>::Symbolic* shared, const Matrix<Int>& given, int thread) {
  std::mt19937 random(thread);
  Session<Int> own(klu, random_matrix<Int>(20 + thread, 0.1, thread)), of_shared(klu, given);
  own.analyze();
  of_shared.symbolic = shared;
  for (Session<Int>* s : {&own, &of_shared}) s->c.halt_if_singular = 0;
  int kinds[2] = {0, 0};
  for (int call = 0; call < 60; ++call) {
    const int which = static_cast<int>(random() % 2);
    Session<Int>& s = which == 0 ? own : of_shared;
    int& kind = kinds[which];
    const int what = s.numeric == nullptr ? 0 : static_cast<int>(random() % 6);
    const std::vector<double> good = s.a.Ax, b = random_values(s.a.n * (1 + random() % 3), call);
    SCOPED_TRACE(fmt::format("thread {}, call {}: {} of values {}", thread, call, what, kind));
    if (what < 2) {
      kind = random() % 3 == 0 ? static_cast<int>(1 + random() % 2) : 0;
      if (kind == 0)
        for (double& v : s.a.Ax) v *= 1 + 0.1 * std::uniform_real_distribution<double>(-1, 1)(random);
      if (kind == 1) std::fill_n(s.a.Ax.begin() + s.a.Ap[3], s.a.Ap[4] - s.a.Ap[3], 0.0);
      if (kind == 2) s.a.Ax[random() % good.size()] = nan;
      if (what == 0) {
        EXPECT_EQ(klu.free_numeric(&s.numeric, &s.c), 1);
        s.factor();
      } else {
        EXPECT_EQ(s.refactor(), 1);
      }
      EXPECT_EQ(s.c.status, kind == 1 ? KLU_SINGULAR : KLU_OK);
      if (kind != 0) s.a.Ax = good;
    } else if (what < 5) {
      const std::vector<double> x = s.solve(b, what == 2);
      for (std::size_t first = 0; first < b.size(); first += s.a.n) {
        const auto of_x = std::span(x).subspan(first, s.a.n), of_b = std::span(b).subspan(first, s.a.n);
        const bool is_good = s.a.residual(of_x, of_b, what == 2) <= 1e-10;
        EXPECT_EQ(is_good, kind == 0);
        EXPECT_TRUE(is_good || std::ranges::any_of(of_x, [](double v) { return std::isnan(v); }));
      }
    } else if (kind == 0) {
      EXPECT_EQ(klu.condest(s.a.Ap.data(), s.a.Ax.data(), s.symbolic, s.numeric, &s.c), 1);
      EXPECT_EQ(klu.rcond(s.symbolic, s.numeric, &s.c), 1);
      EXPECT_EQ(s.c.status, KLU_OK);
    }
  }
  of_shared.symbolic = nullptr;
}

TYPED_TEST(KluShape, AnswersManyThreadsThatShareAnAnalysis) {
  Session<TypeParam> shared(this->lulab, random_matrix<TypeParam>(40, 0.1, 3));
  shared.analyze();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] { call_at_random(this->lulab, shared.symbolic, shared.a, t); });
  for (std::thread& thread : threads) thread.join();
}

TYPED_TEST(KluShape, SaysThatThereIsNoMemoryAndGoesOn) {
  Matrix<TypeParam> a = random_matrix<TypeParam>(12, 0.3, 6);
  const std::vector<double> good = a.Ax, b = random_values(24, 1);
  std::vector<double> weak = good, x;
  for (std::size_t k = 0; k < weak.size(); ++k)
    if (std::abs(weak[k]) > 1.2) weak[k] = 1e-9;
  const Klu<TypeParam>& klu = this->lulab;
  const std::vector<std::pair<const char*, int (*)(Session<TypeParam>&, std::vector<double>&)>> calls = {
      {"analyze",
       [](auto& s, auto&) {
         s.analyze();
         return int(s.symbolic != nullptr);
       }},
      {"factor",
       [](auto& s, auto&) {
         s.factor();
         return int(s.numeric != nullptr);
       }},
      {"solve", [](auto& s, auto& B) { return int(s.klu.solve(s.symbolic, s.numeric, 12, 2, B.data(), &s.c)); }},
      {"refactor", [](auto& s, auto&) { return int(s.refactor()); }},
      {"tsolve", [](auto& s, auto& B) { return int(s.klu.tsolve(s.symbolic, s.numeric, 12, 1, B.data(), &s.c)); }},
      {"sort", [](auto& s, auto&) { return int(s.klu.sort(s.symbolic, s.numeric, &s.c)); }},
      {"condest",
       [](auto& s, auto&) { return int(s.klu.condest(s.a.Ap.data(), s.a.Ax.data(), s.symbolic, s.numeric, &s.c)); }},
      {"rgrowth", [](auto& s, auto&) {
         return int(s.klu.rgrowth(s.a.Ap.data(), s.a.Ai.data(), s.a.Ax.data(), s.symbolic, s.numeric, &s.c));
       }}};
  int failed = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    bool was_refused = true;
    for (int k = 0; was_refused && !this->HasFailure(); ++k) {
      SCOPED_TRACE(fmt::format("{} with {} allocations", calls[i].first, k));
      Session<TypeParam> s(klu, a);
      s.c.maxwork = new_limit();
      for (std::size_t j = 0; j < std::min<std::size_t>(i, 2); ++j) EXPECT_EQ(calls[j].second(s, x), 1);
      for (int steps = 0; i == 3 && steps < 11; ++steps) EXPECT_EQ(s.refactor(), 1);  // the next one makes flat lists
      if (i == 3) s.a.Ax = weak;
      x = b;
      int answer = 0;
      was_refused = testing::without_memory_after(k, [&] { answer = calls[i].second(s, x); });
      EXPECT_EQ(s.c.status, answer == 1 ? KLU_OK : KLU_OUT_OF_MEMORY);
      failed += answer == 0;
      s.a.Ax = good;
      for (std::size_t j = 0; j < 2; ++j)
        if (j == 0 ? s.symbolic == nullptr : s.numeric == nullptr) {
          EXPECT_EQ(calls[j].second(s, x), 1);
        }
      EXPECT_EQ(s.refactor(), 1);
      const double error = a.residual(s.solve({b.begin(), b.begin() + 12}), std::span(b).first(12));
      EXPECT_TRUE(error <= 1e-12) << error;
    }
  }
  EXPECT_GT(failed, 300);
}

TYPED_TEST(KluShape, OnlyReadsWhatItIsGivenAndSaysNothing) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    Session<TypeParam> s(this->lulab, random_matrix<TypeParam>(30, 0.2, 5));
    const testing::ReadOnly Ap(s.a.Ap), Ai(s.a.Ai);
    const testing::ReadOnly Ax(s.a.Ax);
    s.symbolic = this->lulab.analyze(30, Ap.data(), Ai.data(), &s.c);
    s.numeric = this->lulab.factor(Ap.data(), Ai.data(), Ax.data(), s.symbolic, &s.c);
    EXPECT_EQ(this->lulab.refactor(Ap.data(), Ai.data(), Ax.data(), s.symbolic, s.numeric, &s.c), 1);
    EXPECT_EQ(this->lulab.rgrowth(Ap.data(), Ai.data(), Ax.data(), s.symbolic, s.numeric, &s.c), 1);
    EXPECT_EQ(this->lulab.condest(Ap.data(), Ax.data(), s.symbolic, s.numeric, &s.c), 1);
    expect_solves(s, 1e-10);
    EXPECT_EQ(this->lulab.analyze(-1, Ap.data(), Ai.data(), &s.c), nullptr);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), before);
}

/// L U + F = R \ A(P,Q) as klu_extract() gives them, by a random vector.   Returns whether Q is not klu_analyze()'s.
template <class Int>
bool has_another_order(Session<Int>& s) {
  const Int n = s.a.n, lnz = s.numeric->lnz, unz = s.numeric->unz, nzoff = s.numeric->nzoff;
  std::vector<Int> Lp(n + 1), Li(lnz), Up(n + 1), Ui(unz), Fp(n + 1), Fi(nzoff), P(n), Q(n);
  std::vector<double> Lx(lnz), Ux(unz), Fx(nzoff), Rs(n), x = random_values(n, 3), y(n), z(n), expected(n);
  if (!s.klu.extract(s.numeric, s.symbolic, Lp.data(), Li.data(), Lx.data(), Up.data(), Ui.data(), Ux.data(), Fp.data(),
                     Fi.data(), Fx.data(), P.data(), Q.data(), Rs.data(), nullptr, &s.c)) {
    ADD_FAILURE() << "klu_extract says " << s.c.status;
    return false;
  }
  for (Int j = 0; j < n; ++j) {
    for (Int k = Up[j]; k < Up[j + 1]; ++k) y[Ui[k]] += Ux[k] * x[j];
    for (Int k = Fp[j]; k < Fp[j + 1]; ++k) z[Fi[k]] += Fx[k] * x[j];
    for (Int k = s.a.Ap[Q[j]]; k < s.a.Ap[Q[j] + 1]; ++k) {
      const Int i = s.numeric->Pinv[s.a.Ai[k]];
      expected[i] += s.a.Ax[k] / Rs[i] * x[j];
    }
  }
  for (Int j = 0; j < n; ++j)
    for (Int k = Lp[j]; k < Lp[j + 1]; ++k) z[Li[k]] += Lx[k] * y[j];
  for (Int i = 0; i < n; ++i) EXPECT_TRUE(std::abs(z[i] - expected[i]) <= 1e-9) << i;
  return !std::equal(Q.begin(), Q.end(), s.symbolic->Q);
}

/// Random and sparse, the first column a block of its own; a pattern that no call before has given.
template <class Int>
Matrix<Int> with_diagonal(int n, double diagonal) {
  constexpr int others = 6;
  static unsigned seed = 4;
  std::mt19937 random(seed++);
  std::uniform_int_distribution<int> row(0, n - 1);
  Matrix<Int> a;
  a.n = n;
  const std::vector<double> values = random_values(std::size_t(n) * (others + 1), 5);
  for (int j = 0; j < n; ++j) {
    std::set<int> rows = {j};
    while (j > 0 && std::ssize(rows) <= others) rows.insert(row(random));
    for (const int i : rows) {
      const double value = values[a.Ai.size()];
      a.Ai.push_back(i);
      a.Ax.push_back(i == j ? diagonal : value);
    }
    a.Ap.push_back(static_cast<Int>(a.Ai.size()));
  }
  return a;
}

/// The same with a weak diagonal in every `step`-th column: KLU pivots elsewhere there.
template <class Int>
void weaken_diagonal(Matrix<Int>& a, int step) {
  for (Int j = step; j < a.n; j += step)
    for (Int k = a.Ap[j]; k < a.Ap[j + 1]; ++k)
      if (a.Ai[k] == j) a.Ax[k] = 1e-6;
}

bool has_gpu() { return LULAB_FOR_GPU && std::filesystem::exists("/dev/nvidiactl"); }

constexpr int n_of_some_work = 470;  // columns: more than 10⁷ flops, less than 10⁹

// So many multiply-adds that another order than KLU's is looked for. KLU takes the diagonal, a matching does not.
TEST(KluLarge, TakesAnotherOrderOfALargeMatrix) {
  const Klu<int> lulab(ours);
  Session<int> s(lulab, with_diagonal<int>(2400, 0.01));
  s.analyze();
  ASSERT_NE(s.symbolic, nullptr);
  EXPECT_GT(s.symbolic->est_flops, 1e9);
  EXPECT_GT(s.symbolic->nblocks, 1);
  s.factor();
  ASSERT_NE(s.numeric, nullptr);
  EXPECT_GT(s.numeric->nzoff, 0);
  expect_solves(s, 1e-10);
  EXPECT_TRUE(has_another_order(s));
  const std::vector<double> good = s.a.Ax;
  s.a.Ax[7] = nan;
  for (int time = 0; time < 2; ++time) s.refactor();  // the second one starts anew
  s.a.Ax = good;
  EXPECT_EQ(s.refactor(), 1);
  expect_solves(s, 1e-10);
}

TYPED_TEST(KluShape, TakesAnotherOrderWhereManyPivotsAreOffTheDiagonal) {
  for (const int step : {10, 200})
    for (const int ordering : {0, 1}) {  // COLAMD is the caller's choice, and kept
      Session<TypeParam> s(this->lulab, with_diagonal<TypeParam>(n_of_some_work, 8));
      weaken_diagonal(s.a, step);
      s.c.ordering = ordering;
      s.c.halt_if_singular = 0;
      s.analyze();
      ASSERT_NE(s.symbolic, nullptr);
      if (ordering == 0) {
        EXPECT_GT(s.symbolic->est_flops, 1e7);
      }
      const bool expected = step == 10 && ordering == 0, may_move = has_gpu() && ordering == 0;
      s.factor();
      ASSERT_NE(s.numeric, nullptr);
      expect_solves(s, 1e-10);
      EXPECT_EQ(has_another_order(s), expected);
      const std::vector<double> good = s.a.Ax;
      std::ranges::fill(s.a.Ax, 0.0);
      s.refactor();
      EXPECT_EQ(s.c.status, KLU_SINGULAR);
      s.a.Ax = good;
      EXPECT_EQ(s.refactor(), 1);
      expect_solves(s, 1e-10);
      EXPECT_EQ(this->lulab.free_numeric(&s.numeric, &s.c), 1);
      s.factor();
      ASSERT_NE(s.numeric, nullptr);
      expect_solves(s, 1e-10);
      EXPECT_EQ(has_another_order(s) || may_move, expected || may_move);
      EXPECT_EQ(this->lulab.sort(s.symbolic, s.numeric, &s.c), 1);
      EXPECT_EQ(this->lulab.rcond(s.symbolic, s.numeric, &s.c), 1);
      EXPECT_EQ(this->lulab.rgrowth(s.a.Ap.data(), s.a.Ai.data(), s.a.Ax.data(), s.symbolic, s.numeric, &s.c), 1);
      EXPECT_TRUE(s.c.rgrowth > 1e-9 && s.c.rcond > 0) << s.c.rgrowth << " " << s.c.rcond;
    }
}

// The diagonal suits the first values, not those of a later factorization.
TYPED_TEST(KluShape, TakesAnotherOrderOnceManyPivotsAreOffTheDiagonal) {
  Session<TypeParam> s(this->lulab, with_diagonal<TypeParam>(n_of_some_work, 8));
  s.analyze();
  ASSERT_NE(s.symbolic, nullptr);
  s.factor();
  ASSERT_NE(s.numeric, nullptr);
  EXPECT_FALSE(has_another_order(s));
  weaken_diagonal(s.a, 10);
  EXPECT_EQ(this->lulab.free_numeric(&s.numeric, &s.c), 1);
  s.factor();
  ASSERT_NE(s.numeric, nullptr);
  expect_solves(s, 1e-10);
  EXPECT_TRUE(has_another_order(s));
}

// The first refactorization takes other pivots in KLU's order, the second one another order.
TYPED_TEST(KluShape, TakesAnotherOrderAfterPivotsThatDidNotSuit) {
  Session<TypeParam> s(this->lulab, with_diagonal<TypeParam>(n_of_some_work, 8));
  s.analyze();
  ASSERT_NE(s.symbolic, nullptr);
  s.factor();
  ASSERT_NE(s.numeric, nullptr);
  for (std::size_t k = s.a.Ap[1]; k < s.a.Ax.size(); ++k)  // but for the block of one
    if (s.a.Ax[k] == 8) s.a.Ax[k] = 1e-9;
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(s.refactor(), 1);
    expect_solves(s, 1e-10);
  }
  EXPECT_TRUE(has_another_order(s));
}

/// A grid of so many points a side.
Matrix<int> grid(int side) {
  Matrix<int> a;
  a.n = side * side;
  for (int j = 0; j < a.n; ++j) {
    const int x = j % side;
    for (const int i : {j - side, j - 1, j, j + 1, j + side}) {
      if (i < 0 || i >= a.n || (i == j - 1 && x == 0) || (i == j + 1 && x == side - 1)) continue;
      a.Ai.push_back(i);
      a.Ax.push_back(i == j ? 5 : -1 - 0.1 * ((i + 3 * j) % 7));
    }
    a.Ap.push_back(static_cast<int>(a.Ai.size()));
  }
  return a;
}

// The CPU begins; when it has worked for as long as a GPU takes to start, that goes on.
TEST(KluLarge, MovesToTheGpu) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  const Klu<int> lulab(ours);
  Session<int> s(lulab, grid(100));
  s.c.maxwork = new_limit();
  s.analyze();
  ASSERT_NE(s.symbolic, nullptr);
  EXPECT_LT(s.symbolic->est_flops, 1e9);
  s.factor();
  ASSERT_NE(s.numeric, nullptr);
  expect_solves(s, 1e-10);
  EXPECT_FALSE(has_another_order(s));
  bool moved = false;
  const auto start = std::chrono::steady_clock::now();
  while (!moved && std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
    for (int step = 0; step < 10; ++step) {
      for (double& v : s.a.Ax) v *= step % 2 == 0 ? 1.25 : 0.8;
      ASSERT_EQ(s.refactor(), 1);
      expect_solves(s, 1e-10);
    }
    moved = has_another_order(s);
  }
  EXPECT_TRUE(moved);
}

TYPED_TEST(KluShape, CountsTheMemoryThatProgramsAskFor) {
  for (const auto* klu : this->both()) {
    typename Klu<TypeParam>::Common c;
    klu->defaults(&c);
    auto* p = static_cast<double*>(klu->allocate(10, 8, &c));
    p[9] = 1;
    p = static_cast<double*>(klu->reallocate(20, 10, 8, p, &c));
    EXPECT_EQ(p[9], 1);
    EXPECT_EQ(c.memusage, 160u);
    EXPECT_EQ(klu->release(p, 20, 8, &c), nullptr);
    EXPECT_EQ(c.memusage, 0u);
    EXPECT_EQ(c.mempeak, 160u);
    EXPECT_EQ(klu->allocate(1, 0, &c), nullptr);
    EXPECT_EQ(c.status, KLU_INVALID);
    EXPECT_EQ(klu->allocate(std::numeric_limits<TypeParam>::max(), 8, &c), nullptr);
    EXPECT_EQ(c.status, KLU_TOO_LARGE);
    EXPECT_EQ(klu->allocate(1, 8, nullptr), nullptr);
  }
}

TEST(KluLibrary, IsLoadedByAProgramThatKnowsNothingOfIt) {
  const std::string program = LULAB_KLU_PROGRAM;
  if (program.empty()) GTEST_SKIP() << "this machine has no shared libklu and libcholmod to link a program with";
  const testing::TemporaryFolder folder;
  std::string a = "%%MatrixMarket matrix coordinate real general\n40 40 118\n";
  for (int j = 1; j <= 40; ++j)
    for (int i = std::max(1, j - 1); i <= std::min(40, j + 1); ++i)
      a += fmt::format("{} {} {}\n", i, j, i == j ? 4.0 : -1.0 - 0.01 * i);
  const std::string file = folder.write("a.mtx", a);
  const std::string ours_first = fmt::format("LD_LIBRARY_PATH='{}'\"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\" ",
                                             std::filesystem::path(ours).parent_path().string());
  for (const std::string& before : {std::string(), ours_first, "LULAB_KLU=cpu " + ours_first,
                                    "LULAB_KLU=gpu " + ours_first, "LULAB_KLU=neither " + ours_first}) {
    const testing::Answer answer = testing::run_command(fmt::format("cat '{}' | {}'{}' 3", file, before, program));
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_TRUE(contains(answer.out, "n 40, entries 118: first answer ")) << answer.out;
    const testing::Answer loaded = testing::run_command(fmt::format("{}ldd '{}'", before, program));
    EXPECT_EQ(contains(loaded.out, ours), !before.empty()) << loaded.out;
  }
}

TEST(KluLibrary, AnswersInvalidToComplexValues) {
  void* const library = load(ours);
  klu_common c;
  c.status = 0;
  const auto factor = reinterpret_cast<decltype(&klu_z_factor)>(dlsym(library, "klu_z_factor"));
  EXPECT_EQ(factor(nullptr, nullptr, nullptr, nullptr, &c), nullptr);
  EXPECT_EQ(std::exchange(c.status, 0), KLU_INVALID);
  double b[] = {1, 2};
  const auto solve = reinterpret_cast<decltype(&klu_z_solve)>(dlsym(library, "klu_z_solve"));
  EXPECT_EQ(solve(nullptr, nullptr, 1, 1, b, &c), 0);
  EXPECT_EQ(c.status, KLU_INVALID);
  EXPECT_EQ(b[0], 1);
  klu_l_common l;
  l.status = 0;
  const auto rcond = reinterpret_cast<decltype(&klu_zl_rcond)>(dlsym(library, "klu_zl_rcond"));
  EXPECT_EQ(rcond(nullptr, nullptr, &l), 0);
  EXPECT_EQ(l.status, KLU_INVALID);
}

TEST(KluLibrary, ExportsTheFunctionsOfTheHeaderAndNothingElse) {
  const std::string header = testing::read_text(LULAB_KLU_HEADER);
  std::set<std::string> declared, exported;
  const std::regex function("[ *](klu_[a-z_]+) *(?:/\\*[^*]*\\*/)?\\s*\\("), symbol("T (\\w+)\n");
  for (std::sregex_iterator it(header.begin(), header.end(), function), end; it != end; ++it) declared.insert((*it)[1]);
  const testing::Answer answer = testing::run_command("nm -D --defined-only '" + ours + "'");
  for (std::sregex_iterator it(answer.out.begin(), answer.out.end(), symbol), end; it != end; ++it)
    exported.insert((*it)[1]);
  EXPECT_GE(exported.size(), 62u);
  EXPECT_EQ(exported, declared);
  EXPECT_TRUE(contains(testing::run_command("readelf -d '" + ours + "'").out,
                       "soname: [libklu.so." + std::to_string(KLU_MAIN_VERSION) + "]"));
}

}  // namespace
}  // namespace lulab
