#include "symbolic/supernodes_on_device.h"

#include <algorithm>
#include <vector>

#include "core/simt/device_tools.h"
#include "symbolic/panel_growth.h"
#include "symbolic/tree_on_device.h"

namespace lulab {
namespace {

constexpr unsigned panel_threads = 256;
constexpr int lanes_a_panel = max_device_panel_width;  // a lane a column
static_assert(RelaxationOptions{}.max_width <= max_device_panel_width);

struct Columns {
  std::int32_t n;
  const std::int64_t *col_ptr, *diag;
  const std::int32_t* row_idx;
};

/// to[at] = the smallest of itself and j.
__device__ void atomic_lower(std::int32_t* to, std::int32_t at, std::int32_t j) {
  // RACE: the smallest wins; the look before spares most threads the atomic
  if (cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(to[at]).load(cuda::memory_order_relaxed) > j)
    atomicMin(&to[at], j);
}

/// parent: no_parent on entry   grid: a warp a column; likewise below   block: whole warps   shared: none
__global__ void find_parents_kernel(Columns f, std::int32_t* parent) {
  const std::int64_t column = simt::thread_of_grid() / 32;
  if (column >= f.n) return;
  const auto j = static_cast<std::int32_t>(column);
  const std::int64_t diag = f.diag[j];
  for (std::int64_t p = f.col_ptr[j] + threadIdx.x % 32; p < diag; p += 32) atomic_lower(parent, f.row_idx[p], j);
  if (threadIdx.x % 32 == 0 && diag + 1 < f.col_ptr[j + 1]) atomic_lower(parent, j, f.row_idx[diag + 1]);
}

/// parent: -1 for roots on exit   first_child: no_parent, which is beyond all, on entry   grid: a thread a column
__global__ void find_first_children_kernel(std::int32_t n, std::int32_t* parent, std::int32_t* first_child) {
  const auto j = static_cast<std::int32_t>(simt::thread_of_grid());
  if (j >= n) return;
  if (parent[j] == no_parent)
    parent[j] = -1;
  else
    atomic_lower(first_child, parent[j], j);
}

/// How many columns before j may be in one panel with it.
__device__ std::int32_t neighbours_before(const std::int32_t* parent, std::int32_t j, std::int32_t max_width) {
  std::int32_t count = 0;
  while (count < min(j, max_width - 1)) {
    const std::int32_t k = j - count - 1;
    if (parent[k] < 0 || parent[k] - k >= max_width) break;
    ++count;
  }
  return count;
}

/// PanelGrowth::new_rows, where a panel may need them.   grid: a warp a column
__global__ void count_new_rows_kernel(Columns f, const std::int32_t* parent, std::int32_t max_width,
                                      std::int32_t* new_rows) {
  const std::int64_t column = simt::thread_of_grid() / 32;
  if (column >= f.n) return;
  const auto j = static_cast<std::int32_t>(column);
  const std::int32_t lane = threadIdx.x % 32, before = neighbours_before(parent, j, max_width);
  std::int32_t in_none[lanes_a_panel] = {};  // [k]: rows in none of the k columns before
  for (std::int64_t p = f.col_ptr[j] + lane; p < f.col_ptr[j + 1]; p += 32) {
    const std::int32_t row = f.row_idx[p];
    bool is_new = true;
#pragma unroll
    for (std::int32_t k = 0; k < lanes_a_panel; ++k) {
      if (k > 0 && k <= before && is_new) {
        const std::int64_t end = f.col_ptr[j - k + 1];
        const std::int64_t found = simt::find_row(f.row_idx, f.col_ptr[j - k], end, row);
        is_new = found == end || f.row_idx[found] != row;
      }
      in_none[k] += is_new;
    }
  }
#pragma unroll
  for (std::int32_t k = 0; k < lanes_a_panel; ++k) {
    const std::int32_t count = simt::warp_sum(in_none[k]);
    if (lane == 0 && k < max_width) new_rows[std::int64_t(max_width) * j + k] = count;
  }
}

struct PanelEnd {
  std::int32_t column, rows;
};

/// Of a panel that begins with the column.   grid: a thread a column
__global__ void find_ends_kernel(PanelGrowth growth, PanelEnd* ends) {
  const auto j = static_cast<std::int32_t>(simt::thread_of_grid());
  if (j >= growth.n) return;
  const PanelGrowth::End end = growth.end(j);
  ends[j] = {end.column, static_cast<std::int32_t>(end.rows)};
}

/// Merges the columns of each panel, a lane a column.   grid: lanes_a_panel threads a panel   block: whole warps
__global__ void merge_rows_kernel(Columns f, std::int32_t panels, const std::int32_t* first,
                                  const std::int64_t* row_ptr, std::int32_t* rows) {
  constexpr std::int32_t none = 0x7fffffff;
  const std::int64_t s = simt::thread_of_grid() / lanes_a_panel;
  const std::int32_t column = threadIdx.x % lanes_a_panel;
  const bool on = s < panels && first[s] + column < first[s + 1];
  std::int64_t at = on ? f.col_ptr[first[s] + column] : 0;
  const std::int64_t end = on ? f.col_ptr[first[s] + column + 1] : 0;
  std::int32_t* to = s < panels ? rows + row_ptr[s] : nullptr;
  std::int32_t mine = at < end ? f.row_idx[at] : none;
  for (;;) {
    const std::int32_t next = simt::warp_min<lanes_a_panel>(mine);
    if (__all_sync(simt::all_lanes, next == none)) return;
    if (next == none) continue;
    if (column == 0) *to = next;
    ++to;
    if (mine == next) mine = ++at < end ? f.row_idx[at] : none;
  }
}

}  // namespace

Result<RelaxedSupernodes> supernodes_on_device(const DeviceFilledPattern& filled, const RelaxationOptions& options,
                                               simt::Stream& stream) {
  RelaxedSupernodes panels;
  const std::int32_t n = filled.n;
  if (n == 0) return panels;
  const Columns f = {n, filled.d_col_ptr.data(), filled.d_diag.data(), filled.d_row_idx.data()};
  const simt::LaunchShape warps = {.grid = simt::blocks_for(n, panel_threads / 32), .block = panel_threads};
  const simt::LaunchShape threads = {.grid = simt::blocks_for(n, panel_threads), .block = panel_threads};
  simt::DeviceBuffer<std::int32_t> d_parent, d_first_child, d_new_rows;
  simt::DeviceBuffer<PanelEnd> d_ends;
  LULAB_RETURN_IF_ERROR(simt::make(d_parent, n));
  LULAB_RETURN_IF_ERROR(simt::make(d_first_child, n));
  LULAB_RETURN_IF_ERROR(simt::make(d_new_rows, std::int64_t(n) * options.max_width));
  LULAB_RETURN_IF_ERROR(simt::make(d_ends, n));
  LULAB_RETURN_IF_ERROR(d_parent.fill_bytes(no_parent & 0xff, stream));
  LULAB_RETURN_IF_ERROR(d_first_child.fill_bytes(no_parent & 0xff, stream));
  LULAB_RETURN_IF_ERROR(simt::launch(find_parents_kernel, warps, stream, f, d_parent.data()));
  LULAB_RETURN_IF_ERROR(
      simt::launch(find_first_children_kernel, threads, stream, n, d_parent.data(), d_first_child.data()));
  LULAB_RETURN_IF_ERROR(
      simt::launch(count_new_rows_kernel, warps, stream, f, d_parent.data(), options.max_width, d_new_rows.data()));
  const PanelGrowth growth = {n, options, d_parent.data(), d_first_child.data(), d_new_rows.data()};
  LULAB_RETURN_IF_ERROR(simt::launch(find_ends_kernel, threads, stream, growth, d_ends.data()));
  std::vector<PanelEnd> ends(n);
  LULAB_RETURN_IF_ERROR(d_ends.download(ends, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());

  panels.of.resize(n);
  while (panels.first.back() < n) {
    const auto [end, rows] = ends[panels.first.back()];
    panels.add(end, rows);
  }
  simt::DeviceBuffer<std::int32_t> d_first, d_rows;
  simt::DeviceBuffer<std::int64_t> d_row_ptr;
  LULAB_RETURN_IF_ERROR(simt::make(d_first, panels.first, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr, panels.row_ptr, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_rows, panels.row_ptr.back()));
  LULAB_RETURN_IF_ERROR(
      simt::launch(merge_rows_kernel,
                   {.grid = simt::blocks_for(panels.size(), panel_threads / lanes_a_panel), .block = panel_threads},
                   stream, f, panels.size(), d_first.data(), d_row_ptr.data(), d_rows.data()));
  panels.rows.resize(panels.row_ptr.back());
  LULAB_RETURN_IF_ERROR(d_rows.download(panels.rows, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return panels;
}

}  // namespace lulab
