#pragma once
// Takes a sequence of calls through a device that refuses memory, or work: one request after the other fails, once or
// from then on. A call says so or does without, and the same call succeeds when nothing fails any more.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "testing/device.h"
#include "testing/device_memory_limit.h"

namespace lulab::testing {

/// One call of a user. `run` checks what an answer that is ok left behind.
struct Call {
  std::string name;
  std::function<Status()> run;
};

struct RefusalOptions {
  bool must_tell = false;  // no call does without what it asked for
  bool every = false;      // request, also where LULAB_EVERY_REQUEST is not set
};

/// Some of 1 to requests: the first, those of an object half made, and some from everywhere; or all of them.
inline std::vector<std::int64_t> sample_requests(std::int64_t requests, bool every, std::mt19937_64& random) {
  const std::int64_t wanted = simt::instrumented ? 2 : 6;
  const std::int64_t step =
      every || std::getenv("LULAB_EVERY_REQUEST") ? 1 : std::max<std::int64_t>(requests / wanted, 1);
  std::vector<std::int64_t> chosen;
  while (std::ssize(chosen) < std::min<std::int64_t>(requests, 3)) chosen.push_back(std::ssize(chosen) + 1);
  for (std::int64_t begin = 4; begin <= requests; begin += step)
    chosen.push_back(
        std::min(begin + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(step)), requests));
  return chosen;
}

/// User: its constructor takes what it needs of the device; calls() is its sequence; look() is called after a call that
/// failed. failed: how many calls did. Refusal: DeviceMemoryLimit or FailingOperations.
template <class User, class Refusal = DeviceMemoryLimit>
void expect_recovers_from_every_refusal(const std::function<std::unique_ptr<User>()>& make, int& failed,
                                        RefusalOptions options = {}) {
  std::int64_t requests = 0;
  {
    const auto user = make();
    const Refusal counting;
    for (const Call& call : user->calls()) {
      SCOPED_TRACE(call.name);
      LULAB_ASSERT_OK(call.run());
    }
    requests = counting.requests();
  }
  ASSERT_GT(requests, 0);
  const std::int64_t held = simt::allocated_bytes();
  std::mt19937_64 random(requests);
  failed = 0;
  for (const bool once : {true, false})
    for (const std::int64_t first : sample_requests(requests, options.every, random)) {
      SCOPED_TRACE(::testing::Message() << "request " << first << " of " << requests
                                        << (once ? "" : " and later ones"));
      {
        const auto user = make();
        std::optional<Refusal> limit(std::in_place, first, once ? first : Refusal::all);
        for (const Call& call : user->calls()) {
          SCOPED_TRACE(call.name);
          const Status answer = call.run();
          if (answer.ok()) continue;
          ++failed;
          ASSERT_TRUE(limit) << "nothing fails any more: " << answer.to_string();
          EXPECT_EQ(answer.code, Refusal::code) << answer.to_string();
          EXPECT_GE(limit->requests(), first);
          if (first % 2 == 0) user->look();
          limit.reset();
          if (!Refusal::can_recover) break;
          LULAB_ASSERT_OK(call.run());
        }
        EXPECT_TRUE(!options.must_tell || !limit || limit->requests() < first) << "no call tells of it";
        if (::testing::Test::HasFailure()) return;
      }
      ASSERT_EQ(simt::allocated_bytes(), held);
    }
}

}  // namespace lulab::testing
