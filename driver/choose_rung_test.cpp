#include "driver/choose_rung.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/simt/device.h"
#include "preprocess/ordering.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/options.h"
#include "sparse_syncfree/rungs.h"
#include "testing/analysis.h"
#include "testing/device.h"

namespace lulab {
namespace {

Rung named(std::string_view id) {
  Rung rung;
  rung.facts.id = id;
  return rung;
}
const Rung cpu = named("test/cpu"), gpu = named("test/gpu");

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Prospects predicted;  // what choose() below rests on
RungChoice choose(const Prospects& p, const Workload& work = {}) {
  predicted = p;
  const RungChooser chooser(cpu, gpu,
                            [](const FilledPattern&, int, const Workload&, const KnownCosts&) { return predicted; });
  return chooser.choose({}, {}, work);
}

TEST(ChooseRung, TakesTheFasterOneAndSaysBothTimes) {
  const RungChoice fast_gpu = choose({.cpu_us = 1234, .gpu_us = 56.7});
  EXPECT_EQ(fast_gpu.rung, &gpu);
  EXPECT_LT(fast_gpu.reason.find("0.0567 ms by test/gpu"), fast_gpu.reason.find("1.23 ms by test/cpu"))
      << fast_gpu.reason;
  const RungChoice fast_cpu = choose({.cpu_us = 10, .gpu_us = 60});
  EXPECT_EQ(fast_cpu.rung, &cpu);
  EXPECT_LT(fast_cpu.reason.find("0.01 ms by test/cpu"), fast_cpu.reason.find("0.06 ms by test/gpu"))
      << fast_cpu.reason;
  EXPECT_TRUE(contains(fast_gpu.reason, "test/cpu"));
  EXPECT_TRUE(contains(fast_cpu.reason, "test/gpu"));
}

TEST(ChooseRung, SaysOfWhichRungItKnowsALeastTimeAlone) {
  const RungChoice choice = choose({.cpu_us = 1234, .gpu_us = 56.7, .cpu_takes_longer = true});
  EXPECT_EQ(choice.rung, &gpu);
  EXPECT_TRUE(contains(choice.reason, "at least 1.23 ms by test/cpu")) << choice.reason;
}

TEST(ChooseRung, TheGpuPlainlyWinsWhereMultiplyAddsAloneTakeFarLonger) {
  EXPECT_FALSE(gpu_plainly_wins(1'000'000, {}, 1)) << "nothing is known";
  KnownCosts known = {.gpu = PanelCosts{}};
  known.gpu->multiply_adds = 1e12;
  EXPECT_TRUE(gpu_plainly_wins(1'000'000, known, 1));
  EXPECT_TRUE(gpu_plainly_wins(1'000'000, known, 16));
  EXPECT_FALSE(gpu_plainly_wins(1'000'000, known, 1'000'000)) << "so many cores are as fast";
  if (simt::device_start_us() == 0) {
    known.gpu->multiply_adds = 5e7;
    EXPECT_FALSE(gpu_plainly_wins(1'000'000, known, 1)) << "11 is long prepared";
    known.fronts = true;
    EXPECT_TRUE(gpu_plainly_wins(1'000'000, known, 1));
  }
  known = {.gpu = PanelCosts{}};
  known.gpu->multiply_adds = 1e6;
  EXPECT_FALSE(gpu_plainly_wins(1'000'000, known, 1));
  known.gpu->multiply_adds = 1e12;
  known.gpu->chain = 1 << 30;
  EXPECT_FALSE(gpu_plainly_wins(1'000'000, known, 16)) << "a slow GPU";
}

TEST(ChooseRung, TheGpuMayAnswerFirstWhereOneCoreTakesLongerThanPreparingIt) {
  EXPECT_FALSE(gpu_may_answer_first({}));
  EXPECT_FALSE(gpu_may_answer_first({.entries = 1e5, .multiply_adds = 1e5}));
  const bool is_started = simt::device_start_us() == 0;
  EXPECT_EQ(gpu_may_answer_first({.entries = 1e6, .multiply_adds = 1e6}), is_started);
  EXPECT_EQ(gpu_may_answer_first({.entries = 1e5, .multiply_adds = 1e8}), is_started);
  EXPECT_TRUE(gpu_may_answer_first({.entries = 1e12, .multiply_adds = 1e15}));
}

TEST(ChooseRung, WithoutAGpuTheCpusTimeIsKnown) {
  LULAB_NEED_SIMULATOR();
  const auto analysis = testing::analyze_ordered(*generate("grid2d", {.n = 400, .seed = 1}), {.order = Order::amd});
  ASSERT_TRUE(analysis.ok());
  KnownCosts known = {.gpu = panel_costs(analysis->filled)};
  known.gpu->multiply_adds = 1e15;
  const Prospects p = prospects(analysis->filled, 1, {}, known);
  EXPECT_FALSE(p.cpu_takes_longer);
  EXPECT_EQ(p.cpu_us, prospects(analysis->filled, 1).cpu_us);
}

TEST(ChooseRung, WhereTheGpuPlainlyWinsTheCpuIsNotPredicted) {
  if (simt::machine() != simt::Machine::gpu) GTEST_SKIP() << "only with a GPU";
  const auto analysis = testing::analyze_ordered(*generate("grid2d", {.n = 400, .seed = 1}), {.order = Order::amd});
  ASSERT_TRUE(analysis.ok());
  KnownCosts known = {.gpu = panel_costs(analysis->filled)};
  const Workload first = {.expected_steps = 1};
  EXPECT_FALSE(prospects(analysis->filled, 1, first, known).cpu_takes_longer);
  known.gpu->multiply_adds = 1e12;
  const Prospects p = prospects(analysis->filled, 1, first, known);
  EXPECT_TRUE(p.cpu_takes_longer);
  EXPECT_GT(p.cpu_us, 1e7);
}

TEST(ChooseRung, StaysWithTheCpuWhenTimesAreEqualOrUnknown) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(choose({.cpu_us = 10, .gpu_us = 10}).rung, &cpu);
  EXPECT_EQ(choose({.cpu_us = 10, .gpu_us = nan}).rung, &cpu);
}

TEST(ChooseRung, WithoutAGpuTakesTheCpuAndSaysSo) {
  for (const Workload& work : {Workload{}, Workload{.systems = 100}, Workload{.scalars_on_device = 9}}) {
    const RungChoice choice = choose({.cpu_us = 1234, .gpu_us = 56.7, .no_gpu = "no GPU answers"}, work);
    EXPECT_EQ(choice.rung, &cpu);
    for (const char* part : {"no GPU answers", "1.23 ms by test/cpu", "0.0567 ms by test/gpu"})
      EXPECT_TRUE(contains(choice.reason, part)) << choice.reason;
  }
}

TEST(ChooseRung, FewStepsDoNotPayForPreparingTheGpu) {
  predicted = {.cpu_us = 500, .gpu_us = 100, .gpu_setup_us = 2000};
  const RungChooser chooser(cpu, gpu,
                            [](const FilledPattern&, int, const Workload&, const KnownCosts&) { return predicted; });
  for (const double steps : {1.0, 4.0})
    EXPECT_EQ(chooser.choose({}, {}, {.expected_steps = steps}).rung, &cpu) << steps;
  for (const double steps : {6.0, 1e6})
    EXPECT_EQ(chooser.choose({}, {}, {.expected_steps = steps}).rung, &gpu) << steps;
}

TEST(ChooseRung, FirstAnswersComeTheShortestWayUntilTheyTookAsLongAsPreparing) {
  const auto steps = [](const Prospects& p, double put_off_us, double expected_steps = 1000, bool fronts = false) {
    predicted = p;
    predicted.by_fronts |= fronts;
    const RungChooser chooser(cpu, gpu, [](const FilledPattern&, int, const Workload& work, const KnownCosts&) {
      EXPECT_EQ(work.expected_steps, 1);
      return predicted;
    });
    return chooser.steps_before_preparing({}, {}, expected_steps, {.fronts = fronts}, put_off_us);
  };
  const Prospects p = {.cpu_us = 500, .gpu_us = 100, .gpu_setup_us = 2000};
  EXPECT_EQ(steps(p, 0), 4);
  EXPECT_EQ(steps(p, 1000), 6);
  EXPECT_EQ(steps(p, 0, 4), 0) << "four steps do not pay for the GPU";
  EXPECT_EQ(steps(p, 1000, 4), 2);
  EXPECT_EQ(steps({.cpu_us = 500, .gpu_us = 600, .gpu_setup_us = 2000}, 1000), 2);
  EXPECT_EQ(steps({.cpu_us = 500, .gpu_us = 100, .gpu_setup_us = 2000, .no_gpu = "none"}, 1000), 2);
  const Prospects gpu_answers = {.cpu_us = 500, .gpu_us = 100, .gpu_setup_us = 399};
  EXPECT_EQ(steps(gpu_answers, 0), 0) << "and is prepared for all steps";
  EXPECT_EQ(steps(gpu_answers, 1000), 80) << "3000 us for another order's tables";
  EXPECT_EQ(steps(gpu_answers, 0, 1000, true), 60) << "those of 12 are no others'";
  EXPECT_EQ(steps(gpu_answers, 0, 1, true), 0);
  Prospects by_fronts = gpu_answers;
  by_fronts.by_fronts = true;
  EXPECT_EQ(steps(by_fronts, 0), 0) << "they are found anew by 12, which stays";
  EXPECT_EQ(steps(by_fronts, 1000), 20) << "which has no tables";
  // To start the GPU is waited for, too; whether it may win does not turn on that where many steps pay for it.
  const Prospects to_start = {.cpu_us = 500, .gpu_us = 100, .gpu_setup_us = 402'000, .gpu_start_us = 400'000};
  EXPECT_EQ(steps(to_start, 0, 1000), 804);
  EXPECT_EQ(steps(to_start, 0, 700), 0);
  EXPECT_EQ(steps({.cpu_us = 0, .gpu_us = 1}, 0), 0) << "nothing to factor";
  EXPECT_EQ(steps({.cpu_us = 1, .gpu_us = 0}, 1000), 0) << "nothing to wait for";
  EXPECT_TRUE(contains(choose(p, {.expected_steps = 1}).reason, "a first step is predicted to take"));
}

TEST(ChooseRung, ABatchGoesToTheGpuWhateverThePattern) {
  const RungChoice choice = choose({.cpu_us = 10, .gpu_us = 60}, {.systems = 100});
  EXPECT_EQ(choice.rung, &gpu);
  EXPECT_TRUE(contains(choice.reason, "100 systems")) << choice.reason;
}

TEST(ChooseRung, AStepInDeviceMemoryGoesToTheCpuWhereTheWayThereIsWorthIt) {
  const auto analysis = testing::analyze_ordered(*generate("grid2d", {.n = 400, .seed = 1}), {.order = Order::amd});
  ASSERT_TRUE(analysis.ok());
  const double on_host_us = prospects(analysis->filled, 1).cpu_us;
  for (const std::int64_t scalars : {1'000, 1'000'000})
    EXPECT_NEAR(prospects(analysis->filled, 1, {.scalars_on_device = scalars}).cpu_us,
                on_host_us + 20 + 4.5e-3 * static_cast<double>(scalars), 1e-6 * on_host_us);
  for (const double gpu_us : {60.0, 200.0}) {
    const RungChoice choice = choose({.cpu_us = 100, .gpu_us = gpu_us}, {.scalars_on_device = 10'000});
    EXPECT_EQ(choice.rung, gpu_us < 100 ? &gpu : &cpu);
    EXPECT_TRUE(contains(choice.reason, "in device memory")) << choice.reason;
  }
}

TEST(ChooseRung, KnowsTheOptionsOfBothCandidatesAndNoOthers) {
  constexpr RungOption of_cpu[] = {{.name = "tasks", .most = 9}}, of_gpu[] = {{.name = "lanes", .most = 32}};
  Rung with_tasks = cpu, with_lanes = gpu;
  with_tasks.facts.options = of_cpu;
  with_lanes.facts.options = of_gpu;
  const RungChooser chooser(with_tasks, with_lanes);
  EXPECT_TRUE(chooser.check_options({.of_rung = {{"tasks", 3}, {"lanes", 32}}}).ok());
  EXPECT_EQ(chooser.check_options({.of_rung = {{"lanes", 33}}}).code, StatusCode::invalid_argument);
  const Status unknown = chooser.check_options({.of_rung = {{"nosuch", 1}}});
  EXPECT_EQ(unknown.code, StatusCode::invalid_argument);
  EXPECT_TRUE(contains(unknown.message, "auto has no option 'nosuch'")) << unknown.message;
}

TEST(ChooseRung, FallsBackToTheCpuWhereTheGpuHasNoRoom) {
  const RungChooser chooser(cpu, gpu);
  const RungChoice on_gpu = {&gpu, "0.1 ms by test/gpu"}, on_cpu = {&cpu, "0.1 ms by test/cpu"};
  for (const StatusCode code : {StatusCode::out_of_memory, StatusCode::device_error}) {
    const RungChoice choice = chooser.fall_back(on_gpu, Status::error(code, "3 GB were asked for"));
    EXPECT_EQ(choice.rung, &cpu);
    for (const char* part : {"test/gpu could not be prepared", "3 GB were asked for", "0.1 ms by test/gpu"})
      EXPECT_TRUE(contains(choice.reason, part)) << choice.reason;
    EXPECT_EQ(chooser.fall_back(on_cpu, Status::error(code, "")).rung, nullptr);
  }
  EXPECT_EQ(chooser.fall_back(on_gpu, Status::error(StatusCode::invalid_argument, "")).rung, nullptr);
}

TEST(ChooseRung, TheSimulatorIsNoGpu) {
  if (simt::machine() != simt::Machine::simulator) GTEST_SKIP() << "for the simulator";
  const auto analysis = testing::analyze_ordered(*generate("grid2d", {.n = 400, .seed = 1}), {.order = Order::amd});
  ASSERT_TRUE(analysis.ok());
  for (const std::int32_t systems : {1, 3}) {
    const RungChoice choice = choose_rung(analysis->filled, {}, systems);
    EXPECT_EQ(choice.rung, &sparse_leftlooking::threads);
    EXPECT_TRUE(contains(choice.reason, "simulator")) << choice.reason;
  }
}

TEST(FindRungOrAuto, AutoIsNoRungAndEveryOtherNameIsOne) {
  const std::array<const Rung*, 2> rungs = {&cpu, &gpu};
  for (const char* name : {"auto", ""}) {
    const auto found = find_rung_or_auto(rungs, name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, nullptr);
  }
  EXPECT_EQ(*find_rung_or_auto(rungs, "test/gpu"), &gpu);
  EXPECT_EQ(*find_rung_or_auto(rungs, "cpu"), &cpu);
  const Status unknown = find_rung_or_auto(rungs, "tpu").status();
  EXPECT_EQ(unknown.code, StatusCode::invalid_argument);
  for (const char* part : {"test/cpu", "test/gpu", "auto"}) EXPECT_TRUE(contains(unknown.message, part));
}

/// Would a machine with a GPU take it for this matrix?
bool takes_gpu(const char* family, std::int32_t n, Order order) {
  const auto a = generate(family, {.n = n, .seed = 1});
  EXPECT_TRUE(a.ok()) << a.status().to_string();
  const auto analysis = testing::analyze_ordered(*a, {.order = order});
  EXPECT_TRUE(analysis.ok()) << analysis.status().to_string();
  Prospects seen = prospects(analysis->filled, 16);
  EXPECT_GT(seen.cpu_us, 0);
  EXPECT_GT(seen.gpu_us, 0);
  EXPECT_EQ(seen.no_gpu.empty(), simt::machine() == simt::Machine::gpu && simt::device_properties().ok());
  seen.no_gpu.clear();
  return choose(seen).rung == &gpu;
}

TEST(Prospects, GridsGoToTheGpuChainsAndTinyMatricesToTheCpu) {
  EXPECT_TRUE(takes_gpu("grid2d", 10000, Order::metis));
  EXPECT_TRUE(takes_gpu("grid2d", 10000, Order::amd));
  EXPECT_FALSE(takes_gpu("ladder", 5000, Order::natural));
  EXPECT_FALSE(takes_gpu("random_dominant", 50, Order::amd));
  EXPECT_FALSE(takes_gpu("grid2d", 100, Order::metis));
}

TEST(Prospects, PanelsAreNotSearchedWhereTheGpuIsSlowerForAnyPattern) {
  const auto a = generate("grid2d", {.n = 10000, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const Prospects one = prospects(analysis->filled, 16, {.expected_steps = 1}),
                  many = prospects(analysis->filled, 16, {.expected_steps = 1e6});
  EXPECT_TRUE(one.gpu_takes_longer);
  EXPECT_FALSE(many.gpu_takes_longer);
  EXPECT_LT(one.gpu_us, many.gpu_us);
  EXPECT_EQ(one.cpu_us, many.cpu_us);
  const RungChoice choice = choose(one, {.expected_steps = 1});
  EXPECT_EQ(choice.rung, &cpu);
  EXPECT_TRUE(contains(choice.reason, "at least")) << choice.reason;
}

TEST(Prospects, TakeCostsThatAreKnown) {
  const auto a = generate("grid2d", {.n = 10000, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const PanelCosts costs = panel_costs(analysis->filled), other = {{.chain = 1'000'000}};
  const double found = prospects(analysis->filled, 16, {.expected_steps = 1e6}).gpu_us, other_us = fan_in_us(other, {});
  EXPECT_GT(other_us, 1e6);
  EXPECT_EQ(prospects(analysis->filled, 16, {.expected_steps = 1e6}, {.gpu = costs}).gpu_us, found);
  EXPECT_NEAR(prospects(analysis->filled, 16, {.expected_steps = 1e6}, {.gpu = other}).gpu_us,
              found - fan_in_us(costs, {}) + other_us, 1e-3);
  const CpuCosts one_core = cpu_costs(analysis->filled, 1);
  CpuCosts slower = one_core;
  slower.work_us += 1e6;
  for (const int threads : {0, 1, 16}) {
    const double cpu_us = prospects(analysis->filled, threads, {.expected_steps = 1}).cpu_us;
    EXPECT_EQ(prospects(analysis->filled, threads, {.expected_steps = 1}, {.cpu = one_core}).cpu_us, cpu_us);
    EXPECT_GT(prospects(analysis->filled, threads, {.expected_steps = 1}, {.cpu = slower}).cpu_us, cpu_us + 1e4);
  }
}

TEST(RungChooser, AFirstAnswerTakesFrontsThatAreFound) {
  const auto a = generate("grid2d", {.n = 2500, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  const RungChooser chooser([](const FilledPattern& filled, int, const Workload& work, const KnownCosts& known) {
    Prospects p = prospects(filled, 1, work, known, {});
    p.no_gpu = {};
    p.cpu_us = 1e9;
    return p;
  });
  const auto rung = [&](double steps, bool fronts) {
    return chooser.choose(analysis->filled, {}, {.expected_steps = steps}, {.fronts = fronts}).rung;
  };
  EXPECT_EQ(rung(1, true), &sparse_syncfree::multifrontal);
  EXPECT_EQ(rung(1, false), &sparse_syncfree::fan_in);
  EXPECT_EQ(rung(1000, true), &sparse_syncfree::fan_in);
  const auto setup_us = [&](double steps, bool fronts) {
    return prospects(analysis->filled, 1, {.expected_steps = steps}, {.fronts = fronts}).gpu_setup_us;
  };
  EXPECT_LT(setup_us(1, true), setup_us(1, false));
  EXPECT_EQ(setup_us(1000, true), setup_us(1000, false));
}

TEST(RungChooser, ABatchTakesTheRungOfOneSystem) {
  const auto a = generate("grid2d", {.n = 10000, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  for (const std::int32_t systems : {1, 64})
    EXPECT_TRUE(contains(choose_rung(analysis->filled, {}, systems).reason, "11_fan_in"));
  for (const Rung* rung : {&sparse_syncfree::fan_in, &sparse_syncfree::multifrontal})
    EXPECT_TRUE(rung->facts.takes_batches) << rung->facts.id;
}

/// Entries with |i - j| <= width, which do not fill.
FilledPattern band(std::int32_t n, std::int32_t width) {
  FilledPattern f;
  f.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = std::max(0, j - width); i <= std::min(n - 1, j + width); ++i) {
      if (i == j) f.diag.push_back(f.nnz());
      f.row_idx.push_back(i);
    }
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

TEST(RungChooser, ALargeMatrixTakesTheMultifrontalRung) {
  const FilledPattern small = band(9000, 80), heavy = band(12000, 80), large = band(80'000, 20);
  ASSERT_LE(heavy.nnz(), sparse_syncfree::max_fan_in_entries);
  ASSERT_GT(large.nnz(), sparse_syncfree::max_fan_in_entries);
  ASSERT_LE(panel_costs(small).multiply_adds, sparse_syncfree::max_fan_in_multiply_adds);
  ASSERT_GT(panel_costs(heavy).multiply_adds, sparse_syncfree::max_fan_in_multiply_adds);
  ASSERT_LE(panel_costs(large).multiply_adds, sparse_syncfree::max_fan_in_multiply_adds);
  EXPECT_TRUE(contains(choose_rung(small, {}, 1).reason, "11_fan_in"));
  EXPECT_TRUE(contains(choose_rung(heavy, {}, 1).reason, "12_multifrontal"));
  EXPECT_TRUE(contains(choose_rung(large, {}, 1).reason, "12_multifrontal"));
  EXPECT_TRUE(contains(choose_rung(large, {}, 64).reason, "12_multifrontal"));
  const RungChooser at_any_price([](const FilledPattern&, int, const Workload&, const KnownCosts&) {
    return Prospects{.cpu_us = std::numeric_limits<double>::infinity()};
  });
  EXPECT_EQ(at_any_price.choose(large, {}).rung, &sparse_syncfree::multifrontal);
  EXPECT_EQ(at_any_price.choose(small, {}).rung, &sparse_syncfree::fan_in);
}

TEST(Prospects, FollowTheSpeedOfTheMachine) {
  const auto a = generate("grid2d", {.n = 10000, .seed = 1}), small = generate("sram_array", {.n = 500, .seed = 1});
  ASSERT_TRUE(a.ok() && small.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  const auto by_lists = testing::analyze_ordered(*small, {.order = Order::amd});
  ASSERT_TRUE(analysis.ok() && by_lists.ok());
  const auto at = [](const Analysis& of, const MachineSpeed& speed) {
    return prospects(of.filled, 1, {.expected_steps = 1e6}, {}, speed);
  };
  const Prospects shipped = at(*analysis, {});
  EXPECT_DOUBLE_EQ(at(*analysis, {.cpu = 3}).cpu_us, 3 * shipped.cpu_us);
  EXPECT_DOUBLE_EQ(at(*by_lists, {.cpu = 3}).cpu_us, 3 * at(*by_lists, {}).cpu_us);
  for (const MachineSpeed& slower : {MachineSpeed{.gpu_hops = 2}, {.gpu_blocks = 2}, {.gpu_multiply_adds = 30}}) {
    EXPECT_GT(at(*analysis, slower).gpu_us, shipped.gpu_us) << to_text(slower);
    EXPECT_EQ(at(*analysis, slower).cpu_us, shipped.cpu_us);
  }
  // A core that is 100 times as fast has no use for the GPU.
  EXPECT_FALSE(shipped.gpu_takes_longer);
  EXPECT_TRUE(at(*analysis, {.cpu = 0.01}).gpu_takes_longer);
}

TEST(Prospects, DoNotAskForAGpuThatWouldTakeLongerToStartThanAllSteps) {
  const auto a = generate("grid2d", {.n = 10000, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  constexpr double steps = 1000;
  const auto with_start = [&](double start_us) {
    return prospects(analysis->filled, 1, {.expected_steps = steps, .gpu_start_us = start_us}, {}, {});
  };
  const Prospects started = with_start(0);
  ASSERT_FALSE(started.gpu_takes_longer) << "a step on the CPU takes " << started.cpu_us << " us";
  const Prospects too_few = with_start(1.01 * steps * started.cpu_us),
                  enough = with_start(0.99 * steps * started.cpu_us);
  EXPECT_TRUE(too_few.gpu_takes_longer);
  EXPECT_GT(too_few.gpu_us + too_few.gpu_setup_us / steps, too_few.cpu_us);
  EXPECT_FALSE(enough.gpu_takes_longer);
  EXPECT_EQ(enough.gpu_us, started.gpu_us);
  EXPECT_EQ(enough.gpu_setup_us, started.gpu_setup_us) << "where it pays, the start is not charged";
}

TEST(MeasuringPays, WhereTheChoiceIsInDoubtAndManyStepsFollow) {
  const Prospects close = {.cpu_us = 150, .gpu_us = 100}, clear = {.cpu_us = 1500, .gpu_us = 100};
  EXPECT_TRUE(measuring_pays(close, 1000));
  EXPECT_FALSE(measuring_pays(close, 100));
  EXPECT_FALSE(measuring_pays(close, 1));
  EXPECT_TRUE(is_in_doubt(close, 1)) << "then a file is read";
  EXPECT_FALSE(is_in_doubt(clear, 1));
  EXPECT_FALSE(is_in_doubt({.cpu_us = 300, .gpu_us = 150, .gpu_setup_us = 2000}, 1)) << "a first answer";
  EXPECT_FALSE(measuring_pays(clear, 1e9));
  EXPECT_FALSE(measuring_pays({.cpu_us = 100, .gpu_us = 1500}, 1e9));
  EXPECT_FALSE(measuring_pays({.cpu_us = 150, .gpu_us = 100, .no_gpu = "no GPU answers"}, 1e9));
  EXPECT_TRUE(measuring_pays({.cpu_us = 6e4, .gpu_us = 5e4, .gpu_setup_us = 1e4}, 1));
  EXPECT_FALSE(measuring_pays({.cpu_us = 150, .gpu_us = 100, .gpu_setup_us = 1e6}, 1000));
}

// With two threads there are none either, and the pattern keeps but one of them busy.
TEST(Prospects, OneStepIsPredictedWithoutFlatLists) {
  const auto a = generate("grid2d", {.n = 100, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::amd});
  ASSERT_TRUE(analysis.ok());
  const double without = prospects(analysis->filled, 2).cpu_us;
  EXPECT_GT(without, 0);
  EXPECT_NE(prospects(analysis->filled, 0).cpu_us, without);
  EXPECT_EQ(prospects(analysis->filled, 0, {.expected_steps = 1}).cpu_us, without);
  EXPECT_EQ(prospects(analysis->filled, 1, {.expected_steps = 1}).cpu_us, without);
}

TEST(Prospects, FewerThreadsMakeTheCpuSlower) {
  const auto a = generate("grid2d", {.n = 10000, .seed = 1});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::metis});
  ASSERT_TRUE(analysis.ok());
  EXPECT_LT(prospects(analysis->filled, 16).cpu_us, prospects(analysis->filled, 1).cpu_us);
  EXPECT_EQ(prospects(analysis->filled, 16).gpu_us, prospects(analysis->filled, 1).gpu_us);
}

}  // namespace
}  // namespace lulab
