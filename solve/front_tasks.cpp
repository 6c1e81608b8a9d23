#include "solve/front_tasks.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace lulab {
namespace {

Status refuse(const char* why) {
  return Status::error(StatusCode::not_implemented, std::string("no solve by fronts: ") + why);
}

/// For each row of each front the words that are handed to it, by fronts in ascending order.
void find_sources(const AssemblyTree& tree, FrontTasks& tasks) {
  const std::vector<std::int32_t> row = rows_in_parent(tree);
  const auto for_each = [&](const auto& visit) {
    for (std::int32_t s = 0; s < tree.size(); ++s) {
      const std::int32_t p = tree.parent[s];
      for (std::int64_t k = tree.others_ptr[s]; p >= 0 && k < tree.others_ptr[s + 1]; ++k)
        visit(tree.first[p] + tree.others_ptr[p] + row[k], static_cast<std::int32_t>(k));
    }
  };
  std::vector<std::int64_t>& ptr = tasks.from_ptr;
  ptr.assign(tree.first.back() + tree.others.size() + 2, 0);
  for_each([&](std::int64_t of_parent, std::int32_t) { ++ptr[of_parent + 2]; });
  std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
  tasks.from.resize(ptr.back());
  for_each([&](std::int64_t of_parent, std::int32_t k) { tasks.from[ptr[of_parent + 1]++] = k; });
  ptr.pop_back();
}

/// Tasks by the earliest time at which they can start, in hops: what starts at one time does not wait for each other.
class TasksByTime {
 public:
  void add(std::int32_t hop, const FrontTask& task) {
    if (hop >= std::ssize(at_)) at_.resize(hop + std::size_t(1));
    (task.cuts.is_one_tile() ? at_[hop].of_warps : at_[hop].of_blocks).push_back(task);
  }
  FrontTaskList list() {
    FrontTaskList list;
    list.hops = static_cast<std::int32_t>(at_.size());
    const auto take = [&](const std::vector<FrontTask>& tasks, std::size_t at_once) {
      for (std::size_t first = 0; first < tasks.size(); first += at_once) {
        const auto begin = tasks.begin() + first, end = tasks.begin() + std::min(first + at_once, tasks.size());
        list.tasks.insert(list.tasks.end(), begin, end);
        list.ptr.push_back(static_cast<std::int32_t>(list.tasks.size()));
      }
    };
    for (Time& time : at_) {
      take(time.of_blocks, 1);
      // Warps of a block end together.
      std::ranges::stable_sort(time.of_warps, std::greater<>(), [](const FrontTask& t) { return t.cuts.pivots; });
      take(time.of_warps, fronts_of_block);
    }
    return list;
  }

 private:
  struct Time {
    std::vector<FrontTask> of_blocks, of_warps;
  };
  std::vector<Time> at_;
};

void list_tasks(const Fronts& of, FrontTasks& tasks) {
  const AssemblyTree& tree = of.tree;
  const std::vector<FrontCuts>& cuts = of.cuts;
  TasksByTime lower, upper;
  std::vector<FrontTask> fronts;
  std::vector<std::int32_t> start(tree.size(), 0);
  for (std::int32_t s = 0; s < tree.size(); ++s) {
    fronts.push_back({cuts[s], 0, tree.first[s], of.column_ptr[s], tree.others_ptr[s]});
    for (FrontTask task = fronts[s]; task.part < cuts[s].tiles; ++task.part)
      lower.add(start[s] + std::min(task.part, cuts[s].pivot_tiles), task);
    const std::int32_t end = start[s] + cuts[s].pivot_tiles + (cuts[s].tiles > cuts[s].pivot_tiles ? 1 : 0);
    if (const std::int32_t p = tree.parent[s]; p >= 0) start[p] = std::max(start[p], end);
  }
  for (std::int32_t s = tree.size() - 1; s >= 0; --s) {
    const std::int32_t p = tree.parent[s], last = cuts[s].pivot_tiles - 1;
    start[s] = p < 0 ? 0 : start[p] + cuts[p].pivot_tiles;
    for (FrontTask task = fronts[s]; task.part <= last; ++task.part) upper.add(start[s] + last - task.part, task);
  }
  tasks.lower = lower.list();
  tasks.upper = upper.list();
}

}  // namespace

Result<FrontTasks> make_front_tasks(const Fronts& fronts, std::int64_t nnz, double max_padding) {
  const AssemblyTree& tree = fronts.tree;
  if (nnz > std::numeric_limits<std::uint32_t>::max()) return refuse("positions in L and U take 33 bits");
  if (fronts.padding > max_padding) return refuse("the pattern is far from symmetric");
  FrontTasks tasks;
  tasks.n_words = 2 * std::int64_t(tree.first.back()) + std::ssize(tree.others);
  if (tasks.n_words > std::numeric_limits<std::int32_t>::max()) return refuse("what fronts hand up takes 2^31 words");
  find_sources(tree, tasks);
  list_tasks(fronts, tasks);
  tasks.others = tree.others;
  return tasks;
}

}  // namespace lulab
