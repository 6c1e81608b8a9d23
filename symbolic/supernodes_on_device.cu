#include "symbolic/supernodes_on_device.h"

#include <algorithm>
#include <vector>

#include "core/simt/device_tools.h"
#include "core/simt/primitives.h"
#include "core/uninitialized_vector.h"
#include "symbolic/panel_growth.h"
#include "symbolic/row_sets.h"
#include "symbolic/tree_on_device.h"

namespace lulab {
namespace {

constexpr unsigned panel_threads = 256;
static_assert(RelaxationOptions{}.max_width <= max_device_panel_width);

struct FilledColumns {
  std::int32_t n;
  const std::int64_t *col_ptr, *diag;
  const std::int32_t* row_idx;

  /// Is (row, j) an entry?   guess: where it may be, from the column's begin on, or if negative from its end:
  /// neighbours in a panel have most rows in one place.
  __device__ bool has(std::int32_t j, std::int32_t row, std::int64_t guess) const {
    const std::int64_t begin = col_ptr[j], end = col_ptr[j + 1], near = (guess < 0 ? end : begin) + guess;
    if (near >= begin && near < end && row_idx[near] == row) return true;
    const std::int64_t found = simt::find_row(row_idx, begin, end, row);
    return found < end && row_idx[found] == row;
  }
};

/// to[at] = the smallest of itself and j.
__device__ void atomic_lower(std::int32_t* to, std::int32_t at, std::int32_t j) {
  // RACE: the smallest wins; the look before spares most threads the atomic
  if (cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(to[at]).load(cuda::memory_order_relaxed) > j)
    atomicMin(&to[at], j);
}

/// parent: no_parent on entry   grid: a warp a column; likewise below   block: whole warps   shared: none
__global__ void find_parents_kernel(FilledColumns f, std::int32_t* parent) {
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
__global__ void count_new_rows_kernel(FilledColumns f, const std::int32_t* parent, std::int32_t max_width,
                                      std::int32_t* new_rows) {
  const std::int64_t column = simt::thread_of_grid() / 32;
  if (column >= f.n) return;
  const auto j = static_cast<std::int32_t>(column);
  const std::int32_t lane = threadIdx.x % 32, before = neighbours_before(parent, j, max_width);
  std::int32_t in_none[max_device_panel_width] = {};  // [k]: rows in none of the k columns before
  for (std::int64_t p = f.col_ptr[j] + lane; p < f.col_ptr[j + 1]; p += 32) {
    const std::int32_t row = f.row_idx[p];
    bool is_new = true;
#pragma unroll
    for (std::int32_t k = 0; k < max_device_panel_width; ++k) {
      if (k > 0 && k <= before && is_new) {
        is_new = !f.has(j - k, row, row < j ? p - f.col_ptr[j] : p - f.col_ptr[j + 1]);
      }
      in_none[k] += is_new;
    }
  }
#pragma unroll
  for (std::int32_t k = 0; k < max_device_panel_width; ++k) {
    const std::int32_t count = simt::warp_sum(in_none[k]);
    if (lane == 0 && k < max_width) new_rows[std::int64_t(max_width) * j + k] = count;
  }
}

/// Of a panel that begins with the column.   grid: a thread a column
__global__ void find_ends_kernel(PanelGrowth growth, std::uint8_t* width, std::int32_t* rows) {
  const auto j = static_cast<std::int32_t>(simt::thread_of_grid());
  if (j >= growth.n) return;
  const PanelGrowth::End end = growth.end(j);
  width[j] = static_cast<std::uint8_t>(end.column - j);
  rows[j] = static_cast<std::int32_t>(end.rows);
}

/// rows_from: (n) of a panel that begins with the column   counts: (panels + 1)   grid: a thread for each of these
__global__ void number_panels_kernel(std::int32_t panels, const std::int32_t* first, const std::int32_t* rows_from,
                                     std::int32_t* of, std::int64_t* counts) {
  const auto s = static_cast<std::int32_t>(simt::thread_of_grid());
  if (s > panels) return;
  counts[s] = s < panels ? rows_from[first[s]] : 0;
  for (std::int32_t j = first[s]; s < panels && j < first[s + 1]; ++j) of[j] = s;
}

/// Merges the columns of each panel, 1024 rows at a time: a row that a column has sets a bit, a word a lane. (Row
/// by row, a lane a column, af23560 takes 1.3 ms on an H200 instead of .2.)
/// grid: a warp a panel   block: panel_threads   shared: none
__global__ void merge_rows_kernel(FilledColumns f, std::int32_t panels, const std::int32_t* first,
                                  const std::int64_t* row_ptr, std::int32_t* rows) {
  LULAB_SHARED(std::uint32_t, words_of_warps, panel_threads);
  constexpr std::uint32_t none = ~std::uint32_t(0), window = 32 * 32;
  const std::int64_t s = simt::thread_of_grid() / 32;
  if (s >= panels) return;
  const std::int32_t lane = threadIdx.x % 32;
  std::uint32_t* const words = words_of_warps + threadIdx.x / 32 * 32;
  std::int64_t at[max_device_panel_width] = {}, end[max_device_panel_width] = {};
  std::uint32_t row[max_device_panel_width];  // the next 32 of each column, one a lane
  const auto bring = [&](int c) {
    row[c] = at[c] + lane < end[c] ? static_cast<std::uint32_t>(f.row_idx[at[c] + lane]) : none;
  };
#pragma unroll
  for (int c = 0; c < max_device_panel_width; ++c) {
    const std::int32_t j = min(first[s] + c, first[s + 1]);
    at[c] = f.col_ptr[j];
    end[c] = f.col_ptr[min(j + 1, first[s + 1])];
    bring(c);
  }
  for (std::int32_t* to = rows + row_ptr[s];;) {
    std::uint32_t next = none;
#pragma unroll
    for (int c = 0; c < max_device_panel_width; ++c) next = min(next, row[c]);
    next = simt::warp_min(next);
    if (next == none) return;
    const std::uint32_t begin = next / window * window;
    words[lane] = 0;
    __syncwarp();  // RACE: each lane has cleared a word, all set bits
    for (bool has_more = true; has_more;) {
      has_more = false;
#pragma unroll
      for (int c = 0; c < max_device_panel_width; ++c) {
        const bool is_here = row[c] - begin < window;
        if (is_here) add_to_set(words, static_cast<std::int32_t>(row[c] - begin));
        const std::uint32_t here = __ballot_sync(simt::all_lanes, is_here);
        at[c] += __popc(here);
        has_more |= here == simt::all_lanes;
        if (here != 0) bring(c);
      }
    }
    __syncwarp();  // RACE: lanes have set bits of all words, each reads its own
    const std::int32_t count = __popc(words[lane]);
    std::int32_t* mine = to + simt::warp_sum_before(count);
    for_rows_of_word(words[lane], static_cast<std::int32_t>(begin / 32) + lane,
                     [&](std::int32_t merged) { *mine++ = merged; });
    to += simt::warp_sum(count);
  }
}

struct UpdateCounts {
  std::int32_t ticket, chain;
  std::int64_t updated, updates, twice_multiply_adds;
};

/// What later panels read of a panel, published once: how many panels the longest chain has that ends with it, and how
/// many rows come after its own. Zero: not yet.
__device__ std::uint64_t chain_and_below(std::int32_t chain, std::int64_t below) {
  return std::uint64_t(chain) << 32 | std::uint64_t(below);
}

/// count_updates().   told: (panels) zero on entry; counts: likewise   grid: any   block: whole warps   shared: none
__global__ void count_updates_kernel(std::int32_t panels, const std::int32_t* first, const std::int32_t* of,
                                     const std::int64_t* row_ptr, const std::int32_t* rows, std::uint64_t* told,
                                     UpdateCounts* counts) {
  const std::int32_t lane = threadIdx.x % 32;
  std::int32_t updated = 0, longest = 0;
  std::int64_t updates = 0, twice_multiply_adds = 0;  // of each lane its share
  for (std::int32_t s; (s = simt::warp_ticket(&counts->ticket)) < panels;) {
    const std::int32_t begin = first[s], width = first[s + 1] - begin;
    const std::int64_t end = row_ptr[s + 1];
    const auto panel_of = [&](std::int64_t at) {  // of the row there; s: it is none of those before its own
      const std::int32_t row = at < end ? rows[at] : begin;
      return row < begin ? of[row] : s;
    };
    std::int64_t own = row_ptr[s];  // where its own rows begin, once all before them are counted
    std::int32_t k = panel_of(own + lane), last = s, chain = 0;
    for (std::int32_t above = 32; above == 32; own += above) {
      const std::int32_t next = panel_of(own + 32 + lane);  // comes while this row's panel is awaited
      const std::int32_t before = __shfl_up_sync(simt::all_lanes, k, 1);
      if (k != s) {
        // RACE: the warp of k has a smaller ticket; the word is all that is read
        const std::uint64_t of_k =
            simt::spin_wait<cuda::memory_order_relaxed>(&told[k], [](std::uint64_t word) { return word != 0; });
        chain = max(chain, static_cast<std::int32_t>(of_k >> 32));
        twice_multiply_adds += 2 * std::int64_t(width) * static_cast<std::uint32_t>(of_k);
        updates += k != (lane > 0 ? before : last);
      }
      last = __shfl_sync(simt::all_lanes, k, 31);
      above = __popc(__ballot_sync(simt::all_lanes, k != s));
      k = next;
    }
    chain = simt::warp_max(chain);
    if (lane == 0) {
      const std::int64_t below = end - own - width;
      // RACE: warps of later panels spin on the word, which is all that they read
      cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(told[s]).store(chain_and_below(chain + 1, below),
                                                                                cuda::memory_order_relaxed);
      twice_multiply_adds += std::int64_t(width) * width * below;
      updated += chain > 0;
      longest = max(longest, chain + 1);
    }
  }
  updates = simt::warp_sum(updates);
  twice_multiply_adds = simt::warp_sum(twice_multiply_adds);
  if (lane != 0) return;
  const auto add = [](std::int64_t& to, std::int64_t more) {
    // RACE: warps add; the end of the launch publishes the sum
    cuda::atomic_ref<std::int64_t, cuda::thread_scope_device>(to).fetch_add(more, cuda::memory_order_relaxed);
  };
  add(counts->updated, updated);
  add(counts->updates, updates);
  add(counts->twice_multiply_adds, twice_multiply_adds);
  atomicMax(&counts->chain, longest);  // RACE: the longest wins
}

}  // namespace

Result<DeviceSupernodes> supernodes_on_device(const DeviceFilledPattern& filled, const RelaxationOptions& options,
                                              simt::Workspace& work, simt::Stream& stream) {
  DeviceSupernodes panels;
  const std::int32_t n = filled.n;
  if (n == 0) return panels;
  const FilledColumns f = {n, filled.d_col_ptr.data(), filled.d_diag.data(), filled.d_row_idx.data()};
  const simt::LaunchShape warps = {.grid = simt::blocks_for(n, panel_threads / 32), .block = panel_threads};
  const simt::LaunchShape threads = {.grid = simt::blocks_for(n, panel_threads), .block = panel_threads};
  std::int32_t *parent = nullptr, *first_child = nullptr, *new_rows = nullptr, *rows_from = nullptr;
  std::uint8_t* d_width = nullptr;
  LULAB_RETURN_IF_ERROR(simt::place_together(work.arrays, stream, simt::Placed{parent, n}, simt::Placed{first_child, n},
                                             simt::Placed{new_rows, std::int64_t(n) * options.max_width},
                                             simt::Placed{rows_from, n}, simt::Placed{d_width, n}));
  simt::name_elements(parent, n, "parent");
  simt::name_elements(first_child, n, "first_child");
  for (std::int32_t* const columns : {parent, first_child})
    LULAB_RETURN_IF_ERROR(simt::fill_bytes(columns, no_parent & 0xff, sizeof(*columns) * std::size_t(n), stream));
  LULAB_RETURN_IF_ERROR(simt::launch(find_parents_kernel, warps, stream, f, parent));
  LULAB_RETURN_IF_ERROR(simt::launch(find_first_children_kernel, threads, stream, n, parent, first_child));
  LULAB_RETURN_IF_ERROR(simt::launch(count_new_rows_kernel, warps, stream, f, parent, options.max_width, new_rows));
  const PanelGrowth growth = {n, options, parent, first_child, new_rows};
  LULAB_RETURN_IF_ERROR(simt::launch(find_ends_kernel, threads, stream, growth, d_width, rows_from));
  UninitializedVector<std::uint8_t> width(n);
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(width.data(), d_width, width.size(), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());

  panels.first.reserve(n + std::size_t(1));  // of many columns it takes no memory until it is written
  while (panels.first.back() < n) panels.first.push_back(panels.first.back() + width[panels.first.back()]);
  const std::int32_t size = panels.size();
  LULAB_RETURN_IF_ERROR(simt::make(panels.d_first, panels.first, stream));
  LULAB_RETURN_IF_ERROR(simt::make(panels.d_of, n));
  LULAB_RETURN_IF_ERROR(simt::make(panels.d_row_ptr, size + std::int64_t(1)));
  LULAB_RETURN_IF_ERROR(simt::launch(
      number_panels_kernel, {.grid = simt::blocks_for(size + std::int64_t(1), panel_threads), .block = panel_threads},
      stream, size, panels.d_first.data(), rows_from, panels.d_of.data(), panels.d_row_ptr.data()));
  LULAB_RETURN_IF_ERROR(simt::exclusive_sums(panels.d_row_ptr.data(), panels.d_row_ptr.data(), size + std::int64_t(1),
                                             work.primitives, stream));
  std::int64_t rows = 0;
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(&rows, panels.d_row_ptr.data() + size, sizeof(rows), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  LULAB_RETURN_IF_ERROR(simt::make(panels.d_rows, rows));
  LULAB_RETURN_IF_ERROR(
      simt::launch(merge_rows_kernel, {.grid = simt::blocks_for(size, panel_threads / 32), .block = panel_threads},
                   stream, f, size, panels.d_first.data(), panels.d_row_ptr.data(), panels.d_rows.data()));
  return panels;
}

Result<RelaxedSupernodes> DeviceSupernodes::download(simt::Stream& stream) const {
  RelaxedSupernodes panels;
  if (size() == 0) return panels;
  panels.first = first;
  panels.of.resize(d_of.size());
  panels.row_ptr.resize(d_row_ptr.size());
  panels.rows.resize(d_rows.size());
  LULAB_RETURN_IF_ERROR(d_of.download(panels.of, stream));
  LULAB_RETURN_IF_ERROR(d_row_ptr.download(panels.row_ptr, stream));
  LULAB_RETURN_IF_ERROR(d_rows.download(panels.rows, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return panels;
}

Result<PanelUpdates> count_updates(const DeviceSupernodes& panels, simt::Stream& stream) {
  constexpr unsigned blocks = 1024;  // about as many as are resident
  if (panels.size() == 0) return PanelUpdates{};
  simt::DeviceBuffer<std::uint64_t> d_told;
  simt::DeviceBuffer<UpdateCounts> d_counts;
  std::vector<UpdateCounts> counts(1);
  LULAB_RETURN_IF_ERROR(simt::make(d_told, panels.size()));
  LULAB_RETURN_IF_ERROR(simt::make(d_counts, 1));
  LULAB_RETURN_IF_ERROR(d_told.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(d_counts.fill_bytes(0, stream));
  simt::name_elements(d_told.data(), panels.size(), "told");
  LULAB_RETURN_IF_ERROR(
      simt::launch(count_updates_kernel,
                   {.grid = simt::blocks_for(panels.size(), panel_threads / 32, blocks), .block = panel_threads},
                   stream, panels.size(), panels.d_first.data(), panels.d_of.data(), panels.d_row_ptr.data(),
                   panels.d_rows.data(), d_told.data(), d_counts.data()));
  LULAB_RETURN_IF_ERROR(d_counts.download(counts, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  const UpdateCounts& c = counts[0];
  return PanelUpdates{panels.size(), static_cast<std::int32_t>(c.updated), c.updates,
                      0.5 * static_cast<double>(c.twice_multiply_adds), c.chain};
}

}  // namespace lulab
