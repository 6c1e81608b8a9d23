#include "symbolic/dependencies_parallel.h"

#include <algorithm>
#include <numeric>

#include "core/in_parallel.h"

namespace lulab {
namespace {

constexpr int max_threads = 32;                      // every thread searches all columns left of its own
constexpr std::int64_t entries_per_thread = 200000;  // fewer take less time than starting a thread

struct Range {
  std::int32_t begin, end;
};

/// parts ranges that cover 0 .. n - 1, with about equal numbers of entries of U, diagonal included.
std::vector<Range> equal_parts_of_u(const FilledPattern& f, int parts) {
  const std::int64_t total = f.nnz_u();
  std::vector<Range> ranges;
  std::int32_t k = 0;
  std::int64_t seen = 0;
  for (int part = 1; part <= parts; ++part) {
    const std::int32_t begin = k;
    for (; k < f.n && seen < total * part / parts; ++k) seen += f.diag[k] - f.col_ptr[k] + 1;
    ranges.push_back({begin, k});
  }
  return ranges;
}

template <class Work>
void in_parallel(const std::vector<Range>& ranges, const Work& work) {
  lulab::in_parallel(static_cast<int>(ranges.size()), [&](int part) { work(ranges[part]); });
}

/// entry(i) for the entries of column j in these rows, ascending, out of those at positions [begin, end).
template <class Entry>
void for_rows(const FilledPattern& f, std::int64_t begin, std::int64_t end, Range rows, const Entry& entry) {
  const std::int32_t* const row = f.row_idx.data();
  for (std::int64_t p = std::lower_bound(row + begin, row + end, rows.begin) - row; p < end && row[p] < rows.end; ++p)
    entry(row[p]);
}

/// Columns i that column t needs because of L(t,i), row by row: cols[ptr[t]] .. cols[ptr[t + 1] - 1].
struct LeftNeeds {
  std::vector<std::int64_t> ptr;
  std::vector<std::int32_t> cols;
};

LeftNeeds look_left(const FilledPattern& f, DependencyRule rule, const std::vector<Range>& ranges) {
  LeftNeeds left{std::vector<std::int64_t>(f.n + std::size_t(1), 0), {}};
  if (rule == DependencyRule::up_looking) return left;

  std::vector<std::int32_t> last(rule == DependencyRule::double_u ? f.n : 0);  // column with an entry in a row of U
  if (rule == DependencyRule::double_u)
    in_parallel(ranges, [&](Range rows) {
      for (std::int32_t k = rows.begin; k < f.n; ++k)
        for_rows(f, f.col_ptr[k], f.diag[k] + 1, rows, [&](std::int32_t i) { last[i] = k; });
    });

  const auto for_each_need = [&](Range rows, const auto& need) {  // i ascending
    for (std::int32_t i = 0; i < rows.end; ++i)
      for_rows(f, f.diag[i] + 1, f.col_ptr[i + 1], rows, [&](std::int32_t t) {
        if (rule == DependencyRule::relaxed || (last[i] > t && has_l(f, t))) need(i, t);
      });
  };
  in_parallel(ranges,
              [&](Range rows) { for_each_need(rows, [&](std::int32_t, std::int32_t t) { ++left.ptr[t + 1]; }); });
  std::partial_sum(left.ptr.begin(), left.ptr.end(), left.ptr.begin());
  left.cols.resize(left.ptr.back());
  std::vector<std::int64_t> next(left.ptr);
  in_parallel(ranges, [&](Range rows) {
    for_each_need(rows, [&](std::int32_t i, std::int32_t t) { left.cols[next[t]++] = i; });
  });
  return left;
}

/// add(i) once for each column that column k needs, ascending: looking up merged with looking left.
template <class Add>
void for_each_need_of(const FilledPattern& f, const LeftNeeds& left, std::int32_t k, const Add& add) {
  const std::int32_t *l = left.cols.data() + left.ptr[k], *const l_end = left.cols.data() + left.ptr[k + 1];
  for (std::int64_t p = f.col_ptr[k]; p < f.diag[k]; ++p) {
    const std::int32_t i = f.row_idx[p];
    if (!has_l(f, i)) continue;
    for (; l != l_end && *l < i; ++l) add(*l);
    if (l != l_end && *l == i) ++l;
    add(i);
  }
  for (; l != l_end; ++l) add(*l);
}

}  // namespace

int useful_threads(const FilledPattern& f) { return threads_for(f.nnz(), entries_per_thread, max_threads); }

ColumnDependencies find_dependencies(const FilledPattern& f, DependencyRule rule, int threads) {
  const auto ranges = equal_parts_of_u(f, threads > 0 ? std::min(threads, max_threads) : useful_threads(f));
  const LeftNeeds left = look_left(f, rule, ranges);
  ColumnDependencies d;
  d.ptr.assign(f.n + std::size_t(1), 0);
  in_parallel(ranges, [&](Range columns) {
    for (std::int32_t k = columns.begin; k < columns.end; ++k) {
      std::int64_t count = 0;
      for_each_need_of(f, left, k, [&](std::int32_t) { ++count; });
      d.ptr[k + 1] = count;
    }
  });
  std::partial_sum(d.ptr.begin(), d.ptr.end(), d.ptr.begin());
  d.columns.resize(d.ptr.back());
  in_parallel(ranges, [&](Range columns) {
    std::int64_t next = d.ptr[columns.begin];
    for (std::int32_t k = columns.begin; k < columns.end; ++k)
      for_each_need_of(f, left, k, [&](std::int32_t i) { d.columns[next++] = i; });
  });
  return d;
}

}  // namespace lulab
