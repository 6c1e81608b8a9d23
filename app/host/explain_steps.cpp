#include "app/host/explain_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "app/host/explain_races.h"

namespace lulab::app {
namespace {

using Event = simt::host::TraceEvent;
using Kind = ExplainStep::Kind;

/// An entry of L + U that an event touches; position -1: none.
struct Entry {
  std::int64_t position = -1;
  std::int32_t row = -1, column = -1;

  bool exists() const { return position >= 0; }
};

std::string text_of(const Entry& e) { return fmt::format("({},{})", e.row + 1, e.column + 1); }

std::string listed(const std::vector<std::int32_t>& columns) {
  std::string text = columns.size() == 1 ? "column" : "columns";
  for (const std::int32_t j : columns) text += fmt::format(" {}", j + 1);
  return text;
}

/// The name of a kernel without its namespaces and template arguments.
std::string short_name(const std::string& kernel) {
  const std::string name = kernel.substr(0, kernel.find('<'));
  const auto colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

class StoryTeller {
 public:
  StoryTeller(const simt::host::Trace& trace, const Explained& algorithm, const FilledPattern& filled,
              const std::vector<char>& is_fill, std::span<const double> start)
      : trace_(trace),
        events_(trace.events()),
        algorithm_(algorithm),
        f_(filled),
        is_fill_(is_fill),
        values_(start.begin(), start.end()) {
    for (std::int32_t j = 0; j < f_.n; ++j)
      for (std::int64_t p = f_.col_ptr[j]; p < f_.col_ptr[j + 1]; ++p) column_of_.push_back(j);
    const auto& names = trace.arrays();
    const auto number = [&](std::string_view name) {
      const auto it = std::ranges::find(names, name);
      return it == names.end() ? -2 : static_cast<int>(it - names.begin());
    };
    as_ = number("As");
    x_ = number("x");
    finished_ = number(algorithm.finished_array);
  }

  std::vector<ExplainStep> tell() {
    for (std::size_t k = 0; k < events_.size(); ++k) take(k);
    for (const auto& [key, group] : groups_) add(group.end, of_group(key, group));
    for (const ObservedRace& race : find_races(events_, as_, algorithm_.column_by_warp)) add_race(race);
    std::ranges::stable_sort(told_, {}, &Told::at);
    std::vector<ExplainStep> steps;
    std::size_t next = 0;
    for (Told& told : told_) {
      for (; next < events_.size() && next <= told.at.first; ++next) add_change(events_[next], told.step);
      steps.push_back(std::move(told.step));
    }
    return steps;
  }

 private:
  // Accesses of one worker that make one step: to what end, the column it is for, and the column subtracted.
  struct GroupKey {
    int launch;
    std::int64_t worker;
    Kind kind;
    std::int32_t target, source;
    auto operator<=>(const GroupKey&) const = default;
  };
  struct Group {
    std::size_t end = 0;  // its last event
    std::vector<Entry> written;
    std::set<std::int64_t> read, fill;
  };
  struct Told {
    std::pair<std::size_t, int> at;  // the last event, and after it the order of kinds
    ExplainStep step;
  };

  std::int64_t worker(const Event& e) const { return worker_of(e, algorithm_.column_by_warp); }
  std::string name(const Event& e) const {
    return algorithm_.column_by_warp ? fmt::format("block {} warp {}", e.block, e.warp)
                                     : fmt::format("block {}", e.block);
  }
  std::string place(const Event& e) const {
    return fmt::format("block {}, warp {}, lane {}, column {}", e.block, e.warp, e.lane, e.column + 1);
  }
  static std::string line(const Event& e) { return simt::host::line_of_source(e.site.file, e.site.line); }

  Entry entry_of(const Event& e) const {
    if (e.array == as_) return {e.index, f_.row_idx[e.index], column_of_[e.index]};
    if (e.array != x_ || e.column < 0) return {};
    const auto row = static_cast<std::int32_t>(e.index % f_.n), j = static_cast<std::int32_t>(e.column);
    const auto begin = f_.row_idx.begin() + f_.col_ptr[j], end = f_.row_idx.begin() + f_.col_ptr[j + 1];
    const auto it = std::lower_bound(begin, end, row);
    if (it == end || *it != row) return {};
    return {it - f_.row_idx.begin(), row, j};
  }

  void add(std::size_t event, ExplainStep step) { told_.push_back({{event, static_cast<int>(step.kind)}, step}); }

  ExplainStep step_of(const Event& e, Kind kind, std::string text) const {
    ExplainStep step;
    step.kind = kind;
    step.worker = e.block < 0 ? "" : name(e);
    step.column = static_cast<std::int32_t>(e.column);
    step.text = std::move(text);
    return step;
  }

  void take(std::size_t k) {
    const Event& e = events_[k];
    end_wait(k);
    switch (e.kind) {
      case Event::Kind::launch: return take_launch(k);
      case Event::Kind::block_starts:
        started_.insert(e.block);
        if (limited_) add_of_block(k, Kind::starts, "starts");
        return;
      case Event::Kind::block_ends:
        if (limited_) add_of_block(k, Kind::ends, "ends: another block can start");
        return;
      case Event::Kind::takes_column:
        if (!owners_.try_emplace(e.column, name(e)).second) return;
        taken_.push_back(static_cast<std::int32_t>(e.column));
        return add(k, step_of(e, Kind::takes, fmt::format("takes column {}", e.column + 1)));
      case Event::Kind::write:
      case Event::Kind::atomic_add: return take_write(k);
      case Event::Kind::atomic: return take_atomic(k);
      case Event::Kind::waits: return take_wait(k);
      case Event::Kind::launch_ends: return take_end(k);
      case Event::Kind::read: return;
    }
  }

  void add_of_block(std::size_t k, Kind kind, const char* text) {
    ExplainStep step;
    step.kind = kind;
    step.worker = fmt::format("block {}", events_[k].block);
    step.text = text;
    add(k, step);
  }

  void take_launch(std::size_t k) {
    const Event& e = events_[k];
    started_.clear();
    taken_.clear();
    blocks_ = e.index;
    limited_ = e.after < static_cast<double>(e.index);
    std::string text = fmt::format("launch {} of {}: {} block{}", e.launch + 1, short_name(trace_.kernels()[e.launch]),
                                   e.index, e.index == 1 ? "" : "s");
    if (limited_) text += fmt::format(", of which {} can be resident", e.after);
    add(k, step_of(e, Kind::launch, text));
  }

  void take_write(std::size_t k) {
    const Event& e = events_[k];
    const Entry to = entry_of(e);
    if (!to.exists() || (e.array == x_ && !algorithm_.works_in_x)) return;
    std::vector<Entry> from;
    for (const std::int32_t read : e.from)
      if (read >= 0)
        if (const Entry entry = entry_of(events_[read]); entry.exists()) from.push_back(entry);
    const auto has = [&](const auto& fits) { return std::ranges::any_of(from, fits); };
    Kind kind = e.array == x_ ? Kind::loads : Kind::stores;
    std::int32_t source = -1;
    for (const Entry& u : from)  // U(s,c), and with it L(i,s)
      if (u.column == to.column && u.row < std::min(to.row, to.column) &&
          has([&](const Entry& l) { return l.row == to.row && l.column == u.row; })) {
        kind = Kind::updates;
        source = u.row;
      }
    if (kind == Kind::stores && to.row > to.column &&
        has([&](const Entry& pivot) { return pivot.row == to.column && pivot.column == to.column; }))
      kind = Kind::divides;
    Group& group = groups_[{e.launch, worker(e), kind, to.column, source}];
    group.end = k;
    group.written.push_back(to);
    for (const Entry& entry : from)
      if (entry.position != to.position) group.read.insert(entry.position);
    if (is_fill_[to.position] && e.after != 0 && appeared_.insert(to.position).second) group.fill.insert(to.position);
  }

  ExplainStep of_group(const GroupKey& key, const Group& group) const {
    const Event& e = events_[group.end];
    std::vector<Entry> written = group.written;
    std::ranges::sort(written, {}, &Entry::position);
    const auto same = [](const Entry& a, const Entry& b) { return a.position == b.position; };
    written.erase(std::unique(written.begin(), written.end(), same), written.end());
    const std::int32_t c = key.target, s = key.source;
    std::string text;
    if (key.kind == Kind::loads)
      text = fmt::format("copies column {} of A to its work vector", c + 1);
    else if (key.kind == Kind::divides)
      text = fmt::format("divides by the pivot ({0},{0}):", c + 1);
    else if (key.kind == Kind::stores)
      text = fmt::format("stores U(:,{}):", c + 1);
    else if (e.column == c)
      text = fmt::format("subtracts L(:,{0})·U({0},{1}):", s + 1, c + 1);
    else
      text = fmt::format("subtracts L(:,{0})·U({0},{1}) from column {1}:", s + 1, c + 1);
    ExplainStep step = step_of(e, key.kind, "");
    step.column = static_cast<std::int32_t>(e.column);
    for (std::size_t k = 0; k < written.size(); ++k) {
      step.written.push_back(written[k].position);
      if (key.kind == Kind::loads) continue;
      const bool is_new = group.fill.contains(written[k].position);
      text += fmt::format("{} {}{}", k == 0 ? " writes" : ",", text_of(written[k]), is_new ? " fill" : "");
    }
    step.text = text;
    step.read.assign(group.read.begin(), group.read.end());
    return step;
  }

  void take_atomic(std::size_t k) {
    const Event& e = events_[k];
    if (e.array != finished_ || !e.writes || e.after != algorithm_.finished_value) return;
    const auto j = static_cast<std::int32_t>(e.index);
    ExplainStep step = step_of(e, Kind::finishes, fmt::format("column {} is finished: {}", j + 1, state_of(e)));
    step.finished = {j};
    add(k, step);
  }

  /// "its degree is 1".
  std::string state_of(const Event& e) const {
    const std::string& name = trace_.arrays()[e.array];
    return fmt::format("its {} is {}", name == "finished" ? "flag" : name, e.after);
  }

  void take_wait(std::size_t k) {
    const Event& e = events_[k];
    if (e.array != finished_) return;
    if (!waits_.try_emplace({e.block, e.warp, e.lane}, k).second) return;
    const auto j = static_cast<std::int32_t>(e.index);
    const auto owner = owners_.find(j);
    ExplainStep step = step_of(
        e, Kind::waits,
        fmt::format("waits for column {}{}: {}", j + 1,
                    owner == owners_.end() ? ", which no block has taken" : " of " + owner->second, state_of(e)));
    step.waits_for = j;
    step.details = {line(e)};
    add(k, step);
  }

  /// A thread that waited does something else: it has seen what it waited for.
  void end_wait(std::size_t k) {
    const Event& e = events_[k];
    const auto it = waits_.find({e.block, e.warp, e.lane});
    if (it == waits_.end()) return;
    const Event& load = events_[it->second];
    if (e.array == load.array && e.index == load.index && !e.writes) {
      it->second = k;
      return;
    }
    add(it->second, step_of(load, Kind::goes_on,
                            fmt::format("goes on: column {} is finished, {}", load.index + 1, state_of(load))));
    waits_.erase(it);
  }

  void take_end(std::size_t k) {
    const Event& e = events_[k];
    const Status& outcome = trace_.outcomes()[e.launch];
    if (outcome.code == StatusCode::deadlock) return add_deadlock(k);
    waits_.clear();
    if (!outcome.ok()) return;
    if (algorithm_.finished_array.empty() && !taken_.empty()) {
      std::ranges::sort(taken_);
      ExplainStep step = step_of(e, Kind::finishes,
                                 fmt::format("launch {} ends: {} {} finished", e.launch + 1, listed(taken_),
                                             taken_.size() == 1 ? "is" : "are"));
      step.finished = taken_;
      add(k, step);
    }
  }

  void add_deadlock(std::size_t k) {
    ExplainStep step = step_of(events_[k], Kind::deadlock, "deadlock: every block that runs waits");
    for (const auto& [thread, last_load] : waits_) {
      const Event& load = events_[last_load];
      const auto owner = owners_.find(load.index);
      step.details.push_back(
          fmt::format("{}, column {}, waits for column {}, {}", name(load), load.column + 1, load.index + 1,
                      owner == owners_.end() ? "which no block has taken" : "which " + owner->second + " has"));
    }
    std::string missing;
    for (std::int64_t b = 0; b < blocks_; ++b)
      if (!started_.contains(b)) missing += fmt::format(" {}", b);
    if (!missing.empty())
      step.details.push_back(
          fmt::format("blocks that cannot start, because those that wait keep their places:{}", missing));
    add(k, step);
  }

  void add_race(const ObservedRace& race) {
    const Event &first = events_[race.first], &second = events_[race.second];
    const Entry entry = entry_of(second);
    const auto does = [](const Event& e) {
      return e.kind == Event::Kind::read ? fmt::format("reads {}", e.after)
             : e.kind == Event::Kind::atomic_add
                 ? fmt::format("adds {}, which makes it {}", e.after - e.before, e.after)
                 : fmt::format("writes {}", e.after);
    };
    ExplainStep step =
        step_of(second, Kind::race,
                fmt::format("race on {}: columns {} and {} access it in no order", text_of(entry),
                            std::min(first.column, second.column) + 1, std::max(first.column, second.column) + 1));
    for (const Event* e : {&first, &second})
      step.details.push_back(fmt::format("{} {} at {}", place(*e), does(*e), line(*e)));
    step.details.push_back(
        first.kind == Event::Kind::read
            ? fmt::format("nothing orders them: column {} has read the value before column {} "
                          "changed it, and goes on with the old one",
                          first.column + 1, second.column + 1)
            : fmt::format("nothing orders them: that column {} came first is chance", first.column + 1));
    step.written = {entry.position};
    std::size_t end = static_cast<std::size_t>(race.second);
    for (const auto& [key, group] : groups_)  // after the step that the second access belongs to
      if (key.launch == second.launch && key.worker == worker(second) && second.kind != Event::Kind::read &&
          key.target == entry.column && key.kind == Kind::updates)
        end = std::max(end, group.end);
    add(end, step);
  }

  void add_change(const Event& e, ExplainStep& step) {
    if (e.kind != Event::Kind::write && e.kind != Event::Kind::atomic_add) return;
    if (e.array == x_ && !algorithm_.works_in_x) return;
    const Entry entry = entry_of(e);
    if (!entry.exists() || std::exchange(values_[entry.position], e.after) == e.after) return;
    std::erase_if(step.changed, [&](const ChangedEntry& c) { return c.position == entry.position; });
    step.changed.push_back({entry.position, e.after});
  }

  const simt::host::Trace& trace_;
  std::span<const Event> events_;
  const Explained& algorithm_;
  const FilledPattern& f_;
  const std::vector<char>& is_fill_;
  std::vector<double> values_;           // (nnz) as of the event that add_change() had last
  std::vector<std::int32_t> column_of_;  // (nnz)
  int as_ = -2, x_ = -2, finished_ = -2;

  std::vector<Told> told_;
  std::map<GroupKey, Group> groups_;
  std::set<std::int64_t> appeared_, started_;
  std::map<std::int64_t, std::string> owners_;                       // of columns
  std::vector<std::int32_t> taken_;                                  // in this launch
  std::map<std::tuple<std::int64_t, int, int>, std::size_t> waits_;  // threads, and the last load of what they wait for
  std::int64_t blocks_ = 0;
  bool limited_ = false;  // not all blocks of the launch fit at once
};

}  // namespace

std::vector<ExplainStep> make_steps(const simt::host::Trace& trace, const Explained& algorithm,
                                    const FilledPattern& filled, const std::vector<char>& is_fill,
                                    std::span<const double> start) {
  return StoryTeller(trace, algorithm, filled, is_fill, start).tell();
}

}  // namespace lulab::app
