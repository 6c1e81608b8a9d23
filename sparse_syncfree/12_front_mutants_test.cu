// Each thing that tiles of 12_multifrontal wait for is missed when it is not there.

#include <functional>
#include <initializer_list>

#include "core/device_backend.h"
#include "sparse_syncfree/12_front_kernel.h"
#include "sparse_syncfree/12_front_tables.h"
#include "sparse_syncfree/rungs.h"
#include "testing/fixed_pivots.h"
#include "testing/launch.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_for;
using testing::factor_with;
using testing::unlike;

using Alter = std::function<void(FrontPlan&)>;

/// The kernel of 12_multifrontal with a plan that lacks something.
class AlteredFronts final : public DeviceBackend<double> {
 public:
  AlteredFronts(Alter alter, unsigned blocks)
      : DeviceBackend<double>({.pattern = false}), alter_(std::move(alter)), blocks_(blocks) {}

 protected:
  Status prepare_rung() override {
    const FilledPattern& f = analysis().filled;
    const FrontCosts many_fronts = {.tile = 1 << 20, .fixed = -1e9};
    const Fronts fronts = find_fronts(f, find_relaxed_supernodes(f, {4, 1, 1e9}), many_fronts);
    LULAB_ASSIGN_OR_RETURN(plan_, make_front_plan(fronts, f.nnz(), {.max_padding = 1e9}));
    alter_(plan_);
    LULAB_ASSIGN_OR_RETURN(auto columns, front_columns_on_device(f, fronts, *stream()));
    LULAB_RETURN_IF_ERROR(tables_.upload(plan_, std::move(columns), *stream()));
    return stream()->wait();
  }
  Status clear(simt::Stream& to) override {
    LULAB_RETURN_IF_ERROR(tables_.poison(to));
    return tables_.clear(to);
  }
  Status launch(const DeviceFactorsView<double>& f, simt::Stream& to) override {
    return simt::launch(front_kernel<double, false>(),
                        {.grid = blocks_, .block = front_threads, .shared_bytes = front_shared_bytes<double>}, to, f,
                        tables_.view(), std::uint64_t(0));
  }
  std::int64_t work_bytes() const override { return 0; }

 private:
  const Alter alter_;
  const unsigned blocks_;
  FrontPlan plan_;
  FrontTables<double> tables_;
};

/// Five fronts of four columns, each of which leaves something to the next.
CscMatrix<double> matrix_of_mutants() { return testing::random_unsymmetric<double>(20, 1.0, 40.0, 3); }

Result<std::vector<double>> factor_altered(const Analysis& analysis, const std::vector<double>& values,
                                           const Alter& alter, unsigned blocks) {
  auto f = factorizer_of<AlteredFronts>(alter, blocks);
  LULAB_RETURN_IF_ERROR(f.analyze(analysis));
  LULAB_RETURN_IF_ERROR(f.upload(values));
  LULAB_RETURN_IF_ERROR(f.factor());
  LULAB_ASSIGN_OR_RETURN(const auto factors, f.download());
  return factors.values;
}

void leave_as_it_is(FrontPlan&) {}
void reverse_order(FrontPlan& plan) { std::ranges::reverse(plan.tiles); }
void await_one_too_many(FrontPlan& plan) { ++plan.inputs.front().awaited; }
void forget_a_child(FrontPlan& plan) {
  for (FrontTile& tile : plan.tiles) tile.first_input = std::min(tile.first_input + 1, tile.end_input);
}
/// Each tile awaits a flag that stays zero.
void await_nothing(FrontPlan& plan) {
  for (FrontInput& input : plan.inputs) {
    input.flag = plan.n_flags;
    input.awaited = 0;
  }
  ++plan.n_flags;
}

TEST(FrontMutants, ThePlanAsItIsGivesTheFactors) {
  LULAB_NEED_DEVICE();
  const auto a = matrix_of_mutants();
  const Analysis analysis = analysis_for(a.pattern());
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto values = factor_altered(analysis, a.values, leave_as_it_is, 3);
    LULAB_ASSERT_OK(values);
    EXPECT_TRUE(unlike<double>(*values, expected->values, 20).empty());
  }
}

/// Under every schedule, and the report says each of `parts`.
void expect_deadlocks(const Alter& alter, unsigned blocks, std::initializer_list<const char*> parts = {}) {
  const auto a = matrix_of_mutants();
  const Analysis analysis = analysis_for(a.pattern());
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto values = factor_altered(analysis, a.values, alter, blocks);
    EXPECT_EQ(values.status().code, StatusCode::deadlock) << values.status().to_string();
    for (const char* part : parts)
      EXPECT_TRUE(simt::contains(values.status().message, part)) << values.status().to_string();
  }
}

TEST(FrontMutants, ATileBeforeThoseThatItAwaitsIsADeadlock) {
  LULAB_NEED_SIMULATOR();
  for (const unsigned blocks : {1u, 2u}) expect_deadlocks(reverse_order, blocks);
}

/// The first front awaits what its parent leaves.
void await_the_parent(FrontPlan& plan) {
  FrontTile& child = plan.tiles[0];
  child.first_input = static_cast<std::int32_t>(plan.inputs.size());
  child.end_input = child.first_input + 1;
  const auto strip = static_cast<std::int32_t>(plan.strips.size() / front_tile);
  plan.strips.insert(plan.strips.end(), front_tile, no_place);
  plan.inputs.push_back({.left = 0,
                         .others = 0,
                         .flag = plan.fronts[plan.tiles[1].front].flags,
                         .awaited = 1,
                         .rows = strip,
                         .columns = strip,
                         .unused = 0});
}

TEST(FrontMutants, FrontsThatAwaitEachOtherAreToldAsACircle) {
  LULAB_NEED_SIMULATOR();
  expect_deadlocks(await_the_parent, 2, {"; in a circle: block ", " column 0 of block ", " column 4 of block "});
}

TEST(FrontMutants, AFlagThatCountsTooFewTilesIsADeadlock) {
  LULAB_NEED_SIMULATOR();
  expect_deadlocks(await_one_too_many, 3);
}

TEST(FrontMutants, AChildThatIsNotAddedOrNotAwaitedGivesWrongFactors) {
  LULAB_NEED_SIMULATOR();
  if (simt::race_detection) GTEST_SKIP() << "ThreadSanitizer would report the race, as it should";
  const auto a = matrix_of_mutants();
  const Analysis analysis = analysis_for(a.pattern());
  const auto expected = factor_with<double>(reference, analysis, a.values);
  LULAB_ASSERT_OK(expected);
  const auto is_wrong = [&](const auto& values) {
    return !values.ok() || !unlike<double>(*values, expected->values, 20).empty();
  };
  int wrong = 0;
  for (const std::uint64_t seed : simt::all_schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    EXPECT_TRUE(is_wrong(factor_altered(analysis, a.values, forget_a_child, 3)));
    wrong += is_wrong(factor_altered(analysis, a.values, await_nothing, 3));
  }
  EXPECT_GE(wrong, 4);
}

/// How the kernel tells a block that another has written something.
struct FlagProtocol {
  static __device__ void publish(std::int32_t* flag) { publish_done(flag); }
  static __device__ void await(std::int32_t* flag) { await_flag(flag, 1); }
};
struct PublishesRelaxed : FlagProtocol {
  static __device__ void publish(std::int32_t* flag) {
    __syncthreads();  // RACE: all threads have written what thread 0 should release
    if (threadIdx.x == 0)
      cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(*flag).fetch_add(
          1, cuda::memory_order_relaxed);  // RACE: the mutant
  }
};
struct PublishesBeforeAllHaveWritten : FlagProtocol {
  static __device__ void publish(std::int32_t* flag) {
    if (threadIdx.x == 0)
      cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(*flag).fetch_add(
          1, cuda::memory_order_release);  // RACE: the mutant has no barrier before it
  }
};
struct AwaitsRelaxed : FlagProtocol {
  static __device__ void await(std::int32_t* flag) {
    const auto is_there = [](std::int32_t done) { return done == 1; };
    simt::spin_wait<cuda::memory_order_relaxed>(flag, is_there);  // RACE: the mutant
  }
};

/// The first block writes (threads) values, the second adds 1 to them.
/// flags: (2) 0 on entry: of tickets; of the first block
template <class Protocol>
__global__ void hand_over_kernel(std::int32_t* flags, int* between, int* out) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if (simt::block_ticket(flags) == 0) {
    between[thread] = thread;
    Protocol::publish(flags + 1);
  } else {
    if (threadIdx.x == 0) Protocol::await(flags + 1);
    __syncthreads();  // RACE: one thread has seen the flag, all read what was written before it
    out[thread] = between[threads - 1 - thread] + 1;
  }
}

template <class Protocol>
Result<std::vector<int>> handed_over(std::uint64_t seed) {
  const simt::SimulatorScope scope({.seed = seed});
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_flags, simt::DeviceBuffer<std::int32_t>::create(2));
  LULAB_ASSIGN_OR_RETURN(auto d_between, simt::DeviceBuffer<int>::create(64));
  LULAB_RETURN_IF_ERROR(d_flags.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(d_between.fill_bytes(0xff, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return simt::output_of<int>(hand_over_kernel<Protocol>, {.grid = 2, .block = 64}, 64, {.seed = seed}, d_flags.data(),
                              d_between.data());
}

TEST(FrontMutants, AFlagHandsOverWhatAllThreadsWrote) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : simt::all_schedule_seeds()) {
    const auto out = handed_over<FlagProtocol>(seed);
    LULAB_ASSERT_OK(out);
    for (int t = 0; t < 64; ++t) EXPECT_EQ((*out)[t], 64 - t);
  }
}

/// Ends the process; ThreadSanitizer answers 66 instead of 0 when it has reported.
template <class Run>
void run_and_exit(const Run& run) {
  for (const std::uint64_t seed : simt::schedule_seeds())
    if (!run(seed).ok()) std::exit(1);
  std::exit(0);
}
Result<std::vector<double>> run_altered(const Alter& alter, std::uint64_t seed) {
  const auto a = matrix_of_mutants();
  const Analysis analysis = analysis_for(a.pattern());
  const simt::SimulatorScope scope({.seed = seed});
  return factor_altered(analysis, a.values, alter, 3);
}

TEST(FrontMutantsDeathTest, ThreadSanitizerReportsAMissingReleaseAcquireOrBarrier) {
  if (!simt::race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto reported = ::testing::ExitedWithCode(66);
  const char* const where = "data race[^$]*12_front_mutants_test.cu";
  EXPECT_EXIT(run_and_exit(handed_over<FlagProtocol>), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_and_exit(handed_over<PublishesRelaxed>), reported, where);
  EXPECT_EXIT(run_and_exit(handed_over<PublishesBeforeAllHaveWritten>), reported, where);
  EXPECT_EXIT(run_and_exit(handed_over<AwaitsRelaxed>), reported, where);
  EXPECT_EXIT(run_and_exit([](std::uint64_t seed) { return run_altered(leave_as_it_is, seed); }),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_and_exit([](std::uint64_t seed) { return run_altered(await_nothing, seed); }), reported,
              "data race[^$]*front_tiles_kernel[^$]*race in kernel [^\n]*: left\\[");
}

}  // namespace
}  // namespace lulab::sparse_syncfree
