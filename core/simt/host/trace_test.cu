// A Trace has every load and store of a Traced kernel, with who made it, its line, and what a store was computed from.

#include "core/simt/host/traced.h"

#include <set>
#include <vector>

#include "core/simt/kernel.h"
#include "testing/device.h"
#include "testing/launch.h"

namespace lulab::simt::host {
namespace {

using Kind = TraceEvent::Kind;

/// y(i) = y(i) - 2 · x(i) + x(0); thread 0 of each block counts it.
template <class T>
__global__ void update_kernel(T* y, const T* x, int n, int* count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  note_column(blockIdx.x);
  if (i < n) {
    const T first = x[0];
    y[i] -= T(2) * x[i];
    y[i] = y[i] + first;
  }
  if (threadIdx.x == 0) atomicAdd(count, 1);  // RACE: blocks count; the atomic orders them
}
constexpr int line_of_first = __LINE__ - 6;

/// Thread 0 of block 1 waits for block 0.
__global__ void wait_kernel(int* flag) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  note_column(10 + blockIdx.x);
  if (blockIdx.x == 0)
    ready.store(7, cuda::memory_order_release);  // RACE: block 1 waits for it
  else
    while (ready.load(cuda::memory_order_acquire) != 7) {  // RACE: block 0 is resident, too
    }
}

struct Arrays {
  Stream stream;
  DeviceBuffer<Traced> x, y;
  DeviceBuffer<int> count;
};
Result<Arrays> make_arrays(int n) {
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  Arrays a{std::move(stream), {}, {}, {}};
  std::vector<Traced> x, y;
  for (int i = 0; i < n; ++i) {
    x.emplace_back(1.5 + i);
    y.emplace_back(10.0 * i);
  }
  LULAB_RETURN_IF_ERROR(make(a.x, x, a.stream));
  LULAB_RETURN_IF_ERROR(make(a.y, y, a.stream));
  LULAB_RETURN_IF_ERROR(make(a.count, std::vector{0}, a.stream));
  name_elements(a.x.data(), n, "x");
  name_elements(a.y.data(), n, "y");
  name_elements(a.count.data(), 1, "count");
  return a;
}

TEST(Trace, HasEveryLoadAndStoreWithItsThreadItsLineAndItsOrigins) {
  constexpr int n = 70;
  auto a = make_arrays(n);
  LULAB_ASSERT_OK(a);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const SimulatorScope scope({.seed = seed});
    a = make_arrays(n);
    const Trace trace;
    LULAB_ASSERT_OK(launch(update_kernel<Traced>, {.grid = 3, .block = 32}, a->stream, a->y.data(), a->x.data(), n,
                           a->count.data()));
    LULAB_ASSERT_OK(a->stream.wait());
    std::vector<Traced> y(n);
    LULAB_ASSERT_OK(a->y.download(y, a->stream));
    std::vector<int> stores(n, 0);
    int loads_of_first = 0, counted = 0;
    for (const TraceEvent& e : trace.events()) {
      if (e.kind == Kind::atomic) {
        EXPECT_EQ(trace.arrays()[e.array], "count");
        ++counted;
      }
      if (e.kind == Kind::read && trace.arrays()[e.array] == "x" && e.site.line == line_of_first) {
        EXPECT_EQ(e.index, 0);
        EXPECT_EQ(e.after, 1.5);
        ++loads_of_first;
      }
      if (e.kind != Kind::write) continue;
      ASSERT_EQ(trace.arrays()[e.array], "y");
      const auto i = static_cast<int>(e.index);
      EXPECT_EQ(e.block * 32 + e.lane, i);
      EXPECT_EQ(e.column, e.block);
      std::set<std::pair<std::string, std::int64_t>> from;
      for (const std::int32_t read : e.from)
        if (read >= 0) from.emplace(trace.arrays()[trace.events()[read].array], trace.events()[read].index);
      const bool is_second = stores[i]++ == 1;
      EXPECT_EQ(e.site.line, line_of_first + (is_second ? 2 : 1));
      EXPECT_EQ(from, (std::set<std::pair<std::string, std::int64_t>>{{"x", is_second ? 0 : i}, {"y", i}}));
      EXPECT_EQ(e.before, is_second ? 10.0 * i - 2 * (1.5 + i) : 10.0 * i);
    }
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(stores[i], 2) << i;
      EXPECT_EQ(y[i].value(), 10.0 * i - 2 * (1.5 + i) + 1.5);
    }
    EXPECT_EQ(loads_of_first, n);
    EXPECT_EQ(counted, 3);
    EXPECT_EQ(trace.events().front().kind, Kind::launch);
    EXPECT_EQ(trace.events().back().kind, Kind::launch_ends);
  }
}

TEST(Trace, AWaitIsToldOnceAndNamesItsWord) {
  bool waited = false;
  for (const std::uint64_t seed : simt::all_schedule_seeds()) {
    const SimulatorScope scope({.seed = seed});
    auto a = make_arrays(1);
    LULAB_ASSERT_OK(a);
    const Trace trace;
    LULAB_ASSERT_OK(launch(wait_kernel, {.grid = 2, .block = 1}, a->stream, a->count.data()));
    LULAB_ASSERT_OK(a->stream.wait());
    int waits = 0;
    for (const TraceEvent& e : trace.events()) {
      if (e.kind != Kind::waits) continue;
      ++waits;
      EXPECT_EQ(e.column, 11);
      EXPECT_EQ(e.after, 0);
      EXPECT_EQ(trace.arrays()[e.array], "count");
    }
    EXPECT_LE(waits, 1);
    waited = waited || waits == 1;
  }
  EXPECT_TRUE(waited) << "in no schedule block 1 came first";
}

TEST(Trace, NothingIsRecordedWithoutOne) {
  auto a = make_arrays(4);
  LULAB_ASSERT_OK(a);
  { const Trace trace; }
  LULAB_ASSERT_OK(
      launch(update_kernel<Traced>, {.grid = 1, .block = 32}, a->stream, a->y.data(), a->x.data(), 4, a->count.data()));
  LULAB_ASSERT_OK(a->stream.wait());
  const Trace trace;
  EXPECT_TRUE(trace.events().empty());
}

}  // namespace
}  // namespace lulab::simt::host
