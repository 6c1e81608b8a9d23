#pragma once
// Ranks that are threads of one process.

#include <algorithm>
#include <barrier>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/in_parallel.h"
#include "core/ranks.h"

namespace lulab::testing {

/// What pretended ranks share.
class PretendedJob {
 public:
  explicit PretendedJob(int ranks) : barrier_(ranks), given_(ranks) {}

  /// look(everyone's data) between two barriers.
  template <class Look>
  void exchange(int rank, std::span<const std::byte> mine, const Look& look) {
    given_[rank] = mine;
    barrier_.arrive_and_wait();
    look(given_);
    barrier_.arrive_and_wait();
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::span<const std::byte>> given_;
};

class PretendedRank final : public Ranks {
 public:
  PretendedRank(PretendedJob& job, int rank, int count) : job_(job), rank_(rank), count_(count) {}
  int rank() const override { return rank_; }
  int count() const override { return count_; }
  void broadcast(std::span<std::byte> data, int root) override {
    job_.exchange(rank_, data, [&](const auto& given) {
      if (rank_ != root) copy(given[root], data);
    });
  }
  void all_gather(std::span<const std::int64_t> mine, std::span<std::int64_t> all) override {
    job_.exchange(rank_, std::as_bytes(mine), [&](const auto& given) {
      for (int r = 0; r < count_; ++r)
        copy(given[r], std::as_writable_bytes(all.subspan(mine.size() * static_cast<std::size_t>(r), mine.size())));
    });
  }
  void abort(int) override { std::abort(); }

 private:
  /// As MPI, it takes sizes that differ for a fault.
  static void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    if (from.size() != to.size()) std::abort();
    std::ranges::copy(from, to.begin());
  }

  PretendedJob& job_;
  int rank_, count_;
};

/// work(ranks) on so many ranks at the same time; returns what each returned.
template <class Work>
auto on_ranks(int count, const Work& work) {
  PretendedJob job(count);
  std::vector<decltype(work(std::declval<Ranks&>()))> results(count);
  in_parallel(count, [&](int rank) {
    PretendedRank ranks(job, rank, count);
    results[rank] = work(static_cast<Ranks&>(ranks));
  });
  return results;
}

}  // namespace lulab::testing
