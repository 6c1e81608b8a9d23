#include "bench/alternating.h"

#include <chrono>
#include <cstddef>

namespace lulab::bench {

std::vector<Samples> sample_alternating(std::span<Contender* const> contenders, const AlternatingOptions& options) {
  std::vector<Samples> samples(contenders.size());
  std::vector<bool> slow(contenders.size());
  std::uint64_t seed = 1;
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    const auto ms = contenders[c]->run(seed);
    samples[c].status = ms.status();
    slow[c] = ms.ok() && *ms > options.slow_ms;
  }

  const auto start = std::chrono::steady_clock::now();
  bool last = false;
  for (int round = 1; !last; ++round) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    last = round >= options.max_samples || (round >= options.min_samples && elapsed.count() >= options.budget_s);
    ++seed;
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      const std::size_t c = (k + static_cast<std::size_t>(round)) % contenders.size();
      if (!samples[c].status.ok() || (slow[c] && round > options.slow_samples)) continue;
      const auto ms = contenders[c]->run(seed);
      samples[c].status = ms.status();
      if (ms.ok()) samples[c].ms.push_back(*ms);
      const bool judged = last || (slow[c] && round == options.slow_samples);
      if (ms.ok() && judged) samples[c].status = contenders[c]->judge();
    }
  }
  for (Samples& s : samples)
    if (!s.status.ok()) s.ms.clear();
  return samples;
}

}  // namespace lulab::bench
