#include "driver/solver_impl.h"

#include <algorithm>
#include <cmath>
#include <new>

#include <fmt/format.h>

#include "driver/no_x.h"

namespace lulab {
namespace {

Status no_memory_to_solve() { return Status::error(StatusCode::out_of_memory, "not enough host memory to solve"); }

bool converged(std::span<const Refinement> all) {
  return std::ranges::all_of(all, [](const Refinement& r) { return r.converged; });
}

}  // namespace

template <class T>
Result<Refinement> Solver<T>::Impl::solve_one(std::span<const double> b, std::span<double> x, bool transposed) {
  LULAB_RETURN_IF_ERROR(check_right_sides(b, x, 1));
  Refinement refinement;
  LULAB_RETURN_IF_ERROR(solve_and_judge(b, x, std::span(&refinement, 1), transposed));
  return refinement;
}

template <class T>
Result<std::vector<Refinement>> Solver<T>::Impl::solve(std::span<const double> b, std::span<double> x,
                                                       std::int32_t columns, bool transposed) try {
  LULAB_RETURN_IF_ERROR(check_right_sides(b, x, columns));
  std::vector<Refinement> all(columns);
  LULAB_RETURN_IF_ERROR(solve_and_judge(b, x, all, transposed));
  return all;
} catch (const std::bad_alloc&) {
  return no_x(x, no_memory_to_solve());
}

template <class T>
Status Solver<T>::Impl::solve_and_judge(std::span<const double> b, std::span<double> x, std::span<Refinement> all,
                                        bool transposed) try {
  Status done = solve_anywhere(b, x, all, transposed);
  if (done.ok()) done = judge_solutions(b, x, all, transposed);
  return done.ok() ? done : no_x(x, std::move(done));
} catch (const std::bad_alloc&) {
  return no_x(x, no_memory_to_solve());
}

template <class T>
Status Solver<T>::Impl::judge_solutions(std::span<const double> b, std::span<double> x, std::span<Refinement> all,
                                        bool transposed) {
  const bool good = converged(all);
  const bool shows = std::ranges::any_of(all, [](const Refinement& r) { return r.omega > 0; });  // b = 0 does not
  if (good && shows) {
    if (put_off == Probe::due) put_off = Probe::replaced;
    new_pivots_are_no_better = false;
  }
  if (good) return {};
  // Is it the pivots that an x does not converge?
  if (put_off != Probe::done) {
    LULAB_RETURN_IF_ERROR(make_up_for_probe());
    if (statistics.repivots > 0) return solve_anywhere(b, x, all, transposed);
  }
  if (!may_blame_pivots(all)) return {};
  LULAB_RETURN_IF_ERROR(replace_pivots_of_float(check().check_solutions(all)));
  const Status solved = solve_anywhere(b, x, all, transposed);
  new_pivots_are_no_better = !converged(all);
  return solved;
}

template <class T>
bool Solver<T>::Impl::may_blame_pivots(std::span<const Refinement> all) const {
  const auto is_finite = [](const Refinement& r) { return std::isfinite(r.omega); };
  const bool may_replace = pivots_were_given && options.probe && options.repivot && statistics.perturbed_pivots == 0 &&
                           statistics.repivots == 0;
  return sizeof(T) != sizeof(double) && may_replace && !new_pivots_are_no_better && std::ranges::all_of(all, is_finite);
}

template <class T>
Status Solver<T>::Impl::solve_anywhere(std::span<const double> b, std::span<double> x, std::span<Refinement> all,
                                       bool transposed) {
  const auto are_small = [this] { return has_small_multipliers(); };
  if (flat.has_factors() && !transposed) {
    host_solve.solve(a(), flat.lists(), {b, x, all}, are_small);
    return {};
  }
  LULAB_RETURN_IF_ERROR(catch_up());
  if (!resident) {
    host_solve.solve(a(), where_they_lie(), {b, x, all}, transposed, are_small);
    return {};
  }
  const auto solved = resident->solve(b, x, static_cast<std::int32_t>(all.size()), transposed, goal());
  if (solved.ok()) {
    std::ranges::copy(*solved, all.begin());
    return {};
  }
  if (solved.status().code != StatusCode::out_of_memory) return solved.status();
  LULAB_ASSIGN_OR_RETURN(const auto copy, download_factors());
  LULAB_RETURN_IF_ERROR(download_values());
  host_solve.solve(a(), *copy, {b, x, all}, transposed, are_small);
  return {};
}

template <class T>
bool Solver<T>::Impl::has_small_multipliers() {
  constexpr double most = SolutionTrust::max_multiplier;
  if (!flat.has_factors() && on_host.are_at_most(most)) return true;
  const Result<double> largest = largest_multiplier();
  return largest.ok() && *largest <= most;
}

template <class T>
Status Solver<T>::Impl::check_right_sides(std::span<const double> b, std::span<double> x, std::int32_t columns) const {
  LULAB_RETURN_IF_ERROR(check_overlap(b, x));
  return factored ? check_sizes(b, x, columns) : no_x(x, state);
}

template <class T>
Status Solver<T>::Impl::check_sizes(std::span<const double> b, std::span<double> x, std::int32_t columns) const {
  const auto n = static_cast<std::size_t>(a().n_cols);
  const std::size_t size = n * static_cast<std::size_t>(std::max(columns, 0));
  if (columns < 1 || b.size() != size || x.size() != size)
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("solve: A is {0} x {0} and there are {1} right-hand sides, but b has {2} and x has {3} entries", n,
                    columns, b.size(), x.size()));
  return {};
}

template struct Solver<float>::Impl;
template struct Solver<double>::Impl;

}  // namespace lulab
