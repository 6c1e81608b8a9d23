#include "symbolic/fill_sflu.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "symbolic/07_sflu_kernel.h"
#include "symbolic/fill.h"
#include "symbolic/rungs.h"

namespace lulab {

const FillRung fill_rungs::sflu = {
    .id = "symbolic/07_sflu",
    .paper = "Zhao et al. 2021, Algorithm 1",
    .idea = "one launch; a block a column waits for each column of L that it needs and unites sets of rows",
    .device = Device::gpu,
    .is_fast = true,
    .fill = [](CscPatternView b, const FillLimits&, FillWork*) { return fill_sflu(b); }};

namespace {

/// Entries above the diagonal, and one for the column itself.
std::vector<std::int32_t> first_degrees(CscPatternView b) {
  std::vector<std::int32_t> degree(b.n_cols);
  for (std::int32_t k = 0; k < b.n_cols; ++k) {
    const auto begin = b.row_idx.begin() + b.col_ptr[k], end = b.row_idx.begin() + b.col_ptr[k + 1];
    degree[k] = 1 + static_cast<std::int32_t>(std::lower_bound(begin, end, k) - begin);
  }
  return degree;
}

}  // namespace

unsigned SfluFill::threads_per_block() const { return fill_threads; }
std::size_t SfluFill::shared_bytes() const { return 4 * ((static_cast<std::size_t>(n_) + 31) / 32); }

Result<SfluFill> SfluFill::create(CscPatternView b, simt::Stream& stream, Room room) {
  LULAB_RETURN_IF_ERROR(check_fillable(b));
  SfluFill f;
  f.n_ = b.n_cols;
  f.most_ = room.most;
  if (f.n_ == 0) return f;
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  constexpr std::size_t fixed = 256;  // upper bound of the shared memory besides the bits
  if (f.shared_bytes() + fixed > device.shared_bytes_per_block)
    return Status::error(
        StatusCode::out_of_memory,
        fmt::format("a bit for each of {} rows takes {} bytes of a block's shared memory, which has {}; "
                    "use fill_gilbert_peierls",
                    f.n_, f.shared_bytes(), device.shared_bytes_per_block));
  LULAB_ASSIGN_OR_RETURN(const auto blocks_per_sm,
                         simt::max_resident_blocks_per_sm(fill_columns_kernel<>, fill_threads, f.shared_bytes()));
  f.blocks_ = static_cast<unsigned>(std::min(f.n_, blocks_per_sm * device.sm_count));

  std::vector<std::int32_t> degrees;
  try {
    degrees = first_degrees(b);
  } catch (const std::bad_alloc&) {
    return no_memory_for_fill();
  }
  LULAB_RETURN_IF_ERROR(simt::make(f.d_b_col_ptr_, b.col_ptr, stream));
  LULAB_RETURN_IF_ERROR(simt::make(f.d_b_row_idx_, b.row_idx, stream));
  LULAB_RETURN_IF_ERROR(simt::make(f.d_degree_start_, degrees, stream));
  LULAB_RETURN_IF_ERROR(simt::make(f.d_degree_, f.n_));
  for (auto* buffer : {&f.d_first_, &f.d_diag_, &f.d_last_}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, f.n_));
  LULAB_RETURN_IF_ERROR(simt::make(f.d_progress_, 1));
  simt::name_elements(f.d_degree_.data(), f.n_, "degree");
  simt::name_elements(f.d_first_.data(), f.n_, "first");
  simt::name_elements(f.d_diag_.data(), f.n_, "diag");
  simt::name_elements(f.d_last_.data(), f.n_, "last");
  const std::int64_t first = room.first > 0 ? room.first : 4 * b.nnz() + f.n_;
  LULAB_RETURN_IF_ERROR(f.make_room(room.most > 0 ? std::min(first, room.most) : first));
  LULAB_RETURN_IF_ERROR(stream.wait());  // the caller may free the pattern
  return f;
}

Status SfluFill::make_room(std::int64_t entries) {
  d_rows_ = {};  // frees the old array before the new one is allocated
  LULAB_RETURN_IF_ERROR(simt::make(d_rows_, entries));
  simt::name_elements(d_rows_.data(), d_rows_.size(), "rows");
  return {};
}

Result<SfluFillWork> SfluFill::start(simt::Stream& stream) {
  enqueued_ = true;
  if (n_ > 0) {
    LULAB_RETURN_IF_ERROR(
        simt::copy_on_device(d_degree_.data(), d_degree_start_.data(), 4 * static_cast<std::size_t>(n_), stream));
    LULAB_RETURN_IF_ERROR(d_progress_.fill_bytes(0, stream));
  }
  return SfluFillWork{.n = n_,
                      .b_col_ptr = d_b_col_ptr_.data(),
                      .b_row_idx = d_b_row_idx_.data(),
                      .degree = d_degree_.data(),
                      .first = d_first_.data(),
                      .diag = d_diag_.data(),
                      .last = d_last_.data(),
                      .rows = d_rows_.data(),
                      .room = d_rows_.size(),
                      .progress = d_progress_.data()};
}

Status SfluFill::enqueue(simt::Stream& stream) {
  const auto work = start(stream);
  if (!work.ok() || n_ == 0) return work.status();
  return simt::launch(fill_columns_kernel<>,
                      {.grid = blocks_, .block = threads_per_block(), .shared_bytes = shared_bytes()}, stream, *work);
}

Result<FilledPattern> SfluFill::download(simt::Stream& stream) {
  if (!enqueued_) return Status::error(StatusCode::invalid_argument, "call enqueue() before download()");
  FilledPattern f;
  if (n_ == 0) return f;
  SfluFillWork::Progress progress{};
  for (;;) {
    LULAB_RETURN_IF_ERROR(d_progress_.download({&progress, 1}, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    const auto used = static_cast<std::int64_t>(progress.used), room = d_rows_.size();
    if (used <= room) break;
    if (most_ > 0 && room >= most_)
      return Status::error(StatusCode::out_of_memory,
                           fmt::format("L + U have more entries than the {} there may be room for", most_));
    const std::int64_t more = std::max(2 * room, used);
    LULAB_RETURN_IF_ERROR(make_room(most_ > 0 ? std::min(more, most_) : more));
    LULAB_RETURN_IF_ERROR(enqueue(stream));
  }
  try {
    std::vector<std::int64_t> first(n_), last(n_);
    std::vector<std::int32_t> rows(progress.used);
    f.diag.resize(n_);
    LULAB_RETURN_IF_ERROR(d_first_.download(first, stream));
    LULAB_RETURN_IF_ERROR(d_last_.download(last, stream));
    LULAB_RETURN_IF_ERROR(d_diag_.download(f.diag, stream));
    LULAB_RETURN_IF_ERROR(d_rows_.download(rows, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    f.n = n_;
    f.col_ptr.reserve(n_ + std::size_t(1));
    f.row_idx.reserve(rows.size());
    for (std::int32_t k = 0; k < n_; ++k) {
      f.diag[k] += f.nnz() - first[k];
      f.row_idx.insert(f.row_idx.end(), rows.begin() + first[k], rows.begin() + last[k]);
      f.col_ptr.push_back(f.nnz());
    }
  } catch (const std::bad_alloc&) {
    return no_memory_for_fill();
  }
  return f;
}

Result<FilledPattern> fill_sflu(CscPatternView b) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto fill, SfluFill::create(b, stream));
  LULAB_RETURN_IF_ERROR(fill.enqueue(stream));
  return fill.download(stream);
}

}  // namespace lulab
