#include "driver/chosen_rung.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "symbolic/fronts.h"
#include "testing/dense_elimination.h"

namespace lulab {
namespace {

constexpr RungOption option_of_gpu = {.name = "tile"};
const Rung on_cpu = {.facts = {.id = "test/cpu"}},
           on_gpu = {.facts = {.id = "test/gpu", .device = Device::gpu, .options = {&option_of_gpu, 1}}};

Prospects foreseen;            // what the choices below rest on
std::optional<Workload> work;  // what was asked for last
std::optional<bool> with_fronts;
const RungChooser foreseeing(on_cpu, on_gpu,
                             [](const FilledPattern&, int, const Workload& asked, const KnownCosts& known) {
                               work = asked;
                               with_fronts = known.fronts;
                               return foreseen;
                             });
// Steps on the CPU take 10 us, on the GPU 1: the GPU pays after `steps` of them.
Prospects gpu_pays_after(double steps) { return {.cpu_us = 10, .gpu_us = 1, .gpu_setup_us = 10 * steps}; }
const Prospects gpu_at_once = {.cpu_us = 10, .gpu_us = 1, .gpu_setup_us = 2}, cpu_always = {.cpu_us = 1, .gpu_us = 2};

class ChosenRungOf : public ::testing::Test {
 protected:
  void SetUp() override { options.preprocess.order = Order::amd; }
  /// Analyzed, and a rung chosen.
  ChosenRung chosen(const Prospects& p, bool named = false) {
    ChosenRung c(named ? std::nullopt : std::optional(foreseeing), {.rung = named ? &on_gpu : nullptr}, options);
    auto next = c.next_analysis(a, nullptr);
    EXPECT_TRUE(next.ok() && next->anew);
    analysis = std::move(next->anew->analysis);
    c.take_costs(next->anew->costs, 0);
    choose(c, p);
    return c;
  }
  void choose(ChosenRung& c, const Prospects& p) {
    foreseen = p;
    EXPECT_TRUE(c.choose(analysis).ok());
  }

  const CscMatrix<double> a = testing::random_dominant(20, 0.3, 2);
  SolverOptions options;
  Analysis analysis;
};

TEST_F(ChosenRungOf, PreparesForAllStepsAfterSoManyAsPay) {
  for (const int steps : {1, 3}) {
    ChosenRung c = chosen(gpu_pays_after(steps));
    EXPECT_EQ(c.choice().rung, &on_cpu);
    EXPECT_EQ(c.steps_prepared_for(), 1);
    EXPECT_EQ(work->expected_steps, 1);
    const std::string when = steps == 1 ? "; chosen anew after 1 step" : "; chosen anew after 3 steps";
    EXPECT_TRUE(c.choice().reason.ends_with(when)) << c.choice().reason;
    for (int made = 0; made < steps; ++made) {
      EXPECT_FALSE(c.is_to_prepare());
      c.count_step();
    }
    EXPECT_TRUE(c.is_to_prepare());
    c.end_first_steps();
    choose(c, foreseen);
    EXPECT_EQ(c.choice().rung, &on_gpu);
    EXPECT_EQ(c.choice().reason.find("chosen anew"), std::string::npos);
    EXPECT_EQ(c.steps_prepared_for(), options.expected_steps);
    EXPECT_FALSE(c.is_to_prepare());
  }
}

TEST_F(ChosenRungOf, PutsNothingOffWhereTheOptionsSaySo) {
  const SolverOptions defaults = options;
  const auto puts_off = [&] { return chosen(gpu_pays_after(3)).puts_off_preparing(); };
  EXPECT_TRUE(puts_off());
  options.expected_steps = 1.5;
  EXPECT_TRUE(puts_off());
  options.expected_steps = 1;
  EXPECT_FALSE(puts_off());
  options = defaults, options.prepare_at_once = true;
  EXPECT_FALSE(puts_off());
  options = defaults, options.repivot = false;
  EXPECT_FALSE(puts_off());
  options = defaults, options.factor.perturb_pivots = 1e-8;
  EXPECT_FALSE(puts_off());
  options = defaults;
  EXPECT_FALSE(chosen(gpu_pays_after(3), true).puts_off_preparing()) << "a rung that is named";
}

TEST_F(ChosenRungOf, StepsInDeviceMemoryAreChosenForAsSuch) {
  ChosenRung c = chosen(gpu_pays_after(3));
  EXPECT_EQ(work->scalars_on_device, 0);
  c.put_steps_on_device(true);
  EXPECT_TRUE(c.is_to_prepare()) << "by the first one";
  choose(c, gpu_at_once);
  EXPECT_EQ(work->scalars_on_device, a.nnz() + 40);
  EXPECT_FALSE(c.puts_off_preparing());
}

TEST_F(ChosenRungOf, AnOrderThatIsPutOffIsDueWhateverIsForeseen) {
  ChosenRung c = chosen(cpu_always);
  EXPECT_FALSE(c.has_put_off_order());
  EXPECT_EQ(c.steps_prepared_for(), options.expected_steps);
  c.take_costs({}, 5);
  EXPECT_TRUE(c.has_put_off_order());
  choose(c, {});  // nothing
  EXPECT_EQ(c.steps_prepared_for(), 1);
  EXPECT_FALSE(c.is_to_prepare());
  c.count_step();
  EXPECT_TRUE(c.is_to_prepare());
}

// Other pivots have another pattern, of which something else is foreseen.
TEST_F(ChosenRungOf, OnceOnTheGpuItStaysThereWithOtherPivots) {
  ChosenRung gpu = chosen(gpu_at_once);
  EXPECT_EQ(gpu.choice().rung, &on_gpu);
  choose(gpu, gpu_pays_after(3));
  EXPECT_EQ(gpu.choice().rung, &on_gpu);
  ChosenRung cpu = chosen(cpu_always);
  EXPECT_EQ(cpu.choice().rung, &on_cpu);
  choose(cpu, gpu_pays_after(3));
  EXPECT_EQ(cpu.choice().rung, &on_cpu);
  EXPECT_EQ(cpu.steps_prepared_for(), 1);
}

TEST_F(ChosenRungOf, FallsBackFromAGpuWithoutRoom) {
  const Status no_room = Status::error(StatusCode::out_of_memory, "3 GB were asked for");
  EXPECT_FALSE(chosen(gpu_at_once, true).fall_back(no_room)) << "a rung that is named";
  ChosenRung c = chosen(gpu_at_once);
  EXPECT_FALSE(c.fall_back(Status::error(StatusCode::deadlock, "nobody moves")));
  EXPECT_FALSE(c.fell_back());
  EXPECT_EQ(c.choice().rung, &on_gpu);
  EXPECT_TRUE(c.fall_back(no_room));
  EXPECT_TRUE(c.fell_back());
  EXPECT_EQ(c.choice().rung, &on_cpu);
  EXPECT_FALSE(c.fall_back(no_room)) << "there is no third one";
  choose(c, gpu_at_once);
  EXPECT_FALSE(c.fell_back());
}

TEST_F(ChosenRungOf, SaysWhetherItWouldChooseTheSameNow) {
  const auto is_same = [&](ChosenRung& c, const Prospects& now) {
    foreseen = now;
    return c.is_still_the_choice(analysis);
  };
  ChosenRung c = chosen(gpu_at_once);
  EXPECT_TRUE(is_same(c, gpu_at_once));
  EXPECT_FALSE(is_same(c, cpu_always));
  ChosenRung later = chosen(gpu_pays_after(3));
  EXPECT_FALSE(is_same(later, cpu_always)) << "more is to be prepared";
  ChosenRung named = chosen(gpu_at_once, true);
  EXPECT_TRUE(is_same(named, cpu_always));
  ASSERT_TRUE(c.fall_back(Status::error(StatusCode::out_of_memory, "")));
  EXPECT_TRUE(is_same(c, gpu_at_once));
  const SolverOptions defaults = options;
  options.expected_steps = 1;
  ChosenRung once = chosen(gpu_at_once);
  EXPECT_TRUE(is_same(once, cpu_always));
  options = defaults, options.factor.perturb_pivots = 1e-8;
  ChosenRung perturbing = chosen(gpu_at_once);
  EXPECT_TRUE(is_same(perturbing, cpu_always));
}

TEST_F(ChosenRungOf, KeepsFrontsOnlyForAGpu) {
  for (const auto& [p, kept] : {std::pair{cpu_always, false}, {gpu_pays_after(3), true}, {gpu_at_once, true}}) {
    ChosenRung c = chosen(p);
    analysis.fronts = std::make_shared<Fronts>();
    c.take_costs({.fronts = true});
    c.drop_fronts_without_use(analysis);
    EXPECT_EQ(analysis.fronts != nullptr, kept);
    choose(c, p);
    EXPECT_EQ(*with_fronts, kept);
  }
}

TEST_F(ChosenRungOf, TakesTheOptionsThatTheRungKnows) {
  options.factor.of_rung = {{"tile", 0}};
  EXPECT_EQ(chosen(cpu_always).factor_options().of_rung.size(), 0u);
  EXPECT_EQ(chosen(gpu_at_once).factor_options().of_rung.size(), 1u);
  options.factor.of_rung = {{"nobody", 1}};
  EXPECT_EQ(chosen(gpu_at_once, true).factor_options().of_rung.size(), 1u) << "for the rung to refuse";
  ChosenRung c(foreseeing, {}, options);
  EXPECT_EQ(c.choose(analysis).code, StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab
