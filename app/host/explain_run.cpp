#include "app/host/explain_run.h"

#include <array>

#include "app/host/explain_backend.h"
#include "sparse_hybrid/01_fixed_allocation.h"
#include "sparse_leftlooking/01_warp_per_column_backend.h"
#include "sparse_leftlooking/02_pipeline_backend.h"
#include "sparse_syncfree/01_sflu_kernel.h"

namespace lulab {

using simt::host::Traced;

Status DeviceBackend<Traced>::run(const Analysis& analysis, std::span<const double> a_values,
                                  std::vector<double>& values) {
  analysis_ = &analysis;
  const FilledPattern& f = analysis.filled;
  LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
  values = app::start_values(analysis, a_values);
  std::vector<Traced> as(values.begin(), values.end());
  simt::DeviceBuffer<std::int64_t> d_col_ptr, d_diag;
  simt::DeviceBuffer<std::int32_t> d_row_idx, d_failed;
  simt::DeviceBuffer<Traced> d_as;
  LULAB_RETURN_IF_ERROR(simt::make(d_col_ptr, f.col_ptr, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_diag, f.diag, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_row_idx, f.row_idx, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_failed, std::vector{f.n}, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_as, as, *stream_));
  simt::name_memory(d_as.data(), as.size() * sizeof(Traced), sizeof(Traced), "As", f.col_ptr);
  LULAB_RETURN_IF_ERROR(prepare_rung());
  const DeviceFactorsView<Traced> view{.n = f.n,
                                       .col_ptr = d_col_ptr.data(),
                                       .row_idx = d_row_idx.data(),
                                       .diag = d_diag.data(),
                                       .values = d_as.data(),
                                       .failed_column = d_failed.data(),
                                       .perturb_pivots = 0,
                                       .a_max = nullptr,
                                       .perturbed = nullptr};
  LULAB_RETURN_IF_ERROR(launch(view, *stream_));
  const Status ran = stream_->wait();
  std::int32_t failed = f.n;
  LULAB_RETURN_IF_ERROR(d_as.download(as, *stream_));
  LULAB_RETURN_IF_ERROR(d_failed.download(std::span(&failed, 1), *stream_));
  LULAB_RETURN_IF_ERROR(stream_->wait());
  for (std::size_t p = 0; p < as.size(); ++p) values[p] = as[p].value();
  if (!ran.ok() || failed == f.n) return ran;
  Status status = Status::error(StatusCode::needs_repivot, "a pivot is zero, or an entry is not finite");
  status.where.columns = {analysis.plan.q[failed]};
  return status;
}

namespace app {
namespace {

/// SFLU without its tickets: block k has column k, as the paper has it.
struct NumberedBlocks : sparse_syncfree::Protocol {
  static constexpr bool draws_tickets = false;
};

template <class Backend>
std::unique_ptr<Explained::Runner> make_runner() {
  if constexpr (std::is_constructible_v<Backend, const FactorOptions&>)
    return std::make_unique<Backend>(FactorOptions{});
  else
    return std::make_unique<Backend>();
}

}  // namespace

std::span<const Explained> explained_algorithms() {
  using namespace sparse_hybrid;
  using namespace sparse_leftlooking;
  using namespace sparse_syncfree;
  static const std::array<Explained, 6> all = {{
      {.about = {"sparse_leftlooking/01_warp_per_column", "left-looking, a warp a column, a launch a level"},
       .column_by_warp = true,
       .works_in_x = true,
       .finished_array = {},
       .make = make_runner<WarpPerColumn<Traced>>},
      {.about = {"sparse_leftlooking/02_pipeline", "left-looking, one launch: a warp waits for each column it needs"},
       .column_by_warp = true,
       .works_in_x = true,
       .finished_array = "finished",
       .finished_value = 1,
       .make = make_runner<Pipeline<Traced>>},
      {.about = {"sparse_hybrid/01_glu1_racy", "right-looking with the levels of U alone: GLU1.0 and its race"},
       .finished_array = {},
       .make = make_runner<FixedAllocationBackend<Traced, DependencyRule::up_looking>>},
      {.about = {"sparse_hybrid/02_glu2", "the same with the right levels"},
       .finished_array = {},
       .make = make_runner<FixedAllocationBackend<Traced, DependencyRule::double_u>>},
      {.about = {"sparse_syncfree/01_sflu", "left-looking, one launch, a block a column, handed out by ticket"},
       .finished_array = "degree",
       .make = make_runner<SfluBackend<Traced>>},
      {.about = {"deadlock", "01_sflu without tickets, two blocks resident: the blocks that wait may keep others out"},
       .finished_array = "degree",
       .resident = 2,
       .make = make_runner<SfluBackend<Traced, NumberedBlocks>>},
  }};
  return all;
}

std::vector<double> start_values(const Analysis& analysis, std::span<const double> a_values) {
  std::vector<double> values(analysis.filled.row_idx.size(), 0.0);
  const auto& a = analysis.a;
  for (std::int32_t j = 0; j < analysis.filled.n; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      values[analysis.a_to_filled[k]] = analysis.plan.r[a.row_idx[k]] * analysis.plan.c[j] * a_values[k];
  return values;
}

}  // namespace app
}  // namespace lulab
