#include "symbolic/front_tiles.h"

#include <algorithm>
#include <numeric>

#include "core/in_parallel.h"

namespace lulab {
namespace {

constexpr std::int64_t entries_a_tile_thread = 500'000;  // of L+U: about a millisecond
constexpr int max_tile_threads = 16;

/// Entries of column j of As in column c of the tiles in column `part` of a front.   columns: of its slot 0
/// row_of: row of the front for rows of As
void mark(const FilledPattern& f, std::int32_t first, std::int32_t end, const FrontCuts& cuts, std::int32_t part,
          std::int32_t c, std::int32_t j, const std::int32_t* row_of, FrontColumn* columns) {
  const auto begin = f.row_idx.begin() + f.col_ptr[j], diag = f.row_idx.begin() + f.diag[j];
  auto i = std::lower_bound(begin, diag, first);
  const auto last = j < end ? f.row_idx.begin() + f.col_ptr[j + 1] : std::lower_bound(i, diag, end);
  for (std::int32_t row = 0; row < (j < end ? cuts.tiles : cuts.pivot_tiles); ++row) {
    const std::int32_t top = cuts.begin(row), bottom = top + cuts.size(row);
    FrontColumn column = {0, static_cast<std::uint32_t>(i - f.row_idx.begin()), j};
    for (; i != last && row_of[*i] < bottom; ++i) column.rows |= std::uint64_t(1) << (row_of[*i] - top);
    columns[front_tile * cuts.slot(row, part) + c] = column;
  }
}

}  // namespace

std::vector<FrontColumn> find_front_columns(const FilledPattern& filled, const AssemblyTree& tree,
                                            const std::vector<FrontCuts>& cuts) {
  std::vector<std::int64_t> first(tree.size() + std::size_t(1), 0);
  for (std::int32_t s = 0; s < tree.size(); ++s) first[s + 1] = first[s] + std::int64_t(front_tile) * cuts[s].slots();
  std::vector<FrontColumn> columns(first.back(), {0, 0, 0});
  const int threads = threads_for(filled.nnz(), entries_a_tile_thread, max_tile_threads);
  std::vector<std::vector<std::int32_t>> row_of(threads, std::vector<std::int32_t>(filled.n));
  share_out(tree.size(), threads, [&](std::int32_t s, int thread) {
    std::int32_t* const row = row_of[thread].data();
    const auto others = tree.others_of(s);
    const FrontCuts& of_front = cuts[s];
    std::iota(row + tree.first[s], row + tree.first[s + 1], 0);
    for (std::size_t r = 0; r < others.size(); ++r) row[others[r]] = of_front.pivots + static_cast<std::int32_t>(r);
    for (std::int32_t part = 0; part < of_front.tiles; ++part)
      for (std::int32_t c = 0; c < of_front.size(part); ++c) {
        const std::int32_t at = of_front.begin(part) + c;
        mark(filled, tree.first[s], tree.first[s + 1], of_front, part, c,
             at < of_front.pivots ? tree.first[s] + at : others[at - of_front.pivots], row, columns.data() + first[s]);
      }
  });
  return columns;
}

}  // namespace lulab
