#include "symbolic/fill_sources.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/large_pages.h"
#include "symbolic/fill.h"
#include "symbolic/row_sets.h"

namespace lulab {
namespace {

constexpr int collecting_warps = 4;
// Room for L + U at first, for an entry of B. Where it is too little, more is made and copied to: 2 to 5 ms of 80 of
// grid2d_100000, where four ranks of one host do so.
constexpr std::int64_t entries_expected = 16;

/// sizes[k] = rows of set k.   A warp a source.
/// grid: any   block: 32 * collecting_warps   shared: none
__global__ void count_found_kernel(SourceBatch b, std::int64_t* sizes) {
  const int lane = threadIdx.x % 32;
  for (std::int64_t k = simt::thread_of_grid() / 32; k < b.count; k += simt::threads_of_grid() / 32) {
    std::int32_t size = 0;
    for (std::int32_t w = lane; w < b.words; w += 32) size += __popc(b.found[k * b.words + w]);
    size = simt::warp_sum(size);
    if (lane == 0) sizes[k] = size;
  }
}

/// rows[begin[k] ...] = the rows of set k, ascending; diag of that column = where row source(k) is.   A warp a source.
/// grid: any   block: 32 * collecting_warps   shared: none
__global__ void write_found_kernel(SourceBatch b, const std::int64_t* begin, std::int32_t* rows, std::int64_t* diag) {
  const int lane = threadIdx.x % 32;
  for (std::int64_t k = simt::thread_of_grid() / 32; k < b.count; k += simt::threads_of_grid() / 32) {
    std::int64_t to = begin[k];
    for (std::int32_t base = 0; base < b.words; base += 32) {
      const std::int32_t w = base + lane;
      const std::uint32_t bits = w < b.words ? b.found[k * b.words + w] : 0;
      const std::int32_t count = __popc(bits);
      std::int64_t mine = to + simt::warp_sum_before(count);
      for_rows_of_word(bits, w, [&](std::int32_t row) {
        if (row == b.source(k)) diag[b.first / b.step + k] = mine;
        rows[mine++] = row;
      });
      to += simt::warp_sum(count);
    }
  }
}

/// The columns found so far, in device memory that grows.
class Columns {
 public:
  /// With room for so many entries, or where that is not there for `least`.
  static Result<Columns> create(std::int32_t n, SourceShare share, std::int64_t room, std::int64_t least) {
    Columns c;
    c.f_.n = n;
    c.f_.share = share;
    c.col_ptr_.reserve(share.size(n) + std::size_t(1));
    LULAB_RETURN_IF_ERROR(simt::make(c.f_.d_diag, share.size(n)));
    Status made = simt::make(c.f_.d_row_idx, room);
    if (made.code == StatusCode::out_of_memory && least < room) made = simt::make(c.f_.d_row_idx, least);
    LULAB_RETURN_IF_ERROR(std::move(made));
    return c;
  }

  /// Appends the columns of a group whose search is enqueued. Waits for the stream.
  Status append(const SourceBatch& b, simt::Stream& stream) {
    if (d_sizes_.size() < b.count) LULAB_RETURN_IF_ERROR(simt::make(d_sizes_, b.count));
    const unsigned blocks = simt::blocks_for(b.count, collecting_warps, 1 << 14);
    const simt::LaunchShape shape = {.grid = blocks, .block = 32 * collecting_warps};
    LULAB_RETURN_IF_ERROR(simt::launch(count_found_kernel, shape, stream, b, d_sizes_.data()));
    begin_.resize(b.count);
    LULAB_RETURN_IF_ERROR(d_sizes_.download(begin_, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    for (std::int64_t& size : begin_) {
      col_ptr_.push_back(col_ptr_.back() + size);
      size = col_ptr_[col_ptr_.size() - 2];  // where the column begins
    }
    LULAB_RETURN_IF_ERROR(make_room(col_ptr_.back(), stream));
    LULAB_RETURN_IF_ERROR(d_sizes_.upload(begin_, stream));
    return simt::launch(write_found_kernel, shape, stream, b, d_sizes_.data(), f_.d_row_idx.data(), f_.d_diag.data());
  }

  Result<DeviceFilledPattern> finish(simt::Stream& stream) && {
    LULAB_RETURN_IF_ERROR(simt::make(f_.d_col_ptr, col_ptr_, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    f_.nnz = col_ptr_.back();
    return std::move(f_);
  }

 private:
  Status make_room(std::int64_t entries, simt::Stream& stream) {
    if (entries <= f_.d_row_idx.size()) return {};
    simt::DeviceBuffer<std::int32_t> larger;
    const std::int64_t twice = 2 * f_.d_row_idx.size();
    Status made = simt::make(larger, std::max(entries, twice));
    if (made.code == StatusCode::out_of_memory && entries < twice) made = simt::make(larger, entries);
    LULAB_RETURN_IF_ERROR(std::move(made));
    const std::int64_t used = begin_.empty() ? 0 : begin_.front();
    if (used > 0)
      LULAB_RETURN_IF_ERROR(simt::copy_on_device(larger.data(), f_.d_row_idx.data(),
                                                 static_cast<std::size_t>(used) * sizeof(std::int32_t), stream));
    LULAB_RETURN_IF_ERROR(stream.wait());  // before the old memory goes
    f_.d_row_idx = std::move(larger);
    return {};
  }

  DeviceFilledPattern f_;
  std::vector<std::int64_t> col_ptr_ = {0};
  std::vector<std::int64_t> begin_;           // of the columns of the last group
  simt::DeviceBuffer<std::int64_t> d_sizes_;  // (count) sizes, then where the columns begin
};

std::int64_t set_bytes(std::int32_t n, std::int32_t count) { return std::int64_t{4} * set_words(n) * count; }

/// The most sources, at most `most`, that so many bytes are of good use to (with queues that overflow all the time
/// cage10 took 50 s instead of .05); begin(count): the first of as many neighbours that end at the same source.
/// Requires  one fits.
template <class Begin>
std::int32_t sources_that_fit(const SourceSearch& search, std::int32_t n, std::int32_t most, std::int64_t bytes,
                              const Begin& begin) {
  std::int32_t fits = 1, too_many = most + 1;
  while (too_many - fits > 1) {
    const std::int32_t count = fits + (too_many - fits) / 2;
    (search.useful_bytes(begin(count), count) + set_bytes(n, count) <= bytes ? fits : too_many) = count;
  }
  return fits;
}

std::int32_t most_sources(const SourceSearch& search, std::int32_t columns, const FillLimits& limits) {
  return std::min(columns, limits.sources > 0 ? limits.sources : search.most_sources());
}
std::int64_t useful_bytes(const SourceSearch& search, std::int32_t n, std::int32_t most) {
  return search.useful_bytes(n - most, most) + set_bytes(n, most);
}

Result<std::int64_t> workspace_bytes(const SourceSearch& search, std::int32_t n, std::int32_t most,
                                     const FillLimits& limits) {
  std::int64_t allowed = limits.workspace_bytes;
  if (allowed == 0) {
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    allowed = static_cast<std::int64_t>(device.memory_bytes / 8);
  }
  const std::int64_t least = search.least_bytes(n - 1, 1) + set_bytes(n, 1);
  if (allowed < least)
    return Status::error(StatusCode::out_of_memory,
                         fmt::format("a search from one of {} columns takes {} bytes of device memory, {} are allowed; "
                                     "allow more, or use symbolic/01_gilbert_peierls",
                                     n, least, allowed));
  return std::min(useful_bytes(search, n, most), allowed) / 4 * 4;
}

}  // namespace

std::int64_t useful_workspace_bytes(const SourceSearch& search, std::int32_t n, const FillLimits& limits) {
  return useful_bytes(search, n, most_sources(search, n, limits));
}

Result<FilledPattern> DeviceFilledPattern::download(simt::Stream& stream) const try {
  FilledPattern f;
  f.n = n;
  f.col_ptr.resize(n + std::size_t(1));
  f.diag.resize(n);
  resize_in_large_pages(f.row_idx, nnz);
  if (n > 0) {
    LULAB_RETURN_IF_ERROR(d_col_ptr.download(f.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(d_diag.download(f.diag, stream));
    LULAB_RETURN_IF_ERROR(d_row_idx.download(f.row_idx, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
  }
  return f;
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

Result<DeviceFilledPattern> fill_by_sources(CscPatternView b, const FillLimits& limits, SourceSearch& search,
                                            simt::Stream& stream, simt::Scratch& workspace, FillWork* work,
                                            SourceShare share) try {
  LULAB_RETURN_IF_ERROR(check_fillable(b));
  if (limits.workspace_bytes < 0 || limits.sources < 0 || limits.queue_entries < 0)
    return Status::error(StatusCode::invalid_argument, "limits of a search for fill are at least 0");
  if (share.first < 0 || share.first >= share.step)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("there is no share {} of {}", share.first, share.step));
  FillWork done;
  const std::int32_t n = b.n_cols, columns_of_share = share.size(n);
  if (columns_of_share == 0) {
    if (work != nullptr) *work = done;
    DeviceFilledPattern none;
    none.n = n;
    none.share = share;
    return none;
  }
  std::int32_t most = most_sources(search, columns_of_share, limits);
  LULAB_ASSIGN_OR_RETURN(const std::int64_t bytes, workspace_bytes(search, n, most, limits));
  if (limits.groups_of_one_size)
    most = sources_that_fit(search, n, most, bytes, [&](std::int32_t count) { return n - count; });
  simt::DeviceBuffer<std::int64_t> d_b_col_ptr;
  simt::DeviceBuffer<std::int32_t> d_b_row_idx;
  simt::DeviceBuffer<unsigned long long> d_edges;
  LULAB_RETURN_IF_ERROR(simt::make(d_b_col_ptr, b.col_ptr, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_b_row_idx, b.row_idx, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_edges, 1));
  LULAB_RETURN_IF_ERROR(d_edges.fill_bytes(0, stream));
  if (workspace.size() < bytes) LULAB_RETURN_IF_ERROR(simt::make(workspace, bytes));
  const auto room = [&](std::int64_t entries) {
    return std::min((entries + n) / share.step + 1, std::int64_t{n} * columns_of_share);
  };
  LULAB_ASSIGN_OR_RETURN(auto columns, Columns::create(n, share, room(entries_expected * b.nnz()), room(b.nnz())));
  for (std::int32_t k = 0; k < columns_of_share;) {
    const std::int32_t first = share.source(k);
    const std::int32_t count =
        sources_that_fit(search, n, std::min(most, columns_of_share - k), bytes,
                         [&](std::int32_t sources) { return first + (sources - 1) * (share.step - 1); });
    const std::int64_t sets = set_bytes(n, count);  // at the end: what else the search keeps grows from the beginning
    std::byte* found = workspace.data() + (bytes - sets);
    LULAB_RETURN_IF_ERROR(simt::fill_bytes(found, 0, static_cast<std::size_t>(sets), stream));
    const SourceBatch batch = {.n = n,
                               .first = first,
                               .count = count,
                               .b_col_ptr = d_b_col_ptr.data(),
                               .b_row_idx = d_b_row_idx.data(),
                               .words = set_words(n),
                               .found = reinterpret_cast<std::uint32_t*>(found),
                               .edges = d_edges.data(),
                               .step = share.step};
    LULAB_RETURN_IF_ERROR(search.enqueue(batch, workspace.data(), bytes - sets, stream));
    LULAB_RETURN_IF_ERROR(columns.append(batch, stream));
    k += count;
    if (done.batches == 0 || k < columns_of_share)
      done.fewest_sources = done.batches == 0 ? count : std::min(done.fewest_sources, count);
    done.most_sources = std::max(done.most_sources, count);
    done.cleared_bytes += sets;
    ++done.batches;
  }
  unsigned long long edges = 0;
  LULAB_RETURN_IF_ERROR(d_edges.download({&edges, 1}, stream));
  LULAB_ASSIGN_OR_RETURN(auto f, std::move(columns).finish(stream));
  done.edges = static_cast<std::int64_t>(edges);
  done.workspace_bytes = bytes;
  done.cleared_bytes += search.cleared_bytes();
  if (work != nullptr) *work = done;
  return f;
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

Result<FilledPattern> download_fill_by_sources(CscPatternView b, const FillLimits& limits, SourceSearch& search,
                                               FillWork* work) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  simt::Scratch workspace;
  LULAB_ASSIGN_OR_RETURN(const auto f, fill_by_sources(b, limits, search, stream, workspace, work));
  return f.download(stream);
}

}  // namespace lulab
