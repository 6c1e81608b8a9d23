// The siege of systems: A x = b with rationals beside `lulab solve`, `factor`, `judge`, `refactor` and `verify`.
// What the program calls ok is good in exact arithmetic, what it calls singular is, and no good system is refused.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/matrix/matrix_market.h"
#include "testing/exact_arithmetic.h"
#include "testing/siege.h"

namespace lulab::siege {
namespace {

using nlohmann::json;

constexpr double eps = std::numeric_limits<double>::epsilon() / 2;  // unit roundoff

/// A(i,j) = 2^(row_exponent[i] + column_exponent[j]) core(i,j), all exact.
struct System {
  std::string family;
  Dense<double> core;
  std::vector<int> row_exponent, column_exponent;
  std::vector<double> b;

  int n() const { return core.rows; }
  Dense<double> a() const {
    Dense<double> scaled = core;
    for (int i = 0; i < n(); ++i)
      for (int j = 0; j < n(); ++j) scaled(i, j) = std::ldexp(core(i, j), row_exponent[i] + column_exponent[j]);
    return scaled;
  }
};

/// 1 to 2^-most
double power_of_two(Random& random, int most) { return std::ldexp(1, -static_cast<int>(random.below(most))); }

Dense<double> random_integers(Random& random, int n, double density, int largest) {
  Dense<double> a(n, n);
  for (double& v : a.values)
    if (random.chance(density)) v = static_cast<double>(random.below(2 * largest + 1) - largest);
  return a;
}

/// A sum of `rank` products of small integer vectors.
Dense<double> low_rank(Random& random, int n, int rank) {
  Dense<double> a(n, n);
  for (int r = 0; r < rank; ++r) {
    std::vector<double> u(n), v(n);
    for (double& x : u) x = static_cast<double>(random.below(7) - 3);
    for (double& x : v) x = static_cast<double>(random.below(7) - 3);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) a(i, j) += u[i] * v[j];
  }
  return a;
}

/// Resistors of decimal conductance between nodes. `ground`: the conductance from node 1 to ground; 0: all float.
Dense<double> network(Random& random, int n, double ground) {
  Dense<double> a(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j)
      if (j == i - 1 || random.chance(0.5)) {
        const double conductance = static_cast<double>(1 + random.below(9)) / 10;
        a(i, i) += conductance, a(j, j) += conductance;
        a(i, j) -= conductance, a(j, i) -= conductance;
      }
  if (n > 0) a(0, 0) += ground;
  return a;
}

Dense<double> wilkinson(int n) {
  Dense<double> a(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) a(i, j) = -1;
    a(i, i) = a(i, n - 1) = 1;
  }
  return a;
}

void shuffle_rows(Random& random, Dense<double>& a) {
  for (int i = a.rows - 1; i > 0; --i) {
    const int other = static_cast<int>(random.below(i + 1));
    for (int j = 0; j < a.columns; ++j) std::swap(a(i, j), a(other, j));
  }
}

/// A few of the diagonal blocks of a block triangular matrix, with integers above them.
Dense<double> block_triangular(Random& random, int n) {
  Dense<double> a = random_integers(random, n, 0.6, 3);
  int block = 0;
  std::vector<int> block_of(n);
  for (int i = 0; i < n; ++i) block_of[i] = i > 0 && random.chance(0.5) ? ++block : block;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (block_of[i] > block_of[j]) a(i, j) = 0;
  return a;
}

System random_system(Random& random) {
  System s;
  const int n = 1 + static_cast<int>(random.below(7));
  const auto name = [&](const char* family, Dense<double> core) { s.family = family, s.core = std::move(core); };
  switch (random.below(10)) {
    case 0: name("dense integers", random_integers(random, n, 1, 9)); break;
    case 1: name("sparse integers", random_integers(random, n, 0.5, 3)); break;
    case 2: name("low rank", low_rank(random, n, static_cast<int>(random.below(n + 1)))); break;
    case 3: name("floating network", network(random, n, 0)); break;
    case 4: name("network, weakly grounded", network(random, n, power_of_two(random, 70))); break;
    case 5: name("growth", wilkinson(2 + static_cast<int>(random.below(30)))); break;
    case 6: name("block triangular", block_triangular(random, n)); break;
    case 7: {  // nearly low rank
      Dense<double> a = low_rank(random, n, n - 1);
      a(0, 0) += power_of_two(random, 50);
      name("nearly low rank", std::move(a));
      break;
    }
    case 8: {  // large enough for panels, trees and levels
      Dense<double> a = random_integers(random, 10 + static_cast<int>(random.below(20)), 0.12, 3);
      for (int i = 0; i < a.rows; ++i)
        if (random.chance(0.9)) a(i, i) = static_cast<double>(1 + random.below(9));
      name("larger sparse integers", std::move(a));
      break;
    }
    default: {  // tiny entries where a careless order of pivots begins
      Dense<double> a = random_integers(random, n, 0.7, 3);
      for (int i = 0; i < n; ++i)
        if (random.chance(0.7)) a(i, i) = power_of_two(random, 80);
      name("tiny diagonal", std::move(a));
    }
  }
  if (random.chance(0.5)) shuffle_rows(random, s.core);
  const int size = s.n();
  s.row_exponent.assign(size, 0);
  s.column_exponent.assign(size, 0);
  if (random.chance(0.4)) {  // small scalings, or some near the ends of double
    const int most = random.chance(0.5) ? 20 : 450;
    for (int& e : s.row_exponent) e = static_cast<int>(random.below(2 * most + 1)) - most;
    for (int& e : s.column_exponent) e = static_cast<int>(random.below(2 * most + 1)) - most;
  }
  s.b.assign(size, 0);
  switch (random.below(4)) {
    case 0: s.b[random.below(size)] = 1; break;
    case 1:
      for (double& v : s.b) v = static_cast<double>(random.below(19) - 9);
      break;
    case 2:
      for (double& v : s.b) v = random.value() * std::ldexp(1, static_cast<int>(random.below(600)) - 300);
      break;
    default:  // of the size of A
      for (int i = 0; i < size; ++i) s.b[i] = std::ldexp(random.value(), s.row_exponent[i]);
  }
  return s;
}

/// The same pattern with other values: what a simulator sends next. Some values cancel.
Dense<double> next_values(Random& random, const Dense<double>& core) {
  Dense<double> next = core;
  for (double& v : next.values)
    if (v != 0) v = random.chance(0.05) ? 0 : v * static_cast<double>(1 + random.below(8)) / 4;
  return next;
}

/// As a coordinate file: entries in any order, some in two parts.
std::string to_text(Random& random, const Dense<double>& a, const Dense<char>& stored) {
  std::vector<std::string> lines;
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) {
      if (!stored(i, j)) continue;
      const double v = a(i, j);
      const auto line = [&](double part) { lines.push_back(fmt::format("{} {} {}\n", i + 1, j + 1, part)); };
      if (v / 2 + v / 2 == v && random.chance(0.05))
        line(v / 2), line(v / 2);
      else
        line(v);
    }
  for (std::size_t k = lines.size(); k > 1; --k) std::swap(lines[k - 1], lines[random.below(static_cast<int>(k))]);
  std::string text =
      fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", a.rows, a.columns, lines.size());
  for (const std::string& line : lines) text += line;
  return text;
}

std::string to_text(const std::vector<double>& b) {
  std::string text = fmt::format("%%MatrixMarket matrix array real general\n{} 1\n", b.size());
  for (const double v : b) text += fmt::format("{}\n", v);
  return text;
}

/// What exact arithmetic says of A.
struct Truth {
  std::optional<Dense<Rational>> inverse;
  double least = std::numeric_limits<double>::infinity();      // condition number under the best scaling
  double condition = std::numeric_limits<double>::infinity();  // ||core|| ||core⁻¹||, 1-norm

  /// No scaling makes it regular in double: calling it regular is wrong, unless rcond is told to be near eps, which is
  /// how far roundoff of L and U can move a singular matrix.
  bool singular(double rcond) const { return !(least < 64 / eps) && !(rcond < 16 * eps); }
  /// Far enough from singular for factors of this precision and any reasonable scaling: refusing it is wrong.
  bool regular(bool f32) const { return condition < (f32 ? 1e3 : 1e9); }
};

/// Of the core, which has the same least condition number as A.
Truth truth_of(const System& s) {
  Truth truth;
  const auto core_inverse = inverse(to_exact(s.core));
  if (!core_inverse) return truth;
  const Dense<double> near = rounded(*core_inverse);
  truth.least = least_condition(s.core, near);
  truth.condition = norm1(s.core) * norm1(near);
  truth.inverse = inverse(to_exact(s.a()));
  return truth;
}

/// The exact omega1 + omega2 of x (Arioli, Demmel & Duff 1989), less what underflow alone may add.
double exact_omega(const Dense<double>& a, const std::vector<double>& b, const std::vector<double>& x) {
  const int n = a.rows;
  double largest_x = 0;
  for (const double v : x) largest_x = std::max(largest_x, std::abs(v));
  double omega1 = 0, omega2 = 0;
  const Rational tiny(std::numeric_limits<double>::denorm_min());
  for (int i = 0; i < n; ++i) {
    Rational r(b[i]), size = abs(Rational(b[i])), row_size = 0, slack = (n + 1) * tiny;
    for (int j = 0; j < n; ++j) {
      const Rational entry(a(i, j)), term = entry * Rational(x[j]);
      r -= term;
      size += abs(term);
      row_size = std::max<Rational>(row_size, abs(entry) * Rational(largest_x));
      slack += abs(entry) * tiny;
    }
    const Rational error = abs(r) > slack ? Rational(abs(r) - slack) : Rational(0);
    if (error == 0) continue;
    const Rational tau = Rational(1000 * n * eps) * (row_size + abs(Rational(b[i])));
    const bool nearly_zero = size <= tau;
    const Rational near = nearly_zero ? Rational(size - abs(Rational(b[i])) + row_size) : size;
    const double omega =
        near == 0 ? std::numeric_limits<double>::infinity() : Rational(error / near).convert_to<double>();
    (nearly_zero ? omega2 : omega1) = std::max(nearly_zero ? omega2 : omega1, omega);
  }
  return omega1 + omega2;
}

/// max |x_i| of the exact solution, as its binary logarithm.
double log2_of_solution(const Truth& truth, const std::vector<double>& b) {
  double largest = -1e9;
  for (int i = 0; i < truth.inverse->rows; ++i) {
    Rational x = 0;
    for (int j = 0; j < truth.inverse->columns; ++j) x += (*truth.inverse)(i, j) * Rational(b[j]);
    if (x == 0) continue;
    const auto bits = [](const boost::multiprecision::cpp_int& v) { return static_cast<double>(msb(v)); };
    largest = std::max(largest, bits(abs(numerator(x))) - bits(denominator(x)));
  }
  return largest;
}

/// The smallest rcond_scaled anywhere in an answer; infinity where there is none.
double smallest_rcond(const json& said) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const auto& [key, value] : said.items()) {
    if (key == "rcond_scaled" && value.is_number()) smallest = std::min(smallest, value.get<double>());
    if (value.is_structured()) smallest = std::min(smallest, smallest_rcond(value));
  }
  return smallest;
}

struct RungName {
  std::string id;
  bool f32, f64;
};
/// The sparse rungs without known faults, and auto.
const std::vector<RungName>& sparse_rungs() {
  static const std::vector<RungName> rungs = [] {
    std::vector<RungName> all = {{"auto", true, true}};
    const testing::TemporaryFolder folder;
    for (const json& rung : json::parse(lulab(folder, "list --json").out)) {
      // Others hand out no L and U: 90_superlu_dist, the rungs of solve/ and symbolic/.
      if (rung["stage"] == "dense" || !rung.contains("fault") || rung["fault"] != "") continue;
      const auto has = [&](const char* scalar) {
        return std::ranges::find(rung["scalars"], json(scalar)) != rung["scalars"].end();
      };
      all.push_back({rung["id"], has("f32"), has("f64")});
    }
    return all;
  }();
  return rungs;
}

/// One case: a system in a folder, and what was done with it.
class Case {
 public:
  explicit Case(Random& random) : random_(random), s_(random_system(random_)), truth_(truth_of(s_)) {
    a_ = s_.a();
    for (const double v : a_.values) overflows_ = overflows_ || !std::isfinite(v);
    stored_ = Dense<char>(s_.n(), s_.n());
    for (std::size_t k = 0; k < a_.values.size(); ++k) stored_.values[k] = a_.values[k] != 0 || random_.chance(0.02);
  }

  /// What is wrong with the program's answer; empty when nothing is.
  std::string run() {
    if (overflows_) return "";
    folder_.write("A.mtx", to_text(random_, a_, stored_));
    folder_.write("b.mtx", to_text(s_.b));
    const auto& rungs = sparse_rungs();
    rung_ = rungs[random_.below(static_cast<int>(rungs.size()))];
    f32_ = rung_.f32 && random_.chance(0.3);
    options_ = fmt::format("--json --rung {} --precision {}", rung_.id, f32_ ? "f32" : "f64");
    if (random_.chance(0.5)) {
      constexpr const char* orders[] = {"amd", "colamd", "metis", "natural", "btf+amd"};
      options_ += fmt::format(" --order {}", orders[random_.below(5)]);
    }
    switch (random_.below(8)) {
      case 0: return factor_and_judge();
      case 1: return refactor();
      case 2: return verify();
      default: return solve();
    }
  }

  std::string report() const {
    std::string text = fmt::format("{}, n = {}, least condition {:.2g}, condition of the core {:.2g}, {}\n", s_.family,
                                   s_.n(), truth_.least, truth_.condition, truth_.inverse ? "regular" : "singular");
    text += log_;
    if (s_.n() <= 8)
      for (const char* file : {"A.mtx", "b.mtx"}) text += testing::read_text(folder_.path(file));
    return text;
  }

 private:
  Answer ask(const std::string& arguments) {
    Answer answer = lulab(folder_, arguments);
    log_ += transcript(arguments, answer);
    return answer;
  }
  /// Is "singular" a wrong answer?
  bool must_be_regular(const Truth& truth) const { return truth.regular(f32_) && within_range(); }
  /// R·A·C, R b and A's own values stay away from the ends of double, and solutions of R·A·C from those of float.
  bool within_range() const {
    for (const double v : a_.values)
      if (v != 0 && !(std::abs(v) > 0x1p-900 && std::abs(v) < 0x1p900)) return false;
    const int most = f32_ ? 20 : 400;
    for (int i = 0; i < s_.n(); ++i)
      if (std::abs(s_.row_exponent[i]) > most || std::abs(s_.column_exponent[i]) > most) return false;
    return true;
  }

  std::string wrong_status(const Truth& truth, int code, const std::string& what, double rcond) const {
    if (code == 0 && truth.singular(rcond)) return what + ": ok, but A is singular";
    if (code != 0 && must_be_regular(truth)) return fmt::format("{}: refused, but A is regular", what);
    return "";
  }

  std::string solve() {
    const Answer answer = ask("solve A.mtx b.mtx -o x.mtx " + options_);
    if (std::string broken = broken_promise(answer, true); !broken.empty()) return broken;
    if (answer.code == 2 || answer.code == 4) return "a good file refused";
    const json said = json::parse(answer.out);
    std::string wrong = wrong_status(truth_, answer.code == 3 ? 3 : 0, "solve", smallest_rcond(said));
    if (answer.code != 1 && !wrong.empty()) return wrong;
    if (answer.code == 3 || !truth_.inverse) return "";  // of a singular A no x is right, and rcond tells
    const double log_x = log2_of_solution(truth_, s_.b);
    double largest_b = 0;
    for (const double v : s_.b) largest_b = std::max(largest_b, std::abs(v));
    const bool easy_b = largest_b < 0x1p200 && std::abs(log_x) < 400;
    if (answer.code == 1) return must_be_regular(truth_) && easy_b ? "a good system failed" : "";
    const auto x = read_vector(folder_.path("x.mtx"));
    if (!x.ok()) return "x cannot be read: " + x.status().to_string();
    const double omega = exact_omega(a_, s_.b, *x), reported = said["backward_error"];
    if (!(omega <= 31 * eps)) return fmt::format("ok, but omega is {:.3g}", omega);
    if (!(omega <= reported + (s_.n() + 3) * eps)) return fmt::format("omega is {:.3g}, not {:.3g}", omega, reported);
    return "";
  }

  std::string factor_and_judge() {
    const Answer answer = ask("factor A.mtx -o factors " + options_);
    if (std::string broken = broken_promise(answer, true); !broken.empty()) return broken;
    if (answer.code == 1 || answer.code == 2 || answer.code == 4) return "a good file refused";
    const json said = json::parse(answer.out);
    if (std::string wrong = wrong_status(truth_, answer.code, "factor", smallest_rcond(said)); !wrong.empty())
      return wrong;
    if (answer.code != 0) return "";
    const double rcond = said["rcond"];
    if (truth_.inverse && !f32_ && truth_.regular(f32_) && within_range()) {
      const double exact = 1 / (norm1(a_) * norm1(rounded(*truth_.inverse)));
      if (exact > 1e-12 && !(rcond > 0.9 * exact && rcond < 20 * s_.n() * exact))
        return fmt::format("rcond is {:.3g}, not {:.3g}", exact, rcond);
    }
    if (f32_) return "";  // judged as double factors, they are not good enough
    const Answer judged = ask("judge A.mtx factors --json");
    if (std::string broken = broken_promise(judged, true); !broken.empty()) return broken;
    if (judged.code != 0) return must_be_regular(truth_) ? "judge refuses its own factors" : "";
    return judge_of_a_wrong_factor();
  }

  /// The largest entry of U becomes 0.1 percent larger.
  std::string judge_of_a_wrong_factor() {
    auto u = read_matrix_market(folder_.path("factors/U.mtx"));
    if (!u.ok() || u->matrix.values.empty()) return "U cannot be read";
    auto& values = u->matrix.values;
    *std::ranges::max_element(values, {}, [](double v) { return std::abs(v); }) *= 1.001;
    if (!write_matrix_market(folder_.path("factors/U.mtx"), u->matrix).ok()) return "U cannot be written";
    const Answer judged = ask("judge A.mtx factors --json");
    if (std::string broken = broken_promise(judged, true); !broken.empty()) return broken;
    return judged.code == 1 ? "" : "judge takes wrong factors for right";
  }

  std::string refactor() {
    std::vector<Truth> truths = {truth_};
    std::string files = "A.mtx";
    for (int k = 1; k <= 3; ++k) {
      System next = s_;
      next.core = next_values(random_, s_.core);
      truths.push_back(truth_of(next));
      const std::string name = fmt::format("A{}.mtx", k);
      folder_.write(name, to_text(random_, next.a(), stored_));
      files += " " + name;
    }
    const Answer answer = ask("refactor " + files + " " + options_);
    if (std::string broken = broken_promise(answer, true); !broken.empty()) return broken;
    const json said = json::parse(answer.out);
    if (!said.contains("matrices"))
      return answer.code == 0 ? "no matrices in the answer" : wrong_status(truth_, answer.code, "refactor", 1);
    if (said["matrices"].size() != truths.size()) return "another number of steps than of matrices";
    for (std::size_t k = 0; k < said["matrices"].size(); ++k) {
      const bool ok = said["matrices"][k]["status"] == "ok";
      if (!ok && answer.code == 0) return "a step failed, but the exit code is 0";
      // A step costs no estimate of the condition: only the first matrix is judged by it (app/README.md).
      if (ok && k > 0) continue;
      const int code = ok ? 0 : 3;
      std::string wrong = wrong_status(truths[k], code, fmt::format("step {}", k + 1), smallest_rcond(said));
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string verify() {
    const Answer answer = ask("verify A.mtx --json");
    if (std::string broken = broken_promise(answer, true); !broken.empty()) return broken;
    if (answer.code == 2 || answer.code == 4) return "a good file refused";
    f32_ = false;
    return wrong_status(truth_, answer.code, "verify", smallest_rcond(json::parse(answer.out)));
  }

  Random& random_;
  System s_;
  Truth truth_;
  Dense<double> a_;
  Dense<char> stored_;  // zeros, too
  bool overflows_ = false, f32_ = false;
  RungName rung_;
  std::string options_, log_;
  testing::TemporaryFolder folder_;
};

std::string attack_systems(Random& random, std::string& log) {
  Case one(random);
  const std::string wrong = one.run();
  if (!wrong.empty()) log = one.report();
  return wrong;
}

class SiegeOfSystems : public ::testing::TestWithParam<int> {};

TEST_P(SiegeOfSystems, HasExactAnswers) { besiege(GetParam(), 0.5, attack_systems); }
INSTANTIATE_TEST_SUITE_P(Shard, SiegeOfSystems, ::testing::Range(0, shards));

}  // namespace
}  // namespace lulab::siege
