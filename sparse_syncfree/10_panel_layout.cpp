#include "sparse_syncfree/10_panel_layout.h"

#include <algorithm>

#include "core/in_parallel.h"

namespace lulab::sparse_syncfree {
namespace {

/// Writes the rows of panel j and those that complete its runs; returns their end.
std::int32_t* close_runs(const RelaxedSupernodes& s, std::int32_t j, std::int32_t* out) {
  std::int32_t next = 0;  // first row not yet written
  for (const std::int32_t row : s.rows_of(j)) {
    if (row < next) continue;
    const std::int32_t end = row < s.first[j + 1] ? s.first[s.of[row] + 1] : row + 1;
    for (next = row; next < end; ++next) *out++ = next;
  }
  return out;
}

std::int64_t closed_size(const RelaxedSupernodes& s, std::int32_t j) {
  std::int64_t size = 0;
  const auto rows = s.rows_of(j);
  std::int32_t next = 0;
  auto row = rows.begin();
  for (; row != rows.end() && *row < s.first[j + 1]; ++row) {
    if (*row < next) continue;
    next = s.first[s.of[*row] + 1];
    size += next - *row;
  }
  return size + (rows.end() - row);
}

}  // namespace

PanelLayout lay_out_panels(const RelaxedSupernodes& panels, std::int32_t max_scalars, int host_threads) {
  const std::int32_t n = panels.size();
  PanelLayout l{{panels.first, panels.of, {0}, {}}, {}, {}, {}, {}, {}, {}};
  RelaxedSupernodes& s = l.panels;
  s.row_ptr.resize(n + 1);
  l.diag.resize(n);
  l.below.resize(n);
  l.words.resize(n);
  l.u_words.resize(n);
  l.rank.assign(n, 0);
  l.work.assign(n + 1, 0);
  const auto in_parts = [&](const auto& each) {
    in_parallel(host_threads, [&](int p) {
      const auto begin_of = [&](int part) {
        return std::lower_bound(panels.row_ptr.begin(), panels.row_ptr.end() - 1,
                                panels.row_ptr.back() * part / host_threads) -
               panels.row_ptr.begin();
      };
      const auto end = p + 1 == host_threads ? n : static_cast<std::int32_t>(begin_of(p + 1));
      for (auto j = static_cast<std::int32_t>(p == 0 ? 0 : begin_of(p)); j < end; ++j) each(j);
    });
  };
  in_parts([&](std::int32_t j) { s.row_ptr[j + 1] = closed_size(panels, j); });
  for (std::int32_t j = 0; j < n; ++j) s.row_ptr[j + 1] += s.row_ptr[j];
  s.rows.resize(s.row_ptr.back());
  in_parts([&](std::int32_t j) {
    close_runs(panels, j, s.rows.data() + s.row_ptr[j]);
    const auto rows = s.rows_of(j);
    l.diag[j] = static_cast<std::int32_t>(std::lower_bound(rows.begin(), rows.end(), s.first[j]) - rows.begin());
    l.below[j] = static_cast<std::int32_t>(rows.size()) - l.diag[j] - s.width(j);
  });

  std::vector<double> least_us(n, 0);
  for (std::int32_t j = 0; j < n; ++j) {
    const auto rows = s.rows_of(j);
    const std::int32_t size = static_cast<std::int32_t>(rows.size()), width = s.width(j), diag = l.diag[j];
    l.words[j] = l.n_words;
    l.n_words += std::int64_t(size - diag) * width;
    const bool several = size > most_rows(width, size, max_scalars);
    l.u_words[j] = several ? l.n_words : -1;
    if (several) l.n_words += std::int64_t(diag + width) * stored_width(width, size, max_scalars);
    l.work[j + 1] = l.work[j] + size;
    std::int32_t rank = l.rank[j];
    for (std::int32_t q = 0; q < diag; ++l.n_runs) {
      const std::int32_t k = s.of[rows[q]];
      q += s.first[k + 1] - rows[q];
      rank = std::max(rank, l.rank[k] + 1);
      least_us[j] = std::max(least_us[j], least_us[k] + hop_us + panel_us);
      l.work[j + 1] += l.below[k];
    }
    l.rank[j] = rank;
    std::int32_t next = 0;  // first row of another panel
    for (const std::int32_t row : rows.subspan(diag + width)) {
      if (row < next) continue;
      const std::int32_t k = s.of[row];
      next = s.first[k + 1];
      l.rank[k] = std::max(l.rank[k], rank + 1);
    }
    least_us[j] += finish_us;
    l.least_us = std::max(l.least_us, least_us[j]);
  }
  return l;
}

}  // namespace lulab::sparse_syncfree
