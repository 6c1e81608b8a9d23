// The host side: buffers, streams, timers, graphs, limits of a launch, properties.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "testing/device_memory_limit.h"
#include "testing/launch.h"

namespace lulab::simt {
namespace {

__global__ void axpy_kernel(int n, double a, const double* x, double* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

TEST(Device, IsOneOfThoseThatAreThere) {
  LULAB_NEED_DEVICE();
  const auto devices = device_count();
  LULAB_ASSERT_OK(devices);
  EXPECT_GE(*devices, 1);
  LULAB_ASSERT_OK(use_device(*devices - 1));
  EXPECT_EQ(*current_device(), *devices - 1);
  LULAB_ASSERT_OK(use_device(0));
  for (const int none : {-1, *devices}) EXPECT_EQ(use_device(none).code, StatusCode::invalid_argument);
}

TEST(Device, PropertiesAreThoseOfAMachineThatRunsKernels) {
  LULAB_NEED_DEVICE();
  const auto p = device_properties();
  LULAB_ASSERT_OK(p);
  EXPECT_FALSE(p->name.empty());
  EXPECT_GE(p->sm_count, 1);
  EXPECT_EQ(p->max_threads_per_block, 1024);
  EXPECT_GE(p->max_threads_per_sm, 1024);
  EXPECT_GE(p->shared_bytes_per_block, std::size_t{48} << 10);
  EXPECT_GT(p->memory_bytes, std::size_t{1} << 28);
}

TEST(Device, WithoutAGpuEveryCallAnswersDeviceError) {
  if (machine() == Machine::simulator) GTEST_SKIP() << "the simulator is always there";
  if (device_properties().ok()) GTEST_SKIP() << "a GPU answers";
  EXPECT_EQ(Stream::create().status().code, StatusCode::device_error);
  EXPECT_EQ(Timer::create().status().code, StatusCode::device_error);
  EXPECT_EQ(DeviceBuffer<int>::create(4).status().code, StatusCode::device_error);
  EXPECT_TRUE(contains(device_properties().status().message, "sim")) << device_properties().status().message;
}

TEST(Device, BufferRoundTripsAndCountsItsBytes) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  const std::int64_t before = allocated_bytes();
  reset_peak_bytes();
  {
    std::vector<double> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(double(i));
    auto d_a = DeviceBuffer<double>::create(values, *stream);
    auto d_b = DeviceBuffer<double>::create(1000);
    LULAB_ASSERT_OK(d_a);
    LULAB_ASSERT_OK(d_b);
    EXPECT_EQ(allocated_bytes() - before, 16000);
    LULAB_ASSERT_OK(copy_on_device(d_b->data(), d_a->data(), 8000, *stream));
    std::vector<double> back(1000, std::numeric_limits<double>::quiet_NaN());
    LULAB_ASSERT_OK(d_b->download(back, *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(back, values);
    DeviceBuffer<double> moved = std::move(*d_a);
    EXPECT_EQ(moved.size(), 1000);
    EXPECT_EQ(d_a->size(), 0);
    LULAB_ASSERT_OK(moved.fill_bytes(0, *stream));
    LULAB_ASSERT_OK(moved.download(back, *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(back, std::vector<double>(1000, 0.0));
  }
  EXPECT_EQ(allocated_bytes(), before);
  EXPECT_EQ(peak_bytes() - before, 16000);
  auto empty = DeviceBuffer<int>::create(0);
  LULAB_ASSERT_OK(empty);
  EXPECT_EQ(empty->data(), nullptr);
}

TEST(Device, TooMuchMemoryIsRefused) {
  LULAB_NEED_DEVICE();
  const auto p = device_allocate(std::size_t{1} << 50);
  ASSERT_EQ(p.status().code, StatusCode::out_of_memory) << p.status().to_string();
  EXPECT_TRUE(contains(p.status().message, "1125899906842624")) << p.status().message;
}

TEST(Device, AMemoryLimitRefusesChosenRequests) {
  LULAB_NEED_DEVICE();
  {
    const testing::DeviceMemoryLimit limit(2, 4);
    std::vector<StatusCode> told = {
        DeviceBuffer<int>::create(10).status().code, DeviceBuffer<int>::create(10).status().code,
        HostBuffer<int>::create(10).status().code, Stream::create().status().code, Stream::create().status().code};
    EXPECT_EQ(told, (std::vector<StatusCode>{StatusCode::ok, StatusCode::out_of_memory, StatusCode::out_of_memory,
                                             StatusCode::out_of_memory, StatusCode::ok}));
    EXPECT_EQ(limit.requests(), 5);
  }
  {
    auto stream = Stream::create();
    LULAB_ASSERT_OK(stream);
    LULAB_ASSERT_OK(Graph::begin_capture(*stream));
    const testing::DeviceMemoryLimit limit(1, 1);
    EXPECT_EQ(Graph::end_capture(*stream).status().code, StatusCode::out_of_memory);
    EXPECT_FALSE(*stream->is_captured());
    LULAB_ASSERT_OK(Graph::begin_capture(*stream));
    LULAB_ASSERT_OK(Graph::end_capture(*stream));
  }
  LULAB_ASSERT_OK(DeviceBuffer<int>::create(10));
}

TEST(Device, HostBuffersAreTheirOwnersAlone) {
  LULAB_NEED_DEVICE();
  constexpr std::int64_t sizes[] = {1, 4095, 4096, 4097};  // above 4096 CUDA is asked each time
  for (int round = 0; round < 2; ++round) {
    std::vector<HostBuffer<unsigned char>> buffers;
    for (int k = 0; k < 100; ++k) {
      auto made = HostBuffer<unsigned char>::create(sizes[k % 4]);
      LULAB_ASSERT_OK(made);
      EXPECT_TRUE(is_page_locked(made->span().data()));
      std::ranges::fill(made->span(), static_cast<unsigned char>(k));
      buffers.push_back(std::move(*made));
      if (k % 3 == 2) buffers.erase(buffers.end() - 2);  // the next one may get its memory
    }
    for (const auto& buffer : buffers)
      for (const unsigned char byte : buffer.span()) ASSERT_EQ(byte, buffer.span()[0]);
    std::set<unsigned char> first;
    for (const auto& buffer : buffers) EXPECT_TRUE(first.insert(buffer.span()[0]).second);
  }
}

TEST(Device, ArgumentsAreConvertedAndCopied) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_x = DeviceBuffer<double>::create(std::vector<double>(100, 2.0), *stream);
  auto d_y = DeviceBuffer<double>::create(std::vector<double>(100, 1.0), *stream);
  LULAB_ASSERT_OK(d_x);
  LULAB_ASSERT_OK(d_y);
  float a = 3;  // the kernel takes a double
  LULAB_ASSERT_OK(launch(axpy_kernel, {.grid = 2, .block = 64}, *stream, 100L, a, d_x->data(), d_y->data()));
  a = -1e9f;
  std::vector<double> y(100);
  LULAB_ASSERT_OK(d_y->download(y, *stream));
  LULAB_ASSERT_OK(stream->wait());
  EXPECT_EQ(y, std::vector<double>(100, 7.0));
}

TEST(Device, GraphReplaysWhatWasCaptured) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_x = DeviceBuffer<double>::create(std::vector<double>(64, 1.0), *stream);
  auto d_y = DeviceBuffer<double>::create(std::vector<double>(64, 0.0), *stream);
  LULAB_ASSERT_OK(d_x);
  LULAB_ASSERT_OK(d_y);
  LULAB_ASSERT_OK(stream->wait());
  LULAB_ASSERT_OK(Graph::begin_capture(*stream));
  for (int k = 0; k < 3; ++k)
    LULAB_ASSERT_OK(launch(axpy_kernel, {.grid = 1, .block = 64}, *stream, 64, 1.0, d_x->data(), d_y->data()));
  LULAB_ASSERT_OK(copy_on_device(d_x->data(), d_y->data(), 64 * sizeof(double), *stream));
  auto graph = Graph::end_capture(*stream);
  LULAB_ASSERT_OK(graph);
  std::vector<double> y(64, -1);
  LULAB_ASSERT_OK(d_y->download(y, *stream));
  LULAB_ASSERT_OK(stream->wait());
  EXPECT_EQ(y, std::vector<double>(64, 0.0)) << "capturing must not run";
  LULAB_ASSERT_OK(graph->launch(*stream));  // y = 3, x = 3
  LULAB_ASSERT_OK(graph->launch(*stream));  // y = 3 + 9
  LULAB_ASSERT_OK(d_y->download(y, *stream));
  LULAB_ASSERT_OK(stream->wait());
  EXPECT_EQ(y, std::vector<double>(64, 12.0));
}

/// y(i) = x(i)^2 + c after a long way there, so that work that does not wait comes too early.
__global__ void slow_square_kernel(int n, double c, const double* x, double* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double rest = 1;
  for (int k = 0; k < 20000; ++k) rest *= 0.5;  // 0
  if (i < n) y[i] = x[i] * x[i] + c + rest;
}

struct ForkJoin {
  static constexpr int n = 1000;
  Result<Stream> main = Stream::create(), left = Stream::create(Priority::high), right = Stream::create();
  Result<DeviceBuffer<double>> d_x = DeviceBuffer<double>::create(n), d_left = DeviceBuffer<double>::create(n),
                               d_right = DeviceBuffer<double>::create(n);

  Status status() const {
    for (const auto* stream : {&main, &left, &right}) LULAB_RETURN_IF_ERROR(stream->status());
    for (const auto* buffer : {&d_x, &d_left, &d_right}) LULAB_RETURN_IF_ERROR(buffer->status());
    return {};
  }
  Status square(Stream& stream, double c, const double* from, double* to) {
    return launch(slow_square_kernel, {.grid = 8, .block = 128}, stream, n, c, from, to);
  }
  /// x = x^2; left = x^2 + 1 beside right = (x^2 + 2)^2; x = x + left - right, with x the squared one.
  Status enqueue() {
    LULAB_RETURN_IF_ERROR(square(*main, 0, d_x->data(), d_x->data()));
    LULAB_RETURN_IF_ERROR(left->wait_for(*main));
    LULAB_RETURN_IF_ERROR(right->wait_for(*left));
    LULAB_RETURN_IF_ERROR(square(*left, 1, d_x->data(), d_left->data()));
    LULAB_RETURN_IF_ERROR(square(*right, 2, d_x->data(), d_right->data()));
    LULAB_RETURN_IF_ERROR(square(*right, 0, d_right->data(), d_right->data()));
    LULAB_RETURN_IF_ERROR(main->wait_for(*left));
    LULAB_RETURN_IF_ERROR(main->wait_for(*right));
    LULAB_RETURN_IF_ERROR(launch(axpy_kernel, {.grid = 8, .block = 128}, *main, n, 1.0, d_left->data(), d_x->data()));
    return launch(axpy_kernel, {.grid = 8, .block = 128}, *main, n, -1.0, d_right->data(), d_x->data());
  }
  static double expected(double x) {
    const double square = x * x, left = square * square + 1, root = square * square + 2;
    return square + left - root * root;
  }
  static std::vector<double> start() {
    std::vector<double> x(n);
    for (int i = 0; i < n; ++i) x[i] = (i % 7) / 8.0;  // all intermediate values are exact
    return x;
  }
  Status expect_times(int times) {
    std::vector<double> x(n, std::numeric_limits<double>::quiet_NaN());
    LULAB_RETURN_IF_ERROR(d_x->download(x, *main));
    LULAB_RETURN_IF_ERROR(main->wait());
    for (int i = 0; i < n; ++i) {
      double y = start()[i];
      for (int k = 0; k < times; ++k) y = expected(y);
      // The second time rounds: seven roundings, fused or not, of values below 3e4.
      const double tol = (times - 1) * 16 * std::numeric_limits<double>::epsilon() * 3e4;
      EXPECT_TRUE(std::fabs(x[i] - y) <= tol) << i << ": " << x[i] << " for " << y;
    }
    return {};
  }
};

TEST(Device, ForkedStreamsRunAfterTheForkAndBeforeTheJoin) {
  LULAB_NEED_DEVICE();
  ForkJoin f;
  LULAB_ASSERT_OK(f.status());
  LULAB_ASSERT_OK(f.d_x->upload(ForkJoin::start(), *f.main));
  LULAB_ASSERT_OK(f.enqueue());
  LULAB_ASSERT_OK(f.expect_times(1));
  LULAB_ASSERT_OK(f.main->wait_for(*f.main));
  LULAB_ASSERT_OK(f.main->wait());
}

// On a GPU they are kernels there.
TEST(Device, CopiesAndFillsOfAnyLengthAreCaptured) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::int64_t offset : {0, 1, 4, 8})
    for (const std::int64_t bytes : {1, 3, 4, 12, 16, 4096, 4097, 100'000}) {
      SCOPED_TRACE(::testing::Message() << bytes << " bytes from " << offset << " on");
      const std::int64_t size = offset + bytes + 8;
      std::vector<std::uint8_t> source(size), expected(size, 0xee);
      for (std::int64_t k = 0; k < size; ++k) source[k] = static_cast<std::uint8_t>(7 * k + 1);
      auto locked = HostBuffer<std::uint8_t>::create(size);
      LULAB_ASSERT_OK(locked);
      std::vector<std::uint8_t> pageable(size, 0xee), filled(size);
      std::ranges::fill(locked->span(), 0xee);
      auto from = DeviceBuffer<std::uint8_t>::create(source, *stream);
      auto to = DeviceBuffer<std::uint8_t>::create(expected, *stream);
      auto fill = DeviceBuffer<std::uint8_t>::create(expected, *stream);
      for (const auto* buffer : {&from, &to, &fill}) LULAB_ASSERT_OK(*buffer);
      LULAB_ASSERT_OK(stream->wait());
      const auto at = static_cast<std::size_t>(bytes);
      LULAB_ASSERT_OK(Graph::begin_capture(*stream));
      LULAB_ASSERT_OK(copy_on_device(to->data() + offset, from->data() + offset, at, *stream));
      LULAB_ASSERT_OK(fill_bytes(fill->data() + offset, 0x5a, at, *stream));
      LULAB_ASSERT_OK(copy_to_host(locked->span().data() + offset, to->data() + offset, at, *stream));
      LULAB_ASSERT_OK(copy_to_host(pageable.data() + offset, to->data() + offset, at, *stream));
      auto graph = Graph::end_capture(*stream);
      LULAB_ASSERT_OK(graph);
      LULAB_ASSERT_OK(graph->launch(*stream));
      LULAB_ASSERT_OK(fill->download(filled, *stream));
      LULAB_ASSERT_OK(stream->wait());
      auto expected_fill = expected;
      std::fill_n(expected_fill.begin() + offset, bytes, std::uint8_t(0x5a));
      std::copy_n(source.begin() + offset, bytes, expected.begin() + offset);
      EXPECT_EQ(filled, expected_fill);
      EXPECT_TRUE(std::ranges::equal(locked->span(), expected));
      EXPECT_EQ(pageable, expected);
    }
}

TEST(Device, ForkedStreamsJoinACaptureAndItsGraphReplays) {
  LULAB_NEED_DEVICE();
  ForkJoin f;
  LULAB_ASSERT_OK(f.status());
  LULAB_ASSERT_OK(f.d_x->upload(ForkJoin::start(), *f.main));
  LULAB_ASSERT_OK(f.main->wait());
  LULAB_ASSERT_OK(Graph::begin_capture(*f.main));
  LULAB_ASSERT_OK(f.enqueue());
  auto graph = Graph::end_capture(*f.main);
  LULAB_ASSERT_OK(graph);
  LULAB_ASSERT_OK(graph->launch(*f.main));
  LULAB_ASSERT_OK(f.expect_times(1));
  LULAB_ASSERT_OK(graph->launch(*f.main));
  LULAB_ASSERT_OK(f.expect_times(2));
  LULAB_ASSERT_OK(f.left->wait());  // no longer captured
  LULAB_ASSERT_OK(f.enqueue());
  LULAB_ASSERT_OK(f.main->wait());
}

// The streams of a divided device in place of ordinary ones.
TEST(Device, StreamsOfADividedDeviceForkJoinAndAreCaptured) {
  LULAB_NEED_DEVICE();
  ForkJoin f;
  LULAB_ASSERT_OK(f.status());
  auto split = split_device(8);
  if (split.status().code == StatusCode::not_implemented) GTEST_SKIP() << split.status().to_string();
  LULAB_ASSERT_OK(split);
  f.left = std::move(split->few);
  f.right = std::move(split->most);
  LULAB_ASSERT_OK(f.d_x->upload(ForkJoin::start(), *f.main));
  LULAB_ASSERT_OK(f.enqueue());
  LULAB_ASSERT_OK(f.expect_times(1));
  LULAB_ASSERT_OK(f.d_x->upload(ForkJoin::start(), *f.main));
  LULAB_ASSERT_OK(f.main->wait());
  LULAB_ASSERT_OK(Graph::begin_capture(*f.main));
  LULAB_ASSERT_OK(f.enqueue());
  auto graph = Graph::end_capture(*f.main);
  LULAB_ASSERT_OK(graph);
  for (int times = 1; times <= 2; ++times) {
    LULAB_ASSERT_OK(graph->launch(*f.main));
    LULAB_ASSERT_OK(f.expect_times(times));
  }
}

TEST(Device, AStreamOfTheCallerIsTheSameQueueAndOutlivesItsWrapper) {
  LULAB_NEED_DEVICE();
  auto callers = Stream::create();
  LULAB_ASSERT_OK(callers);
  auto d = DeviceBuffer<double>::create(3);
  LULAB_ASSERT_OK(d);
  const std::vector<double> sent = {1, 2, 3};
  {
    auto wrapper = Stream::of(callers->native());
    LULAB_ASSERT_OK(wrapper);
    EXPECT_TRUE(wrapper->native() == callers->native());
    LULAB_ASSERT_OK(d->upload(sent, *wrapper));
  }
  std::vector<double> back(3, 0);
  LULAB_ASSERT_OK(d->download(back, *callers));
  LULAB_ASSERT_OK(callers->wait());
  EXPECT_EQ(back, sent);
}

TEST(Device, AStreamKnowsWhetherItIsCaptured) {
  LULAB_NEED_DEVICE();
  ForkJoin f;
  LULAB_ASSERT_OK(f.status());
  const auto captured = [](const Stream& s) { return s.is_captured().ok() && *s.is_captured(); };
  EXPECT_FALSE(captured(*f.main));
  LULAB_ASSERT_OK(Graph::begin_capture(*f.main));
  LULAB_ASSERT_OK(f.left->wait_for(*f.main));
  EXPECT_TRUE(captured(*f.main));
  EXPECT_TRUE(captured(*f.left)) << "it joined";
  EXPECT_FALSE(captured(*f.right));
  LULAB_ASSERT_OK(f.main->wait_for(*f.left));
  LULAB_ASSERT_OK(Graph::end_capture(*f.main));
  EXPECT_FALSE(captured(*f.main));
  EXPECT_FALSE(captured(*f.left));
}

TEST(Device, MoreMultiprocessorsThanThereAreCannotBeSplitOff) {
  LULAB_NEED_DEVICE();
  if (machine() == Machine::simulator) GTEST_SKIP() << "the simulator does not divide its multiprocessors";
  EXPECT_EQ(split_device(1 << 20).status().code, StatusCode::not_implemented);
}

TEST(Device, WorkThatIsNotJoinedIsRefusedAndTheStreamsGoOn) {
  LULAB_NEED_DEVICE();
  ForkJoin f;
  LULAB_ASSERT_OK(f.status());
  LULAB_ASSERT_OK(Graph::begin_capture(*f.main));
  LULAB_ASSERT_OK(f.enqueue());
  LULAB_ASSERT_OK(f.square(*f.right, 0, f.d_right->data(), f.d_right->data()));  // after the last join
  LULAB_ASSERT_OK(f.left->wait_for(*f.right));                                   // joins, but not the captured stream
  const auto graph = Graph::end_capture(*f.main);
  EXPECT_EQ(graph.status().code, StatusCode::invalid_argument) << graph.status().to_string();
  EXPECT_TRUE(contains(graph.status().message, "unjoined")) << graph.status().message;
  LULAB_ASSERT_OK(f.d_x->upload(ForkJoin::start(), *f.main));
  LULAB_ASSERT_OK(f.enqueue());
  LULAB_ASSERT_OK(f.expect_times(1));
}

TEST(Device, ACapturedStreamCannotWaitForOneOutside) {
  LULAB_NEED_DEVICE();
  ForkJoin f;
  LULAB_ASSERT_OK(f.status());
  LULAB_ASSERT_OK(Graph::begin_capture(*f.main));
  EXPECT_EQ(f.main->wait_for(*f.left).code, StatusCode::invalid_argument);
  (void)Graph::end_capture(*f.main);
  LULAB_ASSERT_OK(f.main->wait());
}

__global__ void forever_kernel(int* flag) {
  while (atomicAdd(flag, 0) != 1) {
  }
}

TEST(Device, AFailureReachesTheStreamsThatWaitForIt) {
  LULAB_NEED_SIMULATOR();
  ForkJoin f;
  LULAB_ASSERT_OK(f.status());
  auto d_flag = DeviceBuffer<int>::create(1);
  LULAB_ASSERT_OK(d_flag);
  LULAB_ASSERT_OK(launch(forever_kernel, {.grid = 1, .block = 1}, *f.left, d_flag->data()));
  LULAB_ASSERT_OK(f.main->wait_for(*f.left));
  EXPECT_EQ(f.main->wait().code, StatusCode::deadlock);
  EXPECT_EQ(f.left->wait().code, StatusCode::deadlock);
  LULAB_ASSERT_OK(f.main->wait());
}

TEST(Device, TimerMeasuresAPositiveTime) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  auto timer = Timer::create();
  LULAB_ASSERT_OK(stream);
  LULAB_ASSERT_OK(timer);
  auto d = DeviceBuffer<double>::create(1 << 16);
  LULAB_ASSERT_OK(d);
  LULAB_ASSERT_OK(timer->start(*stream));
  LULAB_ASSERT_OK(d->fill_bytes(0, *stream));
  LULAB_ASSERT_OK(timer->stop(*stream));
  const auto ms = timer->elapsed_ms();
  LULAB_ASSERT_OK(ms);
  EXPECT_TRUE(*ms > 0 && *ms < 1000) << *ms;
  LULAB_ASSERT_OK(stream->wait());
}

__global__ void nothing_kernel() {}

void expect_refused(const LaunchShape& shape, const char* limit) {
  const Status status = status_of_launch(nothing_kernel, shape, {});
  EXPECT_EQ(status.code, StatusCode::invalid_argument) << status.to_string();
  EXPECT_TRUE(contains(status.message, limit)) << limit << " is missing in: " << status.message;
  EXPECT_TRUE(contains(status.message, "nothing_kernel")) << status.message;
}

TEST(Device, LaunchesBeyondALimitNameIt) {
  LULAB_NEED_DEVICE();
  expect_refused({.grid = 1, .block = 1025}, "1024");
  expect_refused({.grid = 1, .block = dim3(64, 32)}, "1024");
  expect_refused({.grid = dim3(1, 70000), .block = 1}, "65535");
  expect_refused({.grid = 1, .block = 32, .shared_bytes = std::size_t{300} << 10}, "shared memory");
  expect_refused({.grid = 0, .block = 32}, "");
  expect_refused({.grid = 1, .block = 0}, "");
  expect_refused({.grid = 1000000, .block = 256, .cooperative = true}, "resident");
  LULAB_ASSERT_OK(status_of_launch(nothing_kernel, {.grid = 3, .block = 1024}, {}));
}

TEST(Device, AsManyBlocksAsAreResidentMayLaunchCooperatively) {
  LULAB_NEED_DEVICE();
  const auto properties = device_properties();
  LULAB_ASSERT_OK(properties);
  const auto blocks = max_resident_blocks_per_sm(nothing_kernel, 256);
  LULAB_ASSERT_OK(blocks);
  EXPECT_GE(*blocks, 1);
  const auto all = static_cast<unsigned>(*blocks * properties->sm_count);
  LULAB_ASSERT_OK(status_of_launch(nothing_kernel, {.grid = all, .block = 256, .cooperative = true}, {}));
  EXPECT_FALSE(status_of_launch(nothing_kernel, {.grid = all + 1, .block = 256, .cooperative = true}, {}).ok());
  const auto fewer = max_resident_blocks_per_sm(nothing_kernel, 256, properties->shared_bytes_per_block);
  LULAB_ASSERT_OK(fewer);
  EXPECT_EQ(*fewer, 1);
  EXPECT_EQ(max_resident_blocks_per_sm(nothing_kernel, 5000).status().code, StatusCode::invalid_argument);
}

/// Records the order in which threads started.   order: (1 + threads)
__global__ void order_kernel(int* order) {
  const int place = atomicAdd(&order[0], 1) + 1;  // -1 before
  order[1 + place] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

TEST(Device, TheSeedDecidesTheOrderAndNothingElseDoes) {
  LULAB_NEED_SIMULATOR();
  const LaunchShape shape{.grid = 16, .block = 32};
  const auto run = [&](std::uint64_t seed) { return *output_of<int>(order_kernel, shape, 2 + 512, {.seed = seed}); };
  int distinct = 0;
  for (const std::uint64_t seed : all_schedule_seeds()) {
    EXPECT_EQ(run(seed), run(seed));
    distinct += run(seed) != run(seed + 1);
  }
  EXPECT_EQ(distinct, 8);
}

__global__ void counted_kernel(const double* x, double* y) {
  LULAB_SHARED(double, tile, 32);
  auto gx = counted_global(x);
  auto gy = counted_global(y);
  auto s = counted_shared(&tile[0]);
  const int t = threadIdx.x;
  s[t] = gx[t];
  __syncthreads();  // RACE: t reads what 31 - t wrote
  gy[t] = s[31 - t];
  gy[t] += 1.0;
  __syncwarp();
  __threadfence();
}

TEST(Device, AccessesAreCountedOnRequest) {
  LULAB_NEED_SIMULATOR();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_x = DeviceBuffer<double>::create(std::vector<double>(32, 1.5), *stream);
  LULAB_ASSERT_OK(d_x);
  SimulatorScope outer({.count_accesses = true});
  LULAB_ASSERT_OK(
      output_of<double>(counted_kernel, {.grid = 1, .block = 32}, 32, {.count_accesses = true}, d_x->data()));
  const AccessCounts expected{.fences = 32,
                              .block_barriers = 32,
                              .warp_collectives = 32,
                              .global_loads = 64,
                              .global_stores = 64,
                              .shared_loads = 32,
                              .shared_stores = 32};
  EXPECT_EQ(outer.access_counts(), expected);
  LULAB_ASSERT_OK(output_of<double>(counted_kernel, {.grid = 1, .block = 32}, 32, {}, d_x->data()));
  EXPECT_EQ(outer.access_counts(), expected) << "counted without being asked";
}

}  // namespace
}  // namespace lulab::simt
