// Factors of real programs: accepted as they are, and each corruption named.

#include "testing/foreign_programs.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/matrix/shared_matrices.h"
#include "verify/foreign.h"

namespace lulab {
namespace {

using testing::ForeignProgram;
using testing::ProgramAnswer;

CscMatrix<double> generated(const char* family, std::int32_t n, std::uint64_t seed) {
  GenerateOptions options;
  options.n = n;
  options.seed = seed;
  return generate(family, options).value();
}

// Rows and columns scaled by powers of two, so that programs equilibrate.
CscMatrix<double> unbalanced(CscMatrix<double> a) {
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      a.values[k] = std::ldexp(a.values[k], a.row_idx[k] % 13 - j % 7);
  return a;
}

class ForeignPrograms : public ::testing::TestWithParam<ForeignProgram> {
 protected:
  // The factors; none where the program is not here, and, of a matrix that it may refuse, where it does: see reason_.
  std::optional<ProgramAnswer> factors_of(const CscMatrix<double>& a, bool weak = false, bool may_refuse = false) {
    ProgramAnswer answer = GetParam().factor(a, weak);
    if (answer.skipped.empty()) return answer;
    EXPECT_TRUE(may_refuse || answer.missing) << answer.skipped;
    reason_ = answer.skipped;
    missing_ = answer.missing;
    return std::nullopt;
  }
  std::string reason_;
  bool missing_ = false;

  static Judgement judged(const CscMatrix<double>& a, const ForeignFactors& f, Convention convention) {
    JudgeOptions options;
    options.convention = convention;
    auto judgement = judge_foreign(a, f, options);
    EXPECT_TRUE(judgement.ok()) << judgement.status().to_string();
    return judgement.ok() ? *std::move(judgement) : Judgement{};
  }
  static Judgement judged(const CscMatrix<double>& a, const ForeignFactors& f) {
    return judged(a, f, GetParam().convention);
  }
};

std::string sentences(const Judgement& j) {
  std::string text;
  for (const std::string& failure : j.failures) text += failure + "\n";
  if (j.finding) text += std::string(to_string(j.finding->fault)) + ": " + j.finding->what;
  return text;
}

double value_of(const Judgement& j, std::string_view name) {
  for (const JudgedCheck& check : j.checks)
    if (check.name == name) return check.value;
  ADD_FAILURE() << "no check " << name;
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::pair<std::string, CscMatrix<double>>> specimens() {
  return {{"random", generated("random", 70, 1)},
          {"dominant", generated("random_dominant", 60, 2)},
          {"unbalanced", unbalanced(generated("random_dominant", 50, 3))}};
}

TEST_P(ForeignPrograms, AreAcceptedInTheirConventionAndWithoutIt) {
  for (const auto& [name, a] : specimens()) {
    const auto answer = factors_of(a);
    if (!answer) GTEST_SKIP() << reason_;
    const Judgement named = judged(a, answer->factors), found = judged(a, answer->factors, Convention::automatic);
    EXPECT_TRUE(named.accepted) << name << ": " << sentences(named);
    EXPECT_TRUE(found.accepted) << name << ": " << to_string(found.convention) << ": " << sentences(found);
    if (!std::isnan(answer->reciprocal_growth)) {
      const double ours = value_of(named, std::string("growth_") + GetParam().name);
      EXPECT_NEAR(ours, answer->reciprocal_growth, 1e-12 * ours) << name;
    }
    if (!std::isnan(answer->rcond)) {  // both estimate from above, of A as it was factored
      const double scaled = value_of(named, GetParam().convention == Convention::klu ? "rcond" : "rcond_scaled");
      EXPECT_LE(scaled, 10 * answer->rcond) << name;
      EXPECT_LE(answer->rcond, 10 * scaled) << name;
    }
  }
}

// --- corruptions -----------------------------------------------------------------------------------------------------

struct Place {
  std::int32_t row = -1, column = -1;
};

std::vector<double*> entry(CscMatrix<double>& m, std::int32_t i, std::int32_t j) {
  for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k)
    if (m.row_idx[k] == i) return {&m.values[k]};
  return {};
}

// The entry of U off its diagonal that is largest in its column; none: -1.
Place large_entry(const CscMatrix<double>& u) {
  Place best;
  double most = 0;
  for (std::int32_t j = 1; j < u.n_cols; ++j) {
    double column = 0;
    for (std::int64_t k = u.col_ptr[j]; k < u.col_ptr[j + 1]; ++k) column = std::max(column, std::abs(u.values[k]));
    for (std::int64_t k = u.col_ptr[j]; k < u.col_ptr[j + 1]; ++k)
      if (u.row_idx[k] < j && std::abs(u.values[k]) / column > most)
        most = std::abs(u.values[k]) / column, best = {u.row_idx[k], j};
  }
  return best;
}

void erase(CscMatrix<double>& m, Place at) {
  for (std::int64_t k = m.col_ptr[at.column]; k < m.col_ptr[at.column + 1]; ++k) {
    if (m.row_idx[k] != at.row) continue;
    m.row_idx.erase(m.row_idx.begin() + k);
    m.values.erase(m.values.begin() + k);
    for (std::int32_t j = at.column + 1; j <= m.n_cols; ++j) --m.col_ptr[j];
    return;
  }
}

void insert(CscMatrix<double>& m, Place at, double value) {
  std::int64_t k = m.col_ptr[at.column];
  while (k < m.col_ptr[at.column + 1] && m.row_idx[k] < at.row) ++k;
  m.row_idx.insert(m.row_idx.begin() + k, at.row);
  m.values.insert(m.values.begin() + k, value);
  for (std::int32_t j = at.column + 1; j <= m.n_cols; ++j) ++m.col_ptr[j];
}

// A place above the diagonal where neither A nor an update of elimination has an entry; none: -1.
Place structural_zero(const CscMatrix<double>& a, const ForeignFactors& f, Convention convention) {
  const std::int32_t n = a.n_cols;
  const auto order = [&](const std::vector<std::int64_t>& given, bool swaps) {
    Permutation p = identity_permutation(n);
    const std::int64_t base = convention == Convention::lapack_ipiv;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (swaps)
        std::swap(p[i], p[given[i] - base]);
      else
        p[i] = static_cast<std::int32_t>(given[i] - base);
    const bool forward =
        convention == Convention::superlu || convention == Convention::eigen || convention == Convention::scipy;
    return forward ? inverse(p) : p;
  };
  const CscMatrix<double> b = permute(a.view(), order(f.p, convention == Convention::lapack_ipiv), order(f.q, false));
  CscMatrix<double> l = convention == Convention::umfpack ? transpose(f.l.view()) : f.l;
  std::vector<char> has(static_cast<std::size_t>(n) * n, 0);  // L + U, then b
  const auto mark = [&](const CscMatrix<double>& m) {
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k)
        has[m.row_idx[k] + static_cast<std::size_t>(j) * n] = 1;
  };
  mark(l);
  mark(f.u);
  const std::vector<char> in_lu = has;
  mark(b);
  if (f.f.nnz() > 0) mark(f.f);
  for (std::int32_t j = n - 1; j > n / 4; --j)
    for (std::int32_t i = 0; i < j; ++i) {
      if (has[i + static_cast<std::size_t>(j) * n]) continue;
      bool updated = false;
      for (std::int32_t k = 0; k < i; ++k)
        updated = updated || (in_lu[i + static_cast<std::size_t>(k) * n] && has[k + static_cast<std::size_t>(j) * n]);
      if (!updated) return {i, j};
    }
  return {};
}

struct Specimen {
  CscMatrix<double> a;
  ForeignFactors f;
  Convention convention;
};

struct Corruption {
  const char* name;
  Fault fault;
  std::function<Place(Specimen&)> corrupt;  // where the finding must be; -1: anywhere
};

std::int64_t base(const Specimen& s) { return s.convention == Convention::lapack_ipiv; }

std::vector<std::int64_t> counted(std::int32_t n, std::int64_t from) {
  std::vector<std::int64_t> v(n);
  for (std::int32_t i = 0; i < n; ++i) v[i] = i + from;
  return v;
}

const std::vector<Corruption>& corruptions() {
  static const std::vector<Corruption> all = {
      {"a NaN in U", Fault::not_finite,
       [](Specimen& s) {
         const Place at = large_entry(s.f.u);
         *entry(s.f.u, at.row, at.column)[0] = std::numeric_limits<double>::quiet_NaN();
         return at;
       }},
      {"p counts from another number", Fault::index_base,
       [](Specimen& s) {
         for (std::int64_t& v : s.f.p) v += base(s) == 1 ? -1 : 1;
         return Place{};
       }},
      {"a number of p out of range", Fault::not_a_permutation,
       [](Specimen& s) {
         s.f.p[3] = s.a.n_cols + 5;
         return Place{};
       }},
      {"P and Q exchanged", Fault::swapped_p_q,
       [](Specimen& s) {
         if (s.convention == Convention::lapack_ipiv) {
           std::vector<std::int64_t> p = counted(s.a.n_cols, 1);
           for (std::size_t k = 0; k < p.size(); ++k) std::swap(p[k], p[s.f.p[k] - 1]);
           s.f.q = p;
           s.f.p.clear();
         } else {
           std::swap(s.f.p, s.f.q);
         }
         return Place{};
       }},
      {"two rows exchanged", Fault::row_permutation,
       [](Specimen& s) {
         if (s.convention == Convention::lapack_ipiv)
           s.f.p[5] = s.f.p[5] == 20 ? 21 : 20;
         else
           std::swap(s.f.p[5], s.f.p[20]);
         return Place{};
       }},
      {"two columns exchanged", Fault::column_permutation,
       [](Specimen& s) {
         if (s.f.q.empty()) s.f.q = counted(s.a.n_cols, base(s));
         std::swap(s.f.q[5], s.f.q[20]);
         return Place{};
       }},
      {"A transposed", Fault::transposed_input,
       [](Specimen& s) {
         s.a = transpose(s.a.view());
         return Place{};
       }},
      {"L and U exchanged", Fault::swapped_factors,
       [](Specimen& s) {
         for (std::int32_t j = 0; j < s.a.n_cols; ++j) {  // as a program that stores the ones
           const auto one = entry(s.f.l, j, j);
           if (one.empty()) insert(s.f.l, {j, j}, 1);
         }
         if (s.convention == Convention::umfpack) s.f.l = transpose(s.f.l.view());
         std::swap(s.f.l, s.f.u);
         return Place{};
       }},
      {"U by rows", Fault::transposed_factors,
       [](Specimen& s) {
         s.f.u = transpose(s.f.u.view());
         return Place{};
       }},
      {"the ones on the diagonal of U", Fault::unit_diagonal,
       [](Specimen& s) {
         const bool by_rows = s.convention == Convention::umfpack;
         CscMatrix<double> l = by_rows ? transpose(s.f.l.view()) : s.f.l;
         for (std::int32_t j = 0; j < s.a.n_cols; ++j)
           if (entry(l, j, j).empty()) insert(l, {j, j}, 1);
         std::vector<double> pivot(s.a.n_cols);
         for (std::int32_t j = 0; j < s.a.n_cols; ++j) pivot[j] = *entry(s.f.u, j, j)[0];
         for (std::int32_t j = 0; j < s.a.n_cols; ++j) {
           for (std::int64_t k = l.col_ptr[j]; k < l.col_ptr[j + 1]; ++k) l.values[k] *= pivot[j];
           for (std::int64_t k = s.f.u.col_ptr[j]; k < s.f.u.col_ptr[j + 1]; ++k)
             s.f.u.values[k] /= pivot[s.f.u.row_idx[k]];
         }
         s.f.l = by_rows ? transpose(l.view()) : l;
         return Place{};
       }},
      {"a zero pivot", Fault::zero_pivot,
       [](Specimen& s) {
         *entry(s.f.u, 7, 7)[0] = 0;
         return Place{7, 7};
       }},
      {"an entry of U missing", Fault::missing_fill,
       [](Specimen& s) {
         const Place at = large_entry(s.f.u);
         erase(s.f.u, at);
         return at;
       }},
      {"an entry too many", Fault::extra_entry,
       [](Specimen& s) {
         const Place at = structural_zero(s.a, s.f, s.convention);
         insert(s.f.u, at, std::abs(*entry(s.f.u, at.column, at.column)[0]));
         return at;
       }},
      {"a lost sign in U", Fault::wrong_value,
       [](Specimen& s) {
         const Place at = large_entry(s.f.u);
         *entry(s.f.u, at.row, at.column)[0] *= -1;
         return at;
       }},
      {"a value 1e-7 off in U", Fault::wrong_value,
       [](Specimen& s) {
         const Place at = large_entry(s.f.u);
         *entry(s.f.u, at.row, at.column)[0] *= 1 + 1e-7;
         return at;
       }},
      {"rounded to float", Fault::rounding,
       [](Specimen& s) {
         for (double& v : s.f.l.values) v = static_cast<float>(v);
         for (double& v : s.f.u.values) v = static_cast<float>(v);
         return Place{};
       }},
  };
  return all;
}

// False: the corruption changes nothing here.
bool changes(const Corruption& corruption, const Specimen& s) {
  if (corruption.fault == Fault::swapped_p_q)  // KLU and LAPACK may have chosen the diagonal
    return s.f.p != (s.convention == Convention::lapack_ipiv ? counted(s.a.n_cols, 1) : s.f.q);
  if (corruption.fault == Fault::transposed_input) return transpose(s.a.view()) != s.a;
  if (corruption.fault == Fault::extra_entry) return structural_zero(s.a, s.f, s.convention).row >= 0;
  if (corruption.fault == Fault::missing_fill || std::string_view(corruption.name).ends_with("in U"))
    return large_entry(s.f.u).row >= 0;
  return true;
}

void expect_each_named(const std::string& name, const CscMatrix<double>& a, const ForeignFactors& factors,
                       const ForeignProgram& program) {
  for (const Corruption& corruption : corruptions()) {
    Specimen s{a, factors, program.convention};
    if (!changes(corruption, s)) continue;
    const Place at = corruption.corrupt(s);
    JudgeOptions options;
    options.convention = program.convention;
    const auto judgement = judge_foreign(s.a, s.f, options);
    ASSERT_TRUE(judgement.ok()) << judgement.status().to_string();
    SCOPED_TRACE(name + ", " + corruption.name + ": " + sentences(*judgement));
    EXPECT_FALSE(judgement->accepted);
    if (!judgement->finding) {
      ADD_FAILURE() << "no finding";
      continue;
    }
    EXPECT_EQ(to_string(judgement->finding->fault), to_string(corruption.fault));
    EXPECT_FALSE(judgement->finding->advice.empty());
    if (at.row < 0) continue;
    EXPECT_EQ(judgement->finding->row, at.row);
    EXPECT_EQ(judgement->finding->column, at.column);
  }
}

TEST_P(ForeignPrograms, EachCorruptionIsNamed) {
  for (const auto& [name, a] : {std::pair{"random", generated("random", 70, 1)},
                                std::pair{"zero_diagonal", generated("zero_diagonal", 60, 2)}}) {
    const auto answer = factors_of(a);
    if (!answer) GTEST_SKIP() << reason_;
    expect_each_named(name, a, answer->factors, GetParam());
  }
}

TEST_P(ForeignPrograms, ScaleFactorsLeftOutAreNamed) {
  const CscMatrix<double> a = generated("random_dominant", 60, 2);
  auto answer = factors_of(unbalanced(a));
  if (!answer) GTEST_SKIP() << reason_;
  if (answer->factors.r.empty() && answer->factors.c.empty()) {  // factors of R·A·C
    const Judgement j = judged(a, answer->factors);
    ASSERT_TRUE(j.finding) << sentences(j);
    EXPECT_EQ(j.finding->fault, Fault::scaling) << sentences(j);
    return;
  }
  ForeignFactors without = answer->factors;
  without.r.clear();
  without.c.clear();
  const Judgement left_out = judged(unbalanced(a), without);
  ASSERT_TRUE(left_out.finding) << sentences(left_out);
  EXPECT_EQ(left_out.finding->fault, Fault::scaling) << sentences(left_out);
  for (double& r : answer->factors.r) r = 1 / r;
  for (double& c : answer->factors.c) c = 1 / c;
  const Judgement inverted = judged(unbalanced(a), answer->factors);
  ASSERT_TRUE(inverted.finding) << sentences(inverted);
  EXPECT_EQ(inverted.finding->fault, Fault::scaling) << sentences(inverted);
}

TEST_P(ForeignPrograms, WeakPivotsAreNamed) {
  CscMatrix<double> a = generated("random_dominant", 60, 4);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (a.row_idx[k] == j) a.values[k] *= 1e-9;
  const auto answer = factors_of(a, true);
  if (!answer) GTEST_SKIP() << reason_;
  const Judgement j = judged(a, answer->factors);
  ASSERT_TRUE(j.finding) << "accepted";
  EXPECT_EQ(to_string(j.finding->fault), to_string(Fault::pivot_choice)) << sentences(j);
}

class ForeignProgramsOnSharedMatrices : public ForeignPrograms {};

TEST_P(ForeignProgramsOnSharedMatrices, AreAcceptedAndEachCorruptionIsNamed) {
  int judged_matrices = 0;
  for (const char* name :
       {"west0067", "impcol_a", "oscil_dcop_01", "west0156", "west0479",      "west0497", "fs_183_1", "fs_183_3",
        "arc130",   "b1_ss",    "bfwa62",        "bfwb62",   "cage5",         "dw256A",   "gre_115",  "hor_131",
        "lnsp_131", "mcca",     "pores_1",       "rajat11",  "Trefethen_20b", "494_bus"}) {
    const auto path = shared_matrix(name);
    if (!path) GTEST_SKIP() << "no shared matrices";
    if (GetParam().convention == Convention::scipy && judged_matrices == 3) break;  // a process for each
    const auto a = read_matrix_market(*path).value().matrix;
    const auto answer = factors_of(a, false, true);
    if (missing_) GTEST_SKIP() << reason_;
    if (!answer) continue;
    ++judged_matrices;
    const Judgement named = judged(a, answer->factors);
    EXPECT_TRUE(named.accepted) << name << ": " << sentences(named);
    if (a.n_cols > 21) expect_each_named(name, a, answer->factors, GetParam());
  }
  EXPECT_GE(judged_matrices, GetParam().convention == Convention::scipy ? 3 : 20);
}

const auto program_name = [](const auto& p) { return std::string(p.param.name); };

INSTANTIATE_TEST_SUITE_P(Each, ForeignPrograms, ::testing::ValuesIn(testing::foreign_programs()), program_name);
INSTANTIATE_TEST_SUITE_P(Shared, ForeignProgramsOnSharedMatrices, ::testing::ValuesIn(testing::foreign_programs()),
                         program_name);

}  // namespace
}  // namespace lulab
