#pragma once
// The fronts of an assembly tree (assembly_tree.h), cut into tiles, and where the entries of As lie in them.
//
// The columns and rows of a front are its pivots, cut into `pivot_tiles` parts, and then the others, cut into the rest
// of `tiles` parts. Tile (I,J) is rows of part I, columns of part J. A front of up to front_tile rows is one tile.
//
//            pivots    others
//   pivots   L \ U       U
//   others     L        what is left to the parent

#include <algorithm>
#include <cstdint>

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
  /// The part with a row.
  constexpr std::int32_t part_of(std::int32_t row) const {
    return is_one_tile() ? 0 : row < pivots ? row / pivot_edge : pivot_tiles + (row - pivots) / other_edge;
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
  struct Tile {
    std::int32_t row, column;
  };
  constexpr Tile tile_of(std::int32_t slot) const {
    const std::int32_t below = slot - pivot_tiles * tiles;
    return below < 0 ? Tile{slot / tiles, slot % tiles} : Tile{pivot_tiles + below / pivot_tiles, below % pivot_tiles};
  }
  bool operator==(const FrontCuts&) const = default;
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

  bool operator==(const FrontColumn&) const = default;
};

/// A front among the columns of As.
struct FrontPlace {
  FrontCuts cuts;
  std::int32_t first;          // of its pivots
  const std::int32_t* others;  // (rows - pivots) the columns after them

  /// Column of As that is column, and row, k of the front.
  constexpr std::int32_t at(std::int32_t k) const { return k < cuts.pivots ? first + k : others[k - cuts.pivots]; }
  /// Column c of the tile with this slot. One beyond the tile has no entries.   col_ptr, row_idx: of As
  constexpr FrontColumn column(std::int32_t slot, std::int32_t c, const std::int64_t* col_ptr,
                               const std::int32_t* row_idx) const {
    const FrontCuts::Tile tile = cuts.tile_of(slot);
    if (c >= cuts.size(tile.column)) return {0, 0, 0};
    const std::int32_t k = cuts.begin(tile.column) + c, j = at(k), top = cuts.begin(tile.row);
    const std::int32_t bottom = k < cuts.pivots ? top + cuts.size(tile.row)  // else entries are in rows of pivots alone
                                                : std::min(top + cuts.size(tile.row), cuts.pivots);
    std::int64_t entry = col_ptr[j], end = col_ptr[j + 1];
    for (std::int64_t high = end; entry < high;) {
      const std::int64_t middle = entry + (high - entry) / 2;
      if (row_idx[middle] < at(top))
        entry = middle + 1;
      else
        high = middle;
    }
    FrontColumn column = {0, static_cast<std::uint32_t>(entry), j};
    for (std::int32_t row = top; row < bottom && entry < end; ++row)
      if (row_idx[entry] == at(row)) {
        column.rows |= std::uint64_t(1) << (row - top);
        ++entry;
      }
    return column;
  }
};

}  // namespace lulab
