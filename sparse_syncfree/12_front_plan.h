#pragma once
// The plan of 12_multifrontal: an assembly tree (symbolic/assembly_tree.h) whose fronts are cut into tiles, one task
// each.
//
// The columns and rows of a front are its pivots, cut into `pivot_tiles` parts, and then the others, cut into the rest
// of `tiles` parts. Tile (I,J) is rows of part I, columns of part J. A front of up to front_tile rows is one tile.
//
//            pivots    others
//   pivots   L \ U       U        a task makes all of its tile, once the tiles left of it in its rows and above it in
//   others     L        left      its columns are done; what is left is the parent's to add
//
// A task takes A's entries, which lie in As, adds what the children have left, subtracts the products of the tiles left
// of and above it, and eliminates its pivots. Tasks are in an order in which each comes after those that it awaits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "symbolic/assembly_tree.h"

namespace lulab::sparse_syncfree {

constexpr std::int32_t front_tile = 64;  // most rows and columns of a tile

/// How the rows of a front, and its columns, are cut into parts.
struct FrontCuts {
  std::int32_t pivots, rows;
  std::int32_t pivot_tiles, tiles;
  std::int32_t pivot_edge, other_edge;  // rows of a part of the pivots, of the others; a last one may have less

  static constexpr FrontCuts of(std::int32_t pivots, std::int32_t rows) {
    if (rows <= front_tile) return {pivots, rows, 1, 1, rows, 0};
    const auto parts = [](std::int32_t count) { return (count + front_tile - 1) / front_tile; };
    const auto edge = [&](std::int32_t count) { return count > 0 ? (count + parts(count) - 1) / parts(count) : 0; };
    const std::int32_t others = rows - pivots;
    return {pivots, rows, parts(pivots), parts(pivots) + parts(others), edge(pivots), edge(others)};
  }
  constexpr bool is_one_tile() const { return rows <= front_tile; }
  constexpr std::int32_t begin(std::int32_t part) const {
    if (is_one_tile()) return part * rows;
    const std::int32_t at = part < pivot_tiles ? part * pivot_edge : pivots + (part - pivot_tiles) * other_edge;
    const std::int32_t end = part < pivot_tiles ? pivots : rows;
    return at < end ? at : end;
  }
  constexpr std::int32_t size(std::int32_t part) const {
    return (part + 1 == pivot_tiles && !is_one_tile() ? pivots : begin(part + 1)) - begin(part);
  }
  /// Pivots of a part.
  constexpr std::int32_t pivots_of(std::int32_t part) const {
    return is_one_tile() ? pivots : part < pivot_tiles ? size(part) : 0;
  }
  /// Number of a tile with pivots in its rows or columns.
  constexpr std::int32_t slot(std::int32_t row, std::int32_t column) const {
    return row < pivot_tiles ? row * tiles + column : pivot_tiles * tiles + (row - pivot_tiles) * pivot_tiles + column;
  }
  constexpr std::int32_t slots() const { return slot(tiles, 0); }
  /// Tiles that leave something to the parent.
  constexpr std::int32_t left_tiles() const {
    return is_one_tile() ? rows > pivots : (tiles - pivot_tiles) * (tiles - pivot_tiles);
  }
};

struct FrontShape {
  FrontCuts cuts;
  std::int32_t first_column;  // of the pivots, in As
  std::int32_t flags;         // its first one: tiles that are done of those that leave something; then one a slot
  std::int64_t columns;       // first FrontColumn of slot 0; each slot has front_tile
  std::int64_t parts;         // of L and U, for other tiles: a slot has front_tile · pivot_edge scalars, by pivots
  std::int64_t left;          // what it leaves: (rows - pivots)², by rows
};

/// Entries of As in one column of a tile.
struct FrontColumn {
  std::uint64_t rows;      // bit r: row r of the tile has one
  std::uint32_t position;  // of the first one; the others follow
  std::int32_t column;     // of As
};

/// What a child leaves to a tile: some rows and columns of what it leaves.
struct FrontInput {
  std::int64_t left;    // the first of them
  std::int32_t others;  // from one row to the next
  std::int32_t flag;    // that counts the child's tiles, up to
  std::int32_t awaited;
  std::int32_t unused;
};
constexpr std::uint8_t no_place = 255;

/// A tile is a task.
struct FrontTile {
  std::int32_t front;
  std::uint16_t row, column;
  std::int32_t first_input, end_input;
};

struct FrontPlan {
  std::vector<FrontShape> fronts;
  std::vector<FrontTile> tiles;  // each after those it awaits
  std::vector<FrontInput> inputs;
  std::vector<std::uint8_t>
      places;  // (inputs, 2, front_tile) number of each row of the tile in the input, then of each
               // column, or no_place
  std::vector<FrontColumn> columns;
  std::int64_t n_parts = 0, n_left = 0;  // scalars
  std::int32_t n_flags = 1;              // the first one hands out the tiles
};

/// Device memory of a plan with its parts and what its fronts leave.   Unit bytes.
std::int64_t bytes_of(const FrontPlan& plan, std::int64_t scalar_bytes);

struct FrontOptions {
  FrontCosts costs = {};
  std::int64_t scalar_bytes = 8;
  std::int64_t max_bytes = std::int64_t(1) << 40;  // device memory of the plan
  double max_padding = 8;                          // (entries of L and U in all fronts, with their zeros) / nnz(L+U)
};

/// panels: of `filled`.
/// Requires  a valid FilledPattern.
/// Errors    not_implemented: the plan would take more than max_bytes, the fronts more zeros than max_padding allows
///           (the pattern is far from symmetric), As has 2^32 entries or more, or a front 2^16 rows or more.
/// Cost      O(nnz(L+U)) with a small constant.
Result<FrontPlan> make_front_plan(const FilledPattern& filled, const RelaxedSupernodes& panels,
                                  const FrontOptions& options);

}  // namespace lulab::sparse_syncfree
