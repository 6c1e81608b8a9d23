#include "sparse_syncfree/12_front_plan.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace lulab::sparse_syncfree {
namespace {

// Estimates, on an H100.   Unit µs.
constexpr double tile_us = 5, pivot_us = 0.25;

class Planner {
 public:
  Planner(const Fronts& fronts, const FrontOptions& options) : fronts_(fronts), tree_(fronts.tree), o_(options) {}

  Result<FrontPlan> make() {
    std::int64_t flags = 1;
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const FrontCuts& cuts = fronts_.cuts[s];
      if (cuts.rows > std::numeric_limits<std::uint16_t>::max()) return refuse("a front has 2^16 rows");
      plan_.fronts.push_back(
          {cuts, tree_.first[s], static_cast<std::int32_t>(flags), fronts_.column_ptr[s], plan_.n_parts, plan_.n_left});
      flags += 1 + cuts.slots();
      if (!cuts.is_one_tile()) plan_.n_parts += std::int64_t(front_tile) * cuts.pivot_edge * cuts.slots();
      const std::int64_t others = cuts.rows - cuts.pivots;
      plan_.n_left += (others * others + 1) / 2 * 2;
      if (flags > std::numeric_limits<std::int32_t>::max()) return refuse("there are 2^31 tiles");
    }
    plan_.n_flags = static_cast<std::int32_t>(flags);
    plan_.n_columns = fronts_.column_ptr.back();
    if (fronts_.padding > o_.max_padding) return refuse("the pattern is far from symmetric");
    if (o_.scalar_bytes * (plan_.n_parts + plan_.n_left) > o_.max_bytes) return refuse("they take too much memory");
    row_of_parent_ = rows_in_parent(tree_);
    list_tiles();
    if (bytes_of(plan_, o_.scalar_bytes) > o_.max_bytes) return refuse("they take too much memory");
    return std::move(plan_);
  }

 private:
  static Status refuse(const char* why) {
    return Status::error(StatusCode::not_implemented, std::string("no fronts: ") + why);
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

  const Fronts& fronts_;
  const AssemblyTree& tree_;
  const FrontOptions& o_;
  FrontPlan plan_;
  std::vector<std::int32_t> row_of_parent_;  // (others of the tree) for what a front leaves
  std::vector<double> rest_after_;           // (fronts) time from its end to the end of all
};

}  // namespace

std::int64_t bytes_of(const FrontPlan& plan, std::int64_t scalar_bytes) {
  const auto size = [](const auto& table) { return std::int64_t(sizeof(table[0])) * std::ssize(table); };
  return size(plan.fronts) + size(plan.tiles) + size(plan.inputs) + size(plan.places) +
         std::int64_t(sizeof(FrontColumn)) * plan.n_columns + 4 * plan.n_flags +
         scalar_bytes * (plan.n_parts + plan.n_left);
}

Result<FrontPlan> make_front_plan(const Fronts& fronts, std::int64_t nnz, const FrontOptions& options) {
  if (nnz > std::numeric_limits<std::uint32_t>::max())
    return Status::error(StatusCode::not_implemented, "no fronts: positions in L and U take more than 32 bits");
  return Planner(fronts, options).make();
}

}  // namespace lulab::sparse_syncfree
