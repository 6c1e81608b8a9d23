#include "sparse_syncfree/12_front_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "core/in_parallel.h"

namespace lulab::sparse_syncfree {
namespace {

// Estimates, on an H100.   Unit µs.
constexpr double tile_us = 5, pivot_us = 0.25;

constexpr std::int64_t entries_a_thread = 500'000;  // of L+U: about a millisecond
constexpr int max_threads = 16;

class Planner {
 public:
  Planner(const FilledPattern& f, AssemblyTree tree, const FrontOptions& options)
      : f_(f), tree_(std::move(tree)), o_(options) {}

  Result<FrontPlan> make() {
    std::int64_t flags = 1, columns = 0, entries = 0;
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const FrontCuts cuts = FrontCuts::of(tree_.pivots(s), tree_.rows(s));
      if (cuts.rows > std::numeric_limits<std::uint16_t>::max()) return refuse("a front has 2^16 rows");
      plan_.fronts.push_back(
          {cuts, tree_.first[s], static_cast<std::int32_t>(flags), columns, plan_.n_parts, plan_.n_left});
      flags += 1 + cuts.slots();
      columns += std::int64_t(front_tile) * cuts.slots();
      if (!cuts.is_one_tile()) plan_.n_parts += std::int64_t(front_tile) * cuts.pivot_edge * cuts.slots();
      const std::int64_t others = cuts.rows - cuts.pivots;
      entries += cuts.pivots * (cuts.rows + others);
      plan_.n_left += (others * others + 1) / 2 * 2;
      if (flags > std::numeric_limits<std::int32_t>::max()) return refuse("there are 2^31 tiles");
    }
    plan_.n_flags = static_cast<std::int32_t>(flags);
    if (static_cast<double>(entries) > o_.max_padding * static_cast<double>(f_.nnz()))
      return refuse("the pattern is far from symmetric");
    if (o_.scalar_bytes * (plan_.n_parts + plan_.n_left) > o_.max_bytes) return refuse("they take too much memory");
    find_places();
    list_tiles();
    find_columns(columns);
    if (bytes_of(plan_, o_.scalar_bytes) > o_.max_bytes) return refuse("they take too much memory");
    return std::move(plan_);
  }

 private:
  static Status refuse(const char* why) {
    return Status::error(StatusCode::not_implemented, std::string("no fronts: ") + why);
  }

  /// Rows of the parent for what each front leaves to it.
  void find_places() {
    row_of_parent_.resize(tree_.others.size());
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const std::int32_t p = tree_.parent[s];
      if (p < 0) continue;
      const auto of_parent = tree_.others_of(p);
      auto at = of_parent.begin();
      std::int32_t* row = row_of_parent_.data() + tree_.others_ptr[s];
      for (const std::int32_t i : tree_.others_of(s)) {
        if (i < tree_.first[p + 1]) {
          *row++ = i - tree_.first[p];
          continue;
        }
        while (*at < i) ++at;
        *row++ = tree_.pivots(p) + static_cast<std::int32_t>(at - of_parent.begin());
      }
    }
  }

  /// Time from the start of a tile to the end of all, by the estimates. What a tile awaits has a longer one.
  double rest_us(std::int32_t s, std::int32_t row, std::int32_t column) const {
    const FrontCuts& cuts = plan_.fronts[s].cuts;
    const std::int32_t pivot = std::min({row, column, cuts.pivot_tiles});
    const double of_tile = 2 * tile_us + pivot_us * cuts.pivots_of(0);  // a pivot tile, and those beside it
    const bool is_left = pivot == cuts.pivot_tiles;
    return rest_after_[s] + tile_us + of_tile * (cuts.pivot_tiles - pivot) - (is_left || row == column ? 0 : tile_us);
  }

  /// All tiles with what they add, by the time that is left after their start.
  void list_tiles() {
    rest_after_.resize(tree_.size());
    std::vector<std::vector<std::int32_t>> children(tree_.size());
    for (std::int32_t s = tree_.size() - 1; s >= 0; --s) {
      const std::int32_t p = tree_.parent[s];
      rest_after_[s] = p < 0 ? 0 : rest_us(p, 0, 0);
    }
    for (std::int32_t s = 0; s < tree_.size(); ++s)
      if (tree_.parent[s] >= 0) children[tree_.parent[s]].push_back(s);
    struct Timed {
      float rest_us;
      FrontTile tile;
    };
    std::vector<Timed> timed;
    std::vector<std::vector<std::int32_t>> cut_of(1);  // (children, parts + 1) where the parts cut what they leave
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const FrontCuts& cuts = plan_.fronts[s].cuts;
      cut_of.resize(std::max(cut_of.size(), children[s].size()));
      for (std::size_t c = 0; c < children[s].size(); ++c) {
        const auto rows = rows_of_parent(children[s][c]);
        cut_of[c].clear();
        for (std::int32_t part = 0; part <= cuts.tiles; ++part) {
          const std::int32_t at = part == cuts.tiles ? cuts.rows : cuts.begin(part);
          cut_of[c].push_back(static_cast<std::int32_t>(std::ranges::lower_bound(rows, at) - rows.begin()));
        }
      }
      for (std::int32_t row = 0; row < cuts.tiles; ++row)
        for (std::int32_t column = 0; column < cuts.tiles; ++column) {
          FrontTile tile = {s, static_cast<std::uint16_t>(row), static_cast<std::uint16_t>(column),
                            static_cast<std::int32_t>(plan_.inputs.size()), 0};
          for (std::size_t c = 0; c < children[s].size(); ++c) {
            const std::vector<std::int32_t>& cut = cut_of[c];
            if (cut[row] < cut[row + 1] && cut[column] < cut[column + 1])
              add_input(children[s][c], {cut[row], cut[row + 1]}, cuts.begin(row), {cut[column], cut[column + 1]},
                        cuts.begin(column));
          }
          tile.end_input = static_cast<std::int32_t>(plan_.inputs.size());
          timed.push_back({static_cast<float>(rest_us(s, row, column)), tile});
        }
    }
    std::ranges::stable_sort(timed, std::greater<>(), &Timed::rest_us);
    plan_.tiles.reserve(timed.size());
    for (const Timed& t : timed) plan_.tiles.push_back(t.tile);
  }
  std::span<const std::int32_t> rows_of_parent(std::int32_t s) const {
    return std::span(row_of_parent_).subspan(tree_.others_ptr[s], tree_.others_of(s).size());
  }
  /// Rows rows.begin .. rows.end - 1 of what the child leaves, and such columns, for the tile that begins with this row
  /// and this column.
  struct Range {
    std::int32_t begin, end;
  };
  void add_input(std::int32_t child, Range rows, std::int32_t row, Range columns, std::int32_t column) {
    const FrontShape& shape = plan_.fronts[child];
    const std::int32_t others = shape.cuts.rows - shape.cuts.pivots;
    plan_.inputs.push_back({shape.left + std::int64_t(rows.begin) * others + columns.begin, others, shape.flags,
                            shape.cuts.left_tiles(), 0});
    const auto place = [&](Range range, std::int32_t first) {
      const std::size_t at = plan_.places.size();
      plan_.places.resize(at + front_tile, no_place);
      for (std::int32_t i = range.begin; i < range.end; ++i)
        plan_.places[at + rows_of_parent(child)[i] - first] = static_cast<std::uint8_t>(i - range.begin);
    };
    place(rows, row);
    place(columns, column);
  }

  void find_columns(std::int64_t count) {
    plan_.columns.assign(count, {0, 0, 0});
    const int threads = threads_for(f_.nnz(), entries_a_thread, max_threads);
    std::vector<std::vector<std::int32_t>> row_of(threads,
                                                  std::vector<std::int32_t>(f_.n));  // row of the front at work
    share_out(tree_.size(), threads, [&](std::int32_t s, int thread) {
      std::int32_t* const row = row_of[thread].data();
      const auto others = tree_.others_of(s);
      const FrontCuts& cuts = plan_.fronts[s].cuts;
      std::iota(row + tree_.first[s], row + tree_.first[s + 1], 0);
      for (std::size_t r = 0; r < others.size(); ++r) row[others[r]] = cuts.pivots + static_cast<std::int32_t>(r);
      for (std::int32_t part = 0; part < cuts.tiles; ++part)
        for (std::int32_t c = 0; c < cuts.size(part); ++c) {
          const std::int32_t at = cuts.begin(part) + c;
          mark(s, part, c, at < cuts.pivots ? tree_.first[s] + at : others[at - cuts.pivots], row);
        }
    });
  }
  /// Entries of column j of As in column c of the tiles in column `part` of front s.
  void mark(std::int32_t s, std::int32_t part, std::int32_t c, std::int32_t j, const std::int32_t* row_of) {
    const FrontShape& shape = plan_.fronts[s];
    const FrontCuts& cuts = shape.cuts;
    const auto begin = f_.row_idx.begin() + f_.col_ptr[j], diag = f_.row_idx.begin() + f_.diag[j];
    auto i = std::lower_bound(begin, diag, tree_.first[s]);
    const auto end =
        j < tree_.first[s + 1] ? f_.row_idx.begin() + f_.col_ptr[j + 1] : std::lower_bound(i, diag, tree_.first[s + 1]);
    for (std::int32_t row = 0; row < (j < tree_.first[s + 1] ? cuts.tiles : cuts.pivot_tiles); ++row) {
      const std::int32_t first = cuts.begin(row), last = first + cuts.size(row);
      FrontColumn column = {0, static_cast<std::uint32_t>(i - f_.row_idx.begin()), j};
      for (; i != end && row_of[*i] < last; ++i) column.rows |= std::uint64_t(1) << (row_of[*i] - first);
      plan_.columns[shape.columns + front_tile * cuts.slot(row, part) + c] = column;
    }
  }

  const FilledPattern& f_;
  const AssemblyTree tree_;
  const FrontOptions& o_;
  FrontPlan plan_;
  std::vector<std::int32_t> row_of_parent_;  // (others of the tree) for what a front leaves
  std::vector<double> rest_after_;           // (fronts) time from its end to the end of all
};

}  // namespace

std::int64_t bytes_of(const FrontPlan& plan, std::int64_t scalar_bytes) {
  const auto size = [](const auto& table) { return std::int64_t(sizeof(table[0])) * std::ssize(table); };
  return size(plan.fronts) + size(plan.tiles) + size(plan.inputs) + size(plan.places) + size(plan.columns) +
         4 * plan.n_flags + scalar_bytes * (plan.n_parts + plan.n_left);
}

Result<FrontPlan> make_front_plan(const FilledPattern& filled, const RelaxedSupernodes& panels,
                                  const FrontOptions& options) {
  if (filled.nnz() > std::numeric_limits<std::uint32_t>::max())
    return Status::error(StatusCode::not_implemented, "no fronts: positions in L and U take more than 32 bits");
  return Planner(filled, find_assembly_tree(filled, panels, options.costs), options).make();
}

}  // namespace lulab::sparse_syncfree
