// The verifier verified: factors with one thing wrong, and rungs that break their contract. Each must be killed by the
// check that is there for it.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/backend.h"
#include "core/matrix/generate.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/rungs.h"
#include "testing/dense_elimination.h"
#include "verify/conformance.h"
#include "verify/klu_oracle.h"
#include "verify/metamorphic.h"
#include "verify/verify.h"

namespace lulab {

namespace {

struct Specimen {
  CscMatrix<double> a;
  Factors<double> f;
};

Specimen specimen(std::uint64_t seed) {
  Specimen s;
  s.a = testing::random_dominant(40, 0.08, seed);
  s.f = testing::eliminate_densely<double>(s.a, testing::random_plan(40, seed));
  return s;
}

// All failures of the judge and the oracle.
std::vector<std::string> failures_of(const Specimen& s) {
  Checks checks = judge<double>(s.a, s.f);
  if (checks.structure == true && checks.permutations == true) {
    const auto klu = compare_with_klu(s.a, s.f.plan, s.f.filled);
    if (!klu.ok() || !klu->equal) checks.failures.push_back("klu_pattern_equal: differs");
  }
  return checks.failures;
}

bool has(const std::vector<std::string>& failures, std::string_view check) {
  for (const std::string& f : failures)
    if (f.starts_with(check)) return true;
  return false;
}

std::int64_t middle_of_l(const Factors<double>& f) {  // the largest entry of L
  std::int64_t best = -1;
  for (std::int32_t j = 0; j < f.filled.n; ++j)
    for (std::int64_t k = f.filled.diag[j] + 1; k < f.filled.col_ptr[j + 1]; ++k)
      if (best < 0 || std::abs(f.values[k]) > std::abs(f.values[best])) best = k;
  return best;
}

void erase_entry(Factors<double>& f, std::int32_t j, std::int64_t k) {
  f.filled.row_idx.erase(f.filled.row_idx.begin() + k);
  f.values.erase(f.values.begin() + k);
  if (f.filled.diag[j] > k) --f.filled.diag[j];
  for (std::int32_t later = j + 1; later <= f.filled.n; ++later) {
    --f.filled.col_ptr[later];
    if (later < f.filled.n) --f.filled.diag[later];
  }
}

// The first off-diagonal entry of L + U that is (or is not) an entry of A.
std::pair<std::int32_t, std::int64_t> find_entry(const Specimen& s, bool in_a) {
  const CscMatrix<double> b = apply(s.f.plan, s.a.view());
  for (std::int32_t j = 0; j < s.f.filled.n; ++j)
    for (std::int64_t k = s.f.filled.col_ptr[j]; k < s.f.filled.col_ptr[j + 1]; ++k) {
      if (k == s.f.filled.diag[j]) continue;
      const auto first = b.row_idx.begin() + b.col_ptr[j], last = b.row_idx.begin() + b.col_ptr[j + 1];
      if (std::binary_search(first, last, s.f.filled.row_idx[k]) == in_a) return {j, k};
    }
  ADD_FAILURE() << "no such entry";
  return {0, 0};
}

void erase_one(Specimen& s, bool in_a) {
  const auto [j, k] = find_entry(s, in_a);
  erase_entry(s.f, j, k);
}

void add_zero_entry(Specimen& s) {
  for (std::int32_t j = 0; j < s.f.filled.n; ++j) {
    const std::int64_t end = s.f.filled.col_ptr[j + 1];
    if (s.f.filled.row_idx[end - 1] == s.f.filled.n - 1) continue;
    s.f.filled.row_idx.insert(s.f.filled.row_idx.begin() + end, s.f.filled.n - 1);
    s.f.values.insert(s.f.values.begin() + end, 0.0);
    for (std::int32_t later = j + 1; later <= s.f.filled.n; ++later) {
      ++s.f.filled.col_ptr[later];
      if (later < s.f.filled.n) ++s.f.filled.diag[later];
    }
    return;
  }
}

void flip_bit(double& v, int bit) {
  std::uint64_t bits;
  std::memcpy(&bits, &v, sizeof v);
  bits ^= std::uint64_t{1} << bit;
  std::memcpy(&v, &bits, sizeof v);
}

struct Mutant {
  const char* name;
  const char* killer;  // the check that must fail
  std::function<void(Specimen&)> mutate;
};

const std::vector<Mutant>& mutants() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<Mutant> all = {
      {"a flipped mantissa bit in L", "lu_residual", [](Specimen& s) { flip_bit(s.f.values[middle_of_l(s.f)], 30); }},
      {"a flipped sign in U", "lu_residual", [](Specimen& s) { flip_bit(s.f.values[s.f.filled.diag[20]], 63); }},
      {"a swapped pair in P", "lu_residual", [](Specimen& s) { std::swap(s.f.plan.p[3], s.f.plan.p[17]); }},
      {"a swapped pair in Q", "lu_residual", [](Specimen& s) { std::swap(s.f.plan.q[3], s.f.plan.q[17]); }},
      {"P inverted", "lu_residual", [](Specimen& s) { s.f.plan.p = inverse(s.f.plan.p); }},
      {"A transposed", "lu_residual", [](Specimen& s) { s.a = transpose(s.a.view()); }},
      {"a swapped pair in P, seen by the pattern", "pattern_contains_a",
       [](Specimen& s) { std::swap(s.f.plan.p[3], s.f.plan.p[17]); }},
      {"a fill entry missing", "klu_pattern_equal", [](Specimen& s) { erase_one(s, false); }},
      {"a fill entry missing, seen by the values", "lu_residual", [](Specimen& s) { erase_one(s, false); }},
      {"an entry of A missing", "pattern_contains_a", [](Specimen& s) { erase_one(s, true); }},
      {"an entry too many", "klu_pattern_equal", add_zero_entry},
      {"a NaN in L", "finite", [](Specimen& s) { s.f.values[middle_of_l(s.f)] = nan; }},
      {"a NaN in L, seen by the residual", "lu_residual", [](Specimen& s) { s.f.values[middle_of_l(s.f)] = nan; }},
      {"a NaN in L, seen by a solve", "scaled_residual", [](Specimen& s) { s.f.values[middle_of_l(s.f)] = nan; }},
      {"an infinite pivot", "finite",
       [](Specimen& s) { s.f.values[s.f.filled.diag[5]] = std::numeric_limits<double>::infinity(); }},
      {"a zero pivot", "scaled_residual", [](Specimen& s) { s.f.values[s.f.filled.diag[5]] = 0; }},
      {"factors of the previous values", "lu_residual",
       [](Specimen& s) {
         for (double& v : s.a.values) v *= 1.001;
       }},
      {"factors of the previous values, seen by a solve", "scaled_residual",
       [](Specimen& s) {
         for (double& v : s.a.values) v *= 1.001;
       }},
      {"values all one", "lu_residual", [](Specimen& s) { s.f.values.assign(s.f.values.size(), 1.0); }},
      {"rounded to float", "lu_residual",
       [](Specimen& s) {
         for (double& v : s.f.values) v = static_cast<float>(v);
       }},
      {"a perturbed pivot", "lu_residual", [](Specimen& s) { s.f.values[s.f.filled.diag[30]] *= 1 + 1e-8; }},
      {"one update of one column left out", "lu_residual",
       [](Specimen& s) {
         const FilledPattern& p = s.f.filled;
         for (std::int32_t j = p.n - 1; j > 0;
              --j)  // undo x(i) -= L(i,k) U(k,j) for the first k of the last such column
           if (const std::int64_t u = p.col_ptr[j]; u < p.diag[j]) {
             const std::int32_t k = p.row_idx[u];
             for (std::int64_t m = p.diag[k] + 1; m < p.col_ptr[k + 1]; ++m)
               for (std::int64_t t = p.col_ptr[j]; t < p.col_ptr[j + 1]; ++t)
                 if (p.row_idx[t] == p.row_idx[m]) {
                   s.f.values[t] += s.f.values[m] * s.f.values[u];
                   return;
                 }
           }
       }},
      {"diag off by one", "structure", [](Specimen& s) { ++s.f.filled.diag[0]; }},
      {"rows unsorted", "structure",
       [](Specimen& s) {
         std::swap(s.f.filled.row_idx[s.f.filled.col_ptr[1] - 1], s.f.filled.row_idx[s.f.filled.col_ptr[1] - 2]);
       }},
      {"a row out of range", "structure", [](Specimen& s) { s.f.filled.row_idx[0] = -1; }},
      {"values cut short", "structure", [](Specimen& s) { s.f.values.pop_back(); }},
      {"columns cut short", "structure", [](Specimen& s) { s.f.filled.col_ptr.pop_back(); }},
      {"a duplicate in P", "permutations", [](Specimen& s) { s.f.plan.p[3] = s.f.plan.p[4]; }},
      {"q out of range", "permutations", [](Specimen& s) { s.f.plan.q[0] = 40; }},
      {"q too short", "structure", [](Specimen& s) { s.f.plan.q.pop_back(); }},
      {"a wrong row scaling", "lu_residual", [](Specimen& s) { s.f.plan.r[7] *= 2; }},
      {"a wrong column scaling", "lu_residual", [](Specimen& s) { s.f.plan.c[7] *= 1.0001; }},
      {"scalings left out", "lu_residual", [](Specimen& s) { s.f.plan.r.assign(40, 1.0), s.f.plan.c.assign(40, 1.0); }},
      {"a negative scaling", "scalings", [](Specimen& s) { s.f.plan.r[7] *= -1; }},
      {"a NaN scaling", "scalings", [](Specimen& s) { s.f.plan.c[0] = nan; }},
      {"a zero scaling", "scalings", [](Specimen& s) { s.f.plan.c[39] = 0; }},
      {"factors of another size", "structure", [](Specimen& s) { s.a = testing::random_dominant(39, 0.1, 1); }},
  };
  return all;
}

TEST(Mutants, WithoutAMutationEveryCheckPasses) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    EXPECT_EQ(failures_of(specimen(seed)), std::vector<std::string>{}) << seed;
}

TEST(Mutants, EachIsKilledByTheCheckMeantForIt) {
  int killed = 0;
  for (const Mutant& mutant : mutants()) {
    bool dead = true;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Specimen s = specimen(seed);
      mutant.mutate(s);
      const std::vector<std::string> failures = failures_of(s);
      if (has(failures, mutant.killer)) continue;
      dead = false;
      ADD_FAILURE() << "survived " << mutant.killer << " (seed " << seed << "): " << mutant.name
                    << (failures.empty() ? "" : "; it failed " + failures.front());
    }
    killed += dead;
  }
  RecordProperty("mutants", static_cast<int>(mutants().size()));
  RecordProperty("killed", killed);
  std::printf("mutation score %d/%d (factors)\n", killed, static_cast<int>(mutants().size()));
}

// ---- rungs that break their contract ----

enum class Sabotage {
  none,
  launch_fails,       // wait() reports a device error
  races,              // wait() reports a race
  stale_refactor,     // refactor() leaves the old factors
  ignores_upload,     // the values of the first upload are factored again and again
  nan_factors,        // a NaN in the last value
  accepts_nan,        // ok for values that are not finite, with the last good factors
  says_singular,      // of every matrix
  accepts_singular,   // ok for singular values, with the last good factors
  not_deterministic,  // the last bits differ each time
  wrong_p,            // two entries of p swapped
  drops_entry,        // a stored entry too few
  never_recovers,     // refuses all values after some that are not finite
  adds_a_constant,    // to the last value: not zero, but as small as a rounding error
  wrong_for_two_blocks,
  wrong_for_a_column_more,
  rounds_by_place,    // the last bits depend on the numbers of the rows of A
  refactors_apart,    // the last bits of refactor() are others than those of factor()
  remembers,          // the last bits of refactor() depend on the values before
  wrong_with_more_u,  // than L
  drops_zeros,        // from the pattern
  stores_outside,     // an entry that no elimination fills
  keeps_old_values,   // where a Solver reads them
  keeps_unscaled,     // the plan of its arrays has no scalings
};

template <Sabotage S, const Rung& Of = sparse_leftlooking::reference>
class Saboteur final : public Backend<double> {
 public:
  explicit Saboteur(const FactorOptions& options) : inner_(std::get<MakeBackend<double>>(Of.make_backend)(options)) {}

  Status prepare(const Analysis& analysis, std::int32_t systems) override { return inner_->prepare(analysis, systems); }
  Status upload(std::span<const double> values) override {
    if (S == Sabotage::ignores_upload && !first_.empty()) values = first_;
    const Status s = inner_->upload(values);
    if (s.ok() && first_.empty()) first_.assign(values.begin(), values.end());
    refused_ = !s.ok();
    broken_ = broken_ || refused_;
    if (S == Sabotage::never_recovers && broken_) return Status::error(StatusCode::invalid_argument, "no more of it");
    before_ = now_;
    now_ = values.empty() ? 0 : values.front();
    return S == Sabotage::accepts_nan && last_ ? Status{} : s;
  }
  Status enqueue(Phase phase) override {
    phase_ = phase;
    if (S == Sabotage::says_singular || refused_) return {};
    if (S == Sabotage::stale_refactor && last_ && phase == Phase::refactor) return {};
    return inner_->enqueue(phase);
  }
  Status collect(std::span<Status> statuses) override {
    if (S == Sabotage::launch_fails) return Status::error(StatusCode::device_error, "the launch failed");
    if (S == Sabotage::races) return Status::error(StatusCode::data_race, "kernel k: x[3] is read and written");
    if (S == Sabotage::says_singular)
      statuses[0] = Status::error(StatusCode::numerically_singular, "so it is");
    else if (!refused_)
      LULAB_RETURN_IF_ERROR(inner_->collect(statuses));
    if (S == Sabotage::accepts_singular && last_) statuses[0] = {};
    return {};
  }
  Result<Factors<double>> download(std::int32_t system) override {
    if (refused_) return *last_;
    auto f = inner_->download(system);
    if (!f.ok()) {
      if (S == Sabotage::accepts_singular && last_) return *last_;
      return f;
    }
    if (f->values.empty()) return f;
    if (S == Sabotage::nan_factors) f->values.back() = std::numeric_limits<double>::quiet_NaN();
    if (S == Sabotage::not_deterministic) f->values.back() *= 1 + 4e-16 * ++calls_;
    if (S == Sabotage::wrong_p) std::swap(f->plan.p.front(), f->plan.p.back());
    if (S == Sabotage::drops_entry) {
      const auto at = f->filled.diag[0] + 1;
      if (at < f->filled.col_ptr[1]) erase_entry(*f, 0, at);
    }
    misbehave(*f);
    if (S == Sabotage::keeps_old_values || S == Sabotage::keeps_unscaled) keep(*f);
    last_ = *f;
    return f;
  }
  HostArrays<double> host_arrays() const override {
    if (!kept_) return {};
    return {.lu = kept_->values, .plan = &kept_->plan, .filled = &kept_->filled};
  }

 private:
  void keep(const Factors<double>& f) {
    if (S == Sabotage::keeps_old_values && kept_) return;
    kept_ = f;
    if (S != Sabotage::keeps_unscaled) return;
    std::ranges::fill(kept_->plan.r, 1.0);
    std::ranges::fill(kept_->plan.c, 1.0);
  }
  void misbehave(Factors<double>& f) const {
    const std::int32_t n = f.filled.n;
    const bool again = phase_ == Phase::refactor;
    double& v = f.values.back();
    if (S == Sabotage::adds_a_constant) v += 1e-15;
    if (S == Sabotage::wrong_for_two_blocks && n == 120) v *= 1.001;
    if (S == Sabotage::wrong_for_a_column_more && n == 61) v *= 1.001;
    if (S == Sabotage::rounds_by_place) v *= 1 + 4e-16 * (f.plan.p[0] % 5);
    if (S == Sabotage::refactors_apart && again) v *= 1 + 4e-16;
    if (S == Sabotage::remembers && again && before_ != now_) v *= 1 + 4e-16;
    if (S == Sabotage::wrong_with_more_u && f.filled.nnz_l() < f.filled.nnz_u() - n) v *= 1.001;
    for (std::int32_t j = 0; S == Sabotage::drops_zeros && j < n; ++j)
      for (std::int64_t k = f.filled.col_ptr[j + 1] - 1; k >= f.filled.col_ptr[j]; --k)
        if (f.values[k] == 0) erase_entry(f, j, k);
    if (S == Sabotage::stores_outside && f.filled.row_idx[f.filled.col_ptr[1] - 1] != n - 1) {
      const std::int64_t at = f.filled.col_ptr[1];
      f.filled.row_idx.insert(f.filled.row_idx.begin() + at, n - 1);
      f.values.insert(f.values.begin() + at, 1e-300);
      for (std::int32_t j = 1; j <= n; ++j) ++f.filled.col_ptr[j];
      for (std::int32_t j = 1; j < n; ++j) ++f.filled.diag[j];
    }
  }

  std::unique_ptr<Backend<double>> inner_;
  std::vector<double> first_;
  std::optional<Factors<double>> last_, kept_;
  bool refused_ = false;  // the values last uploaded, though upload() may have said otherwise
  bool broken_ = false;   // it was once
  int calls_ = 0;
  Phase phase_ = Phase::factor;
  double before_ = 0, now_ = 0;  // the first value of the last but one upload, and of the last
};

template <Sabotage S, const Rung& Of = sparse_leftlooking::reference>
Rung sabotaged(std::string_view id) {
  RungFacts facts = Of.facts;
  facts.id = id;
  return rung_in_double<Saboteur<S, Of>>(facts);
}

TEST(Mutants, RungsThatBreakTheirContractDoNotConform) {
  GenerateOptions size;
  size.n = 60;
  const auto a = generate("random", size);
  ASSERT_TRUE(a.ok()) << a.status().to_string();
  const Rung honest = sabotaged<Sabotage::none>("honest");
  EXPECT_EQ(conformance_failures<double>(honest, *a), std::vector<std::string>{});
  using Sentences = std::vector<std::string>;
  struct Case {
    Rung rung;
    Sentences beginnings;      // of what must be said of it
    bool nothing_else = true;  // is said
  };
  const Sentences no_factors = {"refactor() gave factors", "download() after the error gave factors",
                                "factor() gave factors", "download() after the error gave factors"};
  const auto each = [](const std::string& what, Sentences sentences) {
    for (std::string& s : sentences) s = what + ": " + s;
    return sentences;
  };
  const std::string stable = "analyze() and factor() under stable pivots: ", other = "refactor() with other values: ",
                    nan = "values with a NaN", zeros = "a column of zeros";
  const std::vector<Case> cases = {
      {sabotaged<Sabotage::launch_fails>("launch fails"), {stable + "device_error: the launch failed"}},
      {sabotaged<Sabotage::says_singular>("says singular"), {stable + "numerically_singular: so it is"}},
      {sabotaged<Sabotage::stale_refactor>("stale refactor"),
       {other + "lu_residual", other + "omega", "refactor() differs from a fresh factor() by 0.0114 (limit 1.43e-06)",
        zeros + ": refactor() gave factors"},
       false},
      {sabotaged<Sabotage::ignores_upload>("ignores upload"),
       {other + "lu_residual", "refactor() differs from a fresh factor()", nan + ": factor() gave factors"},
       false},
      {sabotaged<Sabotage::nan_factors>("nan factors"),
       {"download_values() gave other values", "factor(): finite", "refactor() differs from a fresh factor() by nan",
        "factor() after values with a NaN: finite", "factor() after a column of zeros: finite",
        "says deterministic, but a second factor() of the same values differs"},
       false},
      {sabotaged<Sabotage::accepts_nan>("accepts a NaN"), each(nan, no_factors)},
      {sabotaged<Sabotage::accepts_singular>("accepts singular"), each(zeros, no_factors)},
      {sabotaged<Sabotage::not_deterministic>("not deterministic"),
       {"download_values() gave other values: ok", "says deterministic, but a second factor() of the same values"},
       false},
      {sabotaged<Sabotage::never_recovers>("never recovers"),
       {"factor() after values with a NaN: invalid_argument", "factor() after a column of zeros: invalid_argument",
        "a second factor(): invalid_argument"},
       false},
      {sabotaged<Sabotage::wrong_p>("wrong p"), {"factor(): pattern_contains_a", "factor(): klu_pattern_equal"}, false},
      {sabotaged<Sabotage::drops_entry>("drops an entry"),
       {"factor(): klu_pattern_equal: column 1: L(51,1) is in KLU's factors only"},
       false},
      {sabotaged<Sabotage::keeps_old_values>("keeps old values"),
       {"host_arrays() holds other values than download()"},
       false},
      {sabotaged<Sabotage::keeps_unscaled>("keeps unscaled"),
       {"host_arrays() holds other scalings than download()"},
       false},
  };
  int killed = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.rung.facts.id);
    const Sentences said = conformance_failures<double>(c.rung, *a);
    bool dead = !said.empty();
    for (const std::string& beginning : c.beginnings) {
      EXPECT_TRUE(has(said, beginning)) << "nobody says: " << beginning;
      dead = dead && has(said, beginning);
    }
    if (c.nothing_else) {
      EXPECT_EQ(said.size(), c.beginnings.size());
    }
    killed += dead;
  }
  RecordProperty("mutants", static_cast<int>(cases.size()));
  RecordProperty("killed", killed);
  std::printf("mutation score %d/%d (rungs)\n", killed, static_cast<int>(cases.size()));
}

/// The id says how the failure begins that must be found.
template <Sabotage S>
Rung fixed_pivots_sabotaged(std::string_view id) {
  return sabotaged<S, sparse_syncfree::reference>(id);
}

TEST(Mutants, RungsThatBreakAMetamorphicPropertyAreFound) {
  const auto a = generate("random_dominant", {.n = 60, .seed = 2});
  ASSERT_TRUE(a.ok()) << a.status().to_string();
  const Rung honest = fixed_pivots_sabotaged<Sabotage::none>("honest");
  EXPECT_EQ(metamorphic_failures<double>(honest, *a), std::vector<std::string>{});
  const std::vector<Rung> saboteurs = {
      fixed_pivots_sabotaged<Sabotage::adds_a_constant>("2^k A: "),
      fixed_pivots_sabotaged<Sabotage::adds_a_constant>("columns scaled"),
      fixed_pivots_sabotaged<Sabotage::adds_a_constant>("rows and columns scaled"),
      fixed_pivots_sabotaged<Sabotage::wrong_for_two_blocks>("diag(A, A): "),
      fixed_pivots_sabotaged<Sabotage::wrong_for_a_column_more>("diag(A, d): "),
      fixed_pivots_sabotaged<Sabotage::wrong_for_a_column_more>("diag(d, A): "),
      fixed_pivots_sabotaged<Sabotage::rounds_by_place>("rows and columns in another order: "),
      fixed_pivots_sabotaged<Sabotage::ignores_upload>("refactor() of B gave"),
      fixed_pivots_sabotaged<Sabotage::refactors_apart>("refactor() of A after factor() of A: "),
      fixed_pivots_sabotaged<Sabotage::remembers>("refactor() of A, B, A: "),
      fixed_pivots_sabotaged<Sabotage::wrong_with_more_u>("the transpose: "),
      fixed_pivots_sabotaged<Sabotage::stale_refactor>("A with zeros among its values: "),
      fixed_pivots_sabotaged<Sabotage::drops_zeros>("zeros among the values change the pattern"),
      fixed_pivots_sabotaged<Sabotage::drops_zeros>("the pattern of L and U is not that of the analysis"),
      fixed_pivots_sabotaged<Sabotage::stores_outside>("(59, 0) is not zero"),
      fixed_pivots_sabotaged<Sabotage::not_deterministic>("says deterministic"),
  };
  int killed = 0;
  for (const Rung& rung : saboteurs) {
    const std::vector<std::string> failures = metamorphic_failures<double>(rung, *a);
    const bool dead = has(failures, rung.facts.id);
    EXPECT_TRUE(dead) << "not found: " << rung.facts.id << (failures.empty() ? "" : "; but " + failures.front());
    killed += dead;
  }
  RecordProperty("mutants", static_cast<int>(saboteurs.size()));
  RecordProperty("killed", killed);
  std::printf("mutation score %d/%d (relations)\n", killed, static_cast<int>(saboteurs.size()));
}

TEST(Mutants, VerdictsOfRungsThatFail) {
  const auto a = testing::random_dominant(40, 0.1, 3);
  const Rung fails = sabotaged<Sabotage::launch_fails>("fails"),
             singular = sabotaged<Sabotage::says_singular>("singular"), nan = sabotaged<Sabotage::nan_factors>("nan"),
             wrong = sabotaged<Sabotage::wrong_p>("wrong"), honest = sabotaged<Sabotage::none>("honest"),
             races = sabotaged<Sabotage::races>("races");
  VerifyOptions options;
  options.rungs = {&fails, &singular, &nan, &wrong, &honest, &races};
  const MatrixReport report = verify_matrix("a", a, options);
  ASSERT_TRUE(report.status.ok()) << report.status.to_string();
  ASSERT_EQ(report.rungs.size(), 6u);
  EXPECT_EQ(report.rungs[0].verdict, Verdict::error);
  EXPECT_EQ(report.rungs[0].status.code, StatusCode::device_error);
  EXPECT_EQ(report.rungs[1].verdict, Verdict::failed) << "says singular, which the honest rung contradicts";
  EXPECT_EQ(report.rungs[2].verdict, Verdict::failed);
  EXPECT_EQ(report.rungs[3].verdict, Verdict::failed);
  EXPECT_EQ(report.rungs[4].verdict, Verdict::ok) << report.rungs[4].message;
  EXPECT_EQ(report.rungs[5].verdict, Verdict::race);
  EXPECT_EQ(report.rungs[5].message, "race: kernel k: x[3] is read and written");
  EXPECT_EQ(to_json(report).at("rungs").at(5).at("status"), "race");
}

}  // namespace
}  // namespace lulab
