// Solver and BatchSolver where the device refuses memory, or its work fails: one request after the other, once or from
// then on. A call says so or does without, x is never a wrong one, and the same call succeeds when that is over.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/matrix/generate.h"
#include "driver/batch_solver.h"
#include "driver/solver.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/device.h"
#include "testing/device_rungs.h"
#include "testing/every_refusal.h"
#include "testing/failing_operations.h"

namespace lulab {

namespace {

using testing::Call, testing::expect_recovers_from_every_refusal, testing::FailingOperations, testing::natural_pivots,
    testing::other_values, testing::with_tiny_pivot;

constexpr double old_x = 7.25;
constexpr std::int32_t size = 20;

/// After a call that failed.
void expect_no_x(std::span<const double> x) {
  EXPECT_TRUE(std::ranges::all_of(x, [](double v) { return std::isnan(v); }));
}

/// x: (n, columns)
void expect_x(const CscMatrix<double>& a, std::span<const double> x, std::span<const double> b) {
  const std::size_t n = a.n_cols;
  for (std::size_t at = 0; at < b.size(); at += n) {
    const double error = componentwise_backward_error(a, x.subspan(at, n), b.subspan(at, n));
    EXPECT_TRUE(error <= 1e-12) << error << " in column " << at / n;
  }
}

/// After a call that succeeded, or not.
void expect_x_if(bool ok, const CscMatrix<double>& a, std::span<const double> x, std::span<const double> b) {
  ok ? expect_x(a, x, b) : expect_no_x(x);
}

/// Calls every phase of a Solver. Matrices take turns, so that what is stale is wrong.
template <class T>
class SolverUser {
 public:
  SolverUser(Solver<T> solver, const CscMatrix<double>& a)
      : solver_(std::move(solver)), a_(a), b_(random_vector(a.n_cols, 3)) {
    EXPECT_TRUE(simt::make(d_values_, a.nnz()).ok());
    EXPECT_TRUE(simt::make(d_b_, a.n_cols).ok());
    EXPECT_TRUE(simt::make(d_x_, a.n_cols).ok());
  }

  std::vector<Call> calls() {
    return {
        {"analyze", [&] { return analyze(a_); }},
        {"factor", [&] { return factor(other(1)); }},
        {"solve", [&] { return solve(1, false); }},
        {"refactor", [&] { return refactor(other(2)); }},
        {"solve again", [&] { return solve(1, false); }},
        {"solve 2 columns", [&] { return solve(2, false); }},
        {"solve transposed", [&] { return solve(1, true); }},
        {"solve after that", [&] { return solve(1, false); }},
        {"solve transposed again", [&] { return solve(2, true); }},
        {"step", [&] { return step(other(3)); }},
        {"next step", [&] { return step(other(4)); }},
        {"step_device", [&] { return step_device(other(5)); }},
        {"next step_device", [&] { return step_device(other(6)); }},
        {"recorded step_device", [&] { return step_device(other(7)); }},
        {"refactor again", [&] { return refactor(other(8)); }},
        {"download", [&] { return solver_.download_factors().status(); }},
        {"last solve", [&] { return solve(9, false); }},
    };
  }

  /// Nothing is left of the matrix before.
  void look() {
    (void)solve(1, false);
    (void)solve(2, true);
    EXPECT_EQ(solver_.download_factors().ok(), solver_.factors().filled.n > 0);
    (void)solver_.statistics();
  }

 protected:
  CscMatrix<double> other(std::uint64_t seed) const { return other_values(a_, seed); }

  Status analyze(const CscMatrix<double>& a) { return solver_.analyze(now_ = a); }
  Status factor(const CscMatrix<double>& a) { return solver_.factor(now_ = a); }
  Status refactor(const CscMatrix<double>& a) { return solver_.refactor(now_ = a); }
  Status solve(std::int32_t columns, bool transposed) {
    const auto b = random_vector(a_.n_cols * columns, 5);
    std::vector<double> x(b.size(), old_x);
    const auto refined = transposed ? solver_.solve_transposed(b, x, columns) : solver_.solve(b, x, columns);
    expect_x_if(refined.ok(), transposed ? transpose(now_.view()) : now_, x, b);
    return refined.status();
  }
  Status step(const CscMatrix<double>& a) {
    now_ = a;
    std::vector<double> x(b_.size(), old_x);
    const auto refined = solver_.step(now_.values, b_, x);
    expect_x_if(refined.ok(), now_, x, b_);
    return refined.status();
  }
  Status step_device(const CscMatrix<double>& a) {
    now_ = a;
    std::vector<double> x(b_.size(), old_x);
    {
      const testing::NoOperationFails here;
      EXPECT_TRUE(d_values_.upload(now_.values, stream_).ok());
      EXPECT_TRUE(d_b_.upload(b_, stream_).ok());
      EXPECT_TRUE(d_x_.upload(x, stream_).ok());
      EXPECT_TRUE(stream_.wait().ok());
    }
    Status answer = solver_.step_device(d_values_.data(), d_b_.data(), d_x_.data(), stream_);
    const Status waited = solver_.wait_for_step().status();
    EXPECT_TRUE(answer.ok() || !waited.ok()) << "an older step is told of";
    if (answer.ok()) answer = waited;
    const testing::NoOperationFails here;
    if (answer.code == StatusCode::device_error) return answer;  // such a device need not write to x
    EXPECT_TRUE(d_x_.download(x, stream_).ok());
    EXPECT_TRUE(stream_.wait().ok());
    expect_x_if(answer.ok(), now_, x, b_);
    return answer;
  }

  simt::Stream stream_ = std::move(*simt::Stream::create());
  simt::DeviceBuffer<double> d_values_, d_b_, d_x_;
  Solver<T> solver_;
  const CscMatrix<double> a_;
  CscMatrix<double> now_;  // as last given to the solver
  const std::vector<double> b_;
};

/// New pivots in a refactorization and in a step.
template <class T>
class RepivotingUser : public SolverUser<T> {
 public:
  using SolverUser<T>::SolverUser;

  std::vector<Call> calls() {
    const auto good = with_tiny_pivot(40), next = with_tiny_pivot(-35), bad = with_tiny_pivot(1e-14);
    return {
        {"analyze", [=, this] { return this->analyze(good); }},
        {"factor", [=, this] { return this->factor(good); }},
        {"refactor with new pivots", [=, this] { return this->refactor(bad); }},
        {"solve", [=, this] { return this->solve(1, false); }},
        {"analyze for a factorization", [=, this] { return this->analyze(good); }},
        {"factor with new pivots", [=, this] { return this->factor(bad); }},
        {"analyze again", [=, this] { return this->analyze(good); }},
        {"factor again", [=, this] { return this->factor(next); }},
        {"step", [=, this] { return this->step(good); }},
        {"next step", [=, this] { return this->step(next); }},
        {"step with new pivots", [=, this] { return this->step(bad); }},
        {"step_device", [=, this] { return this->step_device(bad); }},
        {"next step_device", [=, this] { return this->step_device(bad); }},
        {"last solve", [=, this] { return this->solve(3, false); }},
    };
  }
};

/// Calls every phase of a BatchSolver. The pivots do not suit one system of the last batch.
template <class T>
class BatchUser {
 public:
  explicit BatchUser(const Rung& rung) : solver_(rung, natural_pivots()) {
    const auto a = with_tiny_pivot(40);
    EXPECT_TRUE(simt::make(d_values_, systems * a.nnz()).ok());
    EXPECT_TRUE(simt::make(d_b_, systems * std::int64_t{a.n_cols}).ok());
    EXPECT_TRUE(simt::make(d_x_, systems * std::int64_t{a.n_cols}).ok());
  }

  std::vector<Call> calls() {
    return {
        {"analyze", [this] { return solver_.analyze(with_tiny_pivot(40), systems); }},
        {"factor",
         [this] {
           return factor({40, 35, 30});
         }},
        {"solve", [this] { return solve(); }},
        {"factor others",
         [this] {
           return factor({-30, 50, -40});
         }},
        {"solve again", [this] { return solve(); }},
        {"recover",
         [this] {
           return factor({-35, 1e-14, 25});
         }},
        {"solve after that", [this] { return solve(); }},
        {"step_device",
         [this] {
           return step_device({45, -25, 30});
         }},
        {"next step_device",
         [this] {
           return step_device({20, 35, -40});
         }},
        {"last solve", [this] { return solve(); }},
    };
  }

  /// Nothing is left of the batch before.
  void look() { (void)solve(); }

 private:
  static constexpr std::int32_t systems = 3;

  /// Their values, one system after the other.
  std::vector<double> take(const std::vector<double>& pivots) {
    now_.clear();
    std::vector<double> values;
    for (const double pivot : pivots) {
      now_.push_back(with_tiny_pivot(pivot));
      values.insert(values.end(), now_.back().values.begin(), now_.back().values.end());
    }
    return values;
  }
  Status factor(const std::vector<double>& pivots) {
    return first_error(solver_.factor(take(pivots)), [](const Status& s) { return s; });
  }
  Status step_device(const std::vector<double>& pivots) {
    const auto values = take(pivots), b = random_vector(static_cast<std::int32_t>(d_b_.size()), 6);
    std::vector<double> x(b.size(), old_x);
    {
      const testing::NoOperationFails here;
      EXPECT_TRUE(d_values_.upload(values, stream_).ok());
      EXPECT_TRUE(d_b_.upload(b, stream_).ok());
      EXPECT_TRUE(d_x_.upload(x, stream_).ok());
      EXPECT_TRUE(stream_.wait().ok());
    }
    Status answer = solver_.step_device(d_values_.data(), d_b_.data(), d_x_.data(), stream_);
    const auto told = solver_.wait_for_step();
    EXPECT_TRUE(answer.ok() || !told.ok()) << "an older step is told of";
    if (answer.ok()) answer = first_error(told, [](const Result<Refinement>& r) { return r.status(); });
    const testing::NoOperationFails here;
    if (answer.code == StatusCode::device_error) return answer;  // such a device need not write to x
    EXPECT_TRUE(d_x_.download(x, stream_).ok());
    EXPECT_TRUE(stream_.wait().ok());
    if (!answer.ok()) expect_no_x(x);
    const std::size_t n = now_.front().n_cols;
    for (std::size_t k = 0; answer.ok() && k < now_.size(); ++k)
      expect_x(now_[k], std::span<const double>(x).subspan(n * k, n), std::span(b).subspan(n * k, n));
    return answer;
  }
  Status solve() {
    const std::size_t n = with_tiny_pivot(40).n_cols;
    const auto b = random_vector(static_cast<std::int32_t>(n) * systems, 3);
    std::vector<double> x(b.size(), old_x);
    const auto refined = solver_.solve(b, x);
    if (!refined.ok()) expect_no_x(x);
    for (std::size_t k = 0; refined.ok() && k < refined->size(); ++k) {
      const auto of_system = std::span<const double>(x).subspan(n * k, n);
      expect_x_if((*refined)[k].ok(), now_.at(k), of_system, std::span(b).subspan(n * k, n));
    }
    return first_error(refined, [](const Result<Refinement>& r) { return r.status(); });
  }
  template <class R, class StatusOf>
  static Status first_error(const R& results, const StatusOf& status_of) {
    if (!results.ok()) return results.status();
    EXPECT_EQ(results->size(), std::size_t(systems));
    for (const auto& result : *results)
      if (!result.ok()) return status_of(result);
    return {};
  }

  simt::Stream stream_ = std::move(*simt::Stream::create());
  simt::DeviceBuffer<double> d_values_, d_b_, d_x_;
  BatchSolver<T> solver_;
  std::vector<CscMatrix<double>> now_;  // as last given to the solver
};

const Rung one_thread = testing::one_thread_rung(), hidden = testing::one_thread_rung(true),
           one_thread_batch = testing::one_thread_batch_rung();

TEST(OutOfDeviceMemory, ASolverSaysSoAndGoesOn) {
  LULAB_NEED_DEVICE();
  using User = SolverUser<double>;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  for (const Rung* rung : {&one_thread, &hidden, &sparse_syncfree::supernode_panels}) {
    SCOPED_TRACE(rung->facts.id);
    int failed = 0;
    expect_recovers_from_every_refusal<User>([&] { return std::make_unique<User>(Solver<double>(*rung), a); }, failed);
    EXPECT_GT(failed, 0);
  }
}

RungChooser takes_the_gpu() {
  return {sparse_leftlooking::threads, sparse_syncfree::supernode_panels,
          [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
            return Prospects{.cpu_us = 2, .gpu_us = 1};
          }};
}

TEST(OutOfDeviceMemory, ASolverThatChoosesGoesToTheCpu) {
  LULAB_NEED_DEVICE();
  using User = SolverUser<double>;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  int failed = 0;
  expect_recovers_from_every_refusal<User>([&] { return std::make_unique<User>(Solver<double>(takes_the_gpu()), a); },
                                           failed);
  const RungChooser after_two_steps(sparse_leftlooking::threads, one_thread,
                                    [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
                                      return Prospects{.cpu_us = 2, .gpu_us = 1, .gpu_setup_us = 4};
                                    });
  const SolverOptions by_amd = {.preprocess = {.order = Order::amd}};
  expect_recovers_from_every_refusal<User>(
      [&] { return std::make_unique<User>(Solver<double>(after_two_steps, by_amd), a); }, failed);
}

TEST(OutOfDeviceMemory, NewPivotsAreTakenOrTheCallFails) {
  LULAB_NEED_DEVICE();
  using User = RepivotingUser<double>;
  for (const Rung* rung : {&one_thread, &sparse_syncfree::supernode_panels}) {
    SCOPED_TRACE(rung->facts.id);
    int failed = 0;
    expect_recovers_from_every_refusal<User>(
        [&] { return std::make_unique<User>(Solver<double>(*rung, natural_pivots()), with_tiny_pivot(40)); }, failed);
    EXPECT_GT(failed, 0);
  }
}

TEST(OutOfDeviceMemory, ABatchSolverSaysSoAndGoesOn) {
  LULAB_NEED_DEVICE();
  using User = BatchUser<double>;
  for (const Rung* rung : {&one_thread_batch, &one_thread, &sparse_syncfree::supernode_panels}) {
    SCOPED_TRACE(rung->facts.id);
    int failed = 0;
    expect_recovers_from_every_refusal<User>([&] { return std::make_unique<User>(*rung); }, failed);
    EXPECT_GT(failed, 0);
  }
}

/// A step that cannot be recorded in a graph does without.
template <bool told_later>
void expect_failures_of_solvers_are_told() {
  using Failing = FailingOperations<told_later>;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  for (const Rung* rung : {&one_thread, &hidden, &sparse_syncfree::supernode_panels}) {
    SCOPED_TRACE(rung->facts.id);
    int failed = 0;
    expect_recovers_from_every_refusal<SolverUser<double>, Failing>(
        [&] { return std::make_unique<SolverUser<double>>(Solver<double>(*rung), a); }, failed,
        {.must_tell = told_later});
    EXPECT_GT(failed, 0);
  }
  int failed = 0;
  const Rung& rung = sparse_syncfree::supernode_panels;
  expect_recovers_from_every_refusal<SolverUser<float>, Failing>(
      [&] { return std::make_unique<SolverUser<float>>(Solver<float>(rung), a); }, failed, {.must_tell = told_later});
  EXPECT_GT(failed, 0);
  expect_recovers_from_every_refusal<RepivotingUser<double>, Failing>(
      [&] {
        return std::make_unique<RepivotingUser<double>>(Solver<double>(rung, natural_pivots()), with_tiny_pivot(40));
      },
      failed, {.must_tell = told_later});
  EXPECT_GT(failed, 0);
}

template <bool told_later>
void expect_failures_of_batches_are_told() {
  for (const Rung* rung : {&one_thread_batch, &one_thread, &sparse_syncfree::supernode_panels}) {
    SCOPED_TRACE(rung->facts.id);
    int failed = 0;
    expect_recovers_from_every_refusal<BatchUser<double>, FailingOperations<told_later>>(
        [&] { return std::make_unique<BatchUser<double>>(*rung); }, failed, {.must_tell = true});
    EXPECT_GT(failed, 0);
  }
}

TEST(FailedOperations, OfASolverAreToldByTheCall) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_failures_of_solvers_are_told<false>();
}
TEST(FailedOperations, OfASolverAreToldByTheCallThatWaits) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_failures_of_solvers_are_told<true>();
}
/// An x by float factors wants a correction. What is left of a large one, whose solve failed, must not hide that.
/// solve: of A x = b, or Aᵀ x = b, for two b
void expect_nothing_left_for_the_next_solve(
    const CscMatrix<double>& a, const std::function<Status(std::span<const double> b, std::span<double> x)>& solve) {
  const auto b = random_vector(2 * a.n_cols, 5);
  auto large = b;
  for (double& v : large) v *= 0x1p60;
  const auto solve_and_look = [&](const std::vector<double>& of) {
    std::vector<double> x(of.size(), old_x);
    Status answer = solve(of, x);
    expect_x_if(answer.ok(), a, x, of);
    return answer;
  };
  LULAB_ASSERT_OK(solve_and_look(b));
  std::int64_t operation = 0, asked = 0;
  do {
    SCOPED_TRACE(++operation);
    {
      const FailingOperations<false> failing(operation, operation);
      const bool solved = solve_and_look(large).ok();
      asked = failing.requests();
      EXPECT_EQ(solved, asked < operation);
    }
    LULAB_ASSERT_OK(solve_and_look(b));
  } while (asked >= operation && !::testing::Test::HasFailure());
  EXPECT_GT(operation, 5);
}

TEST(FailedOperations, OfASolveLeaveNothingForTheNext) {
  LULAB_NEED_FAILING_OPERATIONS();
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  Solver<float> solver(sparse_syncfree::supernode_panels);
  LULAB_ASSERT_OK(solver.analyze(a));
  LULAB_ASSERT_OK(solver.factor(a));
  expect_nothing_left_for_the_next_solve(a, [&](auto b, auto x) { return solver.solve(b, x, 2).status(); });
  expect_nothing_left_for_the_next_solve(transpose(a.view()),
                                         [&](auto b, auto x) { return solver.solve_transposed(b, x, 2).status(); });
  BatchSolver<float> batch(sparse_syncfree::supernode_panels);
  LULAB_ASSERT_OK(batch.analyze(a, 2));
  auto values = a.values;
  values.insert(values.end(), a.values.begin(), a.values.end());
  LULAB_ASSERT_OK(batch.factor(values));
  expect_nothing_left_for_the_next_solve(a, [&](auto b, auto x) -> Status {
    LULAB_ASSIGN_OR_RETURN(const auto solved, batch.solve(b, x));
    for (const auto& system : solved) LULAB_RETURN_IF_ERROR(system.status());
    return {};
  });
}

TEST(FailedOperations, ASolverThatChoosesTellsOfThemOrGoesToTheCpu) {
  LULAB_NEED_FAILING_OPERATIONS();
  using User = SolverUser<double>;
  const auto a = *generate("power_grid", {.n = size, .seed = 5});
  const auto make = [&] { return std::make_unique<User>(Solver<double>(takes_the_gpu()), a); };
  int failed = 0;
  expect_recovers_from_every_refusal<User, FailingOperations<false>>(make, failed);
  expect_recovers_from_every_refusal<User, FailingOperations<true>>(make, failed);
  EXPECT_GT(failed, 0);
}
TEST(FailedOperations, OfABatchAreToldByTheCall) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_failures_of_batches_are_told<false>();
}
TEST(FailedOperations, OfABatchAreToldByTheCallThatWaits) {
  LULAB_NEED_FAILING_OPERATIONS();
  expect_failures_of_batches_are_told<true>();
}

}  // namespace
}  // namespace lulab
