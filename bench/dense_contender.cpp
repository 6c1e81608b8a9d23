#include "bench/dense_contender.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/factorizer.h"
#include "dense/dense_backend.h"
#include "verify/batch_probe.h"

namespace lulab::bench {
namespace {

template <class T>
dense::DenseBackend<T>* dense_part(Factorizer<T>* factorizer) {
  return dynamic_cast<dense::DenseBackend<T>*>(&factorizer->backend());
}

template <class T>
DenseProblem problem_of(const DenseRoutine& routine, const DenseArena<T>& arena, std::uint64_t seed) {
  return {arena.shape.n, seed, routine.pivots ? DenseKind::uniform : DenseKind::dominant};
}

template <class T>
Result<DenseRoutine> prepare_batched(const dense::DenseBatchView<T>& batch, simt::Stream& stream) {
  return DenseRoutine{.getrf = [batch, &stream] { return dense::getrf_batched(batch, stream); }};
}

}  // namespace

template <class T>
Result<DenseArena<T>> DenseArena<T>::create(const DenseShape& shape) {
  const std::int64_t rows = std::int64_t{shape.n} * shape.batch;
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto timer, simt::Timer::create());
  DenseArena arena{std::move(stream), std::move(timer), {}, {}, {}, shape};
  LULAB_RETURN_IF_ERROR(simt::make(arena.a, rows * shape.n));
  LULAB_RETURN_IF_ERROR(simt::make(arena.ipiv, rows));
  LULAB_RETURN_IF_ERROR(simt::make(arena.info, shape.batch));
  return arena;
}

template <class T>
dense::DenseBatchView<T> DenseArena<T>::batch() const {
  return {shape.n, shape.n, std::int64_t{shape.n} * shape.n, shape.batch, a.data(), ipiv.data(), info.data()};
}

std::vector<BatchRung> batch_rungs() {
  std::vector<BatchRung> rungs = library_batch_rungs();
  rungs.push_back({"dense/08_batched", prepare_batched<float>, prepare_batched<double>});
  return rungs;
}

template <class T>
bool takes_device_matrix(const Rung& rung, std::int32_t n) {
  if (rung.facts.device != Device::gpu || !rung.supports<T>()) return false;
  const auto factorizer = rung.make<T>();
  const auto* dense_rung = dense_part(factorizer.get());
  return dense_rung != nullptr && n <= dense_rung->max_n();
}

template <class T>
Result<DenseRoutine> prepare_matrix(const Rung& rung, DenseArena<T>& arena) {
  const std::shared_ptr<Factorizer<T>> factorizer = rung.make<T>();
  dense::DenseBackend<T>* dense_rung = dense_part(factorizer.get());
  LULAB_RETURN_IF_ERROR(dense_rung->prepare_getrf(arena.shape.n, arena.stream));
  return DenseRoutine{.getrf = [factorizer, dense_rung, &arena] { return dense_rung->getrf(arena.matrix()); },
                      .work_bytes = dense_rung->work_bytes(),
                      .pivots = rung.facts.pivoting != Pivoting::fixed};
}

template <class T>
Result<DenseRoutine> prepare_batch(const BatchRung& rung, DenseArena<T>& arena) {
  if constexpr (sizeof(T) == 4)
    return rung.prepare_f32(arena.batch(), arena.stream);
  else
    return rung.prepare_f64(arena.batch(), arena.stream);
}

template <class T>
Result<double> run_dense(const DenseRoutine& routine, DenseArena<T>& arena, std::uint64_t seed) {
  if (arena.shape.batch > 1)
    LULAB_RETURN_IF_ERROR(fill_dense_batch<T>(seed, arena.batch(), arena.stream));
  else
    LULAB_RETURN_IF_ERROR(fill_dense<T>(problem_of(routine, arena, seed), arena.matrix(), arena.stream));
  LULAB_RETURN_IF_ERROR(arena.stream.wait());
  LULAB_RETURN_IF_ERROR(arena.timer.start(arena.stream));
  LULAB_RETURN_IF_ERROR(routine.getrf());
  LULAB_RETURN_IF_ERROR(arena.timer.stop(arena.stream));
  LULAB_RETURN_IF_ERROR(arena.stream.wait());
  return arena.timer.elapsed_ms();
}

template <class T>
Result<DenseVerdict> judge_dense(const DenseRoutine& routine, DenseArena<T>& arena, std::uint64_t seed) {
  auto verdict = arena.shape.batch > 1
                     ? probe_dense_batch<T>(seed, arena.batch(), arena.stream)
                     : probe_dense_factors<T>(problem_of(routine, arena, seed), arena.matrix(), arena.stream);
  if (verdict.ok() && !verdict->failure.empty())
    return Status::error(StatusCode::needs_repivot, std::move(verdict->failure));
  return verdict;
}

template <class T>
Result<double> trial_ms(const Rung& rung, std::int32_t n) {
  LULAB_ASSIGN_OR_RETURN(auto arena, DenseArena<T>::create({n, 1}));
  LULAB_ASSIGN_OR_RETURN(const auto routine, prepare_matrix(rung, arena));
  LULAB_ASSIGN_OR_RETURN(const auto first, run_dense(routine, arena, 1));
  LULAB_ASSIGN_OR_RETURN(const auto second, run_dense(routine, arena, 2));
  return std::min(first, second);
}

#define LULAB_INSTANTIATE(T)                                                                     \
  template struct DenseArena<T>;                                                                 \
  template bool takes_device_matrix<T>(const Rung&, std::int32_t);                               \
  template Result<DenseRoutine> prepare_matrix(const Rung&, DenseArena<T>&);                     \
  template Result<DenseRoutine> prepare_batch(const BatchRung&, DenseArena<T>&);                 \
  template Result<double> run_dense(const DenseRoutine&, DenseArena<T>&, std::uint64_t);         \
  template Result<DenseVerdict> judge_dense(const DenseRoutine&, DenseArena<T>&, std::uint64_t); \
  template Result<double> trial_ms<T>(const Rung&, std::int32_t);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab::bench
