#include "symbolic/fill_over_ranks.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/large_pages.h"
#include "core/simt/device_tools.h"
#include "core/simt/primitives.h"
#include "symbolic/fill.h"
#include "symbolic/fill_sources.h"

namespace lulab {
namespace {

constexpr int placing_warps = 4, summing_threads = 256;
constexpr std::int64_t row_bytes = sizeof(std::int32_t), offset_bytes = sizeof(std::int64_t);

/// What one rank found, and the memory it worked in.
struct Share {
  simt::Stream stream;
  DeviceFilledPattern columns;
  simt::Scratch workspace;
  FillWork work;
};

SourceShare share_of(int rank, int ranks) { return {.first = rank, .step = ranks}; }

Result<Share> search_share(CscPatternView b, const FillRung& rung, const FillLimits& limits, SourceShare share) try {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(const auto search, rung.make_search(b.n_cols, limits));
  FillWork work;
  simt::Scratch workspace;
  LULAB_ASSIGN_OR_RETURN(auto columns, fill_by_sources(b, limits, *search, stream, workspace, &work, share));
  return Share{std::move(stream), std::move(columns), std::move(workspace), work};
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

/// work: an entry a rank.
void gather_work(const FillWork& mine, Ranks& ranks, std::vector<FillWork>& work) {
  constexpr std::size_t fields = 6;
  const std::int64_t own[fields] = {mine.edges,          mine.batches,         mine.most_sources,
                                    mine.fewest_sources, mine.workspace_bytes, mine.cleared_bytes};
  std::vector<std::int64_t> all(fields * static_cast<std::size_t>(ranks.count()));
  ranks.all_gather(own, all);
  work.clear();
  for (const std::int64_t* f = all.data(); f != all.data() + all.size(); f += fields)
    work.push_back({.edges = f[0],
                    .batches = f[1],
                    .most_sources = static_cast<std::int32_t>(f[2]),
                    .fewest_sources = static_cast<std::int32_t>(f[3]),
                    .workspace_bytes = f[4],
                    .cleared_bytes = f[5]});
}

/// Where the columns of every share begin in it, share after share, each with its end.
struct ShareOffsets {
  std::int32_t n = 0;
  int ranks = 1;
  const std::int64_t* offsets = nullptr;  // (n + ranks)

  /// Of `offsets`; the first n % ranks shares have one column more.
  constexpr std::int64_t first_of(int rank) const {
    return rank * (std::int64_t{n / ranks} + 1) + (rank < n % ranks ? rank : n % ranks);
  }
  /// Of column j.
  constexpr std::int64_t index(std::int32_t j) const { return first_of(j % ranks) + j / ranks; }
};

/// sizes[j] = entries of column j, sizes[n] = 0.
/// grid: any   block: summing_threads   shared: none
__global__ void size_kernel(ShareOffsets shares, std::int64_t* sizes) {
  for (std::int64_t j = simt::thread_of_grid(); j <= shares.n; j += simt::threads_of_grid()) {
    const std::int64_t* const offset = shares.offsets + shares.index(static_cast<std::int32_t>(j));
    sizes[j] = j < shares.n ? offset[1] - offset[0] : 0;
  }
}

/// What a device knows of everyone's columns.
struct Gathering {
  std::vector<std::int64_t> offsets;           // those of ShareOffsets, on the host
  simt::DeviceBuffer<std::int64_t> d_offsets;  // (n + ranks) the same
  simt::DeviceBuffer<std::int64_t> d_col_ptr;  // (n + 1) of L + U
  simt::DeviceBuffer<std::int64_t> d_diag;     // (n)
  simt::DeviceBuffer<std::int64_t> d_shifts;   // (windows, ranks)
};

Result<Gathering> memory_to_gather(FilledPattern& f, int ranks) try {
  Gathering g;
  g.offsets.resize(f.n + static_cast<std::size_t>(ranks));
  f.col_ptr.resize(f.n + std::size_t(1));
  f.diag.resize(f.n);
  LULAB_RETURN_IF_ERROR(simt::make(g.d_offsets, std::ssize(g.offsets)));
  LULAB_RETURN_IF_ERROR(simt::make(g.d_col_ptr, std::ssize(f.col_ptr)));
  LULAB_RETURN_IF_ERROR(simt::make(g.d_diag, f.n));
  return g;
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

/// f.col_ptr and the offsets, on the device and on the host.
Status sum_sizes(Gathering& g, int ranks, Share& mine, FilledPattern& f) {
  const ShareOffsets shares = {.n = f.n, .ranks = ranks, .offsets = g.d_offsets.data()};
  const simt::LaunchShape shape = {.grid = simt::blocks_for(f.n, summing_threads, 1 << 14), .block = summing_threads};
  std::int64_t* const d_col_ptr = g.d_col_ptr.data();
  LULAB_RETURN_IF_ERROR(simt::launch(size_kernel, shape, mine.stream, shares, d_col_ptr));
  LULAB_RETURN_IF_ERROR(simt::exclusive_sums(d_col_ptr, d_col_ptr, f.n + std::int64_t{1}, mine.workspace, mine.stream));
  LULAB_RETURN_IF_ERROR(g.d_col_ptr.download(f.col_ptr, mine.stream));
  LULAB_RETURN_IF_ERROR(g.d_offsets.download(g.offsets, mine.stream));
  return mine.stream.wait();
}

/// Collective. The sizes of everyone's columns, summed up.
Status gather_sizes(Gathering& g, Share& mine, Ranks& ranks, FilledPattern& f) {
  std::vector<std::int64_t> bytes(ranks.count());
  for (int rank = 0; rank < std::min(ranks.count(), f.n); ++rank)
    bytes[rank] = (share_of(rank, ranks.count()).size(f.n) + 1) * offset_bytes;
  Status status = ranks.all_gather_on_device(mine.columns.d_col_ptr.data(), bytes, g.d_offsets.data(), mine.stream);
  if (status.ok()) status = sum_sizes(g, ranks.count(), mine, f);
  return agree(ranks, std::move(status));
}

/// How the columns are gathered, window after window.
struct Windows {
  std::vector<std::int32_t> begin = {0};  // (windows + 1) columns; n at the end
  std::vector<std::int64_t> bytes;        // (windows, ranks) that each rank adds
  std::vector<std::int64_t> shifts;       // (windows, ranks) from where a column begins in its share to where it begins
                                          // in the window, share after share
  std::int64_t most_entries = 0;          // of a window

  int count() const { return static_cast<int>(begin.size()) - 1; }
};

/// Windows of so many entries at most, but of a column at least.
Result<Windows> cut_windows(const FilledPattern& f, const ShareOffsets& shares, std::int64_t entries) try {
  Windows w;
  for (std::int32_t first = 0, end = 0; first < f.n; first = end) {
    const auto too_far = std::upper_bound(f.col_ptr.begin() + first + 2, f.col_ptr.end(), f.col_ptr[first] + entries);
    end = static_cast<std::int32_t>(too_far - f.col_ptr.begin()) - 1;
    std::int64_t to = 0;
    for (int rank = 0; rank < shares.ranks; ++rank) {
      const SourceShare share = share_of(rank, shares.ranks);
      const std::int64_t* const offsets = shares.offsets + shares.first_of(rank);
      const std::int32_t first_column = share.size(first), end_column = share.size(end);
      const std::int64_t size = end_column > first_column ? offsets[end_column] - offsets[first_column] : 0;
      w.bytes.push_back(size * row_bytes);
      w.shifts.push_back(size > 0 ? to - offsets[first_column] : 0);
      to += size;
    }
    w.begin.push_back(end);
    w.most_entries = std::max(w.most_entries, to);
  }
  return w;
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

/// What place_kernel() reads and writes; passed to it by value.
struct Placing {
  std::int32_t first, end;  // columns
  ShareOffsets shares;
  const std::int64_t* shifts;    // (ranks)
  const std::int64_t* col_ptr;   // (n + 1) of L + U
  const std::int32_t* gathered;  // rows of these columns, share after share
  std::int32_t* rows;            // the same, column after column
  std::int64_t* diag;            // (n)
};

/// Takes each column to its place.   A warp a column.
/// grid: any   block: 32 * placing_warps   shared: none
__global__ void place_kernel(Placing p) {
  const int lane = threadIdx.x % 32;
  for (std::int64_t k = simt::thread_of_grid() / 32; k < p.end - p.first; k += simt::threads_of_grid() / 32) {
    const auto j = static_cast<std::int32_t>(p.first + k);
    const std::int64_t begin = p.col_ptr[j], size = p.col_ptr[j + 1] - begin;
    const std::int32_t* const from = p.gathered + (p.shares.offsets[p.shares.index(j)] + p.shifts[j % p.shares.ranks]);
    std::int32_t* const to = p.rows + (begin - p.col_ptr[p.first]);
    for (std::int64_t i = lane; i < size; i += 32) {
      to[i] = from[i];
      if (from[i] == j) p.diag[j] = begin + i;
    }
  }
}

/// Collective. How many entries every rank's workspace holds twice.
std::int64_t entries_at_once(const Share& mine, Ranks& ranks) {
  const std::int64_t own[] = {mine.workspace.size() / (2 * row_bytes)};
  std::vector<std::int64_t> all(ranks.count());
  ranks.all_gather(own, all);
  return std::ranges::min(all);
}

/// Memory for the rows that are gathered: on the host for all, on the device for a window.
Status make_room(Gathering& g, const Windows& windows, Share& mine, FilledPattern& f) try {
  resize_in_large_pages(f.row_idx, f.col_ptr.back());
  LULAB_RETURN_IF_ERROR(simt::make(g.d_shifts, windows.shifts, mine.stream));
  const std::int64_t bytes = 2 * row_bytes * windows.most_entries;  // gathered, and in place
  if (mine.workspace.size() >= bytes) return {};
  LULAB_RETURN_IF_ERROR(mine.stream.wait());
  mine.workspace = {};  // first, for its memory
  return simt::make(mine.workspace, bytes);
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

/// Brings a window that has been gathered to its place on the host.
Status place(const Gathering& g, const Windows& windows, int window, int ranks, Share& mine, FilledPattern& f) {
  const std::int32_t first = windows.begin[window], end = windows.begin[window + 1];
  auto* const d_gathered = reinterpret_cast<std::int32_t*>(mine.workspace.data());
  std::int32_t* const d_rows = d_gathered + windows.most_entries;
  const Placing placing = {.first = first,
                           .end = end,
                           .shares = {.n = f.n, .ranks = ranks, .offsets = g.d_offsets.data()},
                           .shifts = g.d_shifts.data() + std::int64_t{window} * ranks,
                           .col_ptr = g.d_col_ptr.data(),
                           .gathered = d_gathered,
                           .rows = d_rows,
                           .diag = g.d_diag.data()};
  const simt::LaunchShape shape = {.grid = simt::blocks_for(end - first, placing_warps, 1 << 14),
                                   .block = 32 * placing_warps};
  LULAB_RETURN_IF_ERROR(simt::launch(place_kernel, shape, mine.stream, placing));
  const std::int64_t entries = f.col_ptr[end] - f.col_ptr[first];
  return simt::copy_to_host(f.row_idx.data() + f.col_ptr[first], d_rows, static_cast<std::size_t>(entries * row_bytes),
                            mine.stream);
}

/// Collective. f.row_idx and f.diag from everyone's columns.
Status gather_columns(Gathering& g, Share& mine, Ranks& ranks, FilledPattern& f) {
  const int count = ranks.count();
  const ShareOffsets shares = {.n = f.n, .ranks = count, .offsets = g.offsets.data()};
  const auto windows = cut_windows(f, shares, entries_at_once(mine, ranks));
  LULAB_RETURN_IF_ERROR(agree(ranks, windows.status()));
  LULAB_RETURN_IF_ERROR(agree(ranks, make_room(g, *windows, mine, f)));
  Status status;
  const std::int32_t* d_mine = mine.columns.d_row_idx.data();
  for (int w = 0; w < windows->count(); ++w) {  // to the end, also where this rank fails: the others wait for it
    const auto bytes = std::span(windows->bytes).subspan(std::size_t(w) * count, count);
    Status gathered = ranks.all_gather_on_device(d_mine, bytes, mine.workspace.data(), mine.stream);
    if (status.ok()) status = std::move(gathered);
    if (status.ok()) status = place(g, *windows, w, count, mine, f);
    d_mine += bytes[ranks.rank()] / row_bytes;
  }
  if (status.ok()) status = g.d_diag.download(f.diag, mine.stream);
  if (status.ok()) status = mine.stream.wait();
  return agree(ranks, std::move(status));
}

}  // namespace

Result<FilledPattern> fill_over_ranks(CscPatternView b, const FillRung& rung, const FillLimits& limits, Ranks& ranks,
                                      std::vector<FillWork>* work) {
  if (rung.make_search == nullptr)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} does not search from each column on its own, as ranks need it", rung.id));
  auto mine = search_share(b, rung, limits, share_of(ranks.rank(), ranks.count()));
  LULAB_RETURN_IF_ERROR(agree(ranks, mine.status()));
  FilledPattern f;
  f.n = b.n_cols;
  auto gathering = memory_to_gather(f, ranks.count());
  LULAB_RETURN_IF_ERROR(agree(ranks, gathering.status()));
  LULAB_RETURN_IF_ERROR(gather_sizes(*gathering, *mine, ranks, f));
  LULAB_RETURN_IF_ERROR(gather_columns(*gathering, *mine, ranks, f));
  if (work != nullptr) gather_work(mine->work, ranks, *work);
  return f;
}

}  // namespace lulab
