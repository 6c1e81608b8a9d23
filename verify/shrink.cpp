#include "verify/shrink.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/rung.h"
#include "preprocess/preprocess.h"

namespace lulab {

namespace {

/// "lu_residual" of "lu_residual = 3e8, limit 30".
std::string check_of(const RungReport& report) {
  if (report.checks.failures.empty()) return {};
  const std::string& sentence = report.checks.failures.front();
  if (sentence.starts_with("says singular")) return "singular";
  return sentence.substr(0, sentence.find_first_of(" :"));
}

bool is_failure(Verdict verdict) {
  return verdict == Verdict::failed || verdict == Verdict::race || verdict == Verdict::error;
}

/// The matrix that is looked for, and what can be taken away from it.
class Search {
 public:
  Search(const CscView<double>& a, const StillFails& still_fails, const ShrinkOptions& options)
      : still_fails_(still_fails), options_(options), start_(Clock::now()) {
    best_.n_rows = a.n_rows;
    best_.n_cols = a.n_cols;
    best_.col_ptr.assign(a.col_ptr.begin(), a.col_ptr.end());
    best_.row_idx.assign(a.row_idx.begin(), a.row_idx.end());
    best_.values.assign(a.values.begin(), a.values.end());
  }

  Shrunk run() {
    // Fewer entries may let more rows go.
    for (std::int64_t before = -1; before != size() && in_time();) {
      before = size();
      take_away(best_.n_cols, [&](const std::vector<char>& gone) { return without_pairs(gone); });
      take_away(best_.nnz(), [&](const std::vector<char>& gone) { return without_entries(gone); });
    }
    const bool finished = in_time();
    shorten_values();
    return {std::move(best_), tried_, finished};
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t size() const { return best_.n_cols + best_.nnz(); }
  bool in_time() const { return std::chrono::duration<double>(Clock::now() - start_).count() < options_.seconds; }

  bool accept(CscMatrix<double> candidate) {
    if (candidate.n_cols == 0 || !in_time()) return false;
    ++tried_;
    if (!still_fails_(candidate.view())) return false;
    best_ = std::move(candidate);
    if (options_.progress) options_.progress(best_, tried_);
    return true;
  }

  /// Tries to do without each chunk of things, at first half of them, at last one. `count` of the things in best_ that
  /// `without` numbers.
  template <class Without>
  void take_away(std::int64_t count, const Without& without) {
    for (std::int64_t chunk = std::max<std::int64_t>(1, count / 2); count > 0 && in_time();) {
      bool smaller = false;
      for (std::int64_t first = 0; first < count && in_time();) {
        std::vector<char> gone(count, 0);
        const std::int64_t last = std::min(first + chunk, count);
        std::fill(gone.begin() + first, gone.begin() + last, 1);
        if (accept(without(gone))) {
          count -= last - first;
          smaller = true;
        } else {
          first = last;
        }
      }
      if (chunk == 1 && !smaller) return;
      chunk = std::max<std::int64_t>(1, std::min(chunk / 2, count / 2));
    }
  }

  /// Rows that are matched to columns go with them, so that the rest does not become singular.
  CscMatrix<double> without_pairs(const std::vector<char>& gone) const {
    std::vector<std::int32_t> row_of_column(best_.n_cols);
    std::iota(row_of_column.begin(), row_of_column.end(), 0);
    if (const auto matched = match_rows(best_.view()); matched.ok()) row_of_column = matched->row_of_column;
    std::vector<char> rows_gone(best_.n_cols, 0);
    for (std::int32_t j = 0; j < best_.n_cols; ++j) rows_gone[row_of_column[j]] = gone[j];
    return without(rows_gone, gone);
  }

  CscMatrix<double> without(const std::vector<char>& rows_gone, const std::vector<char>& columns_gone) const {
    std::vector<std::int32_t> new_row(best_.n_cols, -1);
    CscMatrix<double> rest;
    for (std::int32_t i = 0; i < best_.n_rows; ++i)
      if (!rows_gone[i]) new_row[i] = rest.n_rows++;
    rest.n_cols = rest.n_rows;
    for (std::int32_t j = 0; j < best_.n_cols; ++j) {
      if (columns_gone[j]) continue;
      for (std::int64_t k = best_.col_ptr[j]; k < best_.col_ptr[j + 1]; ++k) {
        if (new_row[best_.row_idx[k]] < 0) continue;
        rest.row_idx.push_back(new_row[best_.row_idx[k]]);
        rest.values.push_back(best_.values[k]);
      }
      rest.col_ptr.push_back(rest.nnz());
    }
    return rest;
  }

  CscMatrix<double> without_entries(const std::vector<char>& gone) const {
    CscMatrix<double> rest;
    rest.n_rows = rest.n_cols = best_.n_cols;
    for (std::int32_t j = 0; j < best_.n_cols; ++j) {
      for (std::int64_t k = best_.col_ptr[j]; k < best_.col_ptr[j + 1]; ++k) {
        if (gone[k]) continue;
        rest.row_idx.push_back(best_.row_idx[k]);
        rest.values.push_back(best_.values[k]);
      }
      rest.col_ptr.push_back(rest.nnz());
    }
    return rest;
  }

  static double rounded(double value, int digits) { return std::stod(fmt::format("{:.{}e}", value, digits - 1)); }

  void shorten_values() {
    for (const int digits : {1, 2, 3}) {  // all of them
      CscMatrix<double> candidate = best_;
      for (double& v : candidate.values) v = rounded(v, digits);
      if (candidate == best_ || accept(std::move(candidate))) break;
    }
    for (std::int64_t k = 0; k < best_.nnz(); ++k) {
      const double value = best_.values[k];
      for (const double simple : {1.0, -1.0, rounded(value, 1), rounded(value, 2), rounded(value, 3)}) {
        if (simple == value) break;
        CscMatrix<double> candidate = best_;
        candidate.values[k] = simple;
        if (accept(std::move(candidate))) break;
      }
    }
  }

  const StillFails& still_fails_;
  const ShrinkOptions& options_;
  Clock::time_point start_;
  CscMatrix<double> best_;
  int tried_ = 0;
};

}  // namespace

std::optional<Failure> first_failure(const MatrixReport& report) {
  for (const RungReport& rung : report.rungs) {
    if (!is_failure(rung.verdict)) continue;
    Failure failure{rung.id, rung.scalar, rung.verdict, rung.status.code, check_of(rung), {}};
    if (failure.check == "singular") {
      const RungReport* best = nullptr;
      for (const RungReport& other : report.rungs)
        if (other.verdict == Verdict::ok && other.scalar == rung.scalar &&
            (best == nullptr || other.checks.rcond_scaled > best->checks.rcond_scaled))
          best = &other;
      if (best != nullptr) failure.beside = best->id;
    }
    return failure;
  }
  if (report.klu_blocks_equal == false) return Failure{};
  return std::nullopt;
}

bool shows(const MatrixReport& report, const Failure& failure) {
  if (failure.rung.empty()) return report.klu_blocks_equal == false;
  return std::ranges::any_of(report.rungs, [&](const RungReport& rung) {
    return rung.id == failure.rung && rung.scalar == failure.scalar && rung.verdict == failure.verdict &&
           rung.status.code == failure.code && check_of(rung) == failure.check;
  });
}

VerifyOptions options_for(const Failure& failure, VerifyOptions options) {
  const std::vector<const Rung*> given = options.rungs;
  const std::span<const Rung* const> all = given.empty() ? all_rungs() : std::span<const Rung* const>(given);
  options.rungs.clear();
  for (const Rung* rung : all)
    if (rung->facts.id == failure.rung || (!failure.beside.empty() && rung->facts.id == failure.beside))
      options.rungs.push_back(rung);
  if (options.rungs.empty()) options.rungs.push_back(all.front());
  options.precision = failure.scalar == "f32" ? Precision::f32 : Precision::f64;
  return options;
}

Shrunk shrink(const CscView<double>& a, const StillFails& still_fails, const ShrinkOptions& options) {
  return Search(a, still_fails, options).run();
}

Shrunk shrink_failure(const CscView<double>& a, const Failure& failure, const VerifyOptions& options,
                      const ShrinkOptions& how) {
  return shrink(
      a, [&](const CscView<double>& smaller) { return shows(verify_matrix("shrunk", smaller, options), failure); },
      how);
}

}  // namespace lulab
