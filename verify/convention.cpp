#include "verify/convention.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/matrix/number_text.h"
#include "verify/rebuild.h"

namespace lulab {

namespace {

using Numbers = std::vector<std::int64_t>;

struct ConventionName {
  Convention convention;
  std::string_view name;
};
constexpr ConventionName convention_names[] = {
    {Convention::automatic, "auto"},  {Convention::lulab, "lulab"},   {Convention::klu, "klu"},
    {Convention::superlu, "superlu"}, {Convention::scipy, "scipy"},   {Convention::eigen, "eigen"},
    {Convention::umfpack, "umfpack"}, {Convention::matlab, "matlab"}, {Convention::lapack_ipiv, "lapack-ipiv"},
};

bool maps_forward(Convention convention) {
  return convention == Convention::superlu || convention == Convention::scipy || convention == Convention::eigen;
}

Finding finding(Fault fault, std::string what, std::string advice, std::int32_t row = -1, std::int32_t column = -1) {
  Finding f;
  f.fault = fault;
  f.what = std::move(what);
  f.advice = std::move(advice);
  f.row = row;
  f.column = column;
  return f;
}

// v - base where that is in 0..size-1, else -1.
std::int64_t index_of(std::int64_t v, std::int64_t base, std::size_t size) {
  if (v < base) return -1;
  const std::uint64_t at = static_cast<std::uint64_t>(v) - static_cast<std::uint64_t>(base);
  return at < size ? static_cast<std::int64_t>(at) : -1;
}

// The first index at which v - base is not a permutation; -1: it is one.
std::int64_t first_not_permuted(const Numbers& v, std::int64_t base) {
  std::vector<char> seen(v.size(), 0);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::int64_t at = index_of(v[i], base, v.size());
    if (at < 0 || seen[at]) return static_cast<std::int64_t>(i);
    seen[at] = 1;
  }
  return -1;
}

// The first k at which no row k.. is exchanged; -1: these are swaps as getrf returns them.
std::int64_t first_no_swap(const Numbers& v, std::int64_t base) {
  for (std::size_t k = 0; k < v.size(); ++k)
    if (index_of(v[k], base, v.size()) < static_cast<std::int64_t>(k)) return static_cast<std::int64_t>(k);
  return -1;
}

// Numbers counted from 0, from numbers counted from `base` (either_base: whichever fits). Sets `wrong` where none can
// be.
std::vector<std::int32_t> from_zero(const char* name, const Numbers& v, int base, bool swaps, Finding& wrong) {
  const auto first_bad = swaps ? first_no_swap : first_not_permuted;
  const auto good = [&](std::int64_t from) { return first_bad(v, from) < 0; };
  if (base == either_base) base = good(1) || (!v.empty() && *std::ranges::min_element(v) > 0) ? 1 : 0;
  if (!good(base)) {
    constexpr std::int64_t farthest = std::int64_t(1) << 53;  // no program counts from beyond
    const std::int64_t first = std::clamp(swaps ? v.back() : *std::ranges::min_element(v), -farthest, farthest);
    const std::int64_t least = swaps ? first - static_cast<std::int64_t>(v.size()) + 1 : first;
    const std::int64_t at = first_bad(v, base);
    if (least != base && good(least)) {
      wrong = finding(Fault::index_base, fmt::format("{} counts from {}, expected from {}", name, least, base),
                      least == 0 || least == 1 ? fmt::format("pass --index-base {}", least)
                                               : fmt::format("subtract {} from {}", least - base, name));
    } else if (swaps) {
      wrong =
          finding(Fault::not_a_permutation,
                  fmt::format("{0}({1}) = {2}, but step {1} of getrf exchanges row {1} with one from {1} to {3}", name,
                              at + 1, v[at], v.size()),
                  "is it a permutation and not the swaps of getrf? Then its convention is lulab (--convention lulab)");
    } else {
      wrong = finding(Fault::not_a_permutation,
                      fmt::format("{}({}) = {} is out of {}..{} or comes twice: not a permutation", name, at + 1, v[at],
                                  base, base + static_cast<std::int64_t>(v.size()) - 1),
                      "is it what getrf calls ipiv? Then its convention is lapack-ipiv (--convention lapack-ipiv)");
    }
    return {};
  }
  std::vector<std::int32_t> p(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) p[i] = static_cast<std::int32_t>(v[i] - base);
  return p;
}

std::vector<std::int32_t> in_order(std::int32_t n) {
  std::vector<std::int32_t> p(n);
  for (std::int32_t i = 0; i < n; ++i) p[i] = i;
  return p;
}

std::vector<std::int32_t> after_swaps(const std::vector<std::int32_t>& ipiv) {
  std::vector<std::int32_t> p = in_order(static_cast<std::int32_t>(ipiv.size()));
  for (std::size_t k = 0; k < p.size(); ++k) std::swap(p[k], p[ipiv[k]]);
  return p;
}

// Which parts of a matrix hold nonzero values (or NaN).
struct Shape {
  bool lower = false, upper = false;  // strictly
  bool unit = true;                   // every stored diagonal entry is 1
  std::int32_t diagonals = 0;
};

Shape shape_of(const CscMatrix<double>& m) {
  Shape s;
  for (std::int32_t j = 0; j < m.n_cols; ++j)
    for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k) {
      const std::int32_t i = m.row_idx[k];
      if (i == j) {
        ++s.diagonals;
        s.unit = s.unit && m.values[k] == 1;
      } else if (m.values[k] != 0) {
        (i > j ? s.lower : s.upper) = true;
      }
    }
  return s;
}

bool ones_on_diagonal(const Shape& s, std::int32_t n) { return s.unit && s.diagonals == n; }

// The first nonzero value on the wrong side of a triangle.
std::pair<std::int32_t, std::int32_t> first_outside(const CscMatrix<double>& m, bool lower) {
  for (std::int32_t j = 0; j < m.n_cols; ++j)
    for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k)
      if (m.row_idx[k] != j && (m.row_idx[k] < j) == lower && m.values[k] != 0) return {m.row_idx[k], j};
  return {-1, -1};
}

Finding why_not_triangular(const CscMatrix<double>& l, const CscMatrix<double>& u, const Shape& of_l,
                           const Shape& of_u) {
  const std::int32_t n = l.n_cols;
  const bool in_l = of_l.upper;
  const auto [i, j] = first_outside(in_l ? l : u, in_l);
  const std::string place = fmt::format("{} has an entry {} its diagonal: row {}, column {}", in_l ? 'L' : 'U',
                                        in_l ? "above" : "below", i + 1, j + 1);
  if (of_l.upper && of_u.lower && !of_l.lower && !of_u.upper) {
    if (of_u.unit && !ones_on_diagonal(of_l, n))
      return finding(Fault::swapped_factors, place + "; L is upper and U unit lower triangular: they are exchanged",
                     "exchange L and U", i, j);
    return finding(Fault::transposed_factors, place + "; L is upper and U lower triangular: both are transposed",
                   "their rows were read as columns: transpose both", i, j);
  }
  if (in_l && !of_l.lower)
    return finding(Fault::transposed_factors, place + "; L is upper triangular", "transpose L: it is given by rows", i,
                   j);
  if (of_u.lower && !of_u.upper && !of_l.upper)
    return finding(Fault::transposed_factors, place + "; U is lower triangular", "transpose U: it is given by rows", i,
                   j);
  return finding(Fault::not_triangular, place,
                 "are these the factors themselves, or rows of a permuted L (as MATLAB's two-output lu returns)?", i,
                 j);
}

// Are the pivots where they belong?
Finding wrong_diagonal(const CscMatrix<double>& l, const CscMatrix<double>& u, const Shape& of_l, const Shape& of_u) {
  const std::int32_t n = l.n_cols;
  if (!of_l.unit)
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = l.col_ptr[j]; k < l.col_ptr[j + 1]; ++k)
        if (l.row_idx[k] == j && !(l.values[k] == 1)) {
          Finding f =
              finding(Fault::unit_diagonal,
                      fmt::format("the diagonal of L is {} in column {}, not 1{}", spelled(l.values[k]), j + 1,
                                  ones_on_diagonal(of_u, n) ? "; the ones are on the diagonal of U" : ""),
                      "divide the columns of L by its diagonal D, multiply the rows of U by it: (L D^-1)(D U)", j, j);
          f.found = l.values[k];
          f.wanted = 1;
          return f;
        }
  for (std::int32_t j = 0; j < n; ++j) {
    const auto first = u.row_idx.begin() + u.col_ptr[j], last = u.row_idx.begin() + u.col_ptr[j + 1];
    const auto at = std::lower_bound(first, last, j);
    if (at == last || *at != j)
      return finding(Fault::zero_pivot, fmt::format("U has no diagonal entry in column {}", j + 1),
                     "a program that stores no zeros found a zero pivot: A is singular, or a pivot was left out", j, j);
  }
  return {};
}

void keep_triangle(CscMatrix<double>& m, bool lower) {
  CscMatrix<double> kept;
  kept.n_rows = m.n_rows;
  kept.n_cols = m.n_cols;
  for (std::int32_t j = 0; j < m.n_cols; ++j) {
    for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k) {
      const std::int32_t i = m.row_idx[k];
      if (lower ? i <= j : i > j) continue;
      kept.row_idx.push_back(i);
      kept.values.push_back(m.values[k]);
    }
    kept.col_ptr.push_back(kept.nnz());
  }
  m = std::move(kept);
}

// L U + F = L (U + L⁻¹F): KLU's L and U are the diagonal blocks, F what stands above them.
CscMatrix<double> with_blocks_above(const CscMatrix<double>& l, const CscMatrix<double>& u,
                                    const CscMatrix<double>& f) {
  const std::int32_t n = u.n_cols;
  std::vector<long double> x(n, 0);
  std::set<std::int32_t> rows;  // of this column; L adds rows below the one that is visited
  CscMatrix<double> sum;
  sum.n_rows = sum.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    rows.clear();
    const auto add = [&](std::int32_t i, long double v) {
      if (rows.insert(i).second) x[i] = 0;
      x[i] += v;
    };
    for (std::int64_t k = f.col_ptr[j]; k < f.col_ptr[j + 1]; ++k) add(f.row_idx[k], f.values[k]);
    for (auto at = rows.begin(); at != rows.end(); ++at)
      for (std::int64_t k = l.col_ptr[*at]; k < l.col_ptr[*at + 1]; ++k)
        if (l.row_idx[k] > *at) add(l.row_idx[k], -l.values[k] * x[*at]);
    for (std::int64_t k = u.col_ptr[j]; k < u.col_ptr[j + 1]; ++k) add(u.row_idx[k], u.values[k]);
    for (const std::int32_t i : rows) {
      if (i > j) continue;  // only where F is none of KLU's
      sum.row_idx.push_back(i);
      sum.values.push_back(static_cast<double>(x[i]));
    }
    sum.col_ptr.push_back(sum.nnz());
  }
  return sum;
}

// Both on one pattern.   Requires triangles with every pivot stored.
void join_triangles(const CscMatrix<double>& l, const CscMatrix<double>& u, Factors<double>& f) {
  const std::int32_t n = l.n_cols;
  f.filled = {};
  f.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    const auto keep = [&](const CscMatrix<double>& m, bool below) {
      for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k) {
        if ((m.row_idx[k] > j) != below) continue;
        f.filled.row_idx.push_back(m.row_idx[k]);
        f.values.push_back(m.values[k]);
      }
    };
    keep(u, false);
    f.filled.diag.push_back(f.filled.nnz() - 1);
    keep(l, true);
    f.filled.col_ptr.push_back(f.filled.nnz());
  }
}

Finding first_not_finite(const ForeignFactors& given) {
  const auto in_matrix = [](char name, const CscMatrix<double>& m) -> Finding {
    for (std::int32_t j = 0; j < m.n_cols; ++j)
      for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k)
        if (!std::isfinite(m.values[k])) {
          Finding f = finding(
              Fault::not_finite, fmt::format("{}({},{}) is {}", name, m.row_idx[k] + 1, j + 1, spelled(m.values[k])),
              "look at the pivot of that column, and at what was read before it was written", m.row_idx[k], j);
          f.found = m.values[k];
          return f;
        }
    return {};
  };
  Finding l = in_matrix('L', given.l), u = in_matrix('U', given.u);
  const bool u_first = l.fault == Fault::none || (u.fault != Fault::none && u.column <= l.column);
  if (Finding& first = u_first ? u : l; first.fault != Fault::none) return first;
  if (Finding f = in_matrix('F', given.f); f.fault != Fault::none) return f;
  for (const auto& [name, s] : {std::pair{'r', &given.r}, std::pair{'c', &given.c}})
    for (std::size_t i = 0; i < s->size(); ++i)
      if (!std::isfinite((*s)[i]))
        return finding(Fault::not_finite, fmt::format("{}({}) is {}", name, i + 1, spelled((*s)[i])),
                       "scale factors must be finite and not zero");
  return {};
}

}  // namespace

std::string_view to_string(Convention convention) {
  for (const auto& [value, name] : convention_names)
    if (value == convention) return name;
  return "unknown";
}

std::optional<Convention> convention_named(std::string_view given) {
  for (const auto& [value, name] : convention_names)
    if (name == given) return value;
  return std::nullopt;
}

int index_base_of(Convention convention) {
  return convention == Convention::lulab || convention == Convention::matlab || convention == Convention::lapack_ipiv;
}

ConvertedFactors convert(const ForeignFactors& given, Convention convention, int index_base) {
  const std::int32_t n = given.l.n_cols;
  ConvertedFactors out;
  out.wrong = first_not_finite(given);
  if (out.wrong.fault != Fault::none) return out;

  CscMatrix<double> l = given.l, u = given.u;
  Shape of_l = shape_of(l), of_u = shape_of(u);
  const bool packed = of_l.lower && of_l.upper && l == u;
  if (packed) {
    out.notes.push_back("L and U are packed in one matrix: below and above its diagonal");
    keep_triangle(l, true);
    keep_triangle(u, false);
    of_l = shape_of(l);
    of_u = shape_of(u);
  } else if (convention == Convention::umfpack && of_l.upper && !of_l.lower && !of_u.lower) {
    out.notes.push_back("L is given by rows, as UMFPACK returns it");
    l = rebuild::transpose(l);
    of_l = shape_of(l);
  }
  if (of_l.upper || of_u.lower) {
    out.wrong = why_not_triangular(l, u, of_l, of_u);
    return out;
  }
  out.wrong = wrong_diagonal(l, u, of_l, of_u);
  if (out.wrong.fault != Fault::none) return out;

  Plan& plan = out.factors.plan;
  plan.order = "given";
  plan.p = plan.q = in_order(n);
  const bool swaps = convention == Convention::lapack_ipiv;
  if (!given.p.empty()) {
    plan.p = from_zero(swaps ? "ipiv" : "p", given.p, index_base, swaps, out.wrong);
    if (out.wrong.fault != Fault::none) return out;
    if (swaps) plan.p = after_swaps(plan.p);
    if (maps_forward(convention)) plan.p = rebuild::inverse(plan.p);
  }
  if (!given.q.empty()) {
    plan.q = from_zero("q", given.q, index_base, false, out.wrong);
    if (out.wrong.fault != Fault::none) return out;
    if (maps_forward(convention)) plan.q = rebuild::inverse(plan.q);
  }
  plan.r.assign(n, 1);
  plan.c.assign(n, 1);
  const bool divides = convention == Convention::klu || convention == Convention::matlab;
  for (std::size_t i = 0; i < given.r.size(); ++i)
    plan.r[convention == Convention::klu ? plan.p[i] : static_cast<std::int32_t>(i)] =
        divides ? 1 / given.r[i] : given.r[i];
  if (!given.c.empty()) plan.c = given.c;
  if (given.f.nnz() > 0) u = with_blocks_above(l, u, given.f);
  join_triangles(l, u, out.factors);
  return out;
}

}  // namespace lulab
