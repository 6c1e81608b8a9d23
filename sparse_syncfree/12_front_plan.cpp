#include "sparse_syncfree/12_front_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>

namespace lulab::sparse_syncfree {
namespace {

// Estimates, on an H100.   Unit µs.
constexpr double tile_us = 5, pivot_us = 0.25;

constexpr std::int32_t none = -1;

class Planner {
 public:
  Planner(const Fronts& fronts, const FrontOptions& options) : fronts_(fronts), tree_(fronts.tree), o_(options) {}

  Result<FrontPlan> make() {
    std::int64_t flags = 1, tiles = 0;
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const FrontCuts& cuts = fronts_.cuts[s];
      if (cuts.rows > std::numeric_limits<std::uint16_t>::max()) return refuse("a front has 2^16 rows");
      plan_.fronts.push_back(
          {cuts, tree_.first[s], static_cast<std::int32_t>(flags), fronts_.column_ptr[s], plan_.n_parts, plan_.n_left});
      flags += 1 + cuts.slots();
      tiles += std::int64_t(cuts.tiles) * cuts.tiles;
      if (!cuts.is_one_tile()) plan_.n_parts += std::int64_t(front_tile) * cuts.pivot_edge * cuts.slots();
      const std::int64_t others = cuts.rows - cuts.pivots;
      plan_.n_left += (others * others + 1) / 2 * 2;
      if (flags > std::numeric_limits<std::int32_t>::max()) return refuse("there are 2^31 tiles");
    }
    plan_.n_flags = static_cast<std::int32_t>(flags);
    plan_.n_columns = fronts_.column_ptr.back();
    if (fronts_.padding > o_.max_padding) return refuse("the pattern is far from symmetric");
    if (o_.scalar_bytes * (plan_.n_parts + plan_.n_left) > o_.max_bytes) return refuse("they take too much memory");
    cut_what_is_left();
    const std::int64_t inputs = count_inputs();
    constexpr std::int64_t tile_bytes = sizeof(FrontTile), input_bytes = sizeof(FrontInput) + 2 * front_tile;
    if (bytes_of(plan_, o_.scalar_bytes) + tile_bytes * tiles + input_bytes * inputs > o_.max_bytes)
      return refuse("they take too much memory");
    if (inputs > std::numeric_limits<std::int32_t>::max()) return refuse("tiles have 2^31 inputs");
    plan_.inputs.reserve(inputs);
    plan_.places.reserve(2 * front_tile * inputs);
    list_tiles();
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

  /// What each front leaves, cut where its parent is: rows, and columns, of which a tile of the parent adds some.
  void cut_what_is_left() {
    const std::vector<std::int32_t> row_in_parent = rows_in_parent(tree_);
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const std::int32_t p = tree_.parent[s], others = static_cast<std::int32_t>(p < 0 ? 0 : tree_.others_of(s).size());
      const std::int32_t* const row = row_in_parent.data() + tree_.others_ptr[s];
      for (std::int32_t i = 0; i < others;) {
        const FrontCuts& cuts = fronts_.cuts[p];
        Strip strip = {cuts.part_of(row[i]), i, {}};
        strip.places.fill(no_place);
        const std::int32_t first = cuts.begin(strip.part), end = first + cuts.size(strip.part);
        for (; i < others && row[i] < end; ++i)
          strip.places[row[i] - first] = static_cast<std::uint8_t>(i - strip.begin);
        strips_.push_back(strip);
      }
      strip_ptr_.push_back(std::ssize(strips_));
    }
  }
  /// A tile has an input of each child that has a strip in its rows and one in its columns.
  std::int64_t count_inputs() const {
    std::int64_t count = 0;
    for (std::int32_t s = 0; s < tree_.size(); ++s)
      count += (strip_ptr_[s + 1] - strip_ptr_[s]) * (strip_ptr_[s + 1] - strip_ptr_[s]);
    return count;
  }

  /// All tiles with what they add, by the time that is left after their start.
  void list_tiles() {
    rest_after_.resize(tree_.size());
    std::vector<std::int32_t> first_child(tree_.size(), none), next_child(tree_.size(), none);
    for (std::int32_t s = tree_.size() - 1; s >= 0; --s) {
      const std::int32_t p = tree_.parent[s];
      rest_after_[s] = p < 0 ? 0 : rest_us(p, 0, 0);
      if (p >= 0) next_child[s] = std::exchange(first_child[p], s);
    }
    std::vector<FrontTile> tiles;
    std::vector<std::uint64_t> order;  // of tiles: those with more time left first, then by their place in `tiles`
    std::vector<std::int32_t> children, strip_of;  // of the front; (parts, children) or none
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      children.clear();
      for (std::int32_t c = first_child[s]; c != none; c = next_child[c]) children.push_back(c);
      const std::int32_t parts = fronts_.cuts[s].tiles;
      const std::size_t count = children.size();
      strip_of.assign(parts * count, none);
      for (std::size_t c = 0; c < count; ++c)
        for (std::int64_t q = strip_ptr_[children[c]]; q < strip_ptr_[children[c] + 1]; ++q)
          strip_of[strips_[q].part * count + c] = static_cast<std::int32_t>(q);
      for (std::int32_t row = 0; row < parts; ++row)
        for (std::int32_t column = 0; column < parts; ++column) {
          const auto rest = std::bit_cast<std::uint32_t>(static_cast<float>(rest_us(s, row, column)));
          order.push_back(std::uint64_t(~rest) << 32 | tiles.size());  // bits of positive floats are in their order
          const auto first_input = static_cast<std::int32_t>(plan_.inputs.size());
          for (std::size_t c = 0; c < count; ++c) {
            const std::int32_t rows = strip_of[row * count + c], columns = strip_of[column * count + c];
            if (rows != none && columns != none) add_input(children[c], strips_[rows], strips_[columns]);
          }
          tiles.push_back({s, static_cast<std::uint16_t>(row), static_cast<std::uint16_t>(column), first_input,
                           static_cast<std::int32_t>(plan_.inputs.size())});
        }
    }
    std::ranges::sort(order);
    plan_.tiles.reserve(tiles.size());
    for (const std::uint64_t of_tile : order) plan_.tiles.push_back(tiles[static_cast<std::uint32_t>(of_tile)]);
  }
  struct Strip {
    std::int32_t part;   // of the parent's rows
    std::int32_t begin;  // its first row of those that the child leaves
    std::array<std::uint8_t, front_tile> places;
  };
  void add_input(std::int32_t child, const Strip& rows, const Strip& columns) {
    const FrontShape& shape = plan_.fronts[child];
    const std::int32_t others = shape.cuts.rows - shape.cuts.pivots;
    plan_.inputs.push_back({shape.left + std::int64_t(rows.begin) * others + columns.begin, others, shape.flags,
                            shape.cuts.left_tiles(), 0});
    for (const Strip* strip : {&rows, &columns})
      plan_.places.insert(plan_.places.end(), strip->places.begin(), strip->places.end());
  }

  const Fronts& fronts_;
  const AssemblyTree& tree_;
  const FrontOptions& o_;
  FrontPlan plan_;
  std::vector<Strip> strips_;                  // front by front
  std::vector<std::int64_t> strip_ptr_ = {0};  // (fronts + 1)
  std::vector<double> rest_after_;             // (fronts) time from its end to the end of all
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
