#include "symbolic/relaxed_supernodes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/in_parallel.h"
#include "symbolic/column_parts.h"
#include "symbolic/panel_growth.h"

namespace lulab {
namespace {

constexpr std::int64_t entries_a_thread = 250'000;  // of L+U: about half a millisecond
constexpr int most_threads = 8;

int threads_of(const FilledPattern& f, int host_threads) {
  return host_threads > 0 ? host_threads : threads_for(f.nnz(), entries_a_thread, most_threads);
}

/// PanelGrowth::new_rows.
std::vector<std::int32_t> count_new_rows(const FilledPattern& f, std::int32_t width, int threads) {
  std::vector<std::int32_t> new_rows(std::size_t(f.n) * width, 0);
  in_parallel(threads, [&](int part) {
    const std::int32_t begin = first_column(f, part, threads), end = first_column(f, part + 1, threads);
    std::vector<std::int32_t> last(f.n, -width);  // column with this row
    for (std::int32_t j = std::max(0, begin - width + 1); j < end; ++j) {
      std::int32_t* const of_column = new_rows.data() + std::size_t(j) * width;
      std::int32_t in_last = 0;  // most are: counted in a register
      for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
        const std::int32_t before = std::exchange(last[f.row_idx[p]], j);
        if (before == j - 1)
          ++in_last;
        else if (j >= begin)
          ++of_column[std::min(j - before, width) - 1];
      }
      if (j < begin) continue;
      of_column[0] += in_last;
      for (std::int32_t k = width - 2; k >= 0; --k) of_column[k] += of_column[k + 1];
    }
  });
  return new_rows;
}

/// The rows of all panels, whose places are known.
void unite_rows(const FilledPattern& f, const PanelGrowth& growth, RelaxedSupernodes& panels, int threads) {
  panels.rows.resize(panels.row_ptr.back());
  in_parallel(threads, [&](int part) {
    std::vector<std::int32_t> rows(f.n), merged(f.n);
    const auto first = [&](int of_part) {
      const std::int32_t j = first_column(f, of_part, threads);
      return j < f.n ? panels.of[j] : panels.size();
    };
    for (std::int32_t s = first(part); s < first(part + 1); ++s) {
      std::ptrdiff_t count = 0;
      for (std::int32_t j = panels.first[s]; j < panels.first[s + 1]; ++j) {
        if (growth.new_rows_of(j, panels.first[s]) == 0) continue;
        const auto column = f.row_idx.begin() + f.col_ptr[j], end = f.row_idx.begin() + f.col_ptr[j + 1];
        count = std::set_union(rows.begin(), rows.begin() + count, column, end, merged.begin()) - merged.begin();
        rows.swap(merged);
      }
      std::copy_n(rows.begin(), count, panels.rows.begin() + panels.row_ptr[s]);
    }
  });
}

}  // namespace

PanelUpdates count_updates(const RelaxedSupernodes& s) {
  PanelUpdates counts = {.panels = s.size()};
  std::vector<std::int32_t> chain(s.size(), 0);
  std::vector<double> below(s.size());  // rows after the panel's own
  for (std::int32_t j = 0; j < s.size(); ++j) {
    const auto rows = s.rows_of(j);
    for (auto row = rows.begin(); row != rows.end() && *row < s.first[j];) {
      const std::int32_t k = s.of[*row];
      const auto begin = row;
      while (row != rows.end() && *row < s.first[k + 1]) ++row;  // a few
      counts.multiply_adds += double(row - begin) * below[k] * s.width(j);
      counts.updates += 1;
      chain[j] = std::max(chain[j], chain[k]);
    }
    below[j] = double(rows.end() - std::lower_bound(rows.begin(), rows.end(), s.first[j + 1]));
    counts.multiply_adds += 0.5 * s.width(j) * s.width(j) * below[j];
    counts.updated += chain[j] > 0;
    chain[j] += 1;
    counts.chain = std::max(counts.chain, chain[j]);
  }
  return counts;
}

std::vector<std::int32_t> elimination_tree(const FilledPattern& f, int host_threads) {
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  const int parts = threads_of(f, host_threads);
  std::vector<std::vector<std::int32_t>> parents(parts);  // by the entries of the part's columns
  in_parallel(parts, [&](int part) {
    std::vector<std::int32_t>& parent = parents[part];
    parent.assign(f.n, none);
    const std::int32_t end = first_column(f, part + 1, parts);
    for (std::int32_t j = first_column(f, part, parts); j < end; ++j) {
      for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) parent[f.row_idx[p]] = std::min(parent[f.row_idx[p]], j);
      if (f.diag[j] + 1 < f.col_ptr[j + 1]) parent[j] = std::min(parent[j], f.row_idx[f.diag[j] + 1]);
    }
  });
  std::vector<std::int32_t> parent = std::move(parents[0]);
  for (std::int32_t j = 0; j < f.n; ++j) {
    for (int part = 1; part < parts; ++part) parent[j] = std::min(parent[j], parents[part][j]);
    if (parent[j] == none) parent[j] = -1;
  }
  return parent;
}

std::vector<std::int32_t> first_children(std::span<const std::int32_t> parent) {
  const auto n = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> first(n, n);
  for (std::int32_t j = n - 1; j >= 0; --j)
    if (parent[j] >= 0) first[parent[j]] = j;
  return first;
}

RelaxedSupernodes find_relaxed_supernodes(const FilledPattern& f, const RelaxationOptions& options, int host_threads) {
  const int threads = threads_of(f, host_threads);
  const std::vector<std::int32_t> parent = elimination_tree(f, threads), first_child = first_children(parent),
                                  new_rows = count_new_rows(f, options.max_width, threads);
  const PanelGrowth growth = {f.n, options, parent.data(), first_child.data(), new_rows.data()};
  RelaxedSupernodes panels;
  panels.of.resize(f.n);
  while (panels.first.back() < f.n) {
    const PanelGrowth::End end = growth.end(panels.first.back());
    panels.add(end.column, end.rows);
  }
  unite_rows(f, growth, panels, threads);
  return panels;
}

}  // namespace lulab
