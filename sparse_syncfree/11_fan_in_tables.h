#pragma once
// The tables of a task of 11_fan_in, packed behind each other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/uninitialized_vector.h"
#include "sparse_syncfree/11_fan_in_plan.h"

namespace lulab::sparse_syncfree {

/// The bytes of a task, table after table.
class FanInBytes {
 public:
  FanInBytes() { bytes_.resize(sizeof(FanInTask)); }

  /// Room for about so many bytes of tables.
  void reserve(std::size_t bytes) { bytes_.reserve(bytes_.size() + bytes); }
  /// Returns the offset of the table.
  template <class Table>
  std::uint32_t put(const Table& table) {
    return put(std::as_bytes(std::span(table)));
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(bytes_.size()); }
  /// room: bytes for whole tables on chip.
  UninitializedVector<std::byte> finish(FanInTask task, std::int64_t room);

 private:
  std::uint32_t put(std::span<const std::byte> table);

  UninitializedVector<std::byte> bytes_;
  std::vector<std::uint32_t> ends_ = {sizeof(FanInTask)};  // of tables
};

/// A row of a table before it is packed.
struct FanInSum {
  std::uint16_t place;
  std::uint32_t pivot;  // or no_pivot
  std::span<const std::uint32_t> items;
};

/// Rows of a table, and how lanes share them.
class FanInRows {
 public:
  explicit FanInRows(int threads) : threads_(threads) {}

  /// Rows that may be summed at the same time.   Returns an estimate of the passes that they take.
  double add(std::span<const FanInSum> sums, bool ends_level);
  FanInTable put(FanInBytes& bytes) const;
  /// All counts fit into the fields of FanInRow.
  bool fits() const { return fits_; }

 private:
  struct Way {
    double cost;
    int log_lanes;
  };
  Way best_way(std::uint32_t first, std::uint32_t end) const;
  void push(std::uint32_t first, std::uint32_t end);

  const int threads_;  // of a block
  std::vector<FanInGroup> groups_;
  std::vector<FanInRow> rows_;
  UninitializedVector<std::uint32_t> items_;
  std::vector<std::uint32_t> next_;  // workspace of add(), as the next one
  std::vector<const FanInSum*> by_length_;
  bool fits_ = true;
};

}  // namespace lulab::sparse_syncfree
