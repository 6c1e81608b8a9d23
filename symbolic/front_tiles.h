#pragma once
// The fronts of an assembly tree (assembly_tree.h), cut into tiles, and where the entries of As lie in them.
//
// The columns and rows of a front are its pivots, cut into `pivot_tiles` parts, and then the others, cut into the rest
// of `tiles` parts. Tile (I,J) is rows of part I, columns of part J. A front of up to front_tile rows is one tile.
//
//            pivots    others
//   pivots   L \ U       U
//   others     L        what is left to the parent

#include <cstdint>
#include <vector>

#include "core/plan.h"
#include "symbolic/assembly_tree.h"

namespace lulab {

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
  /// Number of a tile with pivots in its rows or columns. Entries of As lie in no other.
  constexpr std::int32_t slot(std::int32_t row, std::int32_t column) const {
    return row < pivot_tiles ? row * tiles + column : pivot_tiles * tiles + (row - pivot_tiles) * pivot_tiles + column;
  }
  constexpr std::int32_t slots() const { return slot(tiles, 0); }
  /// Tiles that leave something to the parent.
  constexpr std::int32_t left_tiles() const {
    return is_one_tile() ? rows > pivots : (tiles - pivot_tiles) * (tiles - pivot_tiles);
  }
};

/// Entries of As in one column of a tile.
struct FrontColumn {
  std::uint64_t rows;      // bit r: row r of the tile has one
  std::uint32_t position;  // of the first one; the others follow
  std::int32_t column;     // of As
};

/// The columns of all tiles with pivots: front by front, in each front by slots, in each slot front_tile of them, of
/// which those beyond the tile have no entries.
///
/// tree: of `filled`.
/// Requires  nnz(L+U) < 2^32; front f has cuts[f].
/// Cost      O(nnz(L+U) + result), by several threads.
std::vector<FrontColumn> find_front_columns(const FilledPattern& filled, const AssemblyTree& tree,
                                            const std::vector<FrontCuts>& cuts);

}  // namespace lulab
