// An analysis whose fill is found on the device is the one whose fill is found on the host, but for the postorder of
// AMD's columns.

#include <cstdint>
#include <utility>

#include "core/matrix/generate.h"
#include "driver/analysis_sequence.h"
#include "driver/analyze.h"
#include "preprocess/preprocess.h"
#include "symbolic/analyze_with_plan.h"
#include "symbolic/fronts.h"
#include "symbolic/relaxed_supernodes.h"
#include "testing/device_memory_limit.h"
#include "testing/launch.h"

namespace lulab {
namespace {

TEST(FillOnGpu, IsTheSameAnalysisAlsoWhereTheDeviceHasNoMemory) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "so many kernels take minutes";
  const auto a = generate("grid2d", {.n = 36'000, .seed = 3});
  LULAB_ASSERT_OK(a);
  ASSERT_GT(a->nnz(), 150'000);
  PreprocessOptions options;  // several orders at once, each in a thread
  const auto analysis = [&](FillOn place) -> Result<Analysis> {
    LULAB_ASSIGN_OR_RETURN(auto rows, match_rows(*a, options));
    LULAB_ASSIGN_OR_RETURN(auto made, analyze_matched(*a, std::move(rows), options, {}, place));
    return std::move(made.analysis);
  };
  if (simt::machine() == simt::Machine::gpu) {
    const auto chosen = analysis(FillOn::host), chosen_on_device = analysis(FillOn::gpu);
    LULAB_ASSERT_OK(chosen);
    LULAB_ASSERT_OK(chosen_on_device);
    EXPECT_EQ(chosen_on_device->plan.order, chosen->plan.order);
    EXPECT_EQ(chosen_on_device->filled, chosen->filled);
  }

  options.order = Order::nd;
  const auto on_host = analysis(FillOn::host);
  LULAB_ASSERT_OK(on_host);
  {
    const testing::DeviceMemoryLimit counts_only;
    const auto on_device = analysis(FillOn::gpu);
    LULAB_ASSERT_OK(on_device);
    EXPECT_GT(counts_only.requests(), 5);  // it was there
    EXPECT_EQ(on_device->filled, on_host->filled);
    EXPECT_EQ(on_device->plan.q, on_host->plan.q);
    EXPECT_EQ(on_device->a_to_filled, on_host->a_to_filled);
    ASSERT_TRUE(on_device->fronts);
    EXPECT_EQ(on_device->fronts->tree, find_fronts(*on_host, {}).tree);
  }

  options.order = Order::amd;
  const auto by_amd = analysis(FillOn::gpu), by_amd_on_host = analysis(FillOn::host);
  LULAB_ASSERT_OK(by_amd);
  LULAB_ASSERT_OK(by_amd_on_host);
  EXPECT_EQ(by_amd->plan.order, "amd");
  EXPECT_NE(by_amd->plan.q, by_amd_on_host->plan.q) << "this order was in postorder";
  EXPECT_EQ(by_amd->filled.nnz(), by_amd_on_host->filled.nnz());
  const auto again = analyze_with_plan(*a, by_amd->plan);
  LULAB_ASSERT_OK(again);
  EXPECT_EQ(by_amd->filled, again->filled);
  EXPECT_EQ(by_amd->a_to_filled, again->a_to_filled);
  options.order = Order::nd;

  const testing::DeviceMemoryLimit nothing_left(3, testing::DeviceMemoryLimit::all);
  const auto fallen_back = analysis(FillOn::gpu);
  LULAB_ASSERT_OK(fallen_back);
  EXPECT_EQ(fallen_back->filled, on_host->filled);
}

TEST(FillOnGpu, PanelsOfAMatrixThatFillsLittleAreThoseOfTheHost) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "so many kernels take minutes";
  const auto a = generate("ladder", {.n = 60'000, .seed = 3});
  LULAB_ASSERT_OK(a);
  PreprocessOptions options;
  options.order = Order::nd;
  auto rows = match_rows(*a, options);
  LULAB_ASSERT_OK(rows);
  const testing::DeviceMemoryLimit counts_only;
  const auto made = analyze_matched(*a, std::move(*rows), options, {}, FillOn::gpu);
  LULAB_ASSERT_OK(made);
  EXPECT_GT(counts_only.requests(), 5);  // it was there
  EXPECT_FALSE(made->analysis.fronts);
  ASSERT_TRUE(made->analysis.supernodes);
  EXPECT_EQ(*made->analysis.supernodes, find_relaxed_supernodes(made->analysis.filled, {}));
  EXPECT_EQ(made->costs.gpu->updates, panel_costs(made->analysis.filled).updates);
}

/// That a device answers first. Starts it: one that would have to be started does not.
Result<CscMatrix<double>> mesh_for_a_started_device() {
  LULAB_RETURN_IF_ERROR(simt::Stream::create().status());
  return generate("grid2d", {.n = 32'000, .seed = 3});
}

TEST(FillOnGpu, AFirstAnswerThereWaitsForNoOrderButAmds) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "so many kernels take minutes";
  const auto a = mesh_for_a_started_device();
  LULAB_ASSERT_OK(a);
  const auto made = [&](const Purpose& purpose, FillOn place) {
    auto rows = match_rows(*a, {});
    EXPECT_TRUE(rows.ok());
    return analyze_matched(*a, std::move(*rows), {}, purpose, place);
  };
  const auto first = made({.first_answer_first = true, .chooses_rung = true}, FillOn::gpu);
  LULAB_ASSERT_OK(first);
  EXPECT_EQ(first->analysis.plan.order, "amd");
  EXPECT_GT(first->put_off_us, 0);
  EXPECT_TRUE(first->costs.fronts);
  ASSERT_TRUE(first->analysis.fronts);
  EXPECT_EQ(first->analysis.fronts->tree, find_fronts(first->analysis, {}).tree);
  const auto on_host = made({.first_answer_first = true}, FillOn::host);
  LULAB_ASSERT_OK(on_host);
  EXPECT_EQ(on_host->analysis.plan.order, "nd");
  EXPECT_EQ(on_host->put_off_us, 0);
  EXPECT_FALSE(on_host->costs.fronts);
  if (simt::machine() != simt::Machine::gpu) return;  // the simulator takes long for several orders
  const auto only = made({.expected_steps = 1, .chooses_rung = true}, FillOn::gpu),
             for_a_rung = made({.expected_steps = 1}, FillOn::gpu), all = made({}, FillOn::gpu);
  LULAB_ASSERT_OK(only);
  LULAB_ASSERT_OK(for_a_rung);
  LULAB_ASSERT_OK(all);
  EXPECT_EQ(only->analysis.plan.q, first->analysis.plan.q);
  EXPECT_EQ(only->put_off_us, 0);
  EXPECT_EQ(for_a_rung->analysis.plan.q, on_host->analysis.plan.q) << "no rung is known to answer by fronts";
  EXPECT_EQ(all->analysis.plan.q, on_host->analysis.plan.q);
}

/// Without the last entry of its first column.
CscMatrix<double> with_an_entry_less(CscMatrix<double> a) {
  a.row_idx.erase(a.row_idx.begin() + (a.col_ptr[1] - 1));
  a.values.erase(a.values.begin() + (a.col_ptr[1] - 1));
  for (std::int32_t j = 1; j <= a.n_cols; ++j) --a.col_ptr[j];
  return a;
}

TEST(FillOnGpu, AnOrderThatIsKeptIsFilledThereToo) {
  LULAB_NEED_DEVICE();
  if (simt::instrumented) GTEST_SKIP() << "so many kernels take minutes";
  const auto a = mesh_for_a_started_device();
  LULAB_ASSERT_OK(a);
  const auto changed = with_an_entry_less(*a);
  AnalysisSequence sequence({}, {.first_answer_first = true, .chooses_rung = true}, FillOn::gpu);
  auto first = sequence.next(*a, nullptr);
  LULAB_ASSERT_OK(first);
  ASSERT_TRUE(first->anew && first->anew->analysis.fronts);
  auto kept = sequence.next(changed, &first->anew->analysis);
  LULAB_ASSERT_OK(kept);
  ASSERT_TRUE(kept->anew);
  Analysis& analysis = kept->anew->analysis;
  ASSERT_TRUE(analysis.fronts);
  EXPECT_EQ(analysis.fronts->tree, find_fronts(analysis, {}).tree);
  EXPECT_EQ(kept->anew->put_off_us, first->anew->put_off_us);
  EXPECT_TRUE(kept->anew->costs.fronts && kept->anew->costs.gpu);
  EXPECT_EQ(analysis.plan.order, "amd");
  const auto again = analyze_with_plan(changed, analysis.plan);
  LULAB_ASSERT_OK(again);
  EXPECT_EQ(analysis.filled, again->filled);
  EXPECT_EQ(analysis.a_to_filled, again->a_to_filled);
  EXPECT_LE(analysis.filled.nnz(), first->anew->analysis.filled.nnz()) << "another order";
  const auto same = sequence.next(changed, &analysis);
  LULAB_ASSERT_OK(same);
  EXPECT_FALSE(same->anew || same->new_scales);
}

TEST(FillOnGpu, FrontsOfALargeMatrixAreThoseOfTheHost) {
  LULAB_NEED_GPU();  // the simulator compares smaller ones: symbolic/fill_on_device_test.cu
  const auto a = generate("grid2d", {.n = 150'000, .seed = 4});
  LULAB_ASSERT_OK(a);
  for (const Order order : {Order::nd, Order::amd}) {
    PreprocessOptions options;
    options.order = order;
    auto rows = match_rows(*a, options);
    LULAB_ASSERT_OK(rows);
    const auto made = analyze_matched(*a, std::move(*rows), options, {}, FillOn::gpu);
    LULAB_ASSERT_OK(made);
    const Analysis& analysis = made->analysis;
    ASSERT_TRUE(analysis.fronts) << order_name(options);
    ASSERT_TRUE(made->costs.gpu);
    EXPECT_NE(made->costs.cpu.has_value(), gpu_plainly_wins(analysis.filled.nnz(), made->costs));
    EXPECT_EQ(analysis.fronts->tree, find_fronts(analysis, {}).tree);
    EXPECT_TRUE(analysis.fronts->d_columns);
  }
}

}  // namespace
}  // namespace lulab
