#include "bench/dense_contender.h"

#include <algorithm>
#include <utility>

namespace lulab::bench {

template <class T>
Result<DenseArena<T>> DenseArena<T>::create(std::int32_t n) {
  auto stream = simt::Stream::create();
  if (!stream.ok()) return stream.status();
  auto timer = simt::Timer::create();
  if (!timer.ok()) return timer.status();
  auto a = simt::DeviceBuffer<T>::create(std::int64_t{n} * n);
  if (!a.ok()) return a.status();
  auto ipiv_info = simt::DeviceBuffer<std::int32_t>::create(n + 1);
  if (!ipiv_info.ok()) return ipiv_info.status();
  return DenseArena{std::move(*stream), std::move(*timer), std::move(*a), std::move(*ipiv_info), n};
}

template <class T>
DenseContender<T>::DenseContender(const Rung& rung, DenseArena<T>& arena, std::unique_ptr<Factorizer<T>> factorizer)
    : arena_(&arena), owner_(std::move(factorizer)), rung_(dynamic_cast<dense::DenseFactorizer<T>*>(owner_.get())) {
  problem_.n = arena.n;
  problem_.kind = rung.facts.pivoting == Pivoting::fixed ? DenseKind::dominant : DenseKind::uniform;
}

template <class T>
Result<std::unique_ptr<DenseContender<T>>> DenseContender<T>::create(const Rung& rung, DenseArena<T>& arena) {
  std::unique_ptr<DenseContender> contender(new DenseContender(rung, arena, rung.make<T>()));
  LULAB_RETURN_IF_ERROR(contender->rung_->prepare_getrf(arena.n, arena.stream));
  return contender;
}

template <class T>
Result<double> DenseContender<T>::run(std::uint64_t seed) {
  problem_.seed = seed;
  LULAB_RETURN_IF_ERROR(fill_dense<T>(problem_, arena_->matrix(), arena_->stream));
  LULAB_RETURN_IF_ERROR(arena_->stream.wait());
  LULAB_RETURN_IF_ERROR(arena_->timer.start(arena_->stream));
  LULAB_RETURN_IF_ERROR(rung_->getrf(arena_->matrix()));
  LULAB_RETURN_IF_ERROR(arena_->timer.stop(arena_->stream));
  LULAB_RETURN_IF_ERROR(arena_->stream.wait());
  return arena_->timer.elapsed_ms();
}

template <class T>
Status DenseContender<T>::judge() {
  auto verdict = probe_dense_factors<T>(problem_, arena_->matrix(), arena_->stream);
  if (!verdict.ok()) return verdict.status();
  verdict_ = std::move(*verdict);
  return verdict_.failure.empty() ? Status{} : Status::error(StatusCode::needs_repivot, verdict_.failure);
}

template <class T>
std::int64_t DenseContender<T>::bytes() const {
  return static_cast<std::int64_t>(sizeof(T)) * arena_->a.size() + 4 * arena_->ipiv_info.size() + rung_->work_bytes();
}

template <class T>
bool takes_device_matrix(const Rung& rung, std::int32_t n) {
  if (rung.facts.device != Device::gpu || !rung.supports<T>()) return false;
  const auto factorizer = rung.make<T>();
  const auto* dense_rung = dynamic_cast<const dense::DenseFactorizer<T>*>(factorizer.get());
  return dense_rung != nullptr && n <= dense_rung->max_n();
}

template <class T>
Result<double> trial_ms(const Rung& rung, std::int32_t n) {
  auto arena = DenseArena<T>::create(n);
  if (!arena.ok()) return arena.status();
  auto contender = DenseContender<T>::create(rung, *arena);
  if (!contender.ok()) return contender.status();
  const auto first = (*contender)->run(1);
  if (!first.ok()) return first.status();
  const auto second = (*contender)->run(2);
  if (!second.ok()) return second.status();
  return std::min(*first, *second);
}

#define LULAB_INSTANTIATE(T)                                       \
  template struct DenseArena<T>;                                   \
  template class DenseContender<T>;                                \
  template bool takes_device_matrix<T>(const Rung&, std::int32_t); \
  template Result<double> trial_ms<T>(const Rung&, std::int32_t);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab::bench
