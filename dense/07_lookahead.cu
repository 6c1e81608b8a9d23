// Blocked LU that factors the next block of columns while the last one's update of the rest still runs; one graph, no
// host in between.
//
//   factor block 0
//   for each block [k, e) and the next one [e, f)
//     stream of panels                                            stream of updates
//       bring block [k, e) to the columns [e, f)                    bring block [k, e) to the columns [f, n)
//       factor block [e, f)                                         swap the block's rows left of it
//   "bring" = swap rows, U = L^-1 · A, A -= L · U. Each stream waits for the other at the top of the loop.

#include <optional>

#include "core/simt/blas.h"
#include "dense/cluster_panel.h"
#include "dense/dense_factorizer.h"
#include "dense/row_swaps.h"
#include "dense/rungs.h"
#include "dense/swap_and_solve.h"

namespace lulab::dense {
namespace {

template <class T>
class Lookahead final : public DenseFactorizer<T> {
 public:
  Lookahead() : DenseFactorizer<T>(Pivoting::partial) {}
  std::int64_t work_bytes() const override { return 0; }

 protected:
  Status prepare(std::int32_t n, simt::Stream& stream) override {
    graph_.reset();
    auto limits = cluster_panel_limits<T>(n);
    if (!limits.ok()) return limits.status();
    limits_ = *limits;
    block_ = n > 4096 ? 256 : 128;  // panels are as long as updates up to there, and updates of 128 columns cost less
    updates_.stream = &stream;
    auto panel_stream = simt::Stream::create(simt::Priority::high);
    if (!panel_stream.ok()) return panel_stream.status();
    panel_blas_.reset();
    panel_stream_.emplace(std::move(*panel_stream));
    panels_.stream = &*panel_stream_;
    for (auto [lane, blas] : {std::pair{&panels_, &panel_blas_}, std::pair{&updates_, &update_blas_}}) {
      auto made = simt::Blas::create(*lane->stream);
      if (!made.ok()) return made.status();
      blas->emplace(std::move(*made));
      lane->blas = &**blas;
    }
    return {};
  }

  Status enqueue(const DeviceDense<T>& a) override {
    if (!graph_ || a.a != recorded_.a || a.ld != recorded_.ld || a.ipiv != recorded_.ipiv || a.info != recorded_.info) {
      graph_.reset();
      LULAB_RETURN_IF_ERROR(simt::Graph::begin_capture(*updates_.stream));
      const Status recorded = record(a);
      auto graph = simt::Graph::end_capture(*updates_.stream);
      LULAB_RETURN_IF_ERROR(recorded);
      if (!graph.ok()) return graph.status();
      graph_.emplace(std::move(*graph));
      recorded_ = a;
    }
    return graph_->launch(*updates_.stream);
  }

 private:
  struct Lane {
    simt::Stream* stream = nullptr;
    simt::Blas* blas = nullptr;
  };

  Status record(const DeviceDense<T>& a) {
    LULAB_RETURN_IF_ERROR(panels_.stream->wait_for(*updates_.stream));
    std::int32_t e = std::min(block_, a.n);
    LULAB_RETURN_IF_ERROR(factor_block_by_panels(a, 0, e, limits_, *panels_.blas, *panels_.stream));
    for (std::int32_t k = 0; k < a.n; k = e, e = std::min(e + block_, a.n)) {
      const std::int32_t f = std::min(e + block_, a.n);
      LULAB_RETURN_IF_ERROR(panels_.stream->wait_for(*updates_.stream));  // columns [e, f) have all earlier updates
      LULAB_RETURN_IF_ERROR(updates_.stream->wait_for(*panels_.stream));  // block [k, e) is factored
      LULAB_RETURN_IF_ERROR(bring(a, k, e, e, f, panels_));
      if (e < f) LULAB_RETURN_IF_ERROR(factor_block_by_panels(a, e, f, limits_, *panels_.blas, *panels_.stream));
      LULAB_RETURN_IF_ERROR(bring(a, k, e, f, a.n, updates_));
      LULAB_RETURN_IF_ERROR(swap_rows(a, k, e, 0, k, *updates_.stream));
    }
    return updates_.stream->wait_for(*panels_.stream);
  }

  /// What block [k, e) does to columns [first_col, end_col).
  static Status bring(const DeviceDense<T>& a, std::int32_t k, std::int32_t e, std::int32_t first_col,
                      std::int32_t end_col, const Lane& lane) {
    const auto at = [&](std::int64_t i, std::int64_t j) { return a.a + i + j * a.ld; };
    LULAB_RETURN_IF_ERROR(swap_rows_and_solve(a, k, e, first_col, end_col, *lane.blas, *lane.stream));
    return lane.blas->subtract_product(a.n - e, end_col - first_col, e - k, at(e, k), a.ld, at(k, first_col), a.ld,
                                       at(e, first_col), a.ld);
  }

  ClusterPanelLimits limits_;
  std::int32_t block_ = 128;
  std::optional<simt::Stream> panel_stream_;
  std::optional<simt::Blas> panel_blas_, update_blas_;
  Lane panels_, updates_;
  std::optional<simt::Graph> graph_;
  DeviceDense<T> recorded_;
};

}  // namespace

const Rung lookahead = {
    .facts = {.id = "dense/07_lookahead",
              .stage = "dense",
              .paper = "look-ahead as in HPL and MAGMA, on the panel of 06",
              .idea = "Factor the next block while the last one still updates the rest: two streams, one graph.",
              .pivoting = Pivoting::partial,
              .device = Device::gpu,
              .refactors = false,
              .exact_pattern = false,
              .max_dense_bytes = max_device_dense_bytes()},
    .make_float = [](const FactorOptions&) -> std::unique_ptr<Factorizer<float>> {
      return std::make_unique<Lookahead<float>>();
    },
    .make_double = [](const FactorOptions&) -> std::unique_ptr<Factorizer<double>> {
      return std::make_unique<Lookahead<double>>();
    },
};

}  // namespace lulab::dense
