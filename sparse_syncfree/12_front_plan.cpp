#include "sparse_syncfree/12_front_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/in_parallel.h"
#include "core/large_pages.h"

namespace lulab::sparse_syncfree {
namespace {

// Estimates of blocks that work beside others, on an H200. A pivot's time is that of its tile and of those beside it,
// of which own_pivot_us is its tile's.   Unit µs.
constexpr double front_start_us = 8, tile_us = 5, pivot_us = 0.3, own_pivot_us = 0.2;
// Tiles begin between their latest and their earliest time. By the latest alone blocks wait for the tiles of long
// chains, and others that could begin find no block: af23560 1.33 ms instead of 1.17, cage10 1.39 instead of 1.30.
constexpr double earliest_share = 0.3;

constexpr std::int32_t none = -1;

/// Rows and tiles are the work: 60,000 a millisecond. To start a thread takes as long as 6,000 of them. p threads take
/// work / p, and p starts: least for p = sqrt(work / 6000).
int threads_of_plan(std::int64_t work) {
  constexpr double work_of_a_start = 6000;
  constexpr int most = 16;
  return threads_for(static_cast<std::int64_t>(std::sqrt(static_cast<double>(work) / work_of_a_start)), 1, most);
}

constexpr std::int32_t block_fronts = 64, block_tiles = 16384;

/// By the upper 32 bits; equal ones stay in their order.
void sort_by_high_bits(UninitializedVector<std::uint64_t>& keys) {
  constexpr int digit_bits = 11;
  constexpr std::uint32_t digits = 1 << digit_bits;
  UninitializedVector<std::uint64_t> sorted(keys.size());
  for (int shift = 32; shift < 64; shift += digit_bits) {
    const auto digit = [&](std::uint64_t key) { return static_cast<std::uint32_t>(key >> shift) % digits; };
    std::array<std::uint32_t, digits> next = {};
    for (const std::uint64_t key : keys) ++next[digit(key)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::uint32_t(0));
    for (const std::uint64_t key : keys) sorted[next[digit(key)]++] = key;
    keys.swap(sorted);
  }
}

class Planner {
 public:
  Planner(const Fronts& fronts, const FrontOptions& options) : fronts_(fronts), tree_(fronts.tree), o_(options) {}

  Result<FrontPlan> make() {
    std::int64_t flags = 1, tiles = 0;
    tile_ptr_.reserve(tree_.size() + std::size_t(1));
    resize_in_large_pages(plan_.fronts, tree_.size());
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const FrontCuts& cuts = fronts_.cuts[s];
      if (cuts.rows > std::numeric_limits<std::uint16_t>::max()) return refuse("a front has 2^16 rows");
      plan_.fronts[s] = {cuts,          tree_.first[s], static_cast<std::int32_t>(flags), fronts_.column_ptr[s],
                         plan_.n_parts, plan_.n_left};
      flags += 1 + cuts.slots();
      tiles += std::int64_t(cuts.tiles) * cuts.tiles;
      tile_ptr_.push_back(static_cast<std::int32_t>(tiles));
      if (!cuts.is_one_tile()) plan_.n_parts += std::int64_t(front_tile) * cuts.pivot_edge * cuts.slots();
      const std::int64_t others = cuts.rows - cuts.pivots;
      plan_.n_left += (others * others + 1) / 2 * 2;
      if (std::max(flags, tiles) > std::numeric_limits<std::int32_t>::max()) return refuse("there are 2^31 tiles");
    }
    plan_.n_flags = static_cast<std::int32_t>(flags);
    plan_.n_columns = fronts_.column_ptr.back();
    if (fronts_.padding > o_.max_padding) return refuse("the pattern is far from symmetric");
    if (o_.scalar_bytes * (plan_.n_parts + plan_.n_left) > o_.max_bytes) return refuse("they take too much memory");
    threads_ = o_.host_threads > 0 ? o_.host_threads : threads_of_plan(std::ssize(tree_.others) + tiles);
    UninitializedVector<std::uint64_t> order;
    UninitializedVector<FrontTile> tile(tiles);
    Status listed;
    share_out(2, std::min(threads_, 2), [&](std::int32_t item, int) {
      if (item == 0)
        order = order_of_tiles();
      else
        listed = list_tiles(tile);
    });
    LULAB_RETURN_IF_ERROR(listed);
    resize_in_large_pages(plan_.tiles, tiles);
    for_each(tile_ptr_.back(), block_tiles,
             [&](std::int32_t k, int) { plan_.tiles[k] = tile[static_cast<std::uint32_t>(order[k])]; });
    return std::move(plan_);
  }

 private:
  static Status refuse(const char* why) {
    return Status::error(StatusCode::not_implemented, std::string("no fronts: ") + why);
  }

  /// What the pivots of a part take, with the tiles beside them.
  double pivots_us(std::int32_t s) const { return tile_us + pivot_us * fronts_.cuts[s].pivots_of(0); }
  double front_us(std::int32_t s) const { return front_start_us + pivots_us(s) * fronts_.cuts[s].pivot_tiles; }
  /// From the start of front s to that of a tile. What a tile awaits begins before it.
  double offset_us(std::int32_t s, std::int32_t row, std::int32_t column) const {
    const FrontCuts& cuts = fronts_.cuts[s];
    const std::int32_t part = std::min({row, column, cuts.pivot_tiles});
    const bool awaits_pivots = row != column && part < cuts.pivot_tiles;
    return pivots_us(s) * part + (awaits_pivots ? own_pivot_us * cuts.pivots_of(0) : 0);
  }
  /// (fronts) between the latest and the earliest time at which each begins, with a block for every tile.
  std::vector<double> starts_of_fronts() const {
    std::vector<double> rest(tree_.size()), starts(tree_.size(), 0.0);  // from its start to the end of all; earliest
    for (std::int32_t s = tree_.size() - 1; s >= 0; --s)
      rest[s] = front_us(s) + (tree_.parent[s] < 0 ? 0 : rest[tree_.parent[s]]);
    const double whole = tree_.size() > 0 ? std::ranges::max(rest) : 0;
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      if (const std::int32_t p = tree_.parent[s]; p >= 0) starts[p] = std::max(starts[p], starts[s] + front_us(s));
      starts[s] = earliest_share * starts[s] + (1 - earliest_share) * (whole - rest[s]);
    }
    return starts;
  }

  /// Numbers of tiles in the low bits, in the order in which tiles begin.
  UninitializedVector<std::uint64_t> order_of_tiles() const {
    UninitializedVector<std::uint64_t> order(tile_ptr_.back());
    const std::vector<double> starts = starts_of_fronts();
    for (std::int32_t s = 0; s < tree_.size(); ++s) {
      const std::int32_t parts = fronts_.cuts[s].tiles;
      std::uint64_t tile = tile_ptr_[s];
      for (std::int32_t row = 0; row < parts; ++row)
        for (std::int32_t column = 0; column < parts; ++column, ++tile) {
          const auto start = static_cast<float>(starts[s] + offset_us(s, row, column));
          // bits of positive floats are in their order
          order[tile] = std::uint64_t(std::bit_cast<std::uint32_t>(start)) << 32 | tile;
        }
    }
    sort_by_high_bits(order);
    return order;
  }

  /// work(item, thread) for so many items; threads take as many at once as `block` says.
  template <class Work>
  void for_each(std::int32_t count, std::int32_t block, const Work& work) const {
    const std::int32_t blocks = count / block + 1;
    share_out(blocks, std::min(threads_, blocks), [&](std::int32_t k, int thread) {
      const std::int32_t begin = k * block, size = std::min(block, count - begin);
      for (std::int32_t i = 0; i < size; ++i) work(begin + i, thread);
    });
  }

  struct Strip {
    std::int32_t part;   // of the parent's rows
    std::int32_t begin;  // its first row of those that the child leaves
  };
  /// Parts of the parent that a front leaves something to.
  std::int64_t count_strips(std::int32_t s) const {
    if (tree_.parent[s] < 0) return 0;
    const FrontPlace parent = fronts_.place(tree_.parent[s]);
    const auto others = tree_.others_of(s);
    std::int64_t count = 0;
    auto at = others.begin();
    for (std::int32_t part = 0; at != others.end(); ++part) {
      const auto begin = at;
      at = part + 1 == parent.cuts.tiles
               ? others.end()
               : std::lower_bound(begin, others.end(), parent.at(parent.cuts.begin(part + 1)));
      count += at != begin;
    }
    return count;
  }
  /// The strips of what front s leaves, and where their rows are in parts of the parent.
  /// row_of: (n) of each of the parent's others its row.   (A search for each takes three times as long.)
  void list_strips(std::int32_t s, const FrontPlace& parent, const std::int32_t* row_of) {
    const auto others = tree_.others_of(s);
    std::int64_t number = strip_ptr_[s];
    std::uint8_t* places = nullptr;
    Strip strip = {};
    for (std::int32_t i = 0, first_row = 0, end_row = 0; i < std::ssize(others); ++i) {
      const std::int32_t pivot = others[i] - parent.first;
      const std::int32_t row = pivot < parent.cuts.pivots ? pivot : row_of[others[i]];
      if (row >= end_row) {
        strip = {parent.cuts.part_of(row), i};
        first_row = parent.cuts.begin(strip.part);
        end_row = first_row + parent.cuts.size(strip.part);
        places = plan_.strips.data() + front_tile * number;
        std::fill_n(places, front_tile, no_place);
        strips_[number++] = strip;
      }
      places[row - first_row] = static_cast<std::uint8_t>(i - strip.begin);
    }
  }
  /// What each front leaves, cut where its parent is: rows, and columns, of which a tile of the parent adds some.
  void cut_what_is_left() {
    strip_ptr_.assign(tree_.size() + std::size_t(1), 0);
    for_each(tree_.size(), block_fronts, [&](std::int32_t s, int) { strip_ptr_[s + 1] = count_strips(s); });
    std::partial_sum(strip_ptr_.begin(), strip_ptr_.end(), strip_ptr_.begin());
    strips_.resize(strip_ptr_.back());
    resize_in_large_pages(plan_.strips, front_tile * strips_.size());
    std::vector<UninitializedVector<std::int32_t>> rows(threads_);
    for_each(tree_.size(), block_fronts, [&](std::int32_t p, int thread) {
      if (first_child_[p] == none) return;
      const FrontPlace parent = fronts_.place(p);
      UninitializedVector<std::int32_t>& row_of = rows[thread];
      row_of.resize(tree_.first.back());
      for (std::int32_t row = parent.cuts.pivots; row < parent.cuts.rows; ++row) row_of[parent.at(row)] = row;
      for (std::int32_t c = first_child_[p]; c != none; c = next_child_[c]) list_strips(c, parent, row_of.data());
    });
  }
  std::int64_t strips_of(std::int32_t s) const { return strip_ptr_[s + 1] - strip_ptr_[s]; }
  /// A tile has an input of each child that has a strip in its rows and one in its columns.
  std::int64_t count_inputs() {
    input_ptr_.assign(tree_.size() + std::size_t(1), 0);
    for (std::int32_t s = 0; s < tree_.size(); ++s)
      if (tree_.parent[s] >= 0) input_ptr_[tree_.parent[s] + 1] += strips_of(s) * strips_of(s);
    std::partial_sum(input_ptr_.begin(), input_ptr_.end(), input_ptr_.begin());
    return input_ptr_.back();
  }

  /// All tiles, front by front, with what they add.
  Status list_tiles(UninitializedVector<FrontTile>& tiles) {
    first_child_.assign(tree_.size(), none);
    next_child_.assign(tree_.size(), none);
    for (std::int32_t s = tree_.size() - 1; s >= 0; --s)
      if (const std::int32_t p = tree_.parent[s]; p >= 0) next_child_[s] = std::exchange(first_child_[p], s);
    cut_what_is_left();
    const std::int64_t inputs = count_inputs();
    if (bytes_of(plan_, o_.scalar_bytes) + std::int64_t(sizeof(FrontTile)) * std::ssize(tiles) +
            (std::int64_t(sizeof(FrontInput)) + 2 * front_tile) * inputs >
        o_.max_bytes)
      return refuse("they take too much memory");
    if (inputs > std::numeric_limits<std::int32_t>::max()) return refuse("tiles have 2^31 inputs");
    resize_in_large_pages(plan_.inputs, inputs);
    struct Family {
      std::vector<std::int32_t> children, strip_of;  // (parts, children) or none
    };
    std::vector<Family> families(threads_);
    for_each(tree_.size(), block_fronts, [&](std::int32_t s, int thread) {
      auto& [children, strip_of] = families[thread];
      children.clear();
      for (std::int32_t c = first_child_[s]; c != none; c = next_child_[c]) children.push_back(c);
      const std::int32_t parts = fronts_.cuts[s].tiles;
      const std::size_t count = children.size();
      strip_of.assign(parts * count, none);
      for (std::size_t c = 0; c < count; ++c)
        for (std::int64_t q = strip_ptr_[children[c]]; q < strip_ptr_[children[c] + 1]; ++q)
          strip_of[strips_[q].part * count + c] = static_cast<std::int32_t>(q);
      FrontTile* tile = tiles.data() + tile_ptr_[s];
      auto input = static_cast<std::int32_t>(input_ptr_[s]);
      for (std::int32_t row = 0; row < parts; ++row)
        for (std::int32_t column = 0; column < parts; ++column) {
          const std::int32_t first_input = input;
          for (std::size_t c = 0; c < count; ++c) {
            const std::int32_t rows = strip_of[row * count + c], columns = strip_of[column * count + c];
            if (rows != none && columns != none) plan_.inputs[input++] = input_of(children[c], rows, columns);
          }
          *tile++ = {s, static_cast<std::uint16_t>(row), static_cast<std::uint16_t>(column), first_input, input};
        }
    });
    return {};
  }
  FrontInput input_of(std::int32_t child, std::int32_t rows, std::int32_t columns) const {
    const FrontShape& shape = plan_.fronts[child];
    const std::int32_t others = shape.cuts.rows - shape.cuts.pivots;
    return {shape.left + std::int64_t(strips_[rows].begin) * others + strips_[columns].begin,
            others,
            shape.flags,
            shape.cuts.left_tiles(),
            rows,
            columns,
            0};
  }

  const Fronts& fronts_;
  const AssemblyTree& tree_;
  const FrontOptions& o_;
  FrontPlan plan_;
  int threads_ = 1;
  UninitializedVector<Strip> strips_;                   // front by front
  std::vector<std::int64_t> strip_ptr_, input_ptr_;     // (fronts + 1)
  std::vector<std::int32_t> tile_ptr_ = {0};            // likewise
  std::vector<std::int32_t> first_child_, next_child_;  // (fronts) or none
};

}  // namespace

std::int64_t bytes_of(const FrontPlan& plan, std::int64_t scalar_bytes) {
  const auto size = [](const auto& table) { return std::int64_t(sizeof(table[0])) * std::ssize(table); };
  return size(plan.fronts) + size(plan.tiles) +
         (std::int64_t(sizeof(FrontInput)) + 2 * front_tile) * std::ssize(plan.inputs) + size(plan.strips) +
         std::int64_t(sizeof(FrontColumn)) * plan.n_columns + 4 * plan.n_flags +
         scalar_bytes * (plan.n_parts + plan.n_left);
}

Result<FrontPlan> make_front_plan(const Fronts& fronts, std::int64_t nnz, const FrontOptions& options) {
  if (nnz > std::numeric_limits<std::uint32_t>::max())
    return Status::error(StatusCode::not_implemented, "no fronts: positions in L and U take more than 32 bits");
  return Planner(fronts, options).make();
}

}  // namespace lulab::sparse_syncfree
