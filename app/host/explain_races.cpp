#include "app/host/explain_races.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace lulab::app {
namespace {

using Event = simt::host::TraceEvent;
using Clock = std::vector<std::int64_t>;  // of each worker of the launch, how far its past is known

void join(Clock& clock, const Clock& other) {
  clock.resize(std::max(clock.size(), other.size()), 0);
  for (std::size_t w = 0; w < other.size(); ++w) clock[w] = std::max(clock[w], other[w]);
}

bool releases(const Event& e) { return e.order == __ATOMIC_RELEASE || e.order >= __ATOMIC_ACQ_REL; }
bool acquires(const Event& e) { return e.order == __ATOMIC_ACQUIRE || e.order >= __ATOMIC_ACQ_REL; }

/// The workers of one launch. The end of a launch orders all.
class Workers {
 public:
  std::size_t number(std::int64_t worker) {
    const auto [it, fresh] = numbers_.try_emplace(worker, clocks_.size());
    if (fresh) {
      Clock clock(clocks_.size() + 1, 0);
      clock.back() = 1;
      clocks_.push_back(std::move(clock));
    }
    return it->second;
  }
  std::int64_t now(std::size_t w) const { return clocks_[w][w]; }
  /// Is what worker v did at `time` before what w does now?
  bool knows(std::size_t w, std::size_t v, std::int64_t time) const {
    return v < clocks_[w].size() && clocks_[w][v] >= time;
  }
  void synchronize(std::size_t w, const Event& e) {
    Clock& published = published_[{e.array, e.index}];
    if (e.reads && acquires(e)) join(clocks_[w], published);
    if (!e.writes) return;
    if (!e.reads) published.clear();  // a store ends the release sequence, an update goes on with it
    if (!releases(e)) return;
    join(published, clocks_[w]);
    ++clocks_[w][w];
  }

 private:
  std::map<std::int64_t, std::size_t> numbers_;
  std::vector<Clock> clocks_;
  std::map<std::pair<int, std::int64_t>, Clock> published_;  // by the last store to a word and the updates after it
};

struct Access {
  std::int32_t event = -1;
  std::int64_t time = 0;
};
/// Of one element, the last accesses of each worker.
struct Element {
  std::map<std::size_t, Access> reads, writes;
};

}  // namespace

std::vector<ObservedRace> find_races(std::span<const Event> events, int as, bool column_by_warp) {
  std::vector<ObservedRace> races;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> told;  // element, columns
  Workers workers;
  std::map<std::int64_t, Element> elements;
  for (std::size_t k = 0; k < events.size(); ++k) {
    const Event& e = events[k];
    if (e.kind == Event::Kind::launch) {
      workers = {};
      elements.clear();
    }
    const bool is_write = e.kind == Event::Kind::write || e.kind == Event::Kind::atomic_add;
    if (e.kind == Event::Kind::atomic) workers.synchronize(workers.number(worker_of(e, column_by_warp)), e);
    if (e.array != as || !(is_write || e.kind == Event::Kind::read)) continue;
    const std::size_t w = workers.number(worker_of(e, column_by_warp));
    Element& element = elements[e.index];
    const auto against = [&](const std::map<std::size_t, Access>& others) {
      for (const auto& [v, access] : others) {
        const Event& other = events[access.event];
        const bool both_atomic = e.kind == Event::Kind::atomic_add && other.kind == Event::Kind::atomic_add;
        if (v == w || both_atomic || workers.knows(w, v, access.time)) continue;
        const auto [low, high] = std::minmax(e.column, other.column);
        if (told.emplace(e.index, low, high).second) races.push_back({access.event, static_cast<std::int32_t>(k)});
      }
    };
    against(element.writes);
    if (is_write) against(element.reads);
    (is_write ? element.writes : element.reads)[w] = {static_cast<std::int32_t>(k), workers.now(w)};
  }
  return races;
}

}  // namespace lulab::app
