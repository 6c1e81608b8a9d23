#include "core/batch_factorizer.h"

#include <fmt/format.h>

namespace lulab {

template <class T>
Result<std::unique_ptr<BatchFactorizer<T>>> make_batch(const Rung& rung, const FactorOptions& options) {
  if (rung.facts.pivoting != Pivoting::fixed || !rung.supports<T>())
    return Status::error(StatusCode::not_implemented,
                         fmt::format("{} factors no batches of {}: they need fixed pivots and that scalar type",
                                     rung.facts.id, sizeof(T) == 4 ? "f32" : "f64"));
  std::unique_ptr<BatchFactorizer<T>> batch;
  if constexpr (sizeof(T) == 4) {
    if (rung.make_batch_float) batch = rung.make_batch_float(options);
  } else {
    if (rung.make_batch_double) batch = rung.make_batch_double(options);
  }
  if (!batch) batch = std::make_unique<OneByOneBatch<T>>(rung.make<T>(options));
  return batch;
}

template Result<std::unique_ptr<BatchFactorizer<float>>> make_batch(const Rung&, const FactorOptions&);
template Result<std::unique_ptr<BatchFactorizer<double>>> make_batch(const Rung&, const FactorOptions&);

}  // namespace lulab
