#include "verify/find_fault.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <random>

#include <fmt/format.h>

#include "core/matrix/number_text.h"
#include "verify/checks.h"
#include "verify/extended.h"

namespace lulab {

namespace {

constexpr double half_ulp = 0x1p-53;
constexpr double roughly = 1e-6;
constexpr std::int32_t several = 3;  // bad rows and columns that no single entry explains

using rebuild::Deviation;

// What so many products and one subtraction may lose in one entry.
double entry_bound(const Deviation& d, double tolerance) { return tolerance * (d.products + 1) * half_ulp * d.size; }

std::vector<double> random_vector(std::int32_t n, std::mt19937_64& random) {
  std::uniform_real_distribution<double> size(0.5, 1);
  std::vector<double> v(n);
  for (double& x : v) x = size(random) * (random() % 2 ? 1 : -1);
  return v;
}

double relative(double error, double size) { return error == 0 ? 0 : error / size; }

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::ranges::nth_element(v, v.begin() + v.size() / 2);
  return v[v.size() / 2];
}

ColumnErrors every_column(const CscMatrix<double>& b, const Factors<double>& f, double tolerance) {
  const std::int32_t n = b.n_cols;
  rebuild::Product<double> product(b, f);
  ColumnErrors out;
  std::int32_t bad = 0, bad_rows = 0;
  std::vector<char> row_is_bad(n, 0);
  std::vector<double> relatives;  // of the bad columns
  for (std::int32_t j = 0; j < n; ++j) {
    double error = 0, size = 0, largest = 0;
    for (const Deviation& d : product.column(j)) {
      error += std::abs(d.error);
      size += d.size;
      largest = std::max(largest, relative(std::abs(d.error), d.size));
      if (!(std::abs(d.error) <= entry_bound(d, tolerance)) && !row_is_bad[d.row]) ++bad_rows, row_is_bad[d.row] = 1;
    }
    const double measured = relative(error, size) / (n * half_ulp);
    if (std::isnan(measured) || measured > out.worst) out.worst = measured;
    if (measured <= tolerance) continue;
    ++bad;
    if (out.first_bad < 0) out.first_bad = j;
    relatives.push_back(largest);
  }
  out.typical_relative = median(std::move(relatives));
  out.bad_share = n > 0 ? static_cast<double>(bad) / n : 0;
  out.spread = bad >= several && bad_rows >= several;
  return out;
}

// The rows of (B - L U) v above what rounding explains.
struct ProbedRows {
  double worst = 0;  // max |.|_i / (n eps size_i)
  double typical_relative = 0;
  std::int32_t bad = 0;
};
ProbedRows probe_rows(const CscMatrix<double>& b, const Factors<double>& f, const std::vector<double>& v,
                      double tolerance) {
  std::vector<double> size;
  const std::vector<double> e = rebuild::probe(b, f, v, size);
  ProbedRows out;
  std::vector<double> relatives;  // of the bad rows
  for (std::size_t i = 0; i < e.size(); ++i) {
    const double share = relative(std::abs(e[i]), size[i]), measured = share / (b.n_cols * half_ulp);
    if (std::isnan(measured) || measured > out.worst) out.worst = measured;
    if (!(measured <= tolerance)) relatives.push_back(share);
  }
  out.bad = static_cast<std::int32_t>(relatives.size());
  out.typical_relative = median(std::move(relatives));
  return out;
}

// All columns by random signs; then the first bad one by halving the leading columns that take part.
ColumnErrors probed_columns(const CscMatrix<double>& b, const Factors<double>& f, const JudgeOptions& options) {
  const std::int32_t n = b.n_cols;
  std::mt19937_64 random(options.seed);
  ColumnErrors out;
  out.probed = true;
  std::vector<double> v(n), found;
  for (int probe = 0; probe < rebuild::probes; ++probe) {
    for (double& x : v) x = random() % 2 ? 1 : -1;
    const ProbedRows rows = probe_rows(b, f, v, options.tolerance);
    if (std::isnan(rows.worst) || rows.worst > out.worst) out.worst = rows.worst;
    if (rows.bad == 0) continue;
    out.typical_relative = std::max(out.typical_relative, rows.typical_relative);
    if (const double share = static_cast<double>(rows.bad) / n; share > out.bad_share) out.bad_share = share, found = v;
  }
  if (found.empty()) return out;
  std::int32_t good = 0, bad = n;  // the first `good` columns show nothing, the first `bad` do
  while (bad - good > 1) {
    const std::int32_t middle = good + (bad - good) / 2;
    std::vector<double> leading = found;
    std::fill(leading.begin() + middle, leading.end(), 0.0);
    (probe_rows(b, f, leading, options.tolerance).bad > 0 ? bad : good) = middle;
  }
  out.first_bad = bad - 1;
  found[out.first_bad] = 0;  // is that column alone?
  const std::int32_t others = probe_rows(b, f, found, options.tolerance).bad;
  out.bad_share = static_cast<double>(others) / n;
  out.spread = others >= several;
  return out;
}

CscMatrix<double> under(const Plan& plan, const CscView<double>& a) { return rebuild::pracq(plan, a); }

std::string at_pairs(const char* name, const Permutation& given, const Permutation& right) {
  std::vector<std::size_t> differ;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] != right[i]) differ.push_back(i);
  if (right == rebuild::inverse(given)) return fmt::format("{} is inverted", name);
  if (differ.size() == 2)
    return fmt::format("{0}({1}) = {2} and {0}({3}) = {4} are exchanged", name, differ[0] + 1, given[differ[0]] + 1,
                       differ[1] + 1, given[differ[1]] + 1);
  return fmt::format("{} is wrong in {} places, first {}({}) = {} instead of {}", name, differ.size(), name,
                     differ[0] + 1, given[differ[0]] + 1, right[differ[0]] + 1);
}

// right[i] = given[i] where theirs[given[i]] is mine[i] up to `size`, else the nearest one not taken. Empty: some i has
// none near enough.
Permutation match(const std::vector<double>& mine, const std::vector<double>& size, const std::vector<double>& theirs,
                  const Permutation& given) {
  const auto n = static_cast<std::int32_t>(mine.size());
  std::vector<std::pair<double, std::int32_t>> order(n);
  for (std::int32_t k = 0; k < n; ++k) order[k] = {theirs[k], k};
  std::ranges::sort(order);
  std::vector<char> taken(n, 0);
  Permutation right(n, -1);
  const auto distance = [&](std::int32_t i, std::int32_t k) { return std::abs(mine[i] - theirs[k]); };
  for (std::int32_t i = 0; i < n; ++i)
    if (distance(i, given[i]) <= 1e-9 * size[i]) right[i] = given[i], taken[given[i]] = 1;
  for (std::int32_t i = 0; i < n; ++i) {
    if (right[i] >= 0) continue;
    const auto middle = std::ranges::lower_bound(order, std::pair(mine[i], -1));
    const auto above = std::find_if(middle, order.end(), [&](const auto& o) { return !taken[o.second]; });
    const auto below =
        std::find_if(std::make_reverse_iterator(middle), order.rend(), [&](const auto& o) { return !taken[o.second]; });
    std::int32_t nearest = above == order.end() ? -1 : above->second;
    if (below != order.rend() && (nearest < 0 || distance(i, below->second) < distance(i, nearest)))
      nearest = below->second;
    if (nearest < 0 || !(distance(i, nearest) <= roughly * size[i])) return {};
    right[i] = nearest;
    taken[nearest] = 1;
  }
  return right;
}

class FaultFinder {
 public:
  FaultFinder(const CscView<double>& a, const ForeignFactors& given, const Factors<double>& f, Convention convention,
              const JudgeOptions& options)
      : a_(a), given_(given), f_(f), plan_(f.plan), convention_(convention), options_(options), b_(under(plan_, a)) {}

  Finding find(const ColumnErrors& errors) {
    if (errors.first_bad < 0) return weak_pivots();
    if (!roughly_equal(b_, f_, options_.seed)) {
      for (const auto hypothesis : {&FaultFinder::swapped_p_q, &FaultFinder::transposed, &FaultFinder::scaled_otherwise,
                                    &FaultFinder::permuted_rows, &FaultFinder::permuted_columns,
                                    &FaultFinder::both_inverted, &FaultFinder::scaling_left_out})
        if (Finding found = (this->*hypothesis)(); found.fault != Fault::none) return found;
    }
    return first_column(errors);
  }

 private:
  bool reproduces(const Plan& plan, const CscView<double>& a) const {
    return roughly_equal(under(plan, a), f_, options_.seed);
  }

  Finding say(Fault fault, std::string what, std::string advice) const {
    Finding f;
    f.fault = fault;
    f.what = std::move(what);
    f.advice = std::move(advice);
    return f;
  }

  // The conventions in which L·U would be right; empty where there is none.
  std::string other_convention() const {
    for (const Convention other :
         {Convention::lulab, Convention::klu, Convention::superlu, Convention::matlab, Convention::lapack_ipiv}) {
      if (other == convention_) continue;
      const ConvertedFactors read = convert(given_, other, either_base);
      if (read.wrong.fault != Fault::none || !check_scalings(read.factors.plan).ok()) continue;
      if (roughly_equal(under(read.factors.plan, a_), read.factors, options_.seed))
        return std::string(to_string(other));
    }
    return {};
  }
  std::string or_other_convention(std::string advice) const {
    const std::string other = other_convention();
    return other.empty() ? advice
                         : fmt::format("read them in the convention {0} (--convention {0}), or {1}", other, advice);
  }

  // KLU's r counts as the rows of L, so it moves with p.
  Plan with_rows(Permutation p) const {
    Plan plan = plan_;
    if (convention_ == Convention::klu)
      for (std::size_t i = 0; i < p.size(); ++i) plan.r[p[i]] = plan_.r[plan_.p[i]];
    plan.p = std::move(p);
    return plan;
  }

  Finding swapped_p_q() {
    if (plan_.p == plan_.q) return {};
    for (const bool inverted : {false, true}) {
      Plan tried = with_rows(inverted ? rebuild::inverse(plan_.q) : plan_.q);
      tried.q = inverted ? rebuild::inverse(plan_.p) : plan_.p;
      if (reproduces(tried, a_))
        return say(Fault::swapped_p_q, "p orders the columns and q the rows: they are exchanged", "exchange p and q");
    }
    return {};
  }

  Finding transposed() {
    const CscMatrix<double> at = rebuild::transpose(a_);
    Plan crossed = plan_;
    std::swap(crossed.r, crossed.c);
    for (const Plan& tried : {plan_, crossed})
      if (reproduces(tried, at))
        return say(Fault::transposed_input, "L·U = P·R·Aᵀ·C·Q: these are factors of A transposed",
                   "the program read rows as columns: give it A by columns, or solve with the transposed factors");
    return {};
  }

  Finding scaled_otherwise() {
    const std::int32_t n = a_.n_cols;
    const std::vector<double> ones(n, 1.0);
    if (plan_.r == ones && plan_.c == ones) return {};
    struct Variant {
      std::vector<double> values;
      const char* what;
    };
    const auto variants = [&](const std::vector<double>& s, const Permutation& order) {
      std::vector<Variant> all = {{s, ""},
                                  {ones, "is not in L·U"},
                                  {s, "divides"},
                                  {s, "is in the order of L·U"},
                                  {s, "is in the order of L·U and divides"}};
      for (std::int32_t i = 0; i < n; ++i) {
        all[2].values[i] = 1 / s[i];
        all[3].values[order[i]] = s[i];
        all[4].values[order[i]] = 1 / s[i];
      }
      return all;
    };
    const std::vector<Variant> rs = variants(plan_.r, plan_.p), cs = variants(plan_.c, plan_.q);
    for (const Variant& r : rs)
      for (const Variant& c : cs) {
        if (r.values == plan_.r && c.values == plan_.c) continue;
        Plan tried = plan_;
        tried.r = r.values;
        tried.c = c.values;
        if (!reproduces(tried, a_)) continue;
        std::string what;
        if (r.values != plan_.r) what = fmt::format("r {}", r.what);
        if (c.values != plan_.c) what += fmt::format("{}c {}", what.empty() ? "" : ", ", c.what);
        return say(Fault::scaling, "the scale factors are not those of L·U: " + what,
                   or_other_convention("correct r and c"));
      }
    Plan crossed = plan_;
    std::swap(crossed.r, crossed.c);
    if (reproduces(crossed, a_)) return say(Fault::scaling, "r scales the columns and c the rows", "exchange r and c");
    return {};
  }

  // Each row of L·U times a random vector is such a number of some row of A.
  Finding permuted_rows() {
    std::mt19937_64 random(options_.seed);
    const std::vector<double> v = random_vector(a_.n_cols, random);
    std::vector<double> in_a(a_.n_cols);
    for (std::int32_t j = 0; j < a_.n_cols; ++j) in_a[plan_.q[j]] = v[j];
    std::vector<double> size, mine = rebuild::lu_times(f_, v, size);
    std::vector<double> r = plan_.r;
    if (convention_ == Convention::klu)
      for (std::size_t i = 0; i < mine.size(); ++i) {
        mine[i] /= plan_.r[plan_.p[i]];
        size[i] /= plan_.r[plan_.p[i]];
        r[i] = 1;
      }
    const Permutation p = match(mine, size, rebuild::times(rebuild::scaled(a_, r, plan_.c), in_a), plan_.p);
    if (p.empty() || p == plan_.p || !reproduces(with_rows(p), a_)) return {};
    return say(Fault::row_permutation, at_pairs("p", plan_.p, p), or_other_convention("correct p"));
  }

  Finding permuted_columns() {
    std::mt19937_64 random(options_.seed);
    const std::vector<double> v = random_vector(a_.n_cols, random);
    std::vector<double> in_a(a_.n_cols);
    for (std::int32_t i = 0; i < a_.n_cols; ++i) in_a[plan_.p[i]] = v[i];
    const CscMatrix<double> transposed = rebuild::transpose(rebuild::scaled(a_, plan_.r, plan_.c));
    std::vector<double> size;
    const std::vector<double> mine = rebuild::lu_transposed_times(f_, v, size);
    const Permutation q = match(mine, size, rebuild::times(transposed, in_a), plan_.q);
    if (q.empty() || q == plan_.q) return {};
    Plan right = plan_;
    right.q = q;
    if (!reproduces(right, a_)) return {};
    return say(Fault::column_permutation, at_pairs("q", plan_.q, q), or_other_convention("correct q"));
  }

  Finding both_inverted() {
    Plan inverted = with_rows(rebuild::inverse(plan_.p));
    inverted.q = rebuild::inverse(plan_.q);
    if (reproduces(inverted, a_))
      return say(Fault::row_permutation, "p and q are inverted", or_other_convention("invert both"));
    if (const std::string other = other_convention(); !other.empty())
      return say(Fault::row_permutation, fmt::format("p and q follow the convention {}", other),
                 fmt::format("read them in the convention {0} (--convention {0})", other));
    return {};
  }

  // Are there factors s_i, t_j with (L U)(i,j) = s_i B(i,j) t_j? Followed along the entries of B, tried on the others.
  Finding scaling_left_out() {
    rebuild::Product<double> product(b_, f_);
    if (product.cost() > options_.max_products) return {};
    const std::int32_t n = b_.n_cols;
    struct Edge {
      std::int32_t row, column;
      double factor;  // (L U) / B
    };
    std::vector<Edge> edges;
    std::int64_t differ = 0;
    for (std::int32_t j = 0; j < n; ++j)
      for (const Deviation& d : product.column(j)) {
        const double b = d.found + d.error;
        if (!d.in_b || b == 0) {
          if (std::abs(d.found) > roughly * d.size) return {};
          continue;
        }
        if (d.found == 0 || !std::isfinite(d.found / b)) return {};
        edges.push_back({d.row, j, d.found / b});
        differ += std::abs(d.error) > roughly * d.size;
      }
    if (static_cast<std::size_t>(differ) * 10 < 3 * edges.size()) return {};
    std::vector<std::vector<std::size_t>> at(2 * static_cast<std::size_t>(n));  // rows, then columns
    for (std::size_t e = 0; e < edges.size(); ++e) {
      at[edges[e].row].push_back(e);
      at[n + edges[e].column].push_back(e);
    }
    std::vector<double> factor_of(at.size(), 0);  // 0: not visited
    std::int64_t followed = 0;
    for (std::size_t start = 0; start < at.size(); ++start) {
      if (factor_of[start] != 0) continue;
      factor_of[start] = 1;
      std::queue<std::size_t> next({start});
      for (; !next.empty(); next.pop())
        for (const std::size_t e : at[next.front()]) {
          const std::size_t row = edges[e].row, column = n + static_cast<std::size_t>(edges[e].column);
          const std::size_t to = next.front() == row ? column : row;
          if (factor_of[to] != 0) continue;
          factor_of[to] = edges[e].factor / factor_of[next.front()];
          ++followed;
          next.push(to);
        }
    }
    const std::int64_t tried = static_cast<std::int64_t>(edges.size()) - followed;
    if (tried < std::max<std::int64_t>(3, n / 10)) return {};  // a tree has such factors whatever its values
    for (const Edge& e : edges)
      if (const double product_of = factor_of[e.row] * factor_of[n + static_cast<std::size_t>(e.column)];
          !(std::abs(product_of - e.factor) <= 1e-5 * std::abs(e.factor)))
        return {};
    // The first row, else the first column, that is scaled otherwise than those before it.
    const auto first_unlike = [&](const char* line, std::size_t first, std::size_t end) -> std::string {
      for (std::size_t i = first + 1; i < end; ++i)
        if (const double relative = factor_of[i] / factor_of[first]; !(std::abs(relative - 1) <= 1e-5))
          return fmt::format("; {0} {1} by {2:.6g} relative to {0} 1", line, i - first + 1, relative);
      return {};
    };
    std::string which = first_unlike("row", 0, n);
    if (which.empty()) which = first_unlike("column", n, factor_of.size());
    return say(Fault::scaling, "L·U is P·A·Q with its rows and columns scaled" + which,
               or_other_convention("pass the factors by which the program scaled A: r and c"));
  }

  Finding weak_pivots() const {
    std::int32_t column = -1;
    double largest = 0;
    for (std::int32_t j = 0; j < a_.n_cols; ++j)
      for (std::int64_t k = f_.filled.diag[j] + 1; k < f_.filled.col_ptr[j + 1]; ++k)
        if (std::abs(f_.values[k]) > largest) largest = std::abs(f_.values[k]), column = j;
    const auto growth = static_cast<double>(factor_norm(f_) / extended::norm1(b_.view()));
    Finding found = say(
        Fault::pivot_choice,
        fmt::format("L·U deviates by no more than rounding in |L||U|, which is {:.1e} times as large as A; {}", growth,
                    column >= 0 ? fmt::format("the pivot of column {} is {:.1e} times smaller than an entry below it",
                                              column + 1, largest)
                                : "the pivots are small"),
        "choose pivots by size (a larger pivot tolerance), match the diagonal first, or scale A");
    found.row = found.column = column;
    if (column >= 0) found.window = window_at(b_, f_, column, column);
    return found;
  }

  Finding first_column(const ColumnErrors& errors) {
    const std::int32_t j = errors.first_bad;
    rebuild::Product<double> product(b_, f_);
    std::vector<Deviation> column;
    for (const Deviation& d : product.column(j)) column.push_back(d);
    std::ranges::sort(column, {}, &Deviation::row);
    const Deviation* first = nullptr;
    for (const Deviation& d : column)
      if (first == nullptr && !(std::abs(d.error) <= entry_bound(d, options_.tolerance))) first = &d;
    if (first == nullptr)
      first = &*std::ranges::max_element(column, {}, [](const Deviation& d) { return std::abs(d.error); });
    return describe(*first, j, errors);
  }

  Finding describe(const Deviation& d, std::int32_t j, const ColumnErrors& errors) const {
    const bool in_u = d.row <= j;
    const double pivot = f_.values[f_.filled.diag[j]];
    double value = 0;
    for (std::int64_t k = f_.filled.col_ptr[j]; k < f_.filled.col_ptr[j + 1]; ++k)
      if (f_.filled.row_idx[k] == d.row) value = f_.values[k];
    Finding found;
    found.row = d.row;
    found.column = j;
    found.found = value;
    found.wanted = value + (in_u ? d.error : d.error / pivot);
    found.window = window_at(b_, f_, d.row, j);
    const std::string entry = fmt::format("{}({},{})", in_u ? 'U' : 'L', d.row + 1, j + 1);
    const int others = d.products - (d.stored ? 1 : 0);
    if (errors.spread && errors.typical_relative <= 1e-4) {
      found.fault = Fault::rounding;
      found.what = fmt::format(
          "{:.0f} % of the {} deviate, typically by {:.1e} of |L||U|; first {} = {:.17g} instead of {:.17g}",
          100 * errors.bad_share, errors.probed ? "rows" : "columns", errors.typical_relative, entry, found.found,
          found.wanted);
      found.advice = errors.typical_relative >= 1e-8
                         ? "were the factors computed or stored in single precision? Do files hold 17 digits?"
                         : "how many digits do the files hold? 17 keep a double";
    } else if (!d.stored) {
      found.fault = Fault::missing_fill;
      found.what = fmt::format("{} is missing; it should be {:.17g}{}", entry, found.wanted,
                               d.in_b ? ", an entry of A" : ", fill of the columns before");
      found.advice =
          d.in_b ? "was an entry of A dropped?" : "is the symbolic pattern complete? Was a small value dropped?";
    } else if (others == 0 && !d.in_b) {
      found.fault = Fault::extra_entry;
      found.what = fmt::format("{} = {:.17g}, but elimination makes no entry there", entry, found.found);
      found.advice = "was the place written by another column, or left over from an earlier matrix?";
    } else {
      found.fault = Fault::wrong_value;
      found.what = fmt::format("{} = {:.17g} instead of {:.17g}; the columns before are right", entry, found.found,
                               found.wanted);
      found.advice = errors.bad_share >= 0.5
                         ? "most columns deviate: are these factors of other values of A, or of another matrix?"
                         : "an update lost, done twice, or done before its column was finished";
    }
    return found;
  }

  const CscView<double>& a_;
  const ForeignFactors& given_;
  const Factors<double>& f_;
  const Plan& plan_;
  Convention convention_;
  const JudgeOptions& options_;
  CscMatrix<double> b_;
};

}  // namespace

ColumnErrors column_errors(const CscMatrix<double>& b, const Factors<double>& f, const JudgeOptions& options) {
  const bool every = rebuild::Product<double>(b, f).cost() <= options.max_products;
  const auto measure = [&](const CscMatrix<double>& of, const Factors<double>& by) {
    return every ? every_column(of, by, options.tolerance) : probed_columns(of, by, options);
  };
  // Errors are relative to their columns: only large columns are made smaller, so that small entries keep their digits.
  extended::Vector sizes = factor_column_norms(f);
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) sizes[j] += std::abs(b.values[k]);
  if (std::ranges::none_of(sizes, [](long double size) { return size > large_norm; })) return measure(b, f);
  return with_smaller_columns(
      b, f, [&](std::int32_t j) { return sizes[j] > large_norm; }, measure);
}

bool roughly_equal(const CscMatrix<double>& b, const Factors<double>& f, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> size;
  for (int probe = 0; probe < 4; ++probe) {
    const std::vector<double> e = rebuild::probe(b, f, random_vector(b.n_cols, random), size);
    for (std::size_t i = 0; i < e.size(); ++i)
      if (!(std::abs(e[i]) <= roughly * size[i])) return false;
  }
  return true;
}

Window window_at(const CscMatrix<double>& b, const Factors<double>& f, std::int32_t row, std::int32_t column) {
  const std::int32_t n = b.n_cols;
  Window w;
  w.rows = w.columns = std::min(6, n);
  w.row = std::clamp(row - 2, 0, n - w.rows);
  w.column = std::clamp(column - 2, 0, n - w.columns);
  rebuild::Product<double> product(b, f);
  for (std::int32_t j = 0; j < w.columns; ++j)
    for (const Deviation& d : product.column(w.column + j))
      if (d.row >= w.row && d.row < w.row + w.rows) {
        const std::size_t at = static_cast<std::size_t>(d.row - w.row) * 6 + j;
        w.wanted[at] = d.found + d.error;
        w.found[at] = d.found;
      }
  return w;
}

Finding find_fault(const CscView<double>& a, const ForeignFactors& given, const Factors<double>& f,
                   Convention convention, const ColumnErrors& errors, const JudgeOptions& options) {
  return FaultFinder(a, given, f, convention, options).find(errors);
}

}  // namespace lulab
