#include "core/factorizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/one_by_one.h"

namespace lulab {
namespace {

struct Magnitudes {
  double least = std::numeric_limits<double>::infinity();
  double largest;  // NaN where one is

  explicit Magnitudes(std::span<const double> scales) : largest(max_abs(scales)) {
    for (const double s : scales) least = std::min(least, std::abs(s));
  }
  bool are_usable() const { return std::isfinite(largest) && least > 0; }
};

/// Must R·A·C be formed in double before the rung gets it? For float, whose range may hold R·A·C but not A or R; and
/// where a product r · c, by which rungs on the GPU scale, leaves the range of double.
template <class T>
bool scales_first(const Analysis& analysis) {
  const Plan& plan = analysis.plan;
  const auto n = static_cast<std::size_t>(analysis.a.n_cols);
  if (plan.r.size() != n || plan.c.size() != n || n == 0) return false;  // the rung says what is wrong
  const Magnitudes r(plan.r), c(plan.c);
  if (!r.are_usable() || !c.are_usable()) return false;  // likewise
  if constexpr (std::is_same_v<T, float>) {
    const auto is_one = [](double s) { return s == 1; };
    return !std::ranges::all_of(plan.r, is_one) || !std::ranges::all_of(plan.c, is_one);
  } else {
    if (std::isnormal(r.least * c.least) && std::isnormal(r.largest * c.largest)) return false;
    for (std::int32_t j = 0; j < analysis.a.n_cols; ++j)
      for (std::int64_t k = analysis.a.col_ptr[j]; k < analysis.a.col_ptr[j + 1]; ++k)
        if (!std::isnormal(plan.r[analysis.a.row_idx[k]] * plan.c[j])) return true;
    return false;
  }
}

std::unique_ptr<Analysis> without_scaling(const Analysis& analysis) {
  auto of_scaled = std::make_unique<Analysis>(analysis);
  std::ranges::fill(of_scaled->plan.r, 1.0);
  std::ranges::fill(of_scaled->plan.c, 1.0);
  return of_scaled;
}

Status call_first(std::string_view needed, std::string_view call) {
  return Status::error(StatusCode::invalid_argument, fmt::format("call {} before {}", needed, call));
}

}  // namespace

template <class T>
Status Backend<T>::check_room(std::size_t given, std::size_t nnz) {
  if (given == nnz) return {};
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("download_values(): room for {} values was given, L and U have {}", given, nnz));
}

template <class T>
Status Backend<T>::upload_from_device(const T*) {
  return Status::error(StatusCode::not_implemented, "this rung takes no values from device memory");
}

template <class T>
Factorizer<T>::Factorizer(std::unique_ptr<Backend<T>> backend, const RungFacts& facts, const FactorOptions& options)
    : facts_(&facts),
      options_(options),
      backend_(std::move(backend)),
      error_(call_first("analyze(), upload() and factor()", "download()")) {}

template <class T>
Factorizer<T>::~Factorizer() = default;
template <class T>
Factorizer<T>::Factorizer(Factorizer&&) noexcept = default;

template <class T>
template <class Step>
auto Factorizer<T>::guarded(Step&& step) -> decltype(step()) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return Status::error(
        StatusCode::out_of_memory,
        fmt::format("no host memory left for {} (n = {}, nnz(L+U) = {}, {} systems); try another ordering", facts_->id,
                    analysis_ ? analysis_->filled.n : 0, analysis_ ? analysis_->filled.nnz() : 0, systems_));
  }
}

/// From now on there are no factors, and this is why.
template <class T>
Status Factorizer<T>::refuse(Status why) {
  in_flight_ = false;
  statuses_.clear();
  return error_ = std::move(why);
}

template <class T>
Status Factorizer<T>::analyze(const Analysis& analysis, std::int32_t systems) {
  has_values_ = has_pivots_ = false;
  analysis_ = nullptr;
  scaling_.reset();
  loop_.reset();
  systems_ = 1;
  (void)refuse(call_first("factor()", "download()"));
  if (systems < 1)
    return Status::error(StatusCode::invalid_argument, fmt::format("{} systems; a batch has at least one", systems));
  LULAB_RETURN_IF_ERROR(check_options(options_, facts_->id, facts_->options));
  if (systems > 1 && facts_->pivoting != Pivoting::fixed)
    return Status::error(StatusCode::not_implemented,
                         fmt::format("{} factors no batches: they need fixed pivots; take a rung that has them "
                                     "(lulab list)",
                                     facts_->id));
  systems_ = systems;
  const Status prepared = guarded([&] {
    of_scaled_ = scales_first<T>(analysis) ? without_scaling(analysis) : nullptr;
    if (systems > 1 && !facts_->takes_batches) loop_ = std::make_unique<OneByOne<T>>(*backend_);
    return active().prepare(of_scaled_ ? *of_scaled_ : analysis, systems);
  });
  if (prepared.ok()) analysis_ = &analysis;
  return prepared;
}

template <class T>
Status Factorizer<T>::take_scales() {
  if (!analysis_) return refuse(call_first("analyze()", "take_scales()"));
  has_values_ = has_pivots_ = false;
  (void)refuse(call_first("factor()", "download()"));
  const bool first = scales_first<T>(*analysis_);
  if (first != (of_scaled_ != nullptr))
    return Status::error(StatusCode::not_implemented, "the new scalings reach the rung in another way: analyze()");
  return guarded([&]() -> Status {
    if (scaling_) LULAB_RETURN_IF_ERROR(scaling_->take_scales(analysis_->plan, *active().stream()));
    return first ? Status{} : active().take_scales();
  });
}

/// What the rung gets: T(r · a · c), or T(a) where the rung scales. In for_rung_ unless it is the caller's own array.
template <class T>
template <class S>
Result<std::span<const T>> Factorizer<T>::for_rung(std::span<const S> values) {
  if constexpr (std::is_same_v<S, T>)
    if (!of_scaled_) return values;
  if (simt::Stream* s = active().stream()) LULAB_RETURN_IF_ERROR(s->wait());  // it may still read the last ones
  for_rung_.resize(values.size());
  const CscPattern& a = analysis_->a;
  std::size_t v = 0;
  for (std::int32_t s = 0; s < systems_; ++s) {
    for (std::int32_t j = 0; j < a.n_cols; ++j) {
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k, ++v) {
        const double value = values[v];
        for_rung_[v] =
            static_cast<T>(of_scaled_ ? analysis_->plan.r[a.row_idx[k]] * value * analysis_->plan.c[j] : value);
        if (!std::isfinite(for_rung_[v]) && std::isfinite(value) && systems_ == 1)
          return Status::error(
              StatusCode::invalid_argument,
              fmt::format("entry ({}, {}) of A is {}, which {}overflows in {}", a.row_idx[k] + 1, j + 1, value,
                          of_scaled_ ? "after scaling " : "", sizeof(T) == 4 ? "f32" : "f64"),
              {{}, 0, {a.row_idx[k]}, {j}});
      }
    }
  }
  return std::span<const T>(for_rung_);
}

template <class T>
template <class S>
Status Factorizer<T>::upload_any(std::span<const S> values) {
  has_values_ = false;
  if (!analysis_) return refuse(call_first("analyze()", "upload()"));
  const std::size_t nnz = analysis_->a.row_idx.size();
  if (values.size() != nnz * systems_)
    return refuse(Status::error(
        StatusCode::invalid_argument,
        fmt::format(
            "{} values were given for a pattern of {} entries{}; pass one value an entry of the analyzed matrix",
            values.size(), nnz, systems_ > 1 ? fmt::format(" and {} systems", systems_) : "")));
  const auto upload = [&]() -> Status {
    LULAB_ASSIGN_OR_RETURN(const auto given, for_rung(values));
    return active().upload(given);
  };
  if (Status s = guarded(upload); !s.ok()) return refuse(std::move(s));
  (void)refuse(call_first("factor() or refactor()", "download()"));  // no factors of earlier values
  has_values_ = true;
  return {};
}

template <class T>
Status Factorizer<T>::upload(std::span<const T> values) {
  return upload_any(values);
}
template <class T>
Status Factorizer<T>::upload(std::span<const OtherScalar> values) requires(!std::is_same_v<T, double>) {
  return upload_any(values);
}

template <class T>
bool Factorizer<T>::takes_from_device() const {
  return analysis_ && active().device_arrays().a != nullptr;
}

template <class T>
Status Factorizer<T>::prepare_upload_from_device() {
  const bool as_they_are = std::is_same_v<T, double> && !of_scaled_;
  if (as_they_are || scaling_ || !takes_from_device()) return {};
  return guarded([&]() -> Status {
    LULAB_ASSIGN_OR_RETURN(scaling_, DeviceScaling<T>::create(*analysis_, systems_, *active().stream()));
    return {};
  });
}

/// What for_rung() gives, formed on the device.
template <class T>
Status Factorizer<T>::scale_and_upload(const double* d_values) {
  if constexpr (std::is_same_v<T, double>)
    if (!of_scaled_) return active().upload_from_device(d_values);
  if (!takes_from_device()) return active().upload_from_device(nullptr);  // says why
  LULAB_RETURN_IF_ERROR(prepare_upload_from_device());
  LULAB_RETURN_IF_ERROR(scaling_->scale(d_values, *active().stream()));
  return active().upload_from_device(scaling_->scaled());
}

template <class T>
Status Factorizer<T>::upload_from_device(const double* d_values) {
  has_values_ = false;
  if (!analysis_) return refuse(call_first("analyze()", "upload_from_device()"));
  if (Status s = guarded([&] { return scale_and_upload(d_values); }); !s.ok()) return refuse(std::move(s));
  (void)refuse(call_first("factor() or refactor()", "download()"));
  has_values_ = true;
  return {};
}

template <class T>
Status Factorizer<T>::factor() {
  has_pivots_ = false;
  if (!has_values_) return refuse(call_first("analyze() and upload()", "factor()"));
  return start(Phase::factor);
}

template <class T>
Status Factorizer<T>::refactor() {
  if (!has_values_ || !has_pivots_) return refuse(call_first("upload() and a factor() that succeeds", "refactor()"));
  return start(Phase::refactor);
}

template <class T>
Status Factorizer<T>::prepare_right_side() {
  if (!analysis_) return refuse(call_first("analyze()", "prepare_right_side()"));
  if (systems_ > 1 || options_.perturb_pivots > 0)
    return Status::error(StatusCode::not_implemented, "right-hand sides go along with one system, unperturbed pivots");
  Status prepared = guarded([&] { return active().prepare_right_side(); });
  if (prepared.ok() || prepared.code == StatusCode::not_implemented) return prepared;
  analysis_ = nullptr;
  has_values_ = has_pivots_ = false;
  return refuse(std::move(prepared));
}

template <class T>
Status Factorizer<T>::refactor_with(const RightSide& b) {
  if (!has_values_ || !has_pivots_)
    return refuse(call_first("upload() and a factor() that succeeds", "refactor_with()"));
  return start(Phase::refactor, [&] { return active().enqueue_with(b); });
}

template <class T>
Status Factorizer<T>::replay(simt::Graph& recorded, simt::Stream& stream) {
  if (!analysis_ || !has_pivots_) return refuse(call_first("a factor() that succeeds", "replay()"));
  has_values_ = true;
  return start(Phase::refactor, [&] { return recorded.launch(stream); });
}

template <class T>
Status Factorizer<T>::start(Phase phase) {
  return start(phase, [&] { return active().enqueue(phase); });
}

template <class T>
template <class Enqueue>
Status Factorizer<T>::start(Phase phase, const Enqueue& enqueue) {
  statuses_.clear();
  if (Status s = guarded(enqueue); !s.ok()) return refuse(std::move(s));
  in_flight_ = true;
  phase_ = phase;
  // Pivots that refactor() can keep: those of the plan, whatever became of the values, or those that factor() found.
  if (phase == Phase::factor) has_pivots_ = facts_->pivoting == Pivoting::fixed || !facts_->refactors;
  return active().stream() ? Status{} : wait();
}

template <class T>
Status Factorizer<T>::wait() {
  if (!in_flight_) return error_;
  in_flight_ = false;
  statuses_.assign(systems_, {});
  if (Status s = guarded([&] { return active().collect(statuses_); }); !s.ok()) return refuse(std::move(s));
  const auto failed = std::ranges::find_if(statuses_, [](const Status& s) { return !s.ok(); });
  error_ = failed == statuses_.end() ? Status{} : *failed;
  if (phase_ == Phase::factor && error_.ok()) has_pivots_ = true;
  return error_;
}

template <class T>
Status Factorizer<T>::check_system(std::int32_t system) {
  const Status waited = wait();
  if (statuses_.empty()) return waited;
  if (system < 0 || system >= systems_)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("there is no system {}; there are {}", system, systems_));
  return statuses_[system];
}

template <class T>
Result<Factors<T>> Factorizer<T>::download(std::int32_t system) {
  LULAB_RETURN_IF_ERROR(check_system(system));
  auto factors = guarded([&] { return active().download(system); });
  if (factors.ok() && of_scaled_)
    for (std::int32_t i = 0; i < factors->plan.n(); ++i) {
      factors->plan.r[i] *= analysis_->plan.r[i];
      factors->plan.c[i] *= analysis_->plan.c[i];
    }
  const StatusCode code = factors.status().code;
  if (code == StatusCode::numerically_singular || code == StatusCode::needs_repivot)
    error_ = statuses_[system] = factors.status();  // found late
  return factors;
}

template <class T>
Status Factorizer<T>::download_values(std::span<T> values, std::int32_t system) {
  LULAB_RETURN_IF_ERROR(check_system(system));
  return guarded([&] { return active().download_values(values, system); });
}

template <class T>
Statistics Factorizer<T>::statistics(std::int32_t system) const {
  return analysis_ && system >= 0 && system < systems_ ? active().statistics(system) : Statistics{};
}

template <class T>
DeviceArrays<T> Factorizer<T>::device_arrays() const {
  DeviceArrays<T> arrays = analysis_ ? active().device_arrays() : DeviceArrays<T>{};
  if (of_scaled_) arrays.a = nullptr;
  return arrays;
}

template <class T>
HostArrays<T> Factorizer<T>::host_arrays() const {
  if (!error_.ok() || systems_ != 1) return {};
  HostArrays<T> arrays = active().host_arrays();
  if (of_scaled_ && arrays.plan != nullptr) return {};  // its plan lacks the scalings
  return arrays;
}

template <class T>
simt::Stream* Factorizer<T>::stream() {
  return analysis_ ? active().stream() : nullptr;
}

template <class T>
std::unique_ptr<Factorizer<T>> Rung::make(const FactorOptions& options) const {
  const MakeBackend<T> make = std::get<MakeBackend<T>>(make_backend);
  return make ? std::make_unique<Factorizer<T>>(make(options), facts, options) : nullptr;
}

#define LULAB_INSTANTIATE(T)    \
  template class Backend<T>;    \
  template class Factorizer<T>; \
  template std::unique_ptr<Factorizer<T>> Rung::make(const FactorOptions&) const;
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
