// The launches of 03_glu3 recorded once: the host enqueues one graph instead of thousands of kernels.
//
//   once a pattern:    record all launches of 03_glu3 with the order among their streams
//   each time:         launch the recording

#include <optional>

#include "sparse_hybrid/03_adaptive_modes.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {

constexpr std::int64_t max_nodes = 500000;  // a graph takes about a kilobyte a node; longer ones are launched as in 03

template <class T>
class Glu3Graph final : public AdaptiveModesBackend<T> {
 public:
  using AdaptiveModesBackend<T>::AdaptiveModesBackend;

 protected:
  Status prepare_rung() override {
    graph_.reset();
    LULAB_RETURN_IF_ERROR(this->prepare_modes());
    if (this->n_launches() > max_nodes) return {};
    simt::Stream& stream = *this->stream();
    LULAB_RETURN_IF_ERROR(simt::Graph::begin_capture(stream));
    const Status recorded = this->enqueue_levels(this->view(), stream);
    auto graph = simt::Graph::end_capture(stream);
    LULAB_RETURN_IF_ERROR(recorded);
    if (!graph.ok()) return graph.status();
    graph_.emplace(std::move(*graph));
    return {};
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    return graph_ ? graph_->launch(stream) : this->enqueue_levels(f, stream);
  }

 private:
  std::optional<simt::Graph> graph_;
};

}  // namespace

const Rung glu3_graph =
    rung_of<Glu3Graph>({.id = "sparse_hybrid/04_glu3_graph",
                        .stage = "sparse_hybrid",
                        .paper = "Peng & Tan 2020, section III-B2, in one CUDA graph",
                        .idea = "the launches of 03_glu3, recorded once and replayed without the host",
                        .pivoting = Pivoting::fixed,
                        .device = Device::gpu,
                        .dependencies = Dependencies::levels,
                        .deterministic = false,
                        .refactors = true,
                        .options = mode_options});

}  // namespace lulab::sparse_hybrid
