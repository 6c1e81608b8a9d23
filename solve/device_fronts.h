#pragma once
// The tasks of a solve by fronts in device memory, for DeviceSolver.

#include <algorithm>
#include <cstdint>

#include "core/simt/device.h"
#include "solve/05_fronts.h"
#include "solve/front_tasks.h"

namespace lulab {

/// Empty until create().
template <class T>
struct DeviceFronts {
  DeviceFrontColumns columns;
  simt::DeviceBuffer<std::int32_t> d_others, d_from;
  simt::DeviceBuffer<std::int64_t> d_from_ptr, d_col_ptr;
  struct List {
    simt::DeviceBuffer<std::int32_t> d_ptr;
    simt::DeviceBuffer<FrontTask> d_tasks;

    Status create(const FrontTaskList& list, simt::Stream& stream) {
      LULAB_RETURN_IF_ERROR(simt::make(d_ptr, list.ptr, stream));
      return simt::make(d_tasks, list.tasks, stream);
    }
    front_solve::FrontTaskListView view() const {
      return {d_ptr.data(), d_tasks.data(), static_cast<unsigned>(d_ptr.size() - 1)};
    }
    std::int64_t bytes() const { return 4 * d_ptr.size() + std::int64_t(sizeof(FrontTask)) * d_tasks.size(); }
  };
  List lower, upper;
  std::int64_t n_words = 0;
  std::int32_t hops = 0;

  bool empty() const { return n_words == 0; }

  /// fronts: of f
  /// Errors    not_implemented (a pattern far from symmetric), out_of_memory, device_error.
  Status create(const FilledPattern& f, const Fronts& fronts, simt::Stream& stream) {
    LULAB_ASSIGN_OR_RETURN(const FrontTasks tasks, make_front_tasks(fronts, f.nnz()));
    LULAB_ASSIGN_OR_RETURN(columns, front_columns_on_device(f, fronts, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_others, tasks.others, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from, tasks.from, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_from_ptr, tasks.from_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_col_ptr, f.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(lower.create(tasks.lower, stream));
    LULAB_RETURN_IF_ERROR(upper.create(tasks.upper, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());  // tasks is a local
    hops = tasks.lower.hops + tasks.upper.hops;
    n_words = tasks.n_words;
    return {};
  }

  front_solve::FrontTasksView<T> view(const T* values, Word<T>* words) const {
    return {
        columns->data(), d_others.data(), d_from_ptr.data(), d_from.data(), lower.view(), upper.view(), values, words};
  }
  std::int64_t sets() const { return lower.d_ptr.size() + upper.d_ptr.size() - 2; }

  /// With the columns, which a factorization may share.
  std::int64_t bytes() const {
    return std::int64_t(sizeof(FrontColumn)) * (columns ? columns->size() : 0) + 4 * (d_others.size() + d_from.size()) +
           8 * (d_from_ptr.size() + d_col_ptr.size()) + lower.bytes() + upper.bytes();
  }
};

}  // namespace lulab
