#include "core/simt/primitives.h"

#include <algorithm>

#include "core/simt/host/stream_impl.h"

namespace lulab::simt {

Status exclusive_sums(const std::int64_t* d_values, std::int64_t* d_sums, std::int64_t n, Scratch&, Stream& stream) {
  return stream.impl().enqueue([=]() -> Status {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t value = d_values[k];
      d_sums[k] = sum;
      sum += value;
    }
    return {};
  });
}

Status sort_keys(const std::int64_t* d_keys, std::int64_t* d_sorted, std::int64_t n, int bits, Scratch&,
                 Stream& stream) {
  return stream.impl().enqueue([=]() -> Status {
    if (std::any_of(d_keys, d_keys + n, [bits](std::int64_t key) { return key >> bits != 0; }))  // a GPU leaves them
      return Status::error(StatusCode::invalid_argument, "sort_keys: a key has more bits than it was told");
    std::copy(d_keys, d_keys + n, d_sorted);
    std::sort(d_sorted, d_sorted + n);
    return {};
  });
}

}  // namespace lulab::simt
