// What the judge of foreign factors says, word for word: verify/judgements.expected. After a change that is meant,
// LULAB_WRITE_JUDGEMENTS=1 writes the file anew, and the difference shows what the change means for its readers.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testing/as_foreign.h"
#include "testing/dense_elimination.h"
#include "verify/foreign.h"

namespace lulab::judgements {
namespace {

struct Case {
  CscMatrix<double> a;
  Factors<double> f;
  ForeignFactors given;
  JudgeOptions options;
};

void give(Case& c) { c.given = testing::as_foreign(c.f); }

Case right(std::int32_t n = 12, double density = 0.25) {
  Case c;
  c.a = testing::random_dominant(n, density, 3);
  c.f = testing::eliminate_densely<double>(c.a, testing::random_plan(n, 3));
  c.options.convention = Convention::lulab;
  give(c);
  return c;
}

/// The entry of a column of m that is `from_end` places before its end.
double& entry(CscMatrix<double>& m, std::int32_t j, int from_end = 0) {
  return m.values[m.col_ptr[j + 1] - 1 - from_end];
}

void erase(CscMatrix<double>& m, std::int32_t j, std::int64_t k) {
  m.row_idx.erase(m.row_idx.begin() + k);
  m.values.erase(m.values.begin() + k);
  for (std::int32_t later = j + 1; later <= m.n_cols; ++later) --m.col_ptr[later];
}

void insert(CscMatrix<double>& m, std::int32_t i, std::int32_t j, double v) {
  std::int64_t k = m.col_ptr[j];
  while (k < m.col_ptr[j + 1] && m.row_idx[k] < i) ++k;
  m.row_idx.insert(m.row_idx.begin() + k, i);
  m.values.insert(m.values.begin() + k, v);
  for (std::int32_t later = j + 1; later <= m.n_cols; ++later) ++m.col_ptr[later];
}

/// A place where column j has no row, i > j or i < j.
std::int32_t hole(const CscMatrix<double>& m, std::int32_t j, std::int32_t first, std::int32_t end) {
  for (std::int32_t i = first; i < end; ++i)
    if (std::find(m.row_idx.begin() + m.col_ptr[j], m.row_idx.begin() + m.col_ptr[j + 1], i) ==
        m.row_idx.begin() + m.col_ptr[j + 1])
      return i;
  ADD_FAILURE() << "column " << j << " is full";
  return first;
}

std::vector<std::int64_t> inverted(const std::vector<std::int64_t>& p) {  // both count from 1
  std::vector<std::int64_t> q(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) q[p[i] - 1] = static_cast<std::int64_t>(i) + 1;
  return q;
}

void solve_with(Case& c, const std::function<void(std::vector<double>&, Case&)>& spoil) {
  const std::int32_t n = c.a.n_cols;
  c.options.x.resize(n);
  for (std::int32_t i = 0; i < n; ++i) c.options.x[i] = 1 + i % 5;
  c.options.b.assign(n, 0);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = c.a.col_ptr[j]; k < c.a.col_ptr[j + 1]; ++k)
      c.options.b[c.a.row_idx[k]] += c.a.values[k] * c.options.x[j];
  spoil(c.options.x, c);
}

void halve(std::vector<double>& s) {
  std::ranges::transform(s, s.begin(), [](double v) { return 1 / v; });
}
void from_zero(Case& c) {
  for (auto* v : {&c.given.p, &c.given.q})
    for (std::int64_t& k : *v) --k;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::pair<const char*, std::function<void(Case&)>>>& cases() {
  static const std::vector<std::pair<const char*, std::function<void(Case&)>>> all = {
      {"right", [](Case&) {}},
      {"right, found out", [](Case& c) { c.options.convention = Convention::automatic; }},
      {"right, by probes", [](Case& c) { c.options.max_products = 0; }},
      {"right, from 0", [](Case& c) { from_zero(c), c.options.index_base = 0; }},
      {"superlu",
       [](Case& c) {
         c.given.p = inverted(c.given.p), c.given.q = inverted(c.given.q), from_zero(c);
         c.options.convention = Convention::superlu;
       }},
      {"superlu, found out",
       [](Case& c) {
         c.given.p = inverted(c.given.p), c.given.q = inverted(c.given.q), from_zero(c);
         c.options.convention = Convention::automatic;
       }},
      {"matlab, c left out",
       [](Case& c) { halve(c.given.r), c.given.c.clear(), c.options.convention = Convention::matlab; }},
      {"packed",
       [](Case& c) {
         insert(c.given.l, 0, 0, 0), erase(c.given.l, 0, 0);
         CscMatrix<double> both = c.given.u;
         for (std::int32_t j = 0; j < both.n_cols; ++j)
           for (std::int64_t k = c.given.l.col_ptr[j] + 1; k < c.given.l.col_ptr[j + 1]; ++k)
             insert(both, c.given.l.row_idx[k], j, c.given.l.values[k]);
         c.given.l = c.given.u = both;
       }},
      {"nothing but L and U",
       [](Case& c) {
         c.f = testing::eliminate_densely<double>(c.a, Plan::identity(12));
         give(c);
         c.given.p.clear(), c.given.q.clear(), c.given.r.clear(), c.given.c.clear();
       }},
      {"NaN in L", [](Case& c) { entry(c.given.l, 2) = nan; }},
      {"infinity in U", [](Case& c) { entry(c.given.u, 7, 1) = std::numeric_limits<double>::infinity(); }},
      {"NaN in r", [](Case& c) { c.given.r[3] = nan; }},
      {"negative c", [](Case& c) { c.given.c[3] = -1; }},
      {"p from 0",
       [](Case& c) {
         for (std::int64_t& k : c.given.p) --k;
       }},
      {"q from 2",
       [](Case& c) {
         for (std::int64_t& k : c.given.q) ++k;
       }},
      {"p twice", [](Case& c) { c.given.p[4] = c.given.p[8]; }},
      {"q far out", [](Case& c) { c.given.q[11] = 40; }},
      {"base 0 but from 1", [](Case& c) { c.options.index_base = 0; }},
      {"L above its diagonal", [](Case& c) { insert(c.given.l, 1, 6, 3); }},
      {"U below its diagonal", [](Case& c) { insert(c.given.u, 9, 6, 3); }},
      {"L and U exchanged", [](Case& c) { std::swap(c.given.l, c.given.u); }},
      {"L and U by rows",
       [](Case& c) { c.given.l = transpose(c.given.l.view()), c.given.u = transpose(c.given.u.view()); }},
      {"L and U of the transposed",
       [](Case& c) {
         const auto l = c.given.l;
         c.given.l = transpose(c.given.u.view()), c.given.u = transpose(l.view());
       }},
      {"ones on U",
       [](Case& c) {
         for (std::int32_t j = 0; j < 12; ++j) {
           const double d = entry(c.given.u, j);
           for (std::int64_t k = c.given.l.col_ptr[j]; k < c.given.l.col_ptr[j + 1]; ++k) c.given.l.values[k] *= d;
           for (std::int32_t i = j; i < 12; ++i)
             for (std::int64_t k = c.given.u.col_ptr[i]; k < c.given.u.col_ptr[i + 1]; ++k)
               if (c.given.u.row_idx[k] == j) c.given.u.values[k] /= d;
         }
       }},
      {"L's diagonal left out",
       [](Case& c) {
         for (std::int32_t j = 0; j < 12; ++j) erase(c.given.l, j, c.given.l.col_ptr[j]);
       }},
      {"a 2 on L's diagonal", [](Case& c) { c.given.l.values[c.given.l.col_ptr[5]] = 2; }},
      {"a zero pivot", [](Case& c) { entry(c.given.u, 5) = 0; }},
      {"the last pivot is zero", [](Case& c) { entry(c.given.u, 11) = 0; }},
      {"a missing pivot", [](Case& c) { erase(c.given.u, 5, c.given.u.col_ptr[6] - 1); }},
      {"A transposed", [](Case& c) { c.a = transpose(c.a.view()); }},
      {"p for q",
       [](Case& c) {
         c.f = testing::eliminate_densely<double>(c.a, Plan::identity(12));
         std::rotate(c.f.plan.q.begin(), c.f.plan.q.begin() + 5, c.f.plan.q.end());
         CscMatrix<double> moved = permute(c.a.view(), c.f.plan.p, inverse(c.f.plan.q));
         c.a = moved;
         give(c);
         std::swap(c.given.p, c.given.q);
       }},
      {"p inverted", [](Case& c) { c.given.p = inverted(c.given.p); }},
      {"q inverted", [](Case& c) { c.given.q = inverted(c.given.q); }},
      {"two rows exchanged", [](Case& c) { std::swap(c.given.p[3], c.given.p[9]); }},
      {"two columns exchanged", [](Case& c) { std::swap(c.given.q[3], c.given.q[9]); }},
      {"r left out", [](Case& c) { c.given.r.clear(); }},
      {"c left out", [](Case& c) { c.given.c.clear(); }},
      {"r inverted", [](Case& c) { halve(c.given.r); }},
      {"c inverted", [](Case& c) { halve(c.given.c); }},
      {"r in the order of L",
       [](Case& c) {
         std::vector<double> r(12);
         for (std::int32_t i = 0; i < 12; ++i) r[i] = c.f.plan.r[c.f.plan.p[i]];
         c.given.r = r;
       }},
      {"a tiny pivot",
       [](Case& c) {
         c.a = testing::random_dominant(12, 1.0, 4);
         for (std::int64_t k = 0; k < c.a.nnz(); ++k)
           if (c.a.row_idx[k] == 0 && k < 12) c.a.values[k] = 1e-13;
         c.f = testing::eliminate_densely<double>(c.a, Plan::identity(12));
         give(c);
       }},
      {"an entry of L is missing", [](Case& c) { erase(c.given.l, 2, c.given.l.col_ptr[3] - 1); }},
      {"an entry of U is missing", [](Case& c) { erase(c.given.u, 10, c.given.u.col_ptr[10]); }},
      {"an entry of L too many", [](Case& c) { insert(c.given.l, hole(c.given.l, 1, 2, 12), 1, 0.25); }},
      {"an entry of U too many", [](Case& c) { insert(c.given.u, hole(c.given.u, 6, 0, 6), 6, 0.25); }},
      {"a zero of L too many", [](Case& c) { insert(c.given.l, hole(c.given.l, 1, 2, 12), 1, 0); }},
      {"a wrong value in L", [](Case& c) { entry(c.given.l, 3) *= 1.5; }},
      {"a wrong value in U", [](Case& c) { entry(c.given.u, 8, 1) *= -1; }},
      {"a wrong value in U, by probes", [](Case& c) { entry(c.given.u, 8, 1) *= -1, c.options.max_products = 0; }},
      {"a slightly wrong pivot", [](Case& c) { entry(c.given.u, 8) *= 1 + 1e-9; }},
      {"rounded to float",
       [](Case& c) {
         for (auto* m : {&c.given.l, &c.given.u})
           for (double& v : m->values) v = static_cast<float>(v);
       }},
      {"four digits",
       [](Case& c) {
         for (auto* m : {&c.given.l, &c.given.u})
           for (double& v : m->values) v = std::stod(fmt::format("{:.4g}", v));
       }},
      {"of a nearly singular matrix",
       [](Case& c) {
         for (std::int64_t k = c.a.col_ptr[4]; k < c.a.col_ptr[5]; ++k) c.a.values[k] = 0;
         for (std::int64_t k = c.a.col_ptr[4]; k < c.a.col_ptr[5]; ++k)
           if (c.a.row_idx[k] == 4) c.a.values[k] = 1e-18;
         c.f = testing::eliminate_densely<double>(c.a, Plan::identity(12));
         give(c);
       }},
      {"within a tolerance of 1e-9", [](Case& c) { c.options.tolerance = 1e-9; }},
      {"a right x", [](Case& c) { solve_with(c, [](auto&, Case&) {}); }},
      {"an x that is a little wrong", [](Case& c) { solve_with(c, [](auto& x, Case&) { x[3] += 1e-9; }); }},
      {"x of the transposed",
       [](Case& c) {
         solve_with(c, [](auto& x, Case& of) {
           const auto t = transpose(of.a.view());
           of.options.b.assign(12, 0);
           for (std::int32_t j = 0; j < 12; ++j)
             for (std::int64_t k = t.col_ptr[j]; k < t.col_ptr[j + 1]; ++k)
               of.options.b[t.row_idx[k]] += t.values[k] * x[j];
         });
       }},
      {"x in the order of the columns of U",
       [](Case& c) {
         solve_with(c, [](auto& x, Case& of) {
           auto y = x;
           for (std::size_t j = 0; j < x.size(); ++j) y[j] = x[of.f.plan.q[j]];
           x = y;
         });
       }},
      {"x in that order, twice",
       [](Case& c) {
         solve_with(c, [](auto& x, Case& of) {
           auto y = x;
           for (std::size_t j = 0; j < x.size(); ++j) y[of.f.plan.q[j]] = x[j];
           x = y;
         });
       }},
      {"x without C",
       [](Case& c) {
         solve_with(c, [](auto& x, Case& of) {
           for (int j = 0; j < 12; ++j) x[j] /= of.f.plan.c[j];
         });
       }},
      {"x with C twice",
       [](Case& c) {
         solve_with(c, [](auto& x, Case& of) {
           for (int j = 0; j < 12; ++j) x[j] *= of.f.plan.c[j];
         });
       }},
  };
  return all;
}

/// Numbers of a judgement, to three digits: they rest on the order of a few operations.
std::string digits(double v) { return std::isnan(v) ? "-" : fmt::format("{:.3g}", v); }

std::string told(const char* name, const Judgement& j, bool formulas) {
  std::string text =
      fmt::format("=== {}: {}, {}\n", name, j.accepted ? "accepted" : "rejected", to_string(j.convention));
  for (const JudgedCheck& c : j.checks)
    if (formulas)
      text += fmt::format("{}: {} | {} | {} | {}{}\n", c.name, c.formula, digits(c.value), digits(c.limit),
                          to_string(c.result), c.question ? "?" : "");
    else
      text += fmt::format("{} {}{} {}; ", c.name, digits(c.value), c.question ? "?" : "", to_string(c.result));
  if (!formulas) text += '\n';
  if (j.finding) {
    const Finding& f = *j.finding;
    text += fmt::format("{}: {}\ntry: {}\nat {} {}: {} for {}\n", to_string(f.fault), f.what, f.advice, f.row, f.column,
                        digits(f.found), digits(f.wanted));
    if (f.window) {
      const Window& w = *f.window;
      text += fmt::format("window {} {} {} {}:", w.row, w.column, w.rows, w.columns);
      for (int k = 0; k < w.rows * w.columns; ++k)
        text += fmt::format(" {}/{}", digits(w.wanted[k]), digits(w.found[k]));
      text += '\n';
    }
  }
  const nlohmann::json json = to_json(j);
  text += fmt::format("json: {}\n", json["finding"].dump());
  if (formulas)
    for (const auto& check : json["checks"])
      text += fmt::format("json: {} {} {} {}\n", check["check"].dump(), check["verdict"].dump(), check["limit"].dump(),
                          check["value"].is_boolean() ? check["value"].dump() : "a number");
  for (const std::string& s : j.failures) text += "failure: " + s + '\n';
  for (const std::string& s : j.notes) text += "note: " + s + '\n';
  return text;
}

TEST(Judgements, InputsThatDoNotFitAreRefused) {
  const std::vector<std::pair<std::string, std::function<void(Case&)>>> refusals = {
      {"A is 13 x 12, but A is 12 x 12", [](Case& c) { c.a.n_rows = 13; }},
      {"L is 12 x 11, but A is 12 x 12", [](Case& c) { c.given.l.n_cols = 11; }},
      {"U is 11 x 12, but A is 12 x 12", [](Case& c) { c.given.u.n_rows = 11; }},
      {"F is 3 x 0, but A is 12 x 12", [](Case& c) { c.given.f.n_rows = 3; }},
      {"F is 0 x 3, but A is 12 x 12", [](Case& c) { c.given.f.n_cols = 3; }},
      {"L: col_ptr, row_idx and values do not fit each other", [](Case& c) { c.given.l.values.pop_back(); }},
      {"L: col_ptr, row_idx and values do not fit each other", [](Case& c) { c.given.l.col_ptr.pop_back(); }},
      {"U: col_ptr, row_idx and values do not fit each other", [](Case& c) { c.given.u.col_ptr[0] = 1; }},
      {"U: col_ptr, row_idx and values do not fit each other", [](Case& c) { c.given.u.col_ptr[12] -= 1; }},
      {"U: col_ptr decreases at column 4", [](Case& c) { c.given.u.col_ptr[4] = c.given.u.col_ptr[3] - 1; }},
      {"L: row 13 in column 3 is not in 1..12", [](Case& c) { c.given.l.row_idx[c.given.l.col_ptr[3] - 1] = 12; }},
      {"L: row 0 in column 3 is not in 1..12", [](Case& c) { c.given.l.row_idx[c.given.l.col_ptr[2]] = -1; }},
      {"L: column 3 is not sorted, or holds row 3 twice",
       [](Case& c) { c.given.l.row_idx[c.given.l.col_ptr[2] + 1] = 2; }},
      {"p has size 11, but A has n = 12", [](Case& c) { c.given.p.pop_back(); }},
      {"q has size 13, but A has n = 12", [](Case& c) { c.given.q.push_back(1); }},
      {"r has size 13, but A has n = 12", [](Case& c) { c.given.r.push_back(1); }},
      {"c has size 11, but A has n = 12", [](Case& c) { c.given.c.pop_back(); }},
      {"x has size 1, but A has n = 12", [](Case& c) { c.options.x = {1}; }},
      {"b has size 1, but A has n = 12", [](Case& c) { c.options.x.resize(12), c.options.b = {1}; }},
      {"a solution is judged by x and b: one of them is missing", [](Case& c) { c.options.b.resize(12); }},
      {"the tolerance is 0, but must be positive", [](Case& c) { c.options.tolerance = 0; }},
      {"the tolerance is nan, but must be positive", [](Case& c) { c.options.tolerance = nan; }},
      {"the index base is 2; 0 and 1 are known, and -1 for that of the convention",
       [](Case& c) { c.options.index_base = 2; }},
      {"the index base is -2; 0 and 1 are known, and -1 for that of the convention",
       [](Case& c) { c.options.index_base = -2; }},
  };
  for (const auto& [message, spoil] : refusals) {
    Case c = right();
    spoil(c);
    const auto judged = judge_foreign(c.a, c.given, c.options);
    ASSERT_FALSE(judged.ok()) << message;
    EXPECT_EQ(judged.status().message, message);
  }
  Case c = right();
  c.options.index_base = 1;
  EXPECT_TRUE(judge_foreign(c.a, c.given, c.options).ok());
}

TEST(Judgements, AreWordForWordThoseOfTheFile) {
  std::string text;
  for (const auto& [name, spoil] : cases()) {
    Case c = right();
    spoil(c);
    const auto judged = judge_foreign(c.a, c.given, c.options);
    text +=
        judged.ok() ? told(name, *judged, text.empty()) : fmt::format("=== {}: {}\n", name, judged.status().message);
  }
  const std::string path = std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/')) + "/judgements.expected";
  if (std::getenv("LULAB_WRITE_JUDGEMENTS") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::ostringstream wanted;
  wanted << file.rdbuf();
  std::istringstream lines(text), wanted_lines(wanted.str());
  std::string line, wanted_line, heading;
  const auto next = [](std::istringstream& from, std::string& to) {
    to.clear();
    return static_cast<bool>(std::getline(from, to));
  };
  for (bool more = true; more;) {
    more = next(lines, line);
    more = next(wanted_lines, wanted_line) || more;
    if (line.starts_with("===")) heading = line;
    ASSERT_EQ(line, wanted_line) << "of " << heading;
  }
}

}  // namespace
}  // namespace lulab::judgements
