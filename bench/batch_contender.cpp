#include "bench/batch_contender.h"

#include <utility>

namespace lulab::bench {
namespace {

template <class T>
Result<BatchRoutine> prepare_batched(const dense::DeviceBatch<T>& batch, simt::Stream& stream) {
  return BatchRoutine([batch, &stream] { return dense::getrf_batched(batch, stream); });
}

}  // namespace

std::vector<BatchRung> batch_rungs() {
  std::vector<BatchRung> rungs = library_batch_rungs();
  rungs.push_back({"dense/08_batched", prepare_batched<float>, prepare_batched<double>});
  return rungs;
}

template <class T>
Result<BatchArena<T>> BatchArena<T>::create(const DenseShape& shape) {
  const std::int64_t rows = std::int64_t{shape.n} * shape.batch;
  auto stream = simt::Stream::create();
  if (!stream.ok()) return stream.status();
  auto timer = simt::Timer::create();
  if (!timer.ok()) return timer.status();
  auto a = simt::DeviceBuffer<T>::create(rows * shape.n);
  if (!a.ok()) return a.status();
  auto ipiv = simt::DeviceBuffer<std::int32_t>::create(rows);
  if (!ipiv.ok()) return ipiv.status();
  auto info = simt::DeviceBuffer<std::int32_t>::create(shape.batch);
  if (!info.ok()) return info.status();
  return BatchArena{std::move(*stream), std::move(*timer), std::move(*a), std::move(*ipiv), std::move(*info), shape};
}

template <class T>
dense::DeviceBatch<T> BatchArena<T>::batch() const {
  return {shape.n, shape.n, std::int64_t{shape.n} * shape.n, shape.batch, a.data(), ipiv.data(), info.data()};
}

template <class T>
Result<std::unique_ptr<BatchContender<T>>> BatchContender<T>::create(const BatchRung& rung, BatchArena<T>& arena) {
  const auto prepare = [&] {
    if constexpr (sizeof(T) == 4)
      return rung.prepare_f32(arena.batch(), arena.stream);
    else
      return rung.prepare_f64(arena.batch(), arena.stream);
  };
  auto routine = prepare();
  if (!routine.ok()) return routine.status();
  return std::unique_ptr<BatchContender>(new BatchContender(arena, std::move(*routine)));
}

template <class T>
Result<double> BatchContender<T>::run(std::uint64_t seed) {
  seed_ = seed;
  LULAB_RETURN_IF_ERROR(fill_dense_batch<T>(seed, arena_->batch(), arena_->stream));
  LULAB_RETURN_IF_ERROR(arena_->stream.wait());
  LULAB_RETURN_IF_ERROR(arena_->timer.start(arena_->stream));
  LULAB_RETURN_IF_ERROR(routine_());
  LULAB_RETURN_IF_ERROR(arena_->timer.stop(arena_->stream));
  LULAB_RETURN_IF_ERROR(arena_->stream.wait());
  return arena_->timer.elapsed_ms();
}

template <class T>
Status BatchContender<T>::judge() {
  auto verdict = probe_dense_batch<T>(seed_, arena_->batch(), arena_->stream);
  if (!verdict.ok()) return verdict.status();
  verdict_ = std::move(*verdict);
  return verdict_.failure.empty() ? Status{} : Status::error(StatusCode::needs_repivot, verdict_.failure);
}

template struct BatchArena<float>;
template struct BatchArena<double>;
template class BatchContender<float>;
template class BatchContender<double>;

}  // namespace lulab::bench
