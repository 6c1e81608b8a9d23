// Blocked LU that factors the next block of columns while the update by the last one still runs: two streams, recorded
// once as one graph. Panels as in 06.
//
//   factor block 0
//   for each block [k, e) and the next one [e, f)
//     stream of updates                                   stream of panels
//       update columns [e, f) by block [k, e)
//       update columns [f, n) by block [k, e)               factor block [e, f)
//       swap the block's rows left of it
//   "update" = swap rows, U = L^-1 · A, A -= L · U

#include <optional>
#include <utility>

#include "core/simt/blas.h"
#include "dense/04_row_swaps.h"
#include "dense/06_cluster_panel.h"
#include "dense/06_swap_and_solve.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"

namespace lulab::dense {
namespace {

template <class T>
class Lookahead final : public DenseBackend<T> {
 public:
  Lookahead() : DenseBackend<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return panels_.bytes() + updates_.bytes(); }
  std::int32_t max_n() const override { return max_cluster_panel_rows<T>(); }

 protected:
  Status prepare_rung(std::int32_t n, simt::Stream& stream) override {
    graph_.reset();
    panels_.blas.reset();  // before the streams that they work on
    updates_.blas.reset();
    stream_ = &stream;
    LULAB_ASSIGN_OR_RETURN(limits_, cluster_panel_limits<T>(n));
    block_ = n <= 2048 ? 96 : n <= 4096 ? 128 : n <= 8192 ? 256 : 512;
    LULAB_RETURN_IF_ERROR(create_streams(n));
    for (Queue* queue : {&panels_, &updates_}) {
      LULAB_ASSIGN_OR_RETURN(queue->blas, simt::Blas::create(*queue->stream));
    }
    return {};
  }

  Status launch(const DeviceDense<T>& a) override {
    if (!graph_ || a.a != recorded_.a || a.ld != recorded_.ld || a.ipiv != recorded_.ipiv || a.info != recorded_.info) {
      graph_.reset();
      LULAB_RETURN_IF_ERROR(simt::Graph::begin_capture(*stream_));
      const Status recorded = record(a);
      auto graph = simt::Graph::end_capture(*stream_);
      LULAB_RETURN_IF_ERROR(recorded);
      if (!graph.ok()) return graph.status();
      graph_.emplace(std::move(*graph));
      recorded_ = a;
    }
    return graph_->launch(*stream_);
  }

 private:
  struct Queue {
    std::optional<simt::Stream> stream;
    std::optional<simt::Blas> blas;

    std::int64_t bytes() const { return blas ? blas->bytes() : 0; }
  };

  /// Between the blocks of a large update there is no room for a cluster, whatever its priority: from n = 2049 on the
  /// panels get multiprocessors of their own (n = 8192: 24.7 -> 22.1 ms on an H200). Small updates leave room enough.
  Status create_streams(std::int32_t n) {
    if (n > 2048) {
      auto split = simt::split_device(limits_.max_blocks + (n <= 8192 ? 8 : 0));
      if (split.ok()) {
        panels_.stream.emplace(std::move(split->few));
        updates_.stream.emplace(std::move(split->most));
        return {};
      }
      if (split.status().code != StatusCode::not_implemented) return split.status();
    }
    for (auto [queue, priority] : {std::pair{&panels_, simt::Priority::high}, {&updates_, simt::Priority::normal}}) {
      LULAB_ASSIGN_OR_RETURN(queue->stream, simt::Stream::create(priority));
    }
    return {};
  }

  Status record(const DeviceDense<T>& a) {
    for (Queue* queue : {&panels_, &updates_}) LULAB_RETURN_IF_ERROR(queue->stream->wait_for(*stream_));
    std::int32_t e = std::min(block_, a.n);
    LULAB_RETURN_IF_ERROR(factor_block_by_panels(a, 0, e, limits_, *panels_.blas, *panels_.stream));
    for (std::int32_t k = 0; k < a.n; k = e, e = std::min(e + block_, a.n)) {
      const std::int32_t f = std::min(e + block_, a.n);
      LULAB_RETURN_IF_ERROR(updates_.stream->wait_for(*panels_.stream));  // block [k, e) is factored
      LULAB_RETURN_IF_ERROR(update(a, k, e, e, f));
      LULAB_RETURN_IF_ERROR(panels_.stream->wait_for(*updates_.stream));  // columns [e, f) are up to date
      if (e < f) LULAB_RETURN_IF_ERROR(factor_block_by_panels(a, e, f, limits_, *panels_.blas, *panels_.stream));
      LULAB_RETURN_IF_ERROR(update(a, k, e, f, a.n));
      LULAB_RETURN_IF_ERROR(swap_rows(a, k, e, 0, k, *updates_.stream));
    }
    for (Queue* queue : {&panels_, &updates_}) LULAB_RETURN_IF_ERROR(stream_->wait_for(*queue->stream));
    return {};
  }

  /// Updates columns [first_col, end_col) by block [k, e).
  Status update(const DeviceDense<T>& a, std::int32_t k, std::int32_t e, std::int32_t first_col, std::int32_t end_col) {
    const auto at = [&](std::int64_t i, std::int64_t j) { return a.a + i + j * a.ld; };
    LULAB_RETURN_IF_ERROR(swap_rows_and_solve(a, k, e, first_col, end_col, *updates_.blas, *updates_.stream));
    return updates_.blas->subtract_product(a.n - e, end_col - first_col, e - k, at(e, k), a.ld, at(k, first_col), a.ld,
                                           at(e, first_col), a.ld);
  }

  ClusterPanelLimits limits_;
  std::int32_t block_ = 128;
  simt::Stream* stream_ = nullptr;  // of the caller
  Queue panels_, updates_;
  std::optional<simt::Graph> graph_;
  DeviceDense<T> recorded_;
};

}  // namespace

const Rung lookahead = rung_of<Lookahead>(
    {.id = "dense/07_lookahead",
     .stage = "dense",
     .paper = "look-ahead as in HPL and MAGMA, on the panel of 06",
     .idea = "factor the next panel while the last one still updates the rest: two streams, one graph",
     .pivoting = Pivoting::partial,
     .device = Device::gpu,
     .refactors = false,
     .exact_pattern = false,
     .max_dense_bytes = max_device_dense_bytes()});

}  // namespace lulab::dense
