#pragma once
// The tables of a task of 11_fan_in, packed behind each other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sparse_syncfree/11_fan_in_plan.h"

namespace lulab::sparse_syncfree {

/// The bytes of a task, table after table.
class FanInBytes {
 public:
  FanInBytes() : bytes_(sizeof(FanInTask)) {}

  /// Returns the offset of the table.
  template <class U>
  std::uint32_t put(std::span<const U> table) {
    return put(table.data(), table.size_bytes());
  }
  template <class U>
  std::uint32_t put(const std::vector<U>& table) {
    return put(std::span<const U>(table));
  }
  /// room: bytes for whole tables on chip.
  std::vector<std::byte> finish(FanInTask task, std::int64_t room);

 private:
  std::uint32_t put(const void* data, std::size_t size);

  std::vector<std::byte> bytes_;
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
  /// Rows that may be summed at the same time.   Returns an estimate of the passes that they take.
  double add(std::vector<FanInSum> sums, bool ends_level);
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

  std::vector<FanInGroup> groups_;
  std::vector<FanInRow> rows_;
  std::vector<std::uint32_t> items_;
  bool fits_ = true;
};

}  // namespace lulab::sparse_syncfree
