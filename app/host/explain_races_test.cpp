// A release that an acquire sees orders two accesses; anything less does not.

#include "app/host/explain_races.h"

#include <gtest/gtest.h>

namespace lulab::app {
namespace {

using Event = simt::host::TraceEvent;
using EventKind = Event::Kind;

constexpr int as = 0, flags = 1;

Event launch() { return {.kind = EventKind::launch}; }
Event access(EventKind kind, std::int64_t block, std::int64_t element = 5, int warp = 0) {
  return {.kind = kind, .block = block, .warp = warp, .lane = 0, .column = 10 + block, .array = as, .index = element};
}
Event load(std::int64_t block, int order, std::int64_t word = 3) {
  return {.kind = EventKind::atomic,
          .block = block,
          .warp = 0,
          .array = flags,
          .index = word,
          .reads = true,
          .order = order};
}
Event store(std::int64_t block, int order) {
  return {
      .kind = EventKind::atomic, .block = block, .warp = 0, .array = flags, .index = 3, .writes = true, .order = order};
}
Event update(std::int64_t block, int order) {
  Event e = store(block, order);
  e.reads = true;
  return e;
}

std::size_t races(const std::vector<Event>& events, bool column_by_warp = false) {
  return find_races(events, as, column_by_warp).size();
}

constexpr int relaxed = __ATOMIC_RELAXED, acquire = __ATOMIC_ACQUIRE, release = __ATOMIC_RELEASE;

TEST(ExplainRaces, AReleaseSeenByAnAcquireOrders) {
  const auto published = [](int publish, int observe, std::int64_t word = 3) {
    return races(
        {launch(), access(EventKind::write, 0), store(0, publish), load(1, observe, word), access(EventKind::read, 1)});
  };
  EXPECT_EQ(published(release, acquire), 0u);
  EXPECT_EQ(published(relaxed, acquire), 1u);
  EXPECT_EQ(published(release, relaxed), 1u);
  EXPECT_EQ(published(release, acquire, 4), 1u) << "another word";
  EXPECT_EQ(published(__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST), 0u);
}

TEST(ExplainRaces, WhatIsWrittenAfterTheReleaseIsNotOrdered) {
  EXPECT_EQ(
      races({launch(), store(0, release), access(EventKind::write, 0), load(1, acquire), access(EventKind::read, 1)}),
      1u);
}

TEST(ExplainRaces, UpdatesCarryAReleaseOnAndStoresDoNot) {
  const auto between = [](const Event& e) {
    return races(
        {launch(), access(EventKind::write, 0), store(0, release), e, load(1, acquire), access(EventKind::read, 1)});
  };
  EXPECT_EQ(between(update(2, relaxed)), 0u);
  EXPECT_EQ(between(store(2, relaxed)), 1u);
}

TEST(ExplainRaces, OrderIsTransitive) {
  EXPECT_EQ(races({launch(), access(EventKind::write, 0), store(0, release), load(1, acquire), update(1, release),
                   load(2, acquire), access(EventKind::write, 2)}),
            0u);
}

TEST(ExplainRaces, TheNextLaunchIsLater) {
  EXPECT_EQ(races({launch(), access(EventKind::write, 0), launch(), access(EventKind::write, 1)}), 0u);
}

TEST(ExplainRaces, OnlyConflictingAccessesOfDifferentWorkersRace) {
  const auto pair = [](const Event& a, const Event& b) { return races({launch(), a, b}); };
  EXPECT_EQ(pair(access(EventKind::read, 0), access(EventKind::read, 1)), 0u);
  EXPECT_EQ(pair(access(EventKind::read, 0), access(EventKind::write, 1)), 1u);
  EXPECT_EQ(pair(access(EventKind::write, 0), access(EventKind::write, 1)), 1u);
  EXPECT_EQ(pair(access(EventKind::atomic_add, 0), access(EventKind::atomic_add, 1)), 0u);
  EXPECT_EQ(pair(access(EventKind::atomic_add, 0), access(EventKind::read, 1)), 1u);
  EXPECT_EQ(pair(access(EventKind::write, 0, 5), access(EventKind::write, 1, 6)), 0u) << "other elements";
  EXPECT_EQ(pair(access(EventKind::write, 0), access(EventKind::write, 0)), 0u);
  const std::vector<Event> warps = {launch(), access(EventKind::write, 0, 5, 0), access(EventKind::write, 0, 5, 1)};
  EXPECT_EQ(races(warps, false), 0u);
  EXPECT_EQ(races(warps, true), 1u);
}

TEST(ExplainRaces, OneIsToldOnceWithBothEvents) {
  const auto found =
      find_races(std::vector<Event>{launch(), access(EventKind::read, 1), access(EventKind::atomic_add, 0),
                                    access(EventKind::atomic_add, 0), access(EventKind::read, 1)},
                 as, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, 1);
  EXPECT_EQ(found[0].second, 2);
}

}  // namespace
}  // namespace lulab::app
