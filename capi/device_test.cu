// The C interface where values, b and x are in device memory, errors of the device, and several threads at once (under
// ThreadSanitizer the tests of kernels run, not those of *_test.cpp).
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "capi/lulab.h"
#include "core/matrix/csc.h"
#include "core/simt/device.h"
#include "testing/device.h"
#include "testing/device_memory_limit.h"
#include "testing/matrices.h"
#include "verify/lulab_judge.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::string last_message() {
  lulab_error error{};
  error.size = sizeof error;
  EXPECT_EQ(lulab_last_error(&error), LULAB_OK);
  return error.message;
}

lulab_matrix view_of(const CscMatrix<double>& a, int32_t format = LULAB_CSC) {
  lulab_matrix m{};
  m.size = sizeof m;
  m.n = a.n_cols;
  m.nnz = a.nnz();
  m.format = format;
  m.pointer_bits = 64;
  m.index_bits = 32;
  m.ptr = a.col_ptr.data();
  m.idx = a.row_idx.data();
  m.values = a.values.data();
  return m;
}

struct Solver {
  explicit Solver(int32_t precision = LULAB_DOUBLE) {
    EXPECT_EQ(lulab_create(&handle, precision, LULAB_ABI), LULAB_OK);
  }
  ~Solver() { EXPECT_EQ(lulab_destroy(handle), LULAB_OK); }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  operator lulab_solver*() const { return handle; }
  lulab_solver* handle = nullptr;
};

/// An array in device memory.
class OnDevice {
 public:
  OnDevice(std::span<const double> values, simt::Stream& stream) : stream_(stream), host_(values.size()) {
    auto made = simt::DeviceBuffer<double>::create(values, stream);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    buffer_ = std::move(*made);
    EXPECT_TRUE(stream.wait().ok());
  }
  double* data() const { return buffer_.data(); }
  const std::vector<double>& download() {
    EXPECT_TRUE(buffer_.download(host_, stream_).ok());
    EXPECT_TRUE(stream_.wait().ok());
    return host_;
  }

 private:
  simt::Stream& stream_;
  simt::DeviceBuffer<double> buffer_;
  std::vector<double> host_;
};

/// max |b - A x|, NaN where x has one; likewise of Aᵀ.
double residual(const CscMatrix<double>& a, const std::vector<double>& b, const std::vector<double>& x) {
  std::vector<double> ax(b.size());
  multiply<double>(a, x, ax);
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!(std::abs(b[i] - ax[i]) <= worst)) worst = std::abs(b[i] - ax[i]);
  return worst;
}

CscMatrix<double> typical() { return testing::grid_matrix(6, 3); }

TEST(LulabInCOnDevice, StepsAreEnqueuedAndWaitedFor) {
  LULAB_NEED_DEVICE();
  for (const char* rung : {"11_fan_in", "07_threads"}) {
    const CscMatrix<double> a = typical();
    const lulab_matrix view = view_of(a);
    auto stream = simt::Stream::create();
    ASSERT_TRUE(stream.ok());
    const std::vector<double> ones(a.n_cols, 1), unknown(a.n_cols, nan);
    OnDevice values(a.values, *stream), b(ones, *stream), x(unknown, *stream);
    const Solver s;
    ASSERT_EQ(lulab_set_option(s, "rung", rung), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_set_memory(s, LULAB_DEVICE, stream->native()), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_factor(s, a.nnz(), values.data()), LULAB_OK) << last_message();
    for (int round = 0; round < 2; ++round) {
      CscMatrix<double> next = a;
      for (double& v : next.values) v *= 1.25 + round;
      OnDevice next_values(next.values, *stream);
      ASSERT_EQ(lulab_step(s, a.nnz(), next_values.data(), a.n_cols, b.data(), x.data()), LULAB_OK) << last_message();
      ASSERT_EQ(lulab_wait(s), LULAB_OK) << last_message();
      EXPECT_LE(residual(next, ones, x.download()), 1e-12);  // |A| |x| is below 100
      EXPECT_EQ(lulab_wait(s), LULAB_OK);                    // nothing is left to wait for
    }
    OnDevice bad(std::vector<double>(a.nnz(), nan), *stream);
    const int enqueued = lulab_step(s, a.nnz(), bad.data(), a.n_cols, b.data(), x.data());
    EXPECT_NE(enqueued == LULAB_OK ? lulab_wait(s) : enqueued, LULAB_OK);
    EXPECT_TRUE(std::isnan(x.download()[0]));
    EXPECT_EQ(lulab_step(s, a.nnz(), values.data(), a.n_cols, x.data(), x.data()), LULAB_INVALID_ARGUMENT);
  }
}

TEST(LulabInCOnDevice, EveryCallTakesDeviceMemory) {
  LULAB_NEED_DEVICE();
  const CscMatrix<double> a = typical(), transposed = transpose<double>(a);
  for (const int32_t format : {LULAB_CSC, LULAB_CSR}) {
    const CscMatrix<double>& given = format == LULAB_CSC ? a : transposed;  // the columns of Aᵀ are the rows of A
    const lulab_matrix view = view_of(given, format);
    auto stream = simt::Stream::create();
    ASSERT_TRUE(stream.ok());
    const std::vector<double> ones(a.n_cols, 1), unknown(a.n_cols, nan);
    OnDevice values(given.values, *stream), b(ones, *stream), x(unknown, *stream);
    const Solver s;
    ASSERT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_set_memory(s, LULAB_DEVICE, stream->native()), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_factor(s, a.nnz(), values.data()), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_refactor(s, a.nnz(), values.data()), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_solve(s, a.n_cols, b.data(), x.data()), LULAB_OK) << last_message();
    EXPECT_LE(residual(a, ones, x.download()), 1e-12);
    ASSERT_EQ(lulab_tsolve(s, a.n_cols, b.data(), x.data()), LULAB_OK) << last_message();
    EXPECT_LE(residual(transposed, ones, x.download()), 1e-12);
    ASSERT_EQ(lulab_step(s, a.nnz(), values.data(), a.n_cols, b.data(), x.data()), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_wait(s), LULAB_OK) << last_message();
    EXPECT_LE(residual(a, ones, x.download()), 1e-12);

    ASSERT_EQ(lulab_set_memory(s, LULAB_HOST, nullptr), LULAB_OK);
    std::vector<double> y(a.n_cols, nan);
    ASSERT_EQ(lulab_step(s, a.nnz(), given.values.data(), a.n_cols, ones.data(), y.data()), LULAB_OK) << last_message();
    EXPECT_LE(residual(a, ones, y), 1e-12);
  }
}

TEST(LulabInCOnDevice, ABatchStepsInDeviceMemory) {
  LULAB_NEED_DEVICE();
  const CscMatrix<double> a = typical();
  const lulab_matrix view = view_of(a);
  auto stream = simt::Stream::create();
  ASSERT_TRUE(stream.ok());
  std::vector<double> twice = a.values;
  for (const double v : a.values) twice.push_back(2 * v);
  const std::vector<double> ones(2 * a.n_cols, 1), unknown(2 * a.n_cols, nan);
  OnDevice values(twice, *stream), b(ones, *stream), x(unknown, *stream);
  const Solver s;
  ASSERT_EQ(lulab_set_option(s, "rung", "10_supernode_panels"), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_analyze_batch(s, &view, 2), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_set_memory(s, LULAB_DEVICE, stream->native()), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_factor(s, 2 * a.nnz(), values.data()), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_step(s, 2 * a.nnz(), values.data(), 2 * a.n_cols, b.data(), x.data()), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_wait(s), LULAB_OK) << last_message();
  const std::vector<double>& both = x.download();
  const std::vector<double> first(both.begin(), both.begin() + a.n_cols), one(a.n_cols, 1);
  EXPECT_LE(residual(a, one, first), 1e-12);
  for (std::int32_t i = 0; i < a.n_cols; ++i) EXPECT_NEAR(both[a.n_cols + i], first[i] / 2, 1e-12);
  EXPECT_EQ(lulab_system_status(s, 1, nullptr), LULAB_OK);
}

TEST(LulabInCOnDevice, OptionsOfARungReachIt) {
  LULAB_NEED_DEVICE();
  const CscMatrix<double> a = typical();
  const lulab_matrix view = view_of(a);
  const Solver s;
  ASSERT_EQ(lulab_set_option(s, "rung", "04_virtual_groups"), LULAB_OK);
  ASSERT_EQ(lulab_set_option(s, "rung.group_lanes", "16"), LULAB_OK) << last_message();
  char value[8];
  ASSERT_EQ(lulab_get_option(s, "rung.group_lanes", value, sizeof value), LULAB_OK) << last_message();
  EXPECT_STREQ(value, "16");
  EXPECT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_factor(s, a.nnz(), a.values.data()), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_set_option(s, "rung.group_lanes", "100000"), LULAB_OK);  // its range is that of the rung
  EXPECT_EQ(lulab_analyze(s, &view), LULAB_INVALID_ARGUMENT);
  EXPECT_NE(last_message().find("group_lanes"), std::string::npos) << last_message();
  EXPECT_EQ(lulab_set_option(s, "rung.group_lanes", ""), LULAB_OK);
  EXPECT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
}

TEST(LulabInCOnDevice, RefusedMemoryIsAStatus) {
  LULAB_NEED_DEVICE();
  const CscMatrix<double> a = typical();
  const lulab_matrix view = view_of(a);
  const Solver s;
  ASSERT_EQ(lulab_set_option(s, "rung", "11_fan_in"), LULAB_OK);
  {
    const testing::DeviceMemoryLimit none(1, testing::DeviceMemoryLimit::all);
    const int analyzed = lulab_analyze(s, &view);
    EXPECT_EQ(analyzed != LULAB_OK ? analyzed : lulab_factor(s, a.nnz(), a.values.data()), LULAB_OUT_OF_MEMORY);
    EXPECT_FALSE(last_message().empty());
  }
  ASSERT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_factor(s, a.nnz(), a.values.data()), LULAB_OK) << last_message();
}

TEST(LulabInCOnDevice, AKernelThatFailsIsAStatus) {
  LULAB_NEED_DEVICE();
  if (simt::machine() == simt::Machine::gpu) GTEST_SKIP() << "only the simulator can be told to fail";
  const CscMatrix<double> a = typical();
  const lulab_matrix view = view_of(a);
  const Solver s;
  ASSERT_EQ(lulab_set_option(s, "rung", "02_pipeline"), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
  {
    const simt::SimulatorScope scope({.max_switches = 3});
    EXPECT_EQ(lulab_factor(s, a.nnz(), a.values.data()), LULAB_DEVICE_ERROR) << last_message();
    EXPECT_FALSE(last_message().empty());
  }
  EXPECT_EQ(lulab_factor(s, a.nnz(), a.values.data()), LULAB_OK) << last_message();
}

TEST(LulabInCOnDevice, ThreadsWithSolversOfTheirOwnDoNotDisturbEachOther) {
  LULAB_NEED_DEVICE();
  constexpr int rounds = 3;
  const char* const rungs[] = {"auto", "11_fan_in", "07_threads"};
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (const char* rung : rungs)
    threads.emplace_back([rung, &good] {
      for (int round = 0; round < rounds; ++round) {
        const CscMatrix<double> a = testing::grid_matrix(4 + round, 3);
        const lulab_matrix view = view_of(a);
        const std::vector<double> b(a.n_cols, 1);
        std::vector<double> x(a.n_cols, nan);
        const Solver s(round == 0 ? LULAB_FLOAT : LULAB_DOUBLE);
        if (lulab_set_option(s, "rung", rung) != LULAB_OK) return;
        if (lulab_set_option(s, "no such key", "") != LULAB_UNKNOWN_OPTION) return;
        if (lulab_analyze(s, &view) != LULAB_OK || lulab_factor(s, a.nnz(), a.values.data()) != LULAB_OK) return;
        if (lulab_solve(s, a.n_cols, b.data(), x.data()) != LULAB_OK) return;
        if (!(residual(a, b, x) <= 1e-12)) return;
        if (!last_message().empty()) return;  // errors of other threads are theirs
        if (lulab_step(s, a.nnz(), a.values.data(), a.n_cols, b.data(), x.data()) != LULAB_OK) return;
        if (!(residual(a, b, x) <= 1e-12)) return;
        ++good;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, rounds * std::ssize(rungs));
}

TEST(LulabInC, ASecondThreadInTheSameSolverIsToldSo) {
  const Solver s;
  const CscMatrix<double> a = testing::grid_matrix(40, 3);
  const lulab_matrix view = view_of(a);
  ASSERT_EQ(lulab_set_option(s, "rung", "07_threads"), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
  ASSERT_EQ(lulab_factor(s, a.nnz(), a.values.data()), LULAB_OK) << last_message();
  std::atomic<bool> seen = false, all_good = true;
  std::thread other([&] {
    const std::vector<double> b(a.n_cols, 1);
    std::vector<double> x(a.n_cols, nan);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!seen && std::chrono::steady_clock::now() < end) {
      const int status = lulab_solve(s, a.n_cols, b.data(), x.data());
      if (status != LULAB_OK && status != LULAB_BUSY) all_good = false;
    }
    seen = true;
  });
  bool busy = false;
  while (!seen) {
    if (lulab_wait(s) == LULAB_BUSY) seen = busy = true;
  }
  other.join();
  EXPECT_TRUE(busy);
  EXPECT_TRUE(all_good);
  EXPECT_EQ(lulab_wait(s), LULAB_OK);  // one after the other is allowed
}

TEST(LulabInC, ThreadsUseDestroyAndReplaceTheSameSolvers) {
  const CscMatrix<double> a = testing::grid_matrix(4, 3);
  const std::vector<double> b(a.n_cols, 1);
  std::atomic<lulab_solver*> shared = nullptr;
  std::atomic<int> wrong = 0, solved = 0;
  const auto replace = [&] {
    lulab_solver* made = nullptr;
    wrong += lulab_create(&made, LULAB_DOUBLE, LULAB_ABI) != LULAB_OK;
    wrong += lulab_set_option(made, "rung", "07_threads") != LULAB_OK;
    shared = made;
  };
  replace();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      std::vector<double> x(a.n_cols);
      const lulab_matrix view = view_of(a);
      for (int round = 0; round < 200; ++round) {
        lulab_solver* const s = shared;
        const int statuses[] = {lulab_analyze(s, &view), lulab_factor(s, a.nnz(), a.values.data()),
                                lulab_solve(s, a.n_cols, b.data(), x.data())};
        for (const int status : statuses)
          wrong +=
              status != LULAB_OK && status != LULAB_BUSY && status != LULAB_WRONG_ORDER && status != LULAB_WRONG_HANDLE;
        if (statuses[2] == LULAB_OK) ++solved, wrong += !(residual(a, b, x) <= 1e-12);
        if (round % 20 == 7 * t && lulab_destroy(s) == LULAB_OK) replace();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(solved, 0);
  EXPECT_EQ(lulab_destroy(shared), LULAB_OK);
}

TEST(JudgeInC, ServesManyThreads) {
  const std::int64_t col_ptr[] = {0, 1, 3};
  const std::int32_t row_idx[] = {0, 0, 1};
  const double a[] = {2, 1, 3}, l[] = {1, 0, 1};
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      lulab_judge_input input;
      lulab_judge_report report;
      lulab_judge_init(&input, sizeof input, &report, sizeof report);
      input.n = 2;
      input.a = input.u = {col_ptr, row_idx, a};
      input.l = {col_ptr, row_idx, l};
      for (int round = 0; round < 5; ++round)
        accepted += lulab_judge(&input, &report) == LULAB_JUDGE_OK && report.accepted;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, 20);
}

}  // namespace
}  // namespace lulab
