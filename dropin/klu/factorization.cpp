#include "dropin/klu/factorization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "core/factors.h"
#include "core/simt/device.h"
#include "driver/choose_rung.h"
#include "dropin/wanted_device.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab::klu_shape {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t columns_at_once = 32;
constexpr const char* klu_order = "given";
constexpr double klu_backward_error = 1e-10;  // the largest that KLU leaves on circuits and power flows

/// KLU's order and scaling.
Plan plan_of(const Pattern& pattern, std::span<const double> values, const PivotRule& rule) {
  std::vector<double> rows(pattern.n()), ones(pattern.n(), 1.0);
  scale_rows<std::int32_t>(rule.scale, pattern.a.row_idx, values, rows);
  for (double& row : rows) row = std::isnan(row) ? 1 : std::isfinite(1 / row) ? 1 / row : 0x1p1000;
  return {pattern.order.p, pattern.order.q, std::move(rows), std::move(ones), klu_order};
}

/// With powers of two scaling does not round.
void round_scaling(Plan& plan) {
  for (double& row : plan.r) row = row >= 0x1p-1000 && row <= 0x1p1000 ? std::ldexp(1.0, std::ilogb(row)) : 1;
}

/// Columns where KLU's pivot rule does not take the diagonal of its order, as far as A itself tells.
std::int32_t count_unsuited(const Pattern& pattern, const Plan& plan, std::span<const double> values, double tol) {
  std::int32_t unsuited = 0;
  for (std::int32_t k = 0; k < pattern.n(); ++k) {
    const std::int32_t j = plan.q[k], row = plan.p[k], block = pattern.block_of_row[row];
    double pivot = 0, largest = 0;
    for (std::int64_t s = pattern.a.col_ptr[j]; s < pattern.a.col_ptr[j + 1]; ++s) {
      const std::int32_t i = pattern.a.row_idx[s];
      const double size = plan.r[i] * std::abs(values[s]);
      if (i == row) pivot = size;
      if (pattern.block_of_row[i] == block) largest = std::max(largest, size);
    }
    unsuited += !(pivot > 0 && pivot >= tol * largest);
  }
  return unsuited;
}

constexpr double some_work = 1e7;              // flops
constexpr double analysis_us_an_entry = 0.25;  // of A, for an order of ours

/// LULAB_KLU: cpu, gpu (in a build for the simulator, that), else by the time that each takes.
WantedDevice wanted() {
  static const WantedDevice wanted = wanted_device("LULAB_KLU");
  return wanted;
}

/// For a chooser that takes the GPU; where there is none, it falls back to the CPU.
Prospects gpu_at_any_price(const FilledPattern&, int, const Workload&, const KnownCosts&) {
  return {.cpu_us = std::numeric_limits<double>::infinity()};
}

bool chooses_pivots(const Solver<double>& solver) { return solver.choice().rung == &sparse_leftlooking::pruned; }

/// False after an analysis that failed: then no rung was chosen.
bool is_on_cpu(const Solver<double>& solver) {
  const Rung* const rung = solver.choice().rung;
  return rung != nullptr && rung->facts.device == Device::cpu;
}

/// A row that is a pivot off the diagonal changes places with the one that is on it.
std::int32_t count_outside_diagonal(std::vector<std::int32_t> row_of_column, const BlockForm& form) {
  std::vector<std::int32_t> column_of_row(row_of_column.size());
  for (std::size_t j = 0; j < row_of_column.size(); ++j) column_of_row[row_of_column[j]] = static_cast<std::int32_t>(j);
  std::int32_t count = 0;
  for (std::size_t k = 0; k < form.p.size(); ++k) {
    const std::int32_t diagonal = row_of_column[form.q[k]], pivot = form.p[k];
    if (pivot == diagonal) continue;
    ++count;
    column_of_row[diagonal] = column_of_row[pivot];
    row_of_column[column_of_row[diagonal]] = diagonal;
  }
  return count;
}

BlockForm block_form(const Pattern& pattern, const Plan& plan, const FilledPattern& filled) {
  const std::int32_t n = pattern.n();
  const BlockOrder& order = pattern.order;
  std::vector<std::int32_t> block_of_column(n), expected_row(n), block(n);
  for (std::int32_t b = 0; b < order.n_blocks(); ++b)
    for (std::int32_t k = order.block_ptr[b]; k < order.block_ptr[b + 1]; ++k) {
      block_of_column[order.q[k]] = b;
      expected_row[order.q[k]] = order.p[k];
    }
  BlockForm form;
  for (std::int32_t k = 0; k < n; ++k) {
    block[k] = block_of_column[plan.q[k]];
    form.fits_blocks &= pattern.block_of_row[plan.p[k]] == block[k];
  }
  if (!form.fits_blocks) std::ranges::fill(block, 0);
  form.to.resize(n);
  std::vector<std::int32_t> next(order.block_ptr);  // of each block: its next pivot
  for (std::int32_t k = 0; k < n; ++k) form.to[k] = form.fits_blocks ? next[block[k]]++ : k;
  form.p.resize(n), form.q.resize(n), form.lnz_of.resize(n), form.unz_of.resize(n);
  std::vector<std::int64_t> block_lnz(order.n_blocks()), block_unz(order.n_blocks());
  for (std::int32_t k = 0; k < n; ++k) {
    const std::int32_t at = form.to[k];
    form.p[at] = plan.p[k];
    form.q[at] = plan.q[k];
    for (std::int64_t s = filled.col_ptr[k]; s < filled.diag[k]; ++s) {
      const std::int32_t i = filled.row_idx[s];
      if (block[i] != block[k]) continue;
      ++form.unz_of[at];
      form.flops += 2.0 * form.lnz_of[form.to[i]];
    }
    for (std::int64_t s = filled.diag[k] + 1; s < filled.col_ptr[k + 1]; ++s)
      form.lnz_of[at] += block[filled.row_idx[s]] == block[k];
    form.flops += form.lnz_of[at];
    block_lnz[block[k]] += form.lnz_of[at] + 1;
    block_unz[block[k]] += form.unz_of[at] + 1;
  }
  form.outside_diagonal = count_outside_diagonal(std::move(expected_row), form);
  form.lnz = std::reduce(block_lnz.begin(), block_lnz.end());
  form.unz = std::reduce(block_unz.begin(), block_unz.end());
  form.max_block_lnz = std::ranges::max(block_lnz);
  form.max_block_unz = std::ranges::max(block_unz);
  return form;
}

/// Of a matrix without factors: one pivot a column, and nothing beside it.
BlockForm diagonal_form(const Pattern& pattern) {
  BlockForm form;
  form.p = pattern.order.p;
  form.q = pattern.order.q;
  form.to = identity_permutation(pattern.n());
  form.lnz_of.resize(pattern.n());
  form.unz_of.resize(pattern.n());
  form.lnz = form.unz = pattern.n();
  form.max_block_lnz = form.max_block_unz = pattern.order.biggest;
  return form;
}

bool are_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

void fill_nan(double* B, std::int64_t leading, std::int64_t n, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) std::fill_n(B + c * leading, n, nan);
}

}  // namespace

Factorization::~Factorization() {
  if (state_ != State::factored || !solver_) return;
  const bool is_large = solver_->filled().nnz() > most_kept_entries;
  const std::scoped_lock lock(pattern_->lock);
  if (pattern_->is_freed && is_large) return;
  if (!pattern_->spare || is_on_cpu(*pattern_->spare)) std::swap(pattern_->spare, solver_);
}

void Factorization::take(const double* values) {
  values_.resize(pattern_->a.row_idx.size());
  if (pattern_->place.empty())
    std::copy_n(values, values_.size(), values_.begin());
  else
    for (std::size_t s = 0; s < values_.size(); ++s) values_[s] = values[pattern_->place[s]];
}

/// Pivots for these values. Those of factors that were freed are taken where they suit.
Status Factorization::start() {
  const bool is_new = !solver_;
  if (is_new) {
    const std::scoped_lock lock(pattern_->lock);
    solver_ = std::move(pattern_->spare);
  }
  if (is_for_our_order()) return start_in_our_order();
  if (!is_new && !has_klu_order()) {
    LULAB_RETURN_IF_ERROR(solver_->analyze({pattern_->a.view(), values_}));
    return solver_->factor(values_);
  }
  if (!is_new || !solver_ || (chooses_pivots(*solver_) && pivots_change())) return start_in_klu_order();
  LULAB_RETURN_IF_ERROR(refactor_or_start());
  LULAB_ASSIGN_OR_RETURN(const bool suit, has_suitable_pivots());
  if (suit) return {};
  {
    const std::scoped_lock lock(pattern_->lock);
    pattern_->pivots_change = true;
  }
  return start_in_klu_order();
}

bool Factorization::pivots_change() const {
  const std::scoped_lock lock(pattern_->lock);
  return pattern_->pivots_change;
}

/// KLU's rule, nearly: the scaling of rows was rounded, and may be that of values before. In an order of ours a
/// matching has chosen them.
Result<bool> Factorization::has_suitable_pivots() const {
  if (!has_klu_order()) return true;
  LULAB_ASSIGN_OR_RETURN(const double largest, solver_->largest_multiplier());
  return largest * rule_.tol <= 2;
}

bool Factorization::has_klu_order() const { return solver_->analysis().plan.order == klu_order; }

/// Is it time for another order than KLU's, for these values? Where there is much work it may save most of it and costs
/// little beside it. So it does where many pivots lie off the diagonal, for which the order was made: a KKT matrix with
/// 7.6 % of such columns fills in by 100 times what klu_analyze() predicts.
bool Factorization::is_for_our_order() const {
  constexpr double many_columns = 0.01;
  const double work = pattern_->order.flops;
  if (pattern_->keeps_order() || (solver_ && !has_klu_order())) return false;
  if (wanted() == WantedDevice::gpu) return true;
  if (!(work >= some_work)) return false;
  if (work >= much_work) return true;
  const Plan plan = plan_of(*pattern_, values_, rule_);
  return count_unsuited(*pattern_, plan, values_, rule_.tol) > many_columns * pattern_->n();
}

Status Factorization::start_in_our_order() {
  const CscView<double> a = {pattern_->a.view(), values_};
  auto solver = new_solver();
  LULAB_RETURN_IF_ERROR(solver->analyze(a));
  return start_with(std::move(solver));
}

/// On the diagonal of KLU's order where A itself shows nothing against it. Else the first factors are those by which
/// the pivots are chosen: many programs solve with no others.
Status Factorization::start_in_klu_order() {
  Plan plan = plan_of(*pattern_, values_, rule_);
  if (!pivots_change() && count_unsuited(*pattern_, plan, values_, rule_.tol) == 0) {
    LULAB_ASSIGN_OR_RETURN(auto filled, fill_under(pattern_->a, plan));
    LULAB_RETURN_IF_ERROR(start_with_pivots(plan, std::move(filled)));
    LULAB_ASSIGN_OR_RETURN(const bool suit, has_suitable_pivots());
    if (suit) return {};
  }
  SolverOptions by_value = options();
  by_value.factor.pivot_tol = std::max(rule_.tol, 0x1p-40);
  auto solver = std::make_unique<Solver<double>>(sparse_leftlooking::pruned, by_value);
  const CscView<double> a = {pattern_->a.view(), values_};
  LULAB_RETURN_IF_ERROR(solver->analyze(a, {pattern_->a, std::move(plan), {}, {}, {}}));
  LULAB_RETURN_IF_ERROR(factor_with(std::move(solver)));
  const bool is_for_gpu = wanted() == WantedDevice::gpu || pattern_->order.flops >= much_work;
  return is_for_gpu ? keep_pivots() : Status{};
}

/// From the first factors to those of a rung that takes their pivots as given.
Status Factorization::keep_pivots() { return start_with_pivots(solver_->plan(), solver_->filled()); }

Status Factorization::start_with_pivots(Plan plan, FilledPattern filled) {
  round_scaling(plan);
  LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_with_fill(pattern_->a, std::move(plan), std::move(filled)));
  auto solver = new_solver();
  LULAB_RETURN_IF_ERROR(solver->analyze({pattern_->a.view(), values_}, std::move(analysis)));
  return start_with(std::move(solver));
}

/// Of the CPU where there is little work, until moves_to_gpu().
std::unique_ptr<Solver<double>> Factorization::new_solver() const {
  if (wanted() == WantedDevice::gpu)
    return std::make_unique<Solver<double>>(RungChooser(gpu_at_any_price), gpu_options());
  const bool on_cpu = wanted() == WantedDevice::cpu || pattern_->order.flops < much_work;
  return on_cpu ? std::make_unique<Solver<double>>(sparse_leftlooking::threads, options())
                : std::make_unique<Solver<double>>(gpu_options());
}

Status Factorization::start_with(std::unique_ptr<Solver<double>> analyzed) {
  if (wanted() == WantedDevice::automatic && simt::machine() == simt::Machine::gpu && is_on_cpu(*analyzed)) {
    const double setup_us = prospects(analyzed->analysis().filled, 0, {.expected_steps = 1}).gpu_setup_us +
                            analysis_us_an_entry * static_cast<double>(values_.size());
    const std::scoped_lock lock(pattern_->lock);
    if (!pattern_->gpu_setup_us) pattern_->gpu_setup_us = setup_us;
  }
  return factor_with(std::move(analyzed));
}

/// After an error the solver before stays.
Status Factorization::factor_with(std::unique_ptr<Solver<double>> analyzed) {
  Status factored = analyzed->factor(values_);
  if (factored.ok() || !solver_) take(std::move(analyzed));
  return factored;
}
void Factorization::take(std::unique_ptr<Solver<double>> solver) {
  solver_ = std::move(solver);
  pivoting_ms_ = -1;  // its pivots may be others
}

SolverOptions Factorization::options() const {
  SolverOptions options;
  options.refine = Refine::first;
  options.backward_error = klu_backward_error;
  options.preprocess.blocks = pattern_->order.n_blocks() > 1;  // klu_extract() needs pivots inside of KLU's blocks
  return options;
}

/// Solves on a GPU multiply by inverses: more of them need the correction that makes them as exact as KLU's.
SolverOptions Factorization::gpu_options() const {
  SolverOptions exact = options();
  exact.backward_error = 1e-14;
  exact.prepare_at_once = true;  // where KLU's order was for the first answers, they came from the CPU
  return exact;
}

Status Factorization::refactor_known() {
  if (chooses_pivots(*solver_)) return keep_pivots();
  if (moves_to_gpu()) return {};
  const bool took_other_pivots = solver_->times().pivots > 0;  // for the values before
  if (took_other_pivots && is_for_our_order())
    if (Status started = start_in_our_order(); !is_of_machine(started.code)) return started;
  return solver_->refactor(values_);
}

/// KLU scales rows anew for each set of values: where these fail, the scaling of those before may be to blame.
Status Factorization::refactor_or_start() {
  Status known = refactor_known();
  if (known.ok() || is_of_machine(known.code) || rule_.scale <= 0 || !are_finite(values_)) return known;
  return start_anew();
}

/// With the same pivots, where they are in KLU's order.
Status Factorization::scale_anew() {
  if (!has_klu_order()) return start_anew();
  Plan plan = solver_->plan();
  plan.r = plan_of(*pattern_, values_, rule_).r;
  return start_with_pivots(std::move(plan), solver_->filled());
}

Status Factorization::start_anew() { return has_klu_order() ? start_in_klu_order() : start_in_our_order(); }

/// By values before these: a row's largest entry, about 1 when it was scaled, is 2^30 times as large or small.
bool Factorization::is_badly_scaled() const {
  if (rule_.scale <= 0) return false;  // as KLU is told to
  const Plan& plan = solver_->analysis().plan;
  const CscPattern& a = pattern_->a;
  std::vector<double> largest(a.n_rows, 0.0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int32_t i = a.row_idx[k];
      largest[i] = std::max(largest[i], std::abs(plan.r[i] * values_[k] * plan.c[j]));
    }
  return std::ranges::any_of(largest, [](double v) { return v != 0 && !(v > 0x1p-30 && v < 0x1p30); });
}

/// Starting a GPU takes longer than many a program that calls KLU. So it begins once the CPU has worked for as long:
/// however many steps there are, they take no more than twice as long as with the better of both. In an order of ours:
/// KLU's have long chains of columns, for which a GPU waits, up to 80 times as long.
bool Factorization::moves_to_gpu() try {
  if (!is_on_cpu(*solver_) || !is_time_for_gpu()) return false;
  const CscView<double> a = {pattern_->a.view(), values_};
  const Prospects p = prospects(solver_->analysis().filled, 0);
  if (p.gpu_takes_longer || !p.no_gpu.empty()) return refuse_gpu();
  auto on_gpu = std::make_unique<Solver<double>>(gpu_options());
  Status status = has_klu_order() && !pattern_->keeps_order() ? on_gpu->analyze(a)
                                                              : on_gpu->analyze(a, Analysis(solver_->analysis()));
  if (status.ok() && is_on_cpu(*on_gpu)) return refuse_gpu();
  if (status.ok()) status = on_gpu->factor(values_);
  if (!status.ok()) return is_of_machine(status.code) ? refuse_gpu() : false;  // else these values are to blame
  take(std::move(on_gpu));
  return true;
} catch (const std::bad_alloc&) {
  return refuse_gpu();
}

/// Then the time is spent.
bool Factorization::is_time_for_gpu() {
  const std::scoped_lock lock(pattern_->lock);
  if (!pattern_->gpu_setup_us || !(1e3 * pattern_->cpu_ms > *pattern_->gpu_setup_us)) return false;
  pattern_->cpu_ms = 0;
  return true;
}

/// Asks no more.
bool Factorization::refuse_gpu() {
  const std::scoped_lock lock(pattern_->lock);
  pattern_->gpu_setup_us = std::numeric_limits<double>::infinity();
  return false;
}

void Factorization::count_time(Clock::time_point start) {
  if (!solver_ || !is_on_cpu(*solver_)) return;
  const std::scoped_lock lock(pattern_->lock);
  pattern_->cpu_ms += ms_since(start);
}

Status Factorization::settle(Status s) {
  state_ = State::factored;
  if (s.ok()) return s;
  const bool is_finite = are_finite(values_);
  state_ = is_finite ? State::singular : State::not_finite;
  singular_column_ = s.where.columns.empty() ? pattern_->order.q.back() : s.where.columns.front();
  if (!is_finite || s.code == StatusCode::structurally_singular || s.code == StatusCode::numerically_singular ||
      s.code == StatusCode::needs_repivot)
    return {};
  return s;
}

Status Factorization::factor(const double* values, const PivotRule& rule) {
  rule_ = rule;
  return with(values, [&] { return start(); });
}

Status Factorization::refactor(const double* values) {
  return with(values, [&] { return state_ == State::factored ? refactor_or_start() : start(); });
}

template <class Work>
Status Factorization::with(const double* values, const Work& work) {
  pivoting_ms_ = -1;
  take(values);
  const auto begin = Clock::now();
  Status outcome;
  try {
    outcome = work();
  } catch (const std::bad_alloc&) {
    outcome = Status::error(StatusCode::out_of_memory, "not enough memory for the factors");
  }
  count_time(begin);
  return settle(std::move(outcome));
}

Status Factorization::solve(double* B, std::int64_t leading, std::int64_t columns, bool transposed) {
  const std::int64_t n = pattern_->n();
  const auto begin = Clock::now();
  Status outcome;
  try {
    outcome = solve_all(B, leading, columns, transposed);
  } catch (const std::bad_alloc&) {
    outcome = Status::error(StatusCode::out_of_memory, "not enough memory to solve");
  }
  count_time(begin);
  if (!outcome.ok() && outcome.code != StatusCode::out_of_memory) outcome = settle(std::move(outcome));
  if (!outcome.ok() || state_ != State::factored) fill_nan(B, leading, n, columns);
  return outcome;
}

/// From b_.   Returns whether all converged.
Result<bool> Factorization::solve_some(std::span<double> x, std::int32_t columns, bool transposed) {
  if (columns == 1) {
    LULAB_ASSIGN_OR_RETURN(const Refinement refined,
                           transposed ? solver_->solve_transposed(b_, x) : solver_->solve(b_, x));
    return refined.converged;
  }
  LULAB_ASSIGN_OR_RETURN(const auto refined,
                         transposed ? solver_->solve_transposed(b_, x, columns) : solver_->solve(b_, x, columns));
  return std::ranges::all_of(refined, [](const Refinement& r) { return r.converged; });
}

Status Factorization::solve_all(double* B, std::int64_t leading, std::int64_t columns, bool transposed) {
  const std::int64_t n = pattern_->n();
  Status outcome;
  for (std::int64_t first = 0; first < columns && outcome.ok() && state_ == State::factored; first += columns_at_once) {
    const std::int64_t some = std::min(columns - first, columns_at_once);
    double* const from = B + first * leading;
    b_.resize(n * some);
    for (std::int64_t c = 0; c < some; ++c) std::copy_n(from + c * leading, n, b_.begin() + c * n);
    const bool is_dense = leading == n || some == 1;
    if (!is_dense) x_.resize(n * some);
    const std::span<double> x = is_dense ? std::span(from, n * some) : std::span(x_).first(n * some);
    const auto width = static_cast<std::int32_t>(some);
    Result<bool> converged = solve_some(x, width, transposed);
    const auto solve_after = [&](const Status& done) -> Result<bool> {
      LULAB_RETURN_IF_ERROR(done);
      return solve_some(x, width, transposed);
    };
    const auto is_bad = [&] { return converged.ok() && !*converged && are_finite(b_); };
    if (is_bad() && chooses_pivots(*solver_)) converged = solve_after(keep_pivots());  // nothing else has judged these
    if (is_bad() && is_badly_scaled()) converged = solve_after(start_anew());
    outcome = converged.status();
    if (outcome.ok() && !is_dense)
      for (std::int64_t c = 0; c < some; ++c) std::copy_n(x.begin() + c * n, n, from + c * leading);
  }
  return outcome;
}

bool Factorization::take_new_form() {
  if (state_ != State::factored) {
    const bool is_new = form_.p.empty() || !form_p_.empty();
    if (is_new) form_ = diagonal_form(*pattern_);
    form_p_.clear();
    return is_new;
  }
  const double pivoting_ms = solver_->times().pivots;  // grows with new pivots, begins anew with new values
  if (!form_p_.empty() && pivoting_ms == std::exchange(pivoting_ms_, pivoting_ms)) return false;
  const Plan& plan = solver_->plan();
  if (plan.p == form_p_ && plan.q == form_q_) return false;
  form_ = block_form(*pattern_, plan, solver_->filled());
  form_p_ = plan.p;
  form_q_ = plan.q;
  return true;
}

bool Factorization::pivots_at_hand() const {
  return state_ != State::factored || solver_->choice().rung->facts.device == Device::cpu;
}

Status Factorization::pivots(std::span<double> pivots) const {
  if (state_ == State::factored) return solver_->pivots(pivots);
  std::ranges::fill(pivots, nan);
  if (state_ == State::singular) pivots[singular_column_] = 0;
  return {};
}

Status Factorization::judge() {
  if (state_ != State::factored) return {};
  if (is_badly_scaled())  // multipliers may be out of range that are none in KLU's scaling
    if (Status scaled = settle(scale_anew()); !scaled.ok() || state_ != State::factored) return scaled;
  Status judged = solver_->download_factors().status();
  return judged.code == StatusCode::out_of_memory ? judged : settle(std::move(judged));
}

Result<BlockFactors> Factorization::factors(std::span<const double> row_scale) const {
  if (state_ != State::factored) {
    BlockFactors none;
    none.l.n_rows = none.l.n_cols = pattern_->n();
    none.l.row_idx = identity_permutation(pattern_->n());
    none.l.col_ptr.assign(none.l.row_idx.begin(), none.l.row_idx.end());
    none.l.col_ptr.push_back(pattern_->n());
    none.l.values.assign(pattern_->n(), 1);
    none.u = none.l;
    for (std::int32_t k = 0; k < pattern_->n(); ++k)
      none.u.values[k] = state_ == State::singular && form_.q[k] == singular_column_ ? 0 : nan;
    return none;
  }
  LULAB_ASSIGN_OR_RETURN(const Factors<double>* const f, solver_->download_factors());
  const Plan& plan = f->plan;
  const FilledPattern& filled = f->filled;
  const std::int32_t n = pattern_->n();
  std::vector<double> left(n), right(n);  // what turns P·R·A·C·Q into KLU's, by pivots
  std::vector<std::int32_t> block(n), from(n);
  for (std::int32_t k = 0; k < n; ++k) {
    left[k] = 1 / plan.r[plan.p[k]] / row_scale[plan.p[k]];
    right[k] = 1 / plan.c[plan.q[k]];
    block[k] = pattern_->block_of_row[plan.p[k]];
    from[form_.to[k]] = k;
  }
  BlockFactors both;
  for (CscMatrix<double>* m : {&both.l, &both.u}) {
    m->n_rows = m->n_cols = n;
    m->row_idx.reserve(m == &both.l ? form_.lnz : form_.unz);
    m->values.reserve(m->row_idx.capacity());
  }
  const auto add = [](CscMatrix<double>& m, std::int32_t row, double value) {
    m.row_idx.push_back(row);
    m.values.push_back(value);
  };
  for (std::int32_t at = 0; at < n; ++at) {
    const std::int32_t k = from[at];
    for (std::int64_t s = filled.col_ptr[k]; s <= filled.diag[k]; ++s)
      if (const std::int32_t i = filled.row_idx[s]; block[i] == block[k])
        add(both.u, form_.to[i], left[i] * f->values[s] * right[k]);
    add(both.l, at, 1);
    for (std::int64_t s = filled.diag[k] + 1; s < filled.col_ptr[k + 1]; ++s)
      if (const std::int32_t i = filled.row_idx[s]; block[i] == block[k])
        add(both.l, form_.to[i], f->values[s] * (left[i] / left[k]));
    both.l.col_ptr.push_back(both.l.nnz());
    both.u.col_ptr.push_back(both.u.nnz());
  }
  return both;
}

}  // namespace lulab::klu_shape
