#include "sparse_hybrid/05_update_tasks.h"

#include <limits>

#include "symbolic/rows_of_u.h"
#include "symbolic/supernodes.h"

namespace lulab::sparse_hybrid {

namespace {

std::int32_t rows_of_l(const FilledPattern& f, std::int32_t j) {
  return static_cast<std::int32_t>(f.col_ptr[j + 1] - f.diag[j] - 1);
}

UpdateTask task_of(const FilledPattern& f, std::int32_t j, std::int32_t k, std::int64_t jk, std::int64_t map) {
  return {f.col_ptr[k], f.diag[j] + 1, map, static_cast<std::int32_t>(jk - f.col_ptr[k]), rows_of_l(f, j)};
}

}  // namespace

UpdateTasks make_update_tasks(const FilledPattern& f, const Schedule& schedule, std::int64_t max_map_size) {
  const Supernodes supernodes = find_supernodes(f, std::numeric_limits<std::int32_t>::max());
  UpdateTasks result;
  std::vector<std::int64_t> map_of(f.nnz());  // of the task of each entry of U
  for (std::int32_t k = 0; k < f.n; ++k) {
    std::int32_t first = -1;  // column of U(:,k) that the last part of the map was made for
    for (std::int64_t p = f.col_ptr[k]; p < f.diag[k]; ++p) {
      const std::int32_t j = f.row_idx[p];
      if (rows_of_l(f, j) == 0) continue;
      if (first < 0 || supernodes.of[j] != supernodes.of[first]) {
        first = j;
        result.parts.push_back({task_of(f, j, k, p, result.map_size), k});
        result.map_size += rows_of_l(f, j);
      }
      map_of[p] = result.parts.back().task.map + (j - first);
    }
  }
  const bool mapped = result.map_size <= max_map_size;
  if (!mapped) {
    result.parts = {};
    result.map_size = 0;
  }
  const RowsOfU u = rows_of_u(f);
  result.tasks.reserve(u.cols.size());
  for (std::int32_t l = 0; l < schedule.n_levels(); ++l) {
    for (std::int64_t c = schedule.level_ptr[l]; c < schedule.level_ptr[l + 1]; ++c) {
      const std::int32_t j = schedule.level_cols[c];
      if (rows_of_l(f, j) == 0) continue;
      for (std::int64_t q = u.ptr[j]; q < u.ptr[j + 1]; ++q)
        result.tasks.push_back(
            task_of(f, j, u.cols[q], u.pos[q], mapped ? map_of[u.pos[q]] : f.col_ptr[u.cols[q] + 1]));
    }
    result.level_ptr.push_back(std::ssize(result.tasks));
  }
  return result;
}

}  // namespace lulab::sparse_hybrid
