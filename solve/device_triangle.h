#pragma once
// A triangle and its tasks in device memory, for DeviceSolver.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/simt/device.h"
#include "solve/solve_row.h"
#include "solve/triangle.h"

namespace lulab {

constexpr int max_rhs_lanes = 8;  // 64 bytes of each x(j), and four lanes are left for entries

/// A triangle in device memory, without its entries.
struct DeviceTriangle {
  struct Tasks {
    simt::DeviceBuffer<TriangleTask> d_tasks;
    simt::DeviceBuffer<std::int32_t> d_level_ptr;
    std::vector<std::int32_t> level_ptr;
    std::int64_t most_in_level = 0;
    std::int32_t middle_for = 0;  // right-hand sides that `middle` is for
    MiddleRange middle;
  };

  simt::DeviceBuffer<TriangleRow> d_rows;
  simt::DeviceBuffer<std::int32_t> d_position;  // (n) of each row in d_rows; narrow_middle only
  std::vector<std::int32_t> level_ptr;          // into d_rows
  Tasks single, several;                        // for one right-hand side; for more
  std::int32_t n_levels = 0;
  int step = 1;

  Status create(const Triangle& t, bool for_several, bool has_middle, int wide, simt::Stream& stream) {
    n_levels = t.n_levels();
    level_ptr = t.level_ptr;
    std::vector<std::int32_t> position(has_middle ? t.rows.size() : 0);
    for (std::size_t s = 0; s < position.size(); ++s) position[t.rows[s].row] = static_cast<std::int32_t>(s);
    LULAB_RETURN_IF_ERROR(simt::make(d_position, position, stream));
    step = t.step;
    LULAB_RETURN_IF_ERROR(simt::make(d_rows, t.rows, stream));
    LULAB_RETURN_IF_ERROR(upload(single, make_tasks(t, 1, wide), stream));
    if (for_several) LULAB_RETURN_IF_ERROR(upload(several, make_tasks(t, max_rhs_lanes, wide), stream));
    return stream.wait();  // t and position may go
  }
  static Status upload(Tasks& to, const TriangleTasks& from, simt::Stream& stream) {
    to.level_ptr = from.level_ptr;
    for (std::size_t l = 1; l < from.level_ptr.size(); ++l)
      to.most_in_level = std::max<std::int64_t>(to.most_in_level, from.level_ptr[l] - from.level_ptr[l - 1]);
    LULAB_RETURN_IF_ERROR(simt::make(to.d_tasks, from.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(to.d_level_ptr, from.level_ptr, stream));
    return stream.wait();  // `from` may go
  }
  const Tasks& tasks(std::int32_t columns) const { return columns > 1 ? several : single; }
  /// See choose_middle().
  const MiddleRange& middle(std::int32_t columns, std::int64_t rhs_groups, std::int64_t max_rows, bool at_end) {
    Tasks& t = columns > 1 ? several : single;
    if (t.middle_for != columns) t.middle = choose_middle(level_ptr, t.level_ptr, rhs_groups, max_rows, at_end);
    t.middle_for = columns;
    return t.middle;
  }
  template <class T>
  TriangleView<T> view(std::int32_t columns, const std::int32_t* column, const T* values, const T* inverse) const {
    const Tasks& t = tasks(columns);
    return {d_rows.data(),
            t.d_tasks.data(),
            t.d_level_ptr.data(),
            static_cast<std::int32_t>(t.d_tasks.size()),
            n_levels,
            column,
            values,
            inverse,
            step};
  }
  std::int64_t bytes() const {
    return std::int64_t(sizeof(TriangleRow)) * d_rows.size() +
           std::int64_t(sizeof(TriangleTask)) * (single.d_tasks.size() + several.d_tasks.size()) +
           4 * (single.d_level_ptr.size() + several.d_level_ptr.size() + d_position.size());
  }
};

}  // namespace lulab
