#pragma once
// The plan of 12_multifrontal: an assembly tree whose fronts are cut into tiles (symbolic/front_tiles.h), a task each.
// A task makes all of its tile, once the tiles left of it in its rows and above it in its columns are done. The parent
// adds what a front leaves.
//
// A task takes A's entries, which lie in As, adds what the children have left, subtracts the products of the tiles left
// of and above it, and eliminates its pivots. Tasks are in an order in which each comes after those that it awaits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "core/uninitialized_vector.h"
#include "symbolic/fronts.h"

namespace lulab::sparse_syncfree {

struct FrontShape {
  FrontCuts cuts;
  std::int32_t first_column;  // of the pivots, in As
  std::int32_t flags;         // its first one: tiles that are done of those that leave something; then one a slot
  std::int64_t columns;       // first FrontColumn of slot 0
  std::int64_t parts;         // of L and U, for other tiles: a slot has front_tile · pivot_edge scalars, by pivots
  std::int64_t left;          // what it leaves: (rows - pivots)², by rows

  bool operator==(const FrontShape&) const = default;
};

/// What a child leaves to a tile: some rows and columns of what it leaves.
struct FrontInput {
  std::int64_t left;    // the first of them
  std::int32_t others;  // from one row to the next
  std::int32_t flag;    // that counts the child's tiles, up to
  std::int32_t awaited;
  std::int32_t rows, columns;  // strips: where they are in the tile
  std::int32_t unused;

  bool operator==(const FrontInput&) const = default;
};
constexpr std::uint8_t no_place = 255;

/// A tile is a task.
struct FrontTile {
  std::int32_t front;
  std::uint16_t row, column;
  std::int32_t first_input, end_input;

  bool operator==(const FrontTile&) const = default;
};

struct FrontPlan {
  UninitializedVector<FrontShape> fronts;
  UninitializedVector<FrontTile> tiles;  // each after those it awaits
  UninitializedVector<FrontInput> inputs;
  /// (strips, front_tile) for each row, or column, of a tile its number among those that a child leaves to the tile, or
  /// no_place
  UninitializedVector<std::uint8_t> strips;
  std::int64_t n_columns = 0;            // of the fronts; DeviceFrontColumns has them
  std::int64_t n_parts = 0, n_left = 0;  // scalars
  std::int32_t n_flags = 1;              // the first one hands out the tiles

  bool operator==(const FrontPlan&) const = default;
};

/// Device memory of a plan with its parts and what its fronts leave.   Unit bytes.
std::int64_t bytes_of(const FrontPlan& plan, std::int64_t scalar_bytes);

struct FrontOptions {
  std::int64_t scalar_bytes = 8;
  std::int64_t max_bytes = std::int64_t(1) << 40;  // device memory of the plan
  double max_padding = max_front_padding;
  int host_threads = 0;  // that make it; 0: as many as pay. The plan is the same
};

/// nnz: of L + U.
/// Errors    not_implemented: the plan would take more than max_bytes, the fronts more zeros than max_padding allows
///           (the pattern is far from symmetric), As has 2^32 entries or more, or a front 2^16 rows or more.
/// Cost      O(tiles and what they take from children).
Result<FrontPlan> make_front_plan(const Fronts& fronts, std::int64_t nnz, const FrontOptions& options);

}  // namespace lulab::sparse_syncfree
