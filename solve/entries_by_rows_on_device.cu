#include "solve/entries_by_rows_on_device.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"

namespace lulab {
namespace {

constexpr int threads = 256;
constexpr unsigned most_blocks = 4096;

/// Columns in the order of the solve. An entry's number is its place in a walk through them.
struct WalkView {
  std::int32_t n;
  const std::int32_t* column;    // (n)
  const std::int64_t* first;     // (n + 1) number of its first entry
  const std::int64_t* position;  // (n) of that entry in As
  const std::int32_t* place;     // (n) of each row in that order
  const std::int32_t* row_idx;   // of As
  int number_bits;

  struct Found {
    std::int32_t column;
    std::int64_t position;
  };
  __device__ Found find(std::int64_t number) const {
    std::int32_t at = 0;  // first[at] <= number
    for (std::int32_t end = n; end - at > 1;) {
      const std::int32_t middle = at + (end - at) / 2;
      (first[middle] <= number ? at : end) = middle;
    }
    return {column[at], position[at] + (number - first[at])};
  }
};

__global__ void key_kernel(WalkView walk, std::int64_t entries, std::int64_t* keys) {
  const std::int64_t stride = simt::threads_of_grid();
  for (std::int64_t k = simt::thread_of_grid(); k < entries; k += stride)
    keys[k] = std::int64_t(walk.place[walk.row_idx[walk.find(k).position]]) << walk.number_bits | k;
}

__global__ void entry_kernel(WalkView walk, std::int64_t entries, const std::int64_t* sorted, std::int32_t* column,
                             std::int64_t* from) {
  const std::int64_t stride = simt::threads_of_grid();
  const std::int64_t number = (std::int64_t(1) << walk.number_bits) - 1;
  for (std::int64_t k = simt::thread_of_grid(); k < entries; k += stride) {
    const auto found = walk.find(sorted[k] & number);
    column[k] = found.column;
    from[k] = found.position;
  }
}

}  // namespace

Status entries_by_rows_on_device(const FilledPattern& f, TriangleSide side, const Triangle& triangle,
                                 const std::int32_t* d_row_idx, std::int32_t* d_column, std::int64_t* d_from,
                                 simt::Scratch& scratch, simt::Stream& stream) {
  if (triangle.entries == 0) return {};
  std::vector<std::int32_t> column(f.n), place(f.n);
  std::vector<std::int64_t> first = {0}, position(f.n);
  first.reserve(f.n + std::size_t(1));
  for (std::int32_t s = 0; s < f.n; ++s) {
    const std::int32_t j = column[s] = triangle.rows[s].row;
    place[j] = s;
    position[s] = side == TriangleSide::lower ? f.diag[j] + 1 : f.col_ptr[j];
    first.push_back(first.back() + (side == TriangleSide::lower ? f.col_ptr[j + 1] : f.diag[j] + 1) - position[s]);
  }
  const int number_bits = std::bit_width(static_cast<std::uint64_t>(triangle.entries - 1));
  const int bits = number_bits + std::bit_width(static_cast<std::uint32_t>(f.n - 1));
  if (bits > 63)
    return Status::error(StatusCode::not_implemented, "the factors have too many entries to be sorted by rows");
  simt::DeviceBuffer<std::int32_t> d_walk, d_place;
  simt::DeviceBuffer<std::int64_t> d_first, d_position, d_keys, d_sorted;
  LULAB_RETURN_IF_ERROR(simt::make(d_walk, column, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_place, place, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_first, first, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_position, position, stream));
  for (auto* buffer : {&d_keys, &d_sorted}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, triangle.entries));
  const WalkView walk = {f.n, d_walk.data(), d_first.data(), d_position.data(), d_place.data(), d_row_idx, number_bits};
  const simt::LaunchShape shape = {.grid = simt::blocks_for(triangle.entries, threads, most_blocks), .block = threads};
  LULAB_RETURN_IF_ERROR(simt::launch(key_kernel, shape, stream, walk, triangle.entries, d_keys.data()));
  // By row; inside a row as they are numbered, so that those whose rows finish last come last.
  LULAB_RETURN_IF_ERROR(
      simt::sort_keys(d_keys.data(), d_sorted.data(), triangle.entries, std::max(bits, 1), scratch, stream));
  LULAB_RETURN_IF_ERROR(
      simt::launch(entry_kernel, shape, stream, walk, triangle.entries, d_sorted.data(), d_column, d_from));
  return stream.wait();  // buffers and vectors are locals
}

}  // namespace lulab
