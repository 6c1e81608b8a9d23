#include "preprocess/matching.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include <btf.h>

#include "preprocess/checks.h"
#include "preprocess/suitesparse.h"

namespace lulab {

namespace {

/// The bits of a positive normal x, with the exponent of the nearest power of two: √2 and more carry into it.
std::uint64_t with_nearest_exponent(double x) {
  constexpr std::uint64_t two = std::bit_cast<std::uint64_t>(2.0);
  return std::bit_cast<std::uint64_t>(x) + (two - std::bit_cast<std::uint64_t>(std::numbers::sqrt2));
}

}  // namespace

double nearest_power_of_two(double x) {
  constexpr std::uint64_t exponent = 0x7ff0000000000000;  // of a double's bits
  return std::bit_cast<double>(with_nearest_exponent(x) & exponent);
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double log2_range = 1000;  // scalings stay within 2^±log2_range
constexpr std::int32_t none = -1;

/// Sizes of entries as log2|A(i,j)|.
struct Logarithms {
  using Cost = double;
  using Dual = double;
  static constexpr Dual infinite = infinity;
  static constexpr Cost no_edge = infinity;
  static Cost size(double x) { return std::log2(std::abs(x)); }
};

/// As log2|A(i,j)| rounded to the nearest integer.
struct Exponents {
  using Cost = std::int16_t;
  using Dual = std::int64_t;
  static constexpr Dual infinite = std::numeric_limits<Dual>::max() / 4;  // sums of two do not overflow
  static constexpr Cost no_edge = std::numeric_limits<Cost>::max();
  static Cost size(double x) {
    const double magnitude = std::abs(x);
    if (magnitude >= std::numeric_limits<double>::min()) return size_of_normal(magnitude);
    return magnitude > 0 ? static_cast<Cost>(size_of_normal(0x1p200 * magnitude) - 200) : 0;
  }
  static Cost size_of_normal(double x) {
    return static_cast<Cost>(static_cast<int>(with_nearest_exponent(x) >> 52) - 1023);
  }
};

double power_of_two(std::int64_t exponent) { return std::bit_cast<double>(std::uint64_t(exponent + 1023) << 52); }

/// The assignment problem min sum_j cost(i_j, j) and its dual: max sum u + sum v under u(i) + v(j) <= cost(i,j).
/// Everything is in powers of two: cost(i,j) = max_i size(i,j) - size(i,j) >= 0; an explicit zero is no edge.
template <class Sizes>
struct Assignment {
  using Cost = typename Sizes::Cost;
  using Dual = typename Sizes::Dual;
  static constexpr Dual infinite = Sizes::infinite;

  explicit Assignment(const CscView<double>& a);

  void start();
  void bid();
  bool augment_from(std::int32_t column);
  std::int64_t find_tight(std::int32_t i, std::int32_t j) const;
  bool take(std::span<const std::int32_t> row_of_column);
  void prefer_diagonal();

  /// cost - u; infinite where there is no edge.
  Dual price(std::int64_t k) const {
    return cost[k] == Sizes::no_edge ? infinite : static_cast<Dual>(cost[k]) - u[row_idx[k]];
  }
  Dual slack(std::int64_t k, std::int32_t j) const { return price(k) - v[j]; }
  void match(std::int64_t k, std::int32_t j) {
    column_of_row[row_idx[k]] = j;
    entry_of_column[j] = k;
  }

  std::int32_t n;
  std::span<const std::int64_t> col_ptr;
  std::span<const std::int32_t> row_idx;
  std::vector<Cost> cost;                     // (nnz)
  std::vector<Cost> largest;                  // (n) the largest size of each column
  std::vector<Dual> u, v;                     // (n) duals of rows and columns
  std::vector<std::int32_t> column_of_row;    // (n) or none
  std::vector<std::int64_t> entry_of_column;  // (n) position of the matched entry, or none

  // The tree of alternating paths that augment_from() grows.
  struct Open {
    Dual distance;
    std::int32_t row;
    bool operator<(const Open& other) const { return distance > other.distance; }  // the heap's front is the nearest
  };
  // Its vectors of length n are empty until then: often no column is left to it.
  std::vector<Dual> distance;             // (n) shortest known path to a row; infinite outside the tree
  std::vector<std::int64_t> path_entry;   // (n) entry through which that path enters the row
  std::vector<std::int32_t> path_column;  // (n) column of that entry
  std::vector<char> closed;               // (n) distance is final
  std::vector<Open> heap;                 // rows farther than the current distance; stale pairs are skipped
  std::vector<std::int32_t> near;         // rows at the current distance
  std::vector<std::int32_t> touched;      // rows with a finite distance
};

template <class Sizes>
Assignment<Sizes>::Assignment(const CscView<double>& a)
    : n(a.n_cols),
      col_ptr(a.col_ptr),
      row_idx(a.row_idx),
      cost(a.nnz()),
      largest(n),
      u(n, infinite),
      v(n, infinite),
      column_of_row(n, none),
      entry_of_column(n, none) {
  for (std::int32_t j = 0; j < n; ++j) {
    Cost most = std::numeric_limits<Cost>::lowest();
    for (std::int64_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) {
      cost[k] = Sizes::size(a.values[k]);
      if (a.values[k] != 0) most = std::max(most, cost[k]);
    }
    for (std::int64_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) {
      cost[k] = a.values[k] == 0 ? Sizes::no_edge : static_cast<Cost>(most - cost[k]);
      if (cost[k] != Sizes::no_edge) u[row_idx[k]] = std::min<Dual>(u[row_idx[k]], cost[k]);
    }
    largest[j] = most;
  }
  for (Dual& row_dual : u)
    if (row_dual == infinite) row_dual = 0;  // an empty row
}

/// Initial feasible duals, and a greedy matching with at most one swap per column.   Duff & Koster 2001, sec. 4
template <class Sizes>
void Assignment<Sizes>::start() {
  for (std::int32_t j = 0; j < n; ++j) {
    v[j] = infinite;
    std::int64_t diagonal = none;  // first choice, which leaves a symmetric pattern symmetric
    for (std::int64_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) {
      v[j] = std::min(v[j], price(k));
      if (row_idx[k] == j) diagonal = k;
    }
    if (v[j] == infinite) v[j] = 0;  // an empty column
    if (diagonal != none && slack(diagonal, j) <= 0) match(diagonal, j);
  }
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t k = col_ptr[j]; k < col_ptr[j + 1] && entry_of_column[j] == none; ++k)
      if (column_of_row[row_idx[k]] == none && slack(k, j) <= 0) match(k, j);
  std::vector<std::int64_t> next(col_ptr.begin(), col_ptr.end() - 1);  // rows before it are matched
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int64_t k = col_ptr[j]; k < col_ptr[j + 1] && entry_of_column[j] == none; ++k) {
      if (slack(k, j) > 0) continue;
      const std::int32_t other = column_of_row[row_idx[k]];  // may it take a free row instead?
      for (std::int64_t& s = next[other]; s < col_ptr[other + 1]; ++s) {
        if (column_of_row[row_idx[s]] == none && slack(s, other) <= 0) {
          match(s, other);
          match(k, j);
          break;
        }
      }
    }
  }
}

/// Free columns outbid others: each takes the row that is cheapest to it and makes that row dearer, up to the point
/// where its second choice is as good; the column that had the row makes the next bid. What is still free after two
/// rounds, or after so many bids that paths are cheaper, is left to augment_from().
/// Source    Jonker & Volgenant 1987 (augmenting row reduction).
template <class Sizes>
void Assignment<Sizes>::bid() {
  std::vector<std::int32_t> free_columns, still_free;
  for (std::int32_t j = 0; j < n; ++j)
    if (entry_of_column[j] == none) free_columns.push_back(j);
  std::int64_t bids = 16 * std::int64_t(n);
  for (int round = 0; round < 2; ++round) {
    still_free.clear();
    for (std::int32_t j : free_columns) {
      while (j != none) {
        Dual first = infinite, second = infinite;
        std::int64_t best = none;
        for (std::int64_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) {
          const Dual offered = price(k);
          if (offered < first) {
            second = std::exchange(first, offered);
            best = k;
          } else {
            second = std::min(second, offered);
          }
        }
        const bool clear = second > first && second < infinite;
        if (best == none || (!clear && column_of_row[row_idx[best]] != none) || bids-- <= 0) {
          still_free.push_back(j);
          break;
        }
        const std::int32_t i = row_idx[best];
        v[j] = clear ? second : first;
        if (clear) u[i] -= second - first;
        const std::int32_t outbid = column_of_row[i];
        if (outbid != none) entry_of_column[outbid] = none;
        match(best, j);
        j = outbid;
      }
    }
    free_columns.swap(still_free);
  }
}

/// Dijkstra from a free column to the nearest free row, over edges of length slack >= 0; then swaps along that path and
/// moves the duals so that slacks stay >= 0 and vanish on the matching. False when no free row can be reached: the rows
/// of the tree stay closed for good, since no later path can lead through them either.
template <class Sizes>
bool Assignment<Sizes>::augment_from(std::int32_t column) {
  Dual reached = 0;          // distance of the column being scanned
  Dual shortest = infinite;  // to a free row
  std::int32_t free_row = none;
  heap.clear();
  near.clear();
  touched.clear();
  if (closed.empty()) {
    distance.assign(n, infinite);
    path_entry.resize(n);
    path_column.resize(n);
    closed.assign(n, false);
  }
  for (std::int32_t j = column;;) {
    for (std::int64_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) {
      const std::int32_t i = row_idx[k];
      if (closed[i] || cost[k] == Sizes::no_edge) continue;
      const Dual length = reached + std::max(Dual(0), slack(k, j));
      if (!(length < shortest && length < distance[i])) continue;
      if (distance[i] == infinite) touched.push_back(i);
      distance[i] = length;
      path_entry[i] = k;
      path_column[i] = j;
      if (column_of_row[i] == none) {
        shortest = length;
        free_row = i;
      } else if (length == reached) {
        near.push_back(i);
      } else {
        heap.push_back({length, i});
        std::push_heap(heap.begin(), heap.end());
      }
    }
    std::int32_t nearest = none;
    while (!near.empty() && nearest == none) {
      if (!closed[near.back()]) nearest = near.back();
      near.pop_back();
    }
    while (!heap.empty() && nearest == none) {
      if (!closed[heap.front().row]) nearest = heap.front().row;
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    if (nearest == none || distance[nearest] >= shortest) break;
    closed[nearest] = true;
    reached = distance[nearest];
    j = column_of_row[nearest];
  }
  if (free_row == none) return false;

  v[column] += shortest;
  for (const std::int32_t i : touched) {
    if (closed[i]) {
      u[i] -= shortest - distance[i];
      v[column_of_row[i]] += shortest - distance[i];
    }
    distance[i] = infinite;
    closed[i] = false;
  }
  for (std::int32_t i = free_row, j = none; j != column;) {
    j = path_column[i];
    const std::int64_t left = entry_of_column[j];
    match(path_entry[i], j);
    if (j != column) i = row_idx[left];
  }
  return true;
}

/// The position of (i,j) where it may be matched, else none.   Requires  rows are sorted.
template <class Sizes>
std::int64_t Assignment<Sizes>::find_tight(std::int32_t i, std::int32_t j) const {
  const auto begin = row_idx.begin() + col_ptr[j], end = row_idx.begin() + col_ptr[j + 1];
  const auto at = std::lower_bound(begin, end, i);
  const std::int64_t k = at - row_idx.begin();
  return at != end && *at == i && slack(k, j) <= 0 ? k : none;
}

/// Takes these rows if they are as good.   Requires  all columns are matched.
template <class Sizes>
bool Assignment<Sizes>::take(std::span<const std::int32_t> row_of_column) {
  for (std::int32_t j = 0; j < n; ++j)
    if (row_idx[entry_of_column[j]] != row_of_column[j] && find_tight(row_of_column[j], j) == none) return false;
  for (std::int32_t j = 0; j < n; ++j)
    if (row_idx[entry_of_column[j]] != row_of_column[j]) match(find_tight(row_of_column[j], j), j);
  return true;
}

/// Two columns that have each other's row take their own, where these are as good.   Requires  all are matched.
template <class Sizes>
void Assignment<Sizes>::prefer_diagonal() {
  for (std::int32_t j = 0; j < n; ++j) {
    const std::int32_t i = column_of_row[j];
    if (i <= j || row_idx[entry_of_column[j]] != i) continue;
    const std::int64_t first = find_tight(j, j), second = find_tight(i, i);
    if (first == none || second == none) continue;
    match(first, j);
    match(second, i);
  }
}

/// The rows of each connected component of the bipartite graph share one representative.   Union by path halving.
std::vector<std::int32_t> components(const CscView<double>& a) {
  std::vector<std::int32_t> parent(a.n_rows);
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](std::int32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    std::int32_t first = none;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      if (a.values[k] == 0) continue;
      if (first == none) first = find(a.row_idx[k]);
      parent[find(a.row_idx[k])] = first;
    }
  }
  for (std::int32_t i = 0; i < a.n_rows; ++i) parent[i] = find(i);
  return parent;
}

/// Duals may move by +t on the rows and -t on the columns of a component. Where log2 r = u or log2 c = w leaves
/// ±log2_range, t centres all of the component's u and -w.
void centre(const CscView<double>& a, std::span<const std::int32_t> row_of_column, std::vector<double>& u,
            const std::vector<double>& w) {
  const auto outside = [](double x) { return std::abs(x) > log2_range; };
  if (std::none_of(u.begin(), u.end(), outside) && std::none_of(w.begin(), w.end(), outside)) return;
  const std::vector<std::int32_t> component = components(a);
  struct Interval {
    double low = infinity, high = -infinity;
    void include(double x) { low = std::min(low, x), high = std::max(high, x); }
  };
  std::vector<Interval> span_of(a.n_rows);
  for (std::int32_t i = 0; i < a.n_rows; ++i) span_of[component[i]].include(u[i]);
  for (std::int32_t j = 0; j < a.n_cols; ++j) span_of[component[row_of_column[j]]].include(-w[j]);
  for (std::int32_t i = 0; i < a.n_rows; ++i) {
    const auto [low, high] = span_of[component[i]];
    if (std::max(-low, high) > log2_range) u[i] -= low / 2 + high / 2;
  }
}

/// No r(i)|A(i,j)| shall exceed 2^log2_range, nor r(i).
void bound_products(const CscView<double>& a, Assignment<Logarithms>& duals) {
  double top = 0;
  for (const double of_column : duals.largest) top = std::max(top, of_column);
  if (std::ranges::all_of(duals.u, [&](double u) { return u <= log2_range - top; })) return;
  std::vector<double> row_max(a.n_rows, 1.0);
  for (std::int64_t k = 0; k < a.nnz(); ++k)
    row_max[a.row_idx[k]] = std::max(row_max[a.row_idx[k]], std::abs(a.values[k]));
  for (std::int32_t i = 0; i < a.n_rows; ++i) duals.u[i] = std::min(duals.u[i], log2_range - std::log2(row_max[i]));
}

/// r from the row duals; c(j) = 1 / max_i r(i)|A(i,j)|, so that no rounding and no cut-off lets an entry exceed 1.
void scalings(const CscView<double>& a, Assignment<Logarithms>& duals, Matching& m) {
  std::vector<double> w(a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    const std::int64_t k = duals.entry_of_column[j];
    w[j] = -(duals.u[a.row_idx[k]] + duals.largest[j] - duals.cost[k]);
  }
  centre(a, m.row_of_column, duals.u, w);
  m.r.resize(a.n_rows);
  m.c.resize(a.n_cols);
  bound_products(a, duals);
  for (std::int32_t i = 0; i < a.n_rows; ++i) m.r[i] = std::exp2(std::max(duals.u[i], -log2_range));
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    double largest = std::exp2(-log2_range);
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      largest = std::max(largest, m.r[a.row_idx[k]] * std::abs(a.values[k]));
    m.c[j] = 1 / largest;
  }
}

/// Where sizes are exponents; false where the scalings do not stay within 2^±log2_range.
bool scalings(const CscView<double>& a, const Assignment<Exponents>& duals, Matching& m) {
  const auto fits = [](std::int64_t exponent) { return std::abs(exponent) <= log2_range; };
  m.r.resize(a.n_rows);
  m.c.resize(a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    const std::int64_t k = duals.entry_of_column[j], u = duals.u[a.row_idx[k]];
    const std::int64_t w = duals.cost[k] - duals.largest[j] - u;
    if (!fits(u) || !fits(w)) return false;
    m.r[a.row_idx[k]] = power_of_two(u);
    m.c[j] = power_of_two(w);
  }
  return true;
}

/// The rows that are matched, `preferred` where they are as good.
/// Errors    structurally_singular.
template <class Sizes>
Result<Permutation> solve(const CscView<double>& a, Assignment<Sizes>& problem,
                          std::span<const std::int32_t> preferred) {
  problem.start();
  problem.bid();
  Where deficient;
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    if (problem.entry_of_column[j] == none && !problem.augment_from(j)) deficient.columns.push_back(j);
  for (std::int32_t i = 0; i < a.n_rows; ++i)
    if (problem.column_of_row[i] == none) deficient.rows.push_back(i);
  if (!deficient.columns.empty()) return checks::structurally_singular(a.n_cols, std::move(deficient));
  if (preferred.empty() || !problem.take(preferred)) problem.prefer_diagonal();
  Permutation row_of_column(a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j) row_of_column[j] = a.row_idx[problem.entry_of_column[j]];
  return row_of_column;
}

Status check(const CscView<double>& a) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "matching"));
  return checks::finite(a);
}

}  // namespace

Result<Matching> maximum_product_matching(const CscView<double>& a) {
  LULAB_RETURN_IF_ERROR(check(a));
  Assignment<Logarithms> problem(a);
  Matching m;
  LULAB_ASSIGN_OR_RETURN(m.row_of_column, solve(a, problem, {}));
  scalings(a, problem, m);
  return m;
}

Result<Matching> power_of_two_matching(const CscView<double>& a, std::span<const std::int32_t> preferred) {
  LULAB_RETURN_IF_ERROR(check(a));
  Assignment<Exponents> problem(a);
  Matching m;
  LULAB_ASSIGN_OR_RETURN(m.row_of_column, solve(a, problem, preferred));
  if (scalings(a, problem, m)) return m;
  LULAB_ASSIGN_OR_RETURN(m, maximum_product_matching(a));
  for (auto* scales : {&m.r, &m.c})
    for (double& x : *scales) x = nearest_power_of_two(x);
  return m;
}

std::vector<std::int32_t> maximum_matching(CscPatternView a) {
  std::vector<SuiteSparse_long> col_ptr = suitesparse::widen(a.col_ptr), row_idx = suitesparse::widen(a.row_idx);
  std::vector<SuiteSparse_long> column_of_row(a.n_rows + 1), work(5 * std::size_t(a.n_cols) + 1);
  double effort = 0;
  btf_l_maxtrans(a.n_rows, a.n_cols, col_ptr.data(), row_idx.data(), 0, &effort, column_of_row.data(), work.data());
  std::vector<std::int32_t> row_of_column(a.n_cols, none);
  for (std::int32_t i = 0; i < a.n_rows; ++i)
    if (column_of_row[i] >= 0) row_of_column[column_of_row[i]] = i;
  return row_of_column;
}

}  // namespace lulab
