#include "driver/resident_solve.h"

#include <algorithm>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace lulab {
namespace {

/// From so many entries of L and U on first solves go along fronts, which are prepared sooner than rows (H100, af23560,
/// 9 million: 13 ms instead of 40), and with more entries all of them: G3_circuit, 180 million, takes 3.5 ms instead of
/// 10.5 by chunks with their values. Between, chunks are faster.
constexpr std::int64_t least_entries_for_fronts = 3'000'000, most_entries_for_chunks = 20'000'000;

/// What chunks take to be prepared, in steps that they save (H200). Against rows, which are there: hykkt, 13659pegase
/// and memplus 6; of rajat19 and mna5_A, whose steps are as short by rows, 30, a loss of up to 1 ms. Against fronts,
/// where rows are prepared, too: memplus and 13659pegase 35, hykkt and logic_rent_20000 80, cage10 and af23560, with 7
/// and 9 million entries, 190 and 250.
constexpr double least_steps_after_rows = 10, least_steps_after_fronts = 35, steps_an_entry_after_fronts = 2.7e-5;

constexpr std::int32_t max_at_once = 32;  // right-hand sides; by rows, DeviceSolver's speed grows little beyond

/// Room for so many right-hand sides.
std::int32_t width_for(std::int32_t columns, std::int32_t n) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max() / std::max(n, 1);
  const std::int32_t wanted = columns == 1 ? 1 : std::min((columns + 7) / 8 * 8, max_at_once);
  return std::min(wanted, most < 8 ? 1 : most / 8 * 8);
}

}  // namespace

template <class T>
Result<std::unique_ptr<ResidentSolve<T>>> ResidentSolve<T>::create(const Analysis& analysis, Factorizer<T>& factorizer,
                                                                   std::span<const double> probe,
                                                                   std::optional<SolveMethod> method,
                                                                   double expected_steps, bool puts_off_chunks) {
  const bool keeps_a = factorizer.device_arrays().a == nullptr || !std::is_same_v<T, double>;
  simt::Stream& stream = *factorizer.stream();
  std::unique_ptr<ResidentSolve> made(new ResidentSolve(analysis, keeps_a, factorizer.takes_from_device(), method,
                                                        expected_steps, puts_off_chunks, stream));
  if (keeps_a) LULAB_RETURN_IF_ERROR(simt::make(made->d_own_a_, analysis.a.nnz()));
  LULAB_RETURN_IF_ERROR(made->create_for(1, false));
  LULAB_ASSIGN_OR_RETURN(made->probe_, DeviceProbe::create(analysis.a.view(), analysis.plan, probe, stream));
  return made;
}

/// Makes what depends on the number of right-hand sides. After an error nothing has changed.
template <class T>
Status ResidentSolve<T>::create_for(std::int32_t width, bool transposed) {
  const FilledPattern& filled = analysis_.filled;
  DeviceSolverOptions options;
  if (method_)
    options.method = *method_;
  else if (filled.nnz() >= least_entries_for_fronts || goes_along_known_fronts())
    options.method = SolveMethod::fronts;
  options.fronts = analysis_.fronts.get();
  options.supernodes = analysis_.supernodes.get();
  options.max_columns = width;
  options.transposed = transposed;
  auto solver = DeviceSolver<T>::create(filled, analysis_.plan, options, stream_);
  if (!solver.ok()) return solver.status();
  if (by_chunks_) LULAB_RETURN_IF_ERROR(solver->use_chunks(filled, stream_));
  LULAB_ASSIGN_OR_RETURN(auto refiner, DeviceRefiner::create(analysis_.a.view(), width, stream_));
  std::optional<DeviceRefiner> of_transpose;
  if (transposed) {
    LULAB_ASSIGN_OR_RETURN(of_transpose, DeviceRefiner::create(analysis_.a.view(), width, stream_, true));
  }
  simt::DeviceBuffer<double> d_b, d_x;
  for (auto* buffer : {&d_b, &d_x}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, std::int64_t(filled.n) * width));
  forget_recorded();
  solver_.emplace(std::move(*solver));
  refiner_.emplace(std::move(refiner));
  transposed_ = std::move(of_transpose);
  d_b_ = std::move(d_b);
  d_x_ = std::move(d_x);
  width_ = width;
  is_fresh_ = false;
  return {};
}

/// Of 12_multifrontal, found already: sooner prepared than rows, and faster.
template <class T>
bool ResidentSolve<T>::goes_along_known_fronts() const {
  return (expected_steps_ <= 1 || puts_off_chunks_) && analysis_.fronts != nullptr;
}

template <class T>
bool ResidentSolve<T>::prefers_chunks() const {
  if (method_) return false;
  if (!solver_->has_fronts()) return expected_steps_ >= least_steps_after_rows;
  const double steps = puts_off_chunks_ && expected_steps_ > 1 ? static_cast<double>(solves_) : expected_steps_;
  const auto nnz = static_cast<double>(analysis_.filled.nnz());
  return steps >= least_steps_after_fronts + steps_an_entry_after_fronts * nnz && nnz < most_entries_for_chunks;
}

template <class T>
const double* ResidentSolve<T>::d_a() const {
  if constexpr (std::is_same_v<T, double>)
    if (!keeps_a_) return arrays_.a;
  return d_own_a_.data();
}

template <class T>
Status ResidentSolve<T>::refresh() {
  LULAB_RETURN_IF_ERROR(begin_anew());
  LULAB_RETURN_IF_ERROR(solver_->update(arrays_.lu, stream_));
  LULAB_RETURN_IF_ERROR(refiner_->update(d_a(), stream_));
  LULAB_RETURN_IF_ERROR(update_transposed());
  is_fresh_ = true;
  return {};
}

template <class T>
template <class Work>
auto ResidentSolve<T>::when_fresh(const Work& work) -> decltype(work()) {
  if (!is_fresh_) LULAB_RETURN_IF_ERROR(refresh());
  is_fresh_ = false;  // after an error it is not known what the device has
  auto done = work();
  if (done.ok())
    is_fresh_ = true;
  else
    recover();
  return done;
}

template <class T>
Status ResidentSolve<T>::begin_anew() {
  if (std::exchange(is_fresh_, false)) return {};
  for (auto* refiner : {&refiner_, &transposed_})
    if (*refiner) LULAB_RETURN_IF_ERROR((*refiner)->forget(stream_));
  return {};
}

template <class T>
Status ResidentSolve<T>::take_scales() {
  forget_recorded();
  LULAB_RETURN_IF_ERROR(solver_->take_scales(analysis_.plan, stream_));
  return probe_->take_scales(analysis_.plan, stream_);
}

template <class T>
Status ResidentSolve<T>::upload(std::span<const double> a_values) {
  if (!keeps_a_) return {};
  LULAB_RETURN_IF_ERROR(d_own_a_.upload(a_values, stream_));
  return stream_.wait();
}

template <class T>
Status ResidentSolve<T>::start_steps() {
  steps_ = true;
  forget_recorded();
  if (!prefers_chunks()) return {};
  by_chunks_ = true;
  is_fresh_ = false;
  return solver_->use_chunks(analysis_.filled, stream_);
}

template <class T>
Status ResidentSolve<T>::prepare_steps_on_device(Factorizer<T>& factorizer, std::int64_t least_entries) {
  puts_off_chunks_ = false;
  if (!steps_are_ready()) LULAB_RETURN_IF_ERROR(start_steps());
  if (tried_right_side_ || !solver_->starts_from_y() || analysis_.filled.nnz() < least_entries) return {};
  tried_right_side_ = true;
  forget_recorded();
  Status prepared = factorizer.prepare_right_side();
  if (prepared.code == StatusCode::not_implemented) return {};
  LULAB_RETURN_IF_ERROR(prepared);
  arrays_ = factorizer.device_arrays();
  return {};
}

template <class T>
Status ResidentSolve<T>::update(const DeviceArrays<T>& arrays) {
  arrays_ = arrays;
  LULAB_RETURN_IF_ERROR(prepare_if_due());
  return refresh();
}

template <class T>
Result<typename ResidentSolve<T>::Measured> ResidentSolve<T>::measure(bool probe) {
  const auto measure_all = [&]() -> Result<Measured> {
    LULAB_RETURN_IF_ERROR(probe_->measure(d_a(), stream_));
    if (probe) LULAB_RETURN_IF_ERROR(probe_->solve(*solver_, *refiner_, stream_));
    LULAB_RETURN_IF_ERROR(solver_->download_findings(stream_));
    return measured();
  };
  return when_fresh(measure_all);
}

template <class T>
Result<typename ResidentSolve<T>::Measured> ResidentSolve<T>::measured() {
  LULAB_ASSIGN_OR_RETURN(const auto magnitudes, solver_->magnitudes(stream_));
  LULAB_ASSIGN_OR_RETURN(const auto probed, probe_->result(stream_));
  return Measured{magnitudes, probed};
}

template <class T>
Status ResidentSolve<T>::enqueue_step(Factorizer<T>& factorizer, std::span<const double> a_values,
                                      std::span<const double> b, std::span<double> x, RefinementGoal goal) {
  ++solves_;
  LULAB_RETURN_IF_ERROR(begin_anew());
  const auto enqueue = [&] { return enqueue_on_host(factorizer, a_values, b, x, goal); };
  const StepArrays arrays = {false, a_values.data(), b.data(), x.data()};
  const bool can_record = steps_from_device() && simt::is_page_locked(arrays.values) &&
                          simt::is_page_locked(arrays.b) && simt::is_page_locked(arrays.x);
  simt::Graph* const recorded = can_record ? recorded_step(arrays, enqueue) : nullptr;
  if (!recorded) return enqueue();
  solver_->note_factors(arrays_.lu, true);
  return factorizer.replay(*recorded, stream_);
}

template <class T>
Status ResidentSolve<T>::enqueue_on_host(Factorizer<T>& factorizer, std::span<const double> a_values,
                                         std::span<const double> b, std::span<double> x, RefinementGoal goal) {
  LULAB_RETURN_IF_ERROR(give_values(factorizer, a_values));
  LULAB_RETURN_IF_ERROR(start_refactor(factorizer));
  LULAB_RETURN_IF_ERROR(d_b_.upload(b, *side_));
  LULAB_RETURN_IF_ERROR(
      solve_after_refactor(factorizer, {.on_device = true, .values = d_a(), .b = d_b_.data(), .x = d_x_.data()}));
  const auto download = [&]() -> Status {
    LULAB_RETURN_IF_ERROR(side_->wait_for(stream_));
    return d_x_.download(x, *side_);
  };
  const int enqueued = std::min(corrections, goal.max_iterations);
  if (enqueued == 0) LULAB_RETURN_IF_ERROR(download());
  LULAB_RETURN_IF_ERROR(refiner_->begin(d_b_.data(), d_x_.data(), 1, stream_, goal, true));
  for (int k = 0; k < enqueued; ++k)
    LULAB_RETURN_IF_ERROR(refiner_->correct(*solver_, d_b_.data(), d_x_.data(), 1, stream_));
  if (enqueued > 0) LULAB_RETURN_IF_ERROR(download());
  return stream_.wait_for(*side_);
}

/// A's values to the rung, which scales and rounds those that are on the device already.
template <class T>
Status ResidentSolve<T>::give_values(Factorizer<T>& factorizer, std::span<const double> a_values) {
  if (!keeps_a_) return factorizer.upload(a_values);
  LULAB_RETURN_IF_ERROR(d_own_a_.upload(a_values, stream_));
  if (!takes_from_device_) return factorizer.upload(a_values);
  const Status given = factorizer.upload_from_device(d_own_a_.data());
  return given.code == StatusCode::out_of_memory ? factorizer.upload(a_values) : given;
}

template <class T>
Status ResidentSolve<T>::enqueue_step_on_device(Factorizer<T>& factorizer, const double* d_a_values, const double* d_b,
                                                double* d_x, RefinementGoal goal, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(begin_anew());
  const StepArrays arrays = {true, d_a_values, d_b, d_x};
  const auto enqueue = [&] { return enqueue_on_device(factorizer, arrays, goal); };
  LULAB_ASSIGN_OR_RETURN(const bool is_captured, stream.is_captured());
  if (simt::Graph* const recorded = is_captured ? nullptr : recorded_step(arrays, enqueue)) {
    solver_->note_factors(arrays_.lu, !carries_b());
    LULAB_RETURN_IF_ERROR(stream.wait_for(stream_));
    LULAB_RETURN_IF_ERROR(factorizer.replay(*recorded, stream));
    return stream_.wait_for(stream);
  }
  LULAB_RETURN_IF_ERROR(stream_.wait_for(stream));
  LULAB_RETURN_IF_ERROR(enqueue());
  return stream.wait_for(stream_);
}

/// The step on these arrays, recorded when they come for the second time; null: launch by launch.
template <class T>
template <class Enqueue>
simt::Graph* ResidentSolve<T>::recorded_step(const StepArrays& arrays, const Enqueue& enqueue) {
  const auto known = std::ranges::find(known_steps_, arrays, &KnownStep::arrays);
  if (known == known_steps_.end()) {
    if (known_steps_.size() == max_known_steps) {
      if (known_steps_.front().recorded) (void)stream_.wait();  // it may still run
      known_steps_.erase(known_steps_.begin());
    }
    known_steps_.push_back({arrays, {}});
    return nullptr;
  }
  std::rotate(known, known + 1, known_steps_.end());
  KnownStep& latest = known_steps_.back();
  if (!latest.recorded && !cannot_record_) {
    cannot_record_ = true;
    if (!simt::Graph::begin_capture(stream_).ok()) return nullptr;
    Status enqueued;
    try {
      enqueued = enqueue();
    } catch (...) {
      (void)simt::Graph::end_capture(stream_);
      throw;
    }
    auto graph = simt::Graph::end_capture(stream_);
    if (!enqueued.ok() || !graph.ok()) return nullptr;
    latest.recorded.emplace(std::move(*graph));
    cannot_record_ = false;
  }
  return latest.recorded ? &*latest.recorded : nullptr;
}

template <class T>
Status ResidentSolve<T>::enqueue_on_device(Factorizer<T>& factorizer, const StepArrays& on_device,
                                           RefinementGoal goal) {
  if (carries_b()) {
    LULAB_RETURN_IF_ERROR(refactor_with_b(factorizer, on_device));
  } else {
    LULAB_RETURN_IF_ERROR(factorizer.upload_from_device(on_device.values));
    LULAB_RETURN_IF_ERROR(start_refactor(factorizer));
    LULAB_RETURN_IF_ERROR(solve_after_refactor(factorizer, on_device));
    LULAB_RETURN_IF_ERROR(keep_a(on_device.values, *side_));  // beside the solve, which does not wait for it
  }
  LULAB_RETURN_IF_ERROR(refiner_->begin(on_device.b, on_device.x, 1, stream_, goal, true));
  const int most = std::min(max_corrections, goal.max_iterations);
  for (int k = 1; k <= most; ++k)
    LULAB_RETURN_IF_ERROR(refiner_->correct(*solver_, on_device.b, on_device.x, 1, stream_, k == most));
  return stream_.wait_for(*side_);
}

/// For later solves.
template <class T>
Status ResidentSolve<T>::keep_a(const double* d_a_values, simt::Stream& stream) {
  if (!keeps_a_) return {};
  return simt::copy_on_device(d_own_a_.data(), d_a_values, d_own_a_.size() * sizeof(double), stream);
}

/// After what it holds was made anew.
template <class T>
void ResidentSolve<T>::forget_recorded() {
  if (std::ranges::any_of(known_steps_, [](const KnownStep& s) { return s.recorded.has_value(); }))
    (void)stream_.wait();  // it may still run
  known_steps_.clear();
}

template <class T>
void ResidentSolve<T>::recover() {
  for (auto* stream : {&side_, &other_side_})
    if (*stream) (void)(*stream)->wait();
  (void)stream_.wait();
  is_fresh_ = false;
  forget_recorded();
}

template <class T>
Status ResidentSolve<T>::create_sides() {
  for (auto* stream : {&side_, &other_side_}) {
    if (*stream) continue;
    LULAB_ASSIGN_OR_RETURN(*stream, simt::Stream::create());
  }
  return {};
}

/// The longest chain first: the host enqueues the rest while it runs.
template <class T>
Status ResidentSolve<T>::start_refactor(Factorizer<T>& factorizer) {
  LULAB_RETURN_IF_ERROR(create_sides());
  LULAB_RETURN_IF_ERROR(side_->wait_for(stream_));
  return factorizer.refactor();
}

/// What needs no factors goes beside the factorization; where that takes all of the device, beside taking the factors.
/// What the host wants to know of them goes beside the solve.
template <class T>
Status ResidentSolve<T>::solve_after_refactor(Factorizer<T>& factorizer, const StepArrays& on_device) {
  LULAB_RETURN_IF_ERROR(solver_->forget_factors(*side_));
  LULAB_RETURN_IF_ERROR(stream_.wait_for(*side_));
  LULAB_RETURN_IF_ERROR(solver_->take_right_sides(on_device.b, 1, *side_));
  LULAB_RETURN_IF_ERROR(refiner_->update(on_device.values, *side_));
  LULAB_RETURN_IF_ERROR(probe_->measure(on_device.values, *side_));
  LULAB_RETURN_IF_ERROR(solver_->take_factors(arrays_.lu, stream_));
  LULAB_RETURN_IF_ERROR(stream_.wait_for(*side_));
  LULAB_RETURN_IF_ERROR(side_->wait_for(stream_));
  LULAB_RETURN_IF_ERROR(solver_->download_findings(*side_));
  LULAB_RETURN_IF_ERROR(factorizer.download_outcome(*side_));
  return solver_->solve_taken(on_device.x, 1, stream_, refiner_->d_x_max());
}

/// The same with b carried along. What does not concern b waits for the factorization, which would start after it
/// otherwise, and is short, so that the solve does not wait for it.
template <class T>
Status ResidentSolve<T>::refactor_with_b(Factorizer<T>& factorizer, const StepArrays& on_device) {
  LULAB_RETURN_IF_ERROR(create_sides());
  LULAB_RETURN_IF_ERROR(side_->wait_for(stream_));
  LULAB_RETURN_IF_ERROR(solver_->take_right_sides(on_device.b, 1, *side_));
  LULAB_RETURN_IF_ERROR(factorizer.upload_from_device(on_device.values));
  // Beside taking b, which takes as long; and A comes into the cache.
  LULAB_RETURN_IF_ERROR(keep_a(on_device.values, stream_));
  LULAB_RETURN_IF_ERROR(solver_->forget_factors(stream_));
  LULAB_RETURN_IF_ERROR(stream_.wait_for(*side_));
  LULAB_RETURN_IF_ERROR(factorizer.refactor_with(solver_->right_side()));
  for (auto* stream : {&side_, &other_side_}) LULAB_RETURN_IF_ERROR((*stream)->wait_for(stream_));
  LULAB_RETURN_IF_ERROR(refiner_->update(on_device.values, *side_));
  LULAB_RETURN_IF_ERROR(solver_->find_lower_sizes(arrays_.lu, *side_));
  LULAB_RETURN_IF_ERROR(probe_->measure(on_device.values, *other_side_));
  LULAB_RETURN_IF_ERROR(solver_->take_upper_factors(arrays_.lu, stream_));
  LULAB_RETURN_IF_ERROR(stream_.wait_for(*side_));
  LULAB_RETURN_IF_ERROR(side_->wait_for(stream_));
  LULAB_RETURN_IF_ERROR(solver_->download_findings(*side_));
  LULAB_RETURN_IF_ERROR(factorizer.download_outcome(*side_));
  LULAB_RETURN_IF_ERROR(side_->wait_for(*other_side_));
  return solver_->solve_from(arrays_.y, on_device.x, stream_, refiner_->d_x_max());
}

template <class T>
Result<Refinement> ResidentSolve<T>::finish_step(std::span<double> x) {
  LULAB_RETURN_IF_ERROR(update_transposed());
  const int downloaded = refiner_->results(1).front().iterations;
  LULAB_ASSIGN_OR_RETURN(const auto refined, refiner_->finish(*solver_, d_b_.data(), d_x_.data(), 1, stream_));
  if (refined.front().iterations > downloaded) {
    LULAB_RETURN_IF_ERROR(d_x_.download(x, stream_));
    LULAB_RETURN_IF_ERROR(stream_.wait());
  }
  is_fresh_ = true;
  return refined.front();
}

template <class T>
Result<Refinement> ResidentSolve<T>::finish_step_on_device() {
  LULAB_RETURN_IF_ERROR(update_transposed());
  is_fresh_ = true;
  return refiner_->results(1).front();
}

template <class T>
Status ResidentSolve<T>::update_transposed() {
  return transposed_ ? transposed_->update(d_a(), stream_) : Status{};
}

template <class T>
Result<Refinement> ResidentSolve<T>::refine_probe() {
  return when_fresh([&] { return probe_->refine(*solver_, *refiner_, stream_); });
}

template <class T>
Result<std::vector<Refinement>> ResidentSolve<T>::solve(std::span<const double> b, std::span<double> x,
                                                        std::int32_t columns, bool transposed, RefinementGoal goal) {
  const std::int32_t n = analysis_.filled.n;
  const std::int32_t wanted = is_widest_ ? width_ : std::max(width_, width_for(columns, n));
  const bool first_transposed = transposed && !transposed_;
  if (wanted > width_ || first_transposed) {
    Status created = create_for(wanted, transposed || transposed_.has_value());
    if (created.code == StatusCode::out_of_memory && wanted > width_) {
      is_widest_ = true;
      created = first_transposed ? create_for(width_, true) : Status{};
    }
    LULAB_RETURN_IF_ERROR(created);
  }
  if (is_due()) LULAB_RETURN_IF_ERROR(start_steps());
  return when_fresh([&] { return solve_in_parts(b, x, columns, transposed, goal); });
}

/// Of width_ right-hand sides at once.
template <class T>
Result<std::vector<Refinement>> ResidentSolve<T>::solve_in_parts(std::span<const double> b, std::span<double> x,
                                                                 std::int32_t columns, bool transposed,
                                                                 RefinementGoal goal) {
  const std::int32_t n = analysis_.filled.n;
  std::vector<Refinement> all;
  all.reserve(columns);
  for (std::int32_t first = 0; first < columns; first += width_) {
    const std::int32_t count = std::min(width_, columns - first);
    const std::size_t begin = std::size_t(n) * first, size = std::size_t(n) * count;
    ++solves_;
    LULAB_RETURN_IF_ERROR(d_b_.upload(b.subspan(begin, size), stream_));
    LULAB_RETURN_IF_ERROR(transposed ? solver_->solve_transposed(d_b_.data(), d_x_.data(), count, stream_)
                                     : solver_->solve(d_b_.data(), d_x_.data(), count, stream_));
    DeviceRefiner& refiner = transposed ? *transposed_ : *refiner_;
    LULAB_RETURN_IF_ERROR(refiner.begin(d_b_.data(), d_x_.data(), count, stream_, goal));
    LULAB_RETURN_IF_ERROR(d_x_.download(x.subspan(begin, size), stream_));  // before the wait: seldom is x refined
    LULAB_ASSIGN_OR_RETURN(const auto refined, refiner.finish(*solver_, d_b_.data(), d_x_.data(), count, stream_));
    if (std::ranges::any_of(refined, [](const Refinement& r) { return r.iterations > 0; })) {
      LULAB_RETURN_IF_ERROR(d_x_.download(x.subspan(begin, size), stream_));
      LULAB_RETURN_IF_ERROR(stream_.wait());
    }
    all.insert(all.end(), refined.begin(), refined.end());
  }
  return all;
}

template <class T>
Status ResidentSolve<T>::download_a(std::span<double> a_values) {
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(a_values.data(), d_a(), a_values.size_bytes(), stream_));
  return stream_.wait();
}

template class ResidentSolve<float>;
template class ResidentSolve<double>;

}  // namespace lulab
