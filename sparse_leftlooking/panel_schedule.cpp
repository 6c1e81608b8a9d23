#include "sparse_leftlooking/panel_schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lulab::sparse_leftlooking {

namespace {

// In multiply-adds, 0.3 ms or so: a tenth of it wakes a sleeping thread (20 to 30 us, measured).
constexpr double work_per_thread = 500e3;
constexpr int cluster_tasks_per_thread = 8;

/// Disjoint sets of panels. A set holds all that its panels need; a panel whose set would be too large has none, nor has
/// any panel that needs it.
class Clusters {
 public:
  Clusters(const ColumnPanels& panels, double max_work) : parent_(panels.size()), work_(panels.work) {
    std::vector<std::int32_t> needed_by(panels.size(), none);
    std::vector<std::int32_t> needed;
    for (std::int32_t s = 0; s < panels.size(); ++s) {
      parent_[s] = s;
      needed.clear();
      bool closed = true;
      for (const std::int32_t j : panels.sources_of(s)) {
        const std::int32_t root = find(panels.panel_of[j]);
        closed = closed && root != none;
        if (!closed) break;
        if (std::exchange(needed_by[root], s) != s) needed.push_back(root);
      }
      double work = panels.work[s];
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
  /// The last panel of its set, or none.
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

/// Multiply-adds on the longest path when every panel has a thread: a panel waits for each source when it comes to it.
double critical_path(const ColumnPanels& panels) {
  std::vector<double> finished(panels.size());
  double longest = 0;
  for (std::int32_t s = 0; s < panels.size(); ++s) {
    const auto sources = panels.sources_of(s);
    const double step = panels.work[s] / static_cast<double>(sources.size() + 1);  // the last step eliminates the panel
    double now = 0;
    for (const std::int32_t j : sources) now = std::max(now, finished[panels.panel_of[j]]) + step;
    finished[s] = now + step;
    longest = std::max(longest, finished[s]);
  }
  return longest;
}

double total_work(const ColumnPanels& panels) { return std::accumulate(panels.work.begin(), panels.work.end(), 0.0); }

}  // namespace

int useful_threads(const ColumnPanels& panels, int max_threads) {
  const double work = total_work(panels);
  if (work < 2 * work_per_thread) return 1;
  const double useful = std::min(work / work_per_thread, 1 + work / critical_path(panels));
  return static_cast<int>(std::clamp(useful, 1.0, std::max(1.0, static_cast<double>(max_threads))));
}

PanelSchedule schedule_panels(const ColumnPanels& panels, int threads) {
  PanelSchedule schedule;
  schedule.threads = threads;
  if (threads == 1) return schedule;
  Clusters clusters(panels, total_work(panels) / (cluster_tasks_per_thread * threads));
  std::vector<std::int32_t> roots;                    // of clusters, then
  std::vector<std::int32_t> rest;                     // panels without one
  std::vector<std::int32_t> level(panels.size(), 0);  // among those
  std::vector<std::vector<std::int32_t>> members(panels.size());
  for (std::int32_t s = 0; s < panels.size(); ++s) {
    if (const std::int32_t root = clusters.find(s); root != Clusters::none) {
      members[root].push_back(s);
      if (root == s) roots.push_back(s);
      continue;
    }
    rest.push_back(s);
    for (const std::int32_t j : panels.sources_of(s)) level[s] = std::max(level[s], 1 + level[panels.panel_of[j]]);
  }
  std::stable_sort(roots.begin(), roots.end(),
                   [&](std::int32_t s, std::int32_t t) { return clusters.work(s) > clusters.work(t); });
  std::stable_sort(rest.begin(), rest.end(), [&](std::int32_t s, std::int32_t t) { return level[s] < level[t]; });
  for (const std::int32_t root : roots) {
    schedule.panels.insert(schedule.panels.end(), members[root].begin(), members[root].end());
    schedule.task_ptr.push_back(static_cast<std::int32_t>(schedule.panels.size()));
  }
  schedule.n_cluster_tasks = schedule.n_tasks();
  for (const std::int32_t s : rest) {
    schedule.panels.push_back(s);
    schedule.task_ptr.push_back(static_cast<std::int32_t>(schedule.panels.size()));
  }
  return schedule;
}

}  // namespace lulab::sparse_leftlooking
