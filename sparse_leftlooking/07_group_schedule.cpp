#include "sparse_leftlooking/07_group_schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lulab::sparse_leftlooking {

namespace {

// In multiply-adds, about 0.3 ms: waking a sleeping thread takes a tenth of that (20 to 30 us, measured).
constexpr double work_per_thread = 500e3;
constexpr int cluster_tasks_per_thread = 8;

/// Disjoint sets of groups. A set holds all groups that its groups need. A group whose set would be too large is in
/// none, and neither is any group that needs it.
class Clusters {
 public:
  Clusters(const ColumnGroups& groups, double max_work) : parent_(groups.size()), work_(groups.work) {
    std::vector<std::int32_t> needed_by(groups.size(), none);
    std::vector<std::int32_t> needed;
    for (std::int32_t s = 0; s < groups.size(); ++s) {
      parent_[s] = s;
      needed.clear();
      bool closed = true;
      for (const std::int32_t j : groups.sources_of(s)) {
        const std::int32_t root = find(groups.group_of[j]);
        closed = closed && root != none;
        if (!closed) break;
        if (std::exchange(needed_by[root], s) != s) needed.push_back(root);
      }
      double work = groups.work[s];
      for (const std::int32_t root : needed) work += work_[root];
      if (!closed || work > max_work) {
        parent_[s] = none;
        continue;
      }
      for (const std::int32_t root : needed) parent_[root] = s;
      work_[s] = work;
    }
  }

  static constexpr std::int32_t none = -1;
  /// The last group of its set, or none.
  std::int32_t find(std::int32_t s) {
    std::int32_t root = s;
    while (root != none && parent_[root] != root) root = parent_[root];
    while (root != none && parent_[s] != root) s = std::exchange(parent_[s], root);
    return root;
  }
  double work(std::int32_t root) const { return work_[root]; }

 private:
  std::vector<std::int32_t> parent_;
  std::vector<double> work_;
};

/// Multiply-adds on the longest path when every group has a thread of its own and waits for each source in turn.
double critical_path(const ColumnGroups& groups) {
  std::vector<double> finished(groups.size());
  double longest = 0;
  for (std::int32_t s = 0; s < groups.size(); ++s) {
    const auto sources = groups.sources_of(s);
    const double step = groups.work[s] / static_cast<double>(sources.size() + 1);  // the last step eliminates the group
    double now = 0;
    for (const std::int32_t j : sources) now = std::max(now, finished[groups.group_of[j]]) + step;
    finished[s] = now + step;
    longest = std::max(longest, finished[s]);
  }
  return longest;
}

double total_work(const ColumnGroups& groups) { return std::accumulate(groups.work.begin(), groups.work.end(), 0.0); }

}  // namespace

int useful_threads(const ColumnGroups& groups, int max_threads) {
  const double work = total_work(groups);
  if (work < 2 * work_per_thread) return 1;
  const double useful = std::min(work / work_per_thread, 1 + work / critical_path(groups));
  return static_cast<int>(std::clamp(useful, 1.0, std::max(1.0, static_cast<double>(max_threads))));
}

GroupSchedule schedule_groups(const ColumnGroups& groups, int threads) {
  GroupSchedule schedule;
  schedule.threads = threads;
  if (threads == 1) return schedule;
  Clusters clusters(groups, total_work(groups) / (cluster_tasks_per_thread * threads));
  std::vector<std::int32_t> roots;                    // of clusters, then
  std::vector<std::int32_t> rest;                     // groups without one
  std::vector<std::int32_t> level(groups.size(), 0);  // among those
  std::vector<std::vector<std::int32_t>> members(groups.size());
  for (std::int32_t s = 0; s < groups.size(); ++s) {
    if (const std::int32_t root = clusters.find(s); root != Clusters::none) {
      members[root].push_back(s);
      if (root == s) roots.push_back(s);
      continue;
    }
    rest.push_back(s);
    for (const std::int32_t j : groups.sources_of(s)) level[s] = std::max(level[s], 1 + level[groups.group_of[j]]);
  }
  std::stable_sort(roots.begin(), roots.end(),
                   [&](std::int32_t s, std::int32_t t) { return clusters.work(s) > clusters.work(t); });
  std::stable_sort(rest.begin(), rest.end(), [&](std::int32_t s, std::int32_t t) { return level[s] < level[t]; });
  for (const std::int32_t root : roots) {
    schedule.groups.insert(schedule.groups.end(), members[root].begin(), members[root].end());
    schedule.task_ptr.push_back(static_cast<std::int32_t>(schedule.groups.size()));
  }
  schedule.n_cluster_tasks = schedule.n_tasks();
  for (const std::int32_t s : rest) {
    schedule.groups.push_back(s);
    schedule.task_ptr.push_back(static_cast<std::int32_t>(schedule.groups.size()));
  }
  return schedule;
}

}  // namespace lulab::sparse_leftlooking
