#pragma once
// Tasks as chunk_layout.h laid them out, and where each entry of L and U goes. Device code: a block writes a task.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"
#include "solve/chunk_layout.h"

namespace lulab::chunk_layout {

/// Writes a task; its entries are those that `put` places.
struct TaskWriter {
  const TaskWork& w;
  const ChunkCut& c;
  std::int64_t begin;  // bytes

  template <class V>
  __device__ V* at(std::uint32_t offset) const {
    return reinterpret_cast<V*>(w.tasks + begin + offset);
  }
  /// In units of the scalar.
  __device__ std::uint32_t scalar(std::uint32_t offset, std::uint32_t index) const {
    return static_cast<std::uint32_t>((begin + offset) / w.scalar_bytes) + index;
  }
  __device__ const PackedPiece* pieces(RowsOf of) const {
    return w.pieces + c.first_piece + (of == RowsOf::inverse ? c.outer_pieces : 0);
  }

  /// Passes, rows and long rows. Called by all threads of the block.
  __device__ void write_passes(const ChunkRows& rows, RowsOf of) const {
    const int thread = static_cast<int>(threadIdx.x);
    const PackedPiece* const packed = pieces(of);
    auto* const row_of = at<std::uint16_t>(rows.rows);
    for (std::uint32_t k = threadIdx.x; k < (rows.long_rows - rows.rows) / sizeof *row_of; k += threads)
      row_of[k] = no_row;
    __syncthreads();  // RACE: any thread cleared a row that another writes
    const int n = of == RowsOf::inverse ? c.inverse_pieces : c.outer_pieces;
    for (int k = thread; k < n; k += threads) {
      const PackedPiece& piece = packed[k];
      if (k < c.count && row_size(w, c, of, k) > longest_whole_row) {
        at<ChunkLongRow>(rows.long_rows)[piece.pass] = {static_cast<std::uint16_t>(k),
                                                        static_cast<std::uint16_t>(piece.at),
                                                        static_cast<std::uint16_t>(piece.at + piece.row_at), 0};
        continue;
      }
      row_of[piece.row_at] = static_cast<std::uint16_t>(k < c.count ? k : partial_sum + k - c.count);
      if (piece.is_first)
        at<ChunkPass>(rows.passes)[piece.pass] = {piece.at, piece.steps, piece.log_lanes, piece.row_at};
    }
  }

  /// Entry e of row r takes `source`. Returns its place among the values.
  __device__ std::uint32_t put(const ChunkRows& rows, RowsOf of, std::int32_t r, std::int32_t e,
                               std::uint16_t source) const {
    const PackedPiece* const packed = pieces(of);
    std::int32_t size = row_size(w, c, of, r), piece = r;
    if (size > longest_whole_row) {
      const std::int64_t all = size, parts = packed[r].row_at;
      std::int64_t part = e * parts / all;
      while (all * (part + 1) / parts <= e) ++part;
      piece = c.count + static_cast<std::int32_t>(packed[r].at + part);
      e -= static_cast<std::int32_t>(all * part / parts);
      size = static_cast<std::int32_t>(all * (part + 1) / parts - all * part / parts);
    }
    const PackedPiece p = packed[piece];
    const std::int32_t lanes = 1 << p.log_lanes;
    const auto place = [&](std::int32_t k) {
      return p.at + 32 * static_cast<std::uint32_t>(k >> p.log_lanes) + static_cast<std::uint32_t>(k & (lanes - 1));
    };
    auto* const sources = at<std::uint16_t>(rows.sources);
    sources[place(e)] = source;
    if (e + 1 == size)  // a gap multiplies zero by a factor of its own row
      for (std::int32_t k = size; k < p.steps * lanes; ++k) sources[place(k)] = source;
    return place(e);
  }

  __device__ void put_one(std::uint32_t values, std::uint32_t index) const {
    if (w.scalar_bytes == sizeof(double))
      at<double>(values)[index] = 1;
    else
      at<float>(values)[index] = 1;
  }

  /// Entry e of row r of an inverse, of column j of its chunk.
  __device__ void put_inverse(const ChunkRows& rows, RowsOf of, std::int32_t r, std::int32_t e, std::uint16_t source,
                              int j) const {
    const PlacedRows& v = w.placed;
    const std::uint32_t index = put(rows, of, r, e, source);
    const std::int32_t p = c.first + r, chunk = v.chunk_of[p], first = v.chunk_ptr[chunk];
    const int i = p - first, last = v.chunk_ptr[chunk + 1] - first - 1;
    if (i == j) return put_one(rows.values, index);
    // The diagonal comes first of an upper row, last of a lower one.
    w.inverses[w.inverse[v.side(c.is_lower) + p] + static_cast<std::uint32_t>(c.is_lower ? e : e - 1)] = {
        scalar(rows.values, index), static_cast<std::uint8_t>(c.is_lower ? i : last - i),
        static_cast<std::uint8_t>(c.is_lower ? j : last - j)};
  }
};

/// What lay_out_kernel() laid out.
/// grid: tasks   block: threads   shared: TaskScratch::bytes()
inline __global__ void write_tasks_kernel(TaskWork w) {
  LULAB_DYNAMIC_SHARED(std::uint32_t, memory);
  const TaskScratch s(memory, w);
  const ChunkCut& c = w.cuts[blockIdx.x];
  const ChunkTask head = w.heads[blockIdx.x];
  const PlacedRows& v = w.placed;
  const TaskWriter writer = {w, c, w.begin[blockIdx.x]};
  const std::int64_t side = v.side(c.is_lower);
  if (threadIdx.x == 0) *writer.at<ChunkTask>(0) = head;
  writer.write_passes(head.outer, RowsOf::outer);
  if (c.has_inverse) {
    writer.write_passes(head.inverse, RowsOf::inverse);
    visit_inverse(w, c, [&](std::int32_t r, std::int32_t e, std::int32_t at, int j) {
      writer.put_inverse(head.inverse, RowsOf::inverse, r, e, static_cast<std::uint16_t>(at - c.first), j);
    });
  }
  if (c.has_pivots)
    for (int r = static_cast<int>(threadIdx.x); r < c.count; r += threads)
      w.moves[w.pivot_move[c.is_lower ? 0 : 1] + c.first + r] = {
          writer.scalar(head.pivots, static_cast<std::uint32_t>(r)),
          v.rows.position(v.rows.diag[v.column_at[c.first + r]])};
  std::int32_t inputs = 0;
  for (std::int64_t base = c.least_source; base < c.end_source; base += 32 * std::int64_t(w.mark_words)) {
    const auto first = static_cast<std::int32_t>(base);
    const std::int32_t found = mark_sources(w, c, s, first);
    const auto words = static_cast<int>(min((c.end_source - base + 31) / 32, std::int64_t(w.mark_words)));
    auto* const of_task = writer.at<std::int32_t>(head.inputs) + inputs;
    for (int k = static_cast<int>(threadIdx.x); k < words; k += threads) {
      std::int32_t* next = of_task + s.before[k];
      for (std::uint32_t left = s.marks[k]; left != 0; left &= left - 1)
        *next++ = c.first_word + first + 32 * k + __ffs(static_cast<int>(left)) - 1;
    }
    visit_entries(w, c, [&](std::int32_t r, std::int32_t e, std::int32_t at, std::int64_t k) {
      const auto bit = static_cast<std::uint32_t>(at - first);
      if (at < first || bit / 32 >= static_cast<std::uint32_t>(words)) return;
      const auto source =
          static_cast<std::uint16_t>(inputs + s.before[bit / 32] + __popc(s.marks[bit / 32] & ((1u << bit % 32) - 1)));
      if (c.entries == ChunkCut::inverse)
        return writer.put_inverse(head.outer, RowsOf::outer, r, e, source, static_cast<int>(k));
      const std::uint32_t index = writer.put(head.outer, RowsOf::outer, r, e, source);
      if (c.entries == ChunkCut::sums) return writer.put_one(head.outer.values, index);
      w.moves[w.move[side + c.first + r] + (c.entries == ChunkCut::slice ? c.from : 0) + e] = {
          writer.scalar(head.outer.values, index), v.rows.position(k)};
    });
    inputs += found;
    __syncthreads();  // RACE: all have read the marks before they are cleared
  }
}

/// The entries of the chunks' own triangles.
/// grid: any   block: threads, a warp for each row of both triangles
inline __global__ void write_triangles_kernel(TaskWork w, std::int32_t lower_has_pivots) {
  const PlacedRows& v = w.placed;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t stride = std::int64_t(gridDim.x) * warps;
  for (std::int64_t item = std::int64_t(blockIdx.x) * warps + simt::warp_of_block(); item < 2 * std::int64_t(v.n);
       item += stride) {
    const std::uint32_t to = w.entry[item];
    if (to == no_entry) continue;
    const bool lower = item < v.n;
    const auto p = static_cast<std::int32_t>(lower ? item : item - v.n);
    const std::int32_t row = v.column_at[p], chunk = v.chunk_of[p];
    const std::int32_t first = v.chunk_ptr[chunk], size = v.chunk_ptr[chunk + 1] - first;
    const auto turned = [&](std::int32_t i) { return static_cast<std::uint8_t>(lower ? i : size - 1 - i); };
    const std::int64_t end = v.rows.end(row, lower);
    for (std::int64_t k = v.rows.begin(row, lower) + lane; k < end; k += 32) {
      const std::int32_t j = v.position[v.rows.col[k]] - first;
      if (j < 0 || j >= size) continue;
      const std::uint64_t before = v.inner[item] & ((std::uint64_t(1) << j) - 1);
      w.entries[to + static_cast<std::uint32_t>(__popcll(before))] = {v.rows.position(k), turned(p - first), turned(j)};
    }
    if (lane == 0 && lower == (lower_has_pivots != 0))  // these come before the chunk's first row
      w.entries[w.entry[item - (p - first)] - static_cast<std::uint32_t>(size - (p - first))] = {
          v.rows.position(v.rows.diag[row]), turned(p - first), turned(p - first)};
  }
}

}  // namespace lulab::chunk_layout
