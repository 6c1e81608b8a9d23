// As by rows                             a sort of (row, position)                            pattern_by_rows.h
// chunks and their places                on the host, seldom by all entries                   symbolic/chunks.h
// for each row: the columns of its own chunk that it has, as bits; how many others            chunk_rows.h
// for each chunk: the columns that each row reaches, as bits: the rows of its inverse
// tasks                                  on the host, from the numbers of entries             chunk_cuts.h
// for each task: its inputs, marked and counted; its rows, packed into passes; its bytes      chunk_layout.h
// for each task: where each entry of L and U goes                                             chunk_writer.h

#include "solve/chunk_tasks_on_device.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "solve/chunk_cuts.h"
#include "solve/chunk_writer.h"
#include "solve/pattern_by_rows.h"
#include "symbolic/chunks.h"

namespace lulab {
namespace chunk_layout {
namespace {

constexpr unsigned most_blocks = 4096;

/// Makes the tasks, with what that needs meanwhile.
class Maker {
 public:
  Maker(const FilledPattern& filled, const DevicePattern& as, const std::int64_t* d_diag,
        const ChunkTaskOptions& options, simt::Stream& stream)
      : n_(as.n), filled_(filled), as_(as), d_diag_(d_diag), options_(options), stream_(stream) {}

  ~Maker() { (void)stream_.wait(); }  // after an error, too, nothing is used any more of what goes
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  Result<ChunkTasks> make(std::int32_t max_columns) {
    if (as_.nnz >= std::int64_t(no_entry))
      return Status::error(StatusCode::not_implemented, "a solve by chunks counts its entries in 32 bits");
    work_.placed.n = n_;
    if (options_.transposed) {
      work_.placed.rows = {as_.col_ptr, d_diag_, as_.row_idx, nullptr};
    } else {
      LULAB_ASSIGN_OR_RETURN(by_rows_, PatternByRowsOnDevice::create(as_, scratch_, stream_));
      work_.placed.rows = by_rows_.view();
    }
    LULAB_ASSIGN_OR_RETURN(tree_, DeviceTree::create(n_, as_.nnz));
    LULAB_RETURN_IF_ERROR(tree_.enqueue(as_, scratch_, stream_));
    row_ptr_.resize(n_ + std::size_t(1));
    LULAB_RETURN_IF_ERROR(
        simt::copy_to_host(row_ptr_.data(), work_.placed.rows.ptr, sizeof(std::int64_t) * row_ptr_.size(), stream_));
    LULAB_ASSIGN_OR_RETURN(const auto parent, tree_.parents(stream_));
    tree_ = {};  // it and the scratch are as large as all that follows
    scratch_ = {};
    LULAB_RETURN_IF_ERROR(place(find_chunks(filled_, parent, max_columns)));
    LULAB_ASSIGN_OR_RETURN(cuts_, cut_into_tasks(places_, counts_, options_));
    LULAB_RETURN_IF_ERROR(lay_out());
    LULAB_RETURN_IF_ERROR(deal());
    LULAB_RETURN_IF_ERROR(write());
    return std::move(made_);
  }

 private:
  /// With a warp for each item of both triangles.
  static unsigned blocks_of_warps(std::int64_t items) { return simt::blocks_for(2 * items, warps, most_blocks); }

  /// Puts the chunks into their order and counts the rows' entries.
  Status place(const Chunks& chunks) {
    places_ = place_chunks(chunks, row_ptr_, options_);
    const auto n_chunks = static_cast<std::int32_t>(places_.chunk_ptr.size()) - 1;
    chunk_of_.resize(n_);
    for (std::int32_t k = 0; k < n_chunks; ++k)
      std::fill(chunk_of_.begin() + places_.chunk_ptr[k], chunk_of_.begin() + places_.chunk_ptr[k + 1], k);
    LULAB_RETURN_IF_ERROR(simt::make(made_.d_column_at, places_.column_at, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_position_, places_.position, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_chunk_of_, chunk_of_, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_chunk_ptr_, places_.chunk_ptr, stream_));
    for (auto* buffer : {&d_inner_, &d_reached_}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, 2 * std::int64_t(n_)));
    LULAB_RETURN_IF_ERROR(simt::make(d_counts_, 2 * std::int64_t(n_)));
    PlacedRows& placed = work_.placed;
    placed.column_at = made_.d_column_at.data();
    placed.position = d_position_.data();
    placed.chunk_of = d_chunk_of_.data();
    placed.chunk_ptr = d_chunk_ptr_.data();
    placed.chunks = n_chunks;
    placed.inner = d_inner_.data();
    placed.reached = d_reached_.data();
    placed.counts = d_counts_.data();
    LULAB_RETURN_IF_ERROR(
        simt::launch(look_at_rows_kernel, {.grid = blocks_of_warps(n_), .block = threads}, stream_, placed));
    LULAB_RETURN_IF_ERROR(
        simt::launch(reach_kernel, {.grid = blocks_of_warps(n_chunks), .block = threads}, stream_, placed));
    counts_.resize(2 * std::size_t(n_));
    LULAB_RETURN_IF_ERROR(d_counts_.download(counts_, stream_));
    return stream_.wait();
  }

  simt::LaunchShape a_block_a_task() const {
    return {
        .grid = static_cast<unsigned>(cuts_.tasks.size()), .block = threads, .shared_bytes = TaskScratch::bytes(work_)};
  }

  /// Meanwhile what else is known by then goes to the device.
  Status lay_out() {
    const auto tasks = static_cast<std::int64_t>(cuts_.tasks.size());
    LULAB_RETURN_IF_ERROR(simt::make(d_cuts_, cuts_.tasks, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_pieces_, cuts_.n_pieces));
    LULAB_RETURN_IF_ERROR(simt::make(d_heads_, tasks));
    LULAB_RETURN_IF_ERROR(simt::make(d_sizes_, tasks));
    work_.scalar_bytes = options_.scalar_bytes;
    work_.solve_warps = options_.threads / 32;
    work_.cuts = d_cuts_.data();
    work_.pieces = d_pieces_.data();
    work_.heads = d_heads_.data();
    work_.sizes = d_sizes_.data();
    work_.max_pieces = cuts_.max_pieces;
    work_.mark_words = options_.mark_words;
    LULAB_RETURN_IF_ERROR(simt::launch(lay_out_kernel, a_block_a_task(), stream_, work_));
    sizes_.resize(tasks);
    LULAB_RETURN_IF_ERROR(d_sizes_.download(sizes_, stream_));
    LULAB_RETURN_IF_ERROR(upload_sides(d_move_, cuts_.move));
    LULAB_RETURN_IF_ERROR(upload_sides(d_entry_, cuts_.entry));
    LULAB_RETURN_IF_ERROR(upload_sides(d_inverse_, cuts_.inverse));
    LULAB_RETURN_IF_ERROR(simt::make(made_.d_moves, cuts_.n_moves));
    LULAB_RETURN_IF_ERROR(simt::make(made_.d_triangles, cuts_.triangles, stream_));
    LULAB_RETURN_IF_ERROR(simt::make(made_.d_entries, cuts_.n_entries));
    LULAB_RETURN_IF_ERROR(simt::make(made_.d_inverses, cuts_.n_inverses));
    return stream_.wait();
  }

  /// Where each task begins, and who does it.
  Status deal() {
    std::vector<double> work;
    for (const TaskSize& size : sizes_) {
      begin_.push_back(begin_.back() + size.bytes);
      work.push_back(double(size.padded + size.n_inputs) / options_.threads + 10);
      made_.max_inputs = std::max(made_.max_inputs, size.n_inputs);
      made_.max_bytes = std::max(made_.max_bytes, size.bytes);
    }
    if (begin_.back() / options_.scalar_bytes > std::numeric_limits<std::uint32_t>::max())
      return Status::error(StatusCode::not_implemented, "a solve by chunks counts its entries in 32 bits");
    const auto is_second = [](const ChunkCut& cut) { return !cut.is_lower; };
    const auto first_of_second = std::ranges::find_if(cuts_.tasks, is_second) - cuts_.tasks.begin();
    LULAB_RETURN_IF_ERROR(simt::make(made_.d_begin, begin_, stream_));
    for (auto [workers, first] : {std::pair{&made_.both, std::ptrdiff_t(0)}, {&made_.second, first_of_second}}) {
      dealt_.push_back(deal_tasks(work, static_cast<std::int32_t>(first), options_.workers));
      LULAB_RETURN_IF_ERROR(simt::make(workers->d_ptr, dealt_.back().ptr, stream_));
      LULAB_RETURN_IF_ERROR(simt::make(workers->d_task, dealt_.back().task, stream_));
    }
    made_.n_words = cuts_.n_words;
    made_.n_first_moves = cuts_.n_first_moves;
    for (const ChunkTriangle& t : cuts_.triangles) {
      const bool is_large = t.size > small_chunk_columns;
      made_.n_large += is_large;
      if (!t.is_first) ++(is_large ? made_.n_large_of_second : made_.n_small_of_second);
    }
    made_.size = static_cast<std::int32_t>(cuts_.tasks.size());
    made_.max_rows = cuts_.max_rows;
    made_.max_partial_sums = cuts_.max_partial_sums;
    return {};
  }

  Status write() {
    LULAB_RETURN_IF_ERROR(simt::make(made_.d_tasks, begin_.back()));
    LULAB_RETURN_IF_ERROR(made_.d_tasks.fill_bytes(0, stream_));
    work_.begin = made_.d_begin.data();
    work_.tasks = made_.d_tasks.data();
    work_.move = d_move_.data();
    for (int side = 0; side < 2; ++side) work_.pivot_move[side] = cuts_.pivot_move[side];
    work_.entry = d_entry_.data();
    work_.inverse = d_inverse_.data();
    work_.moves = made_.d_moves.data();
    work_.entries = made_.d_entries.data();
    work_.inverses = made_.d_inverses.data();
    LULAB_RETURN_IF_ERROR(simt::launch(write_tasks_kernel, a_block_a_task(), stream_, work_));
    LULAB_RETURN_IF_ERROR(simt::launch(write_triangles_kernel, {.grid = blocks_of_warps(n_), .block = threads}, stream_,
                                       work_, options_.transposed));
    return stream_.wait();
  }

  /// Of the lower triangle, then of the upper one.
  template <class V>
  Status upload_sides(simt::DeviceBuffer<V>& buffer, const std::vector<V> (&sides)[2]) {
    LULAB_RETURN_IF_ERROR(simt::make(buffer, 2 * std::int64_t(n_)));
    for (int side = 0; side < 2; ++side)
      LULAB_RETURN_IF_ERROR(simt::copy_to_device(buffer.data() + side * std::int64_t(n_), sides[side].data(),
                                                 sides[side].size() * sizeof(V), stream_));
    return {};
  }

  const std::int32_t n_;
  const FilledPattern& filled_;
  const DevicePattern as_;
  const std::int64_t* const d_diag_;
  const ChunkTaskOptions options_;
  simt::Stream& stream_;

  std::vector<std::int64_t> row_ptr_, begin_ = {0};
  ChunkPlaces places_;
  std::vector<std::int32_t> chunk_of_;
  std::vector<ChunkRowCounts> counts_;
  ChunkCuts cuts_;
  std::vector<TaskSize> sizes_;
  std::vector<ChunkWorkers> dealt_;  // until the stream was waited for
  TaskWork work_ = {};
  ChunkTasks made_;
  PatternByRowsOnDevice by_rows_;
  DeviceTree tree_;
  simt::Scratch scratch_;
  simt::DeviceBuffer<std::int32_t> d_position_, d_chunk_of_, d_chunk_ptr_;
  simt::DeviceBuffer<std::uint64_t> d_inner_, d_reached_;
  simt::DeviceBuffer<ChunkRowCounts> d_counts_;
  simt::DeviceBuffer<ChunkCut> d_cuts_;
  simt::DeviceBuffer<PackedPiece> d_pieces_;
  simt::DeviceBuffer<ChunkTask> d_heads_;
  simt::DeviceBuffer<TaskSize> d_sizes_;
  simt::DeviceBuffer<std::int64_t> d_move_;
  simt::DeviceBuffer<std::uint32_t> d_entry_, d_inverse_;
};

}  // namespace
}  // namespace chunk_layout

std::int64_t ChunkTasks::bytes() const {
  return d_tasks.size() + 8 * (d_begin.size() + d_moves.size()) +
         4 * (both.d_ptr.size() + both.d_task.size() + second.d_ptr.size() + second.d_task.size() +
              d_column_at.size()) +
         std::int64_t(sizeof(ChunkTriangle)) * d_triangles.size() +
         std::int64_t(sizeof(ChunkEntry)) * (d_entries.size() + d_inverses.size());
}

Result<ChunkTasks> make_chunk_tasks(const FilledPattern& filled, const DevicePattern& as, const std::int64_t* d_diag,
                                    std::int32_t max_columns, const ChunkTaskOptions& options, simt::Stream& stream) {
  return chunk_layout::Maker(filled, as, d_diag, options, stream).make(max_columns);
}

}  // namespace lulab
