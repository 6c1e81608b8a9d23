#include "capi/lulab.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "capi/engine.h"
#include "capi/input.h"
#include "capi/options.h"
#include "core/simt/device.h"
#include "driver/no_x.h"

namespace lulab::c_api {

namespace {

/// Why a call failed, thrown to its end.
struct Failure {
  int status;
  std::string message;
  std::int64_t row = -1, column = -1;
  std::int32_t system = -1;
};

/// Of the last call of this thread. It has no destructor, so that no thread needs the library when it ends.
thread_local lulab_error last_error = {sizeof(lulab_error), LULAB_OK, -1, -1, -1, {}};

/// Both are structs of lulab.h with a size in front; the caller's may be larger, which it says in its size.
template <class Struct>
void write_struct(const Struct& from, Struct& to) {
  std::memcpy(reinterpret_cast<char*>(&to) + sizeof to.size, reinterpret_cast<const char*>(&from) + sizeof to.size,
              sizeof to - sizeof to.size);
}

void write_error(lulab_error& out, const Failure& f) {
  out.status = f.status;
  out.system = f.system;
  out.row = f.row;
  out.column = f.column;
  std::size_t length = std::min<std::size_t>(f.message.size(), LULAB_MESSAGE - 1);
  while (length > 0 && length < f.message.size() && (f.message[length] & 0xC0) == 0x80) --length;  // whole letters
  std::memcpy(out.message, f.message.data(), length);
  std::memset(out.message + length, 0, LULAB_MESSAGE - length);
}

int status_of(const Status& s, bool of_values) {
  switch (s.code) {
    case StatusCode::ok: return LULAB_OK;
    case StatusCode::invalid_argument:  // of values, b: a place is given only where a number is not finite
      return of_values && !s.where.rows.empty() ? LULAB_NOT_FINITE : LULAB_INVALID_ARGUMENT;
    case StatusCode::parse_error: return LULAB_INVALID_ARGUMENT;
    case StatusCode::structurally_singular: return LULAB_STRUCTURALLY_SINGULAR;
    case StatusCode::numerically_singular: return LULAB_NUMERICALLY_SINGULAR;
    case StatusCode::needs_repivot: return LULAB_NEEDS_REPIVOT;
    case StatusCode::out_of_memory: return LULAB_OUT_OF_MEMORY;
    case StatusCode::device_error:
    case StatusCode::deadlock:
    case StatusCode::data_race: return LULAB_DEVICE_ERROR;
    case StatusCode::not_implemented: return LULAB_NOT_IMPLEMENTED;
  }
  return LULAB_INTERNAL;
}

Failure failure_of(const Status& s, std::int64_t index_base, bool of_values) {
  Failure f{status_of(s, of_values), s.message};
  if (!s.where.rows.empty()) f.row = s.where.rows.front() + index_base;
  if (!s.where.columns.empty()) f.column = s.where.columns.front() + index_base;
  return f;
}

/// Of an array of double.
constexpr std::int64_t largest_size = std::numeric_limits<std::ptrdiff_t>::max() / std::int64_t{sizeof(double)};

[[noreturn]] void refuse(std::string message) { throw Failure{LULAB_INVALID_ARGUMENT, std::move(message)}; }

/// Runs a call: no exception leaves it, and what failed is there for lulab_last_error().
template <class Call>
int guarded(Call&& call) noexcept {
  Failure failed{LULAB_INTERNAL, {}};
  try {
    call();
    failed.status = LULAB_OK;
  } catch (Failure& f) {
    failed = std::move(f);
  } catch (const std::bad_alloc&) {
    failed = {LULAB_OUT_OF_MEMORY, "no host memory"};  // texts so short take none
  } catch (const std::length_error&) {
    failed = {LULAB_OUT_OF_MEMORY, "no host memory"};
  } catch (...) {
    failed = {LULAB_INTERNAL, "a mistake"};
  }
  write_error(last_error, failed);
  return failed.status;
}

/// What a lulab_solver stands for.
class Handle {
 public:
  explicit Handle(std::int32_t precision) : precision_(precision) {}

  void set_option(const char* key, const char* value) {
    if (key == nullptr || value == nullptr) refuse("set_option: key or value is NULL");
    known_option(key);
    check(c_api::set_option(options_, key, value));
    options_changed_ = true;
  }

  void set_column_order(std::int64_t n, const std::int64_t* columns, std::int32_t index_base) {
    if (n < 0 || n > std::numeric_limits<std::int32_t>::max()) refuse(fmt::format("set_column_order: n = {}", n));
    if (columns == nullptr && n > 0) refuse("set_column_order: columns is NULL");
    if (index_base != 0 && index_base != 1)
      refuse(fmt::format("set_column_order: index_base = {} is neither 0 nor 1", index_base));
    Permutation order(n);
    for (std::int64_t k = 0; k < n; ++k) {
      if (columns[k] < index_base || columns[k] >= n + index_base)
        refuse(fmt::format("set_column_order: columns[{}] = {} is none of {}..{}", k, columns[k], index_base,
                           n - 1 + index_base));
      order[k] = static_cast<std::int32_t>(columns[k] - index_base);
    }
    if (const std::int64_t twice = first_not_permuted(order); twice >= 0)
      refuse(fmt::format("set_column_order: columns[{}] = {} occurs earlier, too", twice, columns[twice]));
    options_.solver.preprocess = with_column_order(std::move(options_.solver.preprocess), std::move(order));
    options_changed_ = true;
  }

  std::string get_option(const char* key) const {
    if (key == nullptr) refuse("get_option: key is NULL");
    known_option(key);
    return c_api::get_option(options_, key);
  }

  /// systems = 0: no batch.
  void analyze(const lulab_matrix* a, std::int32_t systems) {
    if (a == nullptr) refuse("analyze: a is NULL");
    analyzed_ = factored_ = solved_ = in_flight_ = false;
    index_base_ = a->size >= sizeof *a && a->index_base == 1 ? 1 : 0;
    ReadMatrix read = value_of(read_matrix(*a, true));
    if (engine_ == nullptr || options_changed_ || systems != systems_) {
      engine_ = nullptr;  // first, for its memory
      engine_ = make_engine(precision_, options_, systems);
      systems_ = systems;
      options_changed_ = false;
    }
    check(engine_->analyze(read.a), true);
    n_ = a->n;
    nnz_ = a->nnz;
    format_ = a->format;
    from_ = std::move(read.from);
    analyzed_ = true;
  }

  void check_pattern(const lulab_matrix* a) const {
    if (a == nullptr) refuse("check_pattern: a is NULL");
    needs_analysis("check_pattern");
    const ReadMatrix read = value_of(read_matrix(*a, false));
    if (a->index_base == index_base_ && a->format == format_ && read.from == from_ &&
        read.a.pattern() == engine_->analysis().a)
      return;
    throw Failure{LULAB_PATTERN_CHANGED,
                  "this matrix has another pattern, format, index base or order of entries than "
                  "the one analyzed; call lulab_analyze() for it"};
  }

  void set_memory(std::int32_t where, void* stream) {
    if (where != LULAB_HOST && where != LULAB_DEVICE)
      refuse(fmt::format("set_memory: {} is neither LULAB_HOST nor LULAB_DEVICE", where));
    if (in_flight_) (void)engine_->wait();
    in_flight_ = false;
    if (where == LULAB_DEVICE)
      stream_ = value_of(simt::Stream::of(stream));
    else
      stream_.reset();
  }

  void factor(std::int64_t count, const double* values, bool keep_pivots) {
    const char* const call = keep_pivots ? "refactor" : "factor";
    needs_analysis(call);
    if (keep_pivots) needs_factors(call);
    const std::span<const double> taken = in_order(on_host(check_values(count, values, call), values_));
    factored_ = true;
    check_call(keep_pivots ? engine_->refactor(taken) : engine_->factor(taken));
  }

  void solve(std::int64_t size, const double* b, double* x, bool transposed) {
    const char* const call = transposed ? "tsolve" : "solve";
    check_right_sides(size, b, x, call);
    or_no_x(size, x, [&] {
      needs_analysis(call);
      const std::int64_t n = n_;
      if (systems_ > 0 ? size != n * systems_ : size < n || (n == 0 ? size != 0 : size % n != 0))
        refuse(systems_ > 0
                   ? fmt::format("{}: size = {}, but n = {} and there are {} systems", call, size, n, systems_)
                   : fmt::format("{}: size = {} is not n = {} times a number of right-hand sides", call, size, n));
      if (n > 0 && size / n > std::numeric_limits<std::int32_t>::max())
        refuse(fmt::format("{}: {} right-hand sides are too many", call, size / n));
      needs_factors(call);
      through_host(size, b, x, [&](std::span<const double> from, std::span<double> to) {
        check_call(engine_->solve(from, to, transposed));
        check_solution(from);
      });
    });
  }

  void step(std::int64_t count, const double* values, std::int64_t size, const double* b, double* x) {
    check_right_sides(size, b, x, "step");
    or_no_x(size, x, [&] {
      needs_analysis("step");
      const std::span<const double> given = check_values(count, values, "step");
      const std::int64_t all = n_ * std::max(systems_, 1);
      if (size != all) refuse(fmt::format("step: size = {} instead of {}", size, all));
      needs_factors("step");
      in_flight_ = false;
      if (stream_ && from_.empty() && size > 0) {
        if (b == x) refuse("step: in device memory x needs memory of its own, b has it");
        check_call(engine_->step_device(values, b, x, *stream_));
        in_flight_ = true;
        return;
      }
      const std::span<const double> taken = in_order(on_host(given, values_));
      through_host(size, b, x, [&](std::span<const double> from, std::span<double> to) {
        check_call(engine_->step(taken, from, to));
        check_solution(from);
      });
    });
  }

  void wait() {
    if (!std::exchange(in_flight_, false)) return;
    check_call(engine_->wait());
    check_solution({});
  }

  ConditionEstimate condition() {
    needs_analysis("condition");
    needs_factors("condition");
    return value_of(engine_->condition());
  }

  void write(lulab_statistics& out) const {
    needs_analysis("get_statistics");
    engine_->write(out);
    if (solved_) {
      out.backward_error = engine_->worst().backward_error;
      out.omega = engine_->worst().omega;
      out.refinements = engine_->worst().iterations;
    }
  }

  /// ok() if nothing is known of it.
  Failure system_status(std::int32_t system) const {
    needs_analysis("system_status");
    if (system < 0 || system >= systems_)
      refuse(fmt::format("system_status: there is no system {}; there are {}", system, systems_));
    const auto& all = engine_->systems();
    const auto at = static_cast<std::size_t>(system);
    if (at >= all.size())
      throw Failure{LULAB_WRONG_ORDER, "system_status: the last call says nothing of single systems"};
    Failure f = failure_of(all[at], index_base_, true);
    f.system = system;
    return f;
  }

  std::mutex in_use;
  bool is_gone = false;

 private:
  void check(const Status& s, bool of_values = false) const {
    if (!s.ok()) throw failure_of(s, index_base_, of_values);
  }
  /// After a call that may have failed for one system of a batch.
  void check_call(const Status& s) const {
    if (s.ok()) return;
    Failure f = failure_of(s, index_base_, true);
    f.system = engine_->failed_system();
    throw f;
  }
  template <class T>
  T value_of(Result<T> result) const {
    check(result.status());
    return std::move(*result);
  }

  static void known_option(const char* key) {
    if (!is_option(key))
      throw Failure{LULAB_UNKNOWN_OPTION, fmt::format("there is no option {}; there are: {}", key, list_of_options())};
  }
  void needs_analysis(const char* call) const {
    if (!analyzed_) throw Failure{LULAB_WRONG_ORDER, fmt::format("{}: lulab_analyze() must succeed first", call)};
  }
  void needs_factors(const char* call) const {
    if (!factored_) throw Failure{LULAB_WRONG_ORDER, fmt::format("{}: call lulab_factor() first", call)};
  }
  static void check_right_sides(std::int64_t size, const double* b, double* x, const char* call) {
    if (size < 0 || size > largest_size) refuse(fmt::format("{}: size = {}", call, size));
    if (size > 0 && (b == nullptr || x == nullptr)) refuse(fmt::format("{}: b or x is NULL", call));
    const auto n = static_cast<std::size_t>(size);
    if (b != x && overlap({b, n}, {x, n})) refuse(fmt::format("{}: b and x overlap and are not the same", call));
  }
  /// After an error x is NaN, but for arguments that cannot be, an x that did not converge, and the other systems of a
  /// batch.
  template <class Call>
  void or_no_x(std::int64_t size, double* x, Call&& call) {
    try {
      call();
    } catch (const Failure& f) {
      const bool keeps_x = f.status == LULAB_INVALID_ARGUMENT || f.status == LULAB_NOT_CONVERGED || f.system >= 0;
      if (!keeps_x) leave_no_x(size, x);
      throw;
    } catch (...) {
      leave_no_x(size, x);
      throw;
    }
  }
  void leave_no_x(std::int64_t size, double* x) {
    const auto n = static_cast<std::size_t>(size);
    if (stream_)
      (void)no_x_on_device(x, n, *stream_, {});
    else
      (void)no_x({x, n}, {});
  }
  std::span<const double> check_values(std::int64_t count, const double* values, const char* call) const {
    const std::int64_t expected = nnz_ * std::max(systems_, 1);
    if (count != expected) refuse(fmt::format("{}: count = {} instead of {}", call, count, expected));
    if (count > 0 && values == nullptr) refuse(fmt::format("{}: values is NULL", call));
    return {values, static_cast<std::size_t>(count)};
  }

  std::span<const double> on_host(std::span<const double> given, std::vector<double>& room) {
    if (!stream_) return given;
    room.resize(given.size());
    check(simt::copy_to_host(room.data(), given.data(), given.size_bytes(), *stream_));
    check(stream_->wait());
    return room;
  }
  std::span<const double> in_order(std::span<const double> given) {
    if (from_.empty()) return given;
    moved_.resize(given.size());
    reorder(from_, given, moved_);
    return moved_;
  }
  /// solve(b, x) with both on the host, in memory of their own.
  template <class Solve>
  void through_host(std::int64_t size, const double* b, double* x, Solve&& solve) {
    const std::span<const double> given(b, static_cast<std::size_t>(size));
    if (!stream_ && b != x) return solve(given, std::span(x, given.size()));
    if (!stream_) {
      b_.assign(given.begin(), given.end());
      return solve(std::span<const double>(b_), std::span(x, given.size()));
    }
    const std::span<const double> from = on_host(given, b_);
    x_.assign(given.size(), std::numeric_limits<double>::quiet_NaN());
    std::optional<Failure> failed;  // x goes to the device in any case
    try {
      solve(from, std::span(x_));
    } catch (const Failure& f) {
      failed = f;
    }
    check(simt::copy_to_device(x, x_.data(), given.size_bytes(), *stream_));
    check(stream_->wait());
    if (failed) throw *failed;
  }
  /// b: on the host, or nothing where it is not there.
  void check_solution(std::span<const double> b) {
    solved_ = true;
    if (engine_->worst().converged) return;
    const auto bad = std::ranges::find_if(b, [](double v) { return !std::isfinite(v); });
    if (bad != b.end()) {
      const std::int64_t row = (bad - b.begin()) % n_ + index_base_;
      throw Failure{LULAB_NOT_FINITE, fmt::format("b is not finite in row {}", row), row};
    }
    throw Failure{
        LULAB_NOT_CONVERGED,
        fmt::format("x was computed, but its backward error is {:.1e}: A may be singular to working precision "
                    "(lulab_condition()), or refinement is off",
                    engine_->worst().omega)};
  }

  std::int32_t precision_;
  Options options_;
  bool options_changed_ = false;
  std::unique_ptr<Engine> engine_;
  std::int32_t systems_ = 0;
  std::int32_t format_ = LULAB_CSC;
  std::int64_t n_ = 0, nnz_ = 0, index_base_ = 0;
  std::vector<std::int64_t> from_;  // of ReadMatrix
  bool analyzed_ = false, factored_ = false, solved_ = false;
  bool in_flight_ = false;              // a step on the device
  std::optional<simt::Stream> stream_;  // none: values, b and x are on the host
  std::vector<double> values_, moved_, b_, x_;
};

/// All handles. A handle is an odd number that is never used again, so that a stale one is known, and an address of
/// something else is none.
class Handles {
 public:
  lulab_solver* add(std::int32_t precision) {
    auto made = std::make_shared<Handle>(precision);
    const std::lock_guard lock(mutex_);
    const std::uintptr_t number = next_;
    handles_.emplace(number, std::move(made));
    next_ += 2;
    return reinterpret_cast<lulab_solver*>(number);  // NOLINT(performance-no-int-to-ptr): no address
  }
  std::shared_ptr<Handle> find(lulab_solver* solver) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(reinterpret_cast<std::uintptr_t>(solver));
    return found == handles_.end() ? nullptr : found->second;
  }
  void remove(lulab_solver* solver) {
    const std::lock_guard lock(mutex_);
    handles_.erase(reinterpret_cast<std::uintptr_t>(solver));
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Handle>> handles_;
  std::uintptr_t next_ = 1;
};

/// Never destroyed: at the end of a program the device may be gone before its solvers.
Handles& all_handles() {
  static Handles* const handles = new Handles;
  return *handles;
}

/// Runs a call with its handle.
template <class Call>
int with_handle(lulab_solver* solver, Call&& call) noexcept {
  return guarded([&] {
    const std::shared_ptr<Handle> handle = all_handles().find(solver);
    if (handle == nullptr)
      throw Failure{LULAB_WRONG_HANDLE,
                    solver == nullptr ? "the solver is NULL" : "this is no solver, or one that was destroyed"};
    const std::unique_lock lock(handle->in_use, std::try_to_lock);
    if (!lock.owns_lock()) throw Failure{LULAB_BUSY, "another thread is in a call with this solver"};
    if (handle->is_gone) throw Failure{LULAB_WRONG_HANDLE, "this solver was destroyed"};
    call(*handle);
  });
}

template <class Struct>
void check_size(const Struct* out, const char* name) {
  if (out == nullptr) refuse(fmt::format("{} is NULL", name));
  if (out->size < sizeof *out)
    refuse(fmt::format("{}->size = {}; set it to sizeof(lulab_{}), {}", name, out->size, name, sizeof *out));
}

}  // namespace

}  // namespace lulab::c_api

using lulab::c_api::Failure;
using lulab::c_api::guarded;
using lulab::c_api::Handle;
using lulab::c_api::with_handle;

extern "C" {

int lulab_abi() { return LULAB_ABI; }

const char* lulab_version() { return LULAB_VERSION; }

const char* lulab_status_name(int status) {
  switch (status) {
    case LULAB_OK: return "ok";
    case LULAB_INVALID_ARGUMENT: return "invalid_argument";
    case LULAB_WRONG_HANDLE: return "wrong_handle";
    case LULAB_BUSY: return "busy";
    case LULAB_WRONG_ABI: return "wrong_abi";
    case LULAB_WRONG_ORDER: return "wrong_order";
    case LULAB_UNKNOWN_OPTION: return "unknown_option";
    case LULAB_PATTERN_CHANGED: return "pattern_changed";
    case LULAB_NOT_FINITE: return "not_finite";
    case LULAB_STRUCTURALLY_SINGULAR: return "structurally_singular";
    case LULAB_NUMERICALLY_SINGULAR: return "numerically_singular";
    case LULAB_NEEDS_REPIVOT: return "needs_repivot";
    case LULAB_NOT_CONVERGED: return "not_converged";
    case LULAB_OUT_OF_MEMORY: return "out_of_memory";
    case LULAB_DEVICE_ERROR: return "device_error";
    case LULAB_NOT_IMPLEMENTED: return "not_implemented";
    case LULAB_INTERNAL: return "internal";
    default: return "unknown";
  }
}

int lulab_last_error(lulab_error* error) {
  if (error == nullptr || error->size < sizeof *error) return LULAB_INVALID_ARGUMENT;
  lulab::c_api::write_struct(lulab::c_api::last_error, *error);
  return LULAB_OK;
}

int lulab_create(lulab_solver** solver, int32_t precision, int32_t abi) {
  return guarded([&] {
    if (solver == nullptr) lulab::c_api::refuse("create: solver is NULL");
    *solver = nullptr;
    if (abi != LULAB_ABI)
      throw Failure{LULAB_WRONG_ABI, fmt::format("the program was compiled for ABI {} of lulab; this library, {}, has "
                                                 "ABI {}",
                                                 abi, LULAB_VERSION, LULAB_ABI)};
    if (precision != LULAB_DOUBLE && precision != LULAB_FLOAT)
      lulab::c_api::refuse(fmt::format("create: precision {} is neither LULAB_DOUBLE nor LULAB_FLOAT", precision));
    *solver = lulab::c_api::all_handles().add(precision);
  });
}

int lulab_destroy(lulab_solver* solver) {
  if (solver == nullptr) return guarded([] {});
  return with_handle(solver, [&](Handle& handle) {
    handle.is_gone = true;
    lulab::c_api::all_handles().remove(solver);
  });
}

int lulab_set_option(lulab_solver* solver, const char* key, const char* value) {
  return with_handle(solver, [&](Handle& handle) { handle.set_option(key, value); });
}

int lulab_set_column_order(lulab_solver* solver, int64_t n, const int64_t* columns, int32_t index_base) {
  return with_handle(solver, [&](Handle& handle) { handle.set_column_order(n, columns, index_base); });
}

int lulab_get_option(lulab_solver* solver, const char* key, char* value, size_t size) {
  return with_handle(solver, [&](Handle& handle) {
    if (value == nullptr) lulab::c_api::refuse("get_option: value is NULL");
    const std::string text = handle.get_option(key);
    if (text.size() >= size)
      lulab::c_api::refuse(fmt::format("get_option: size = {}, but the value takes {} bytes", size, text.size() + 1));
    std::memcpy(value, text.c_str(), text.size() + 1);
  });
}

const char* lulab_option_key(int32_t index) { return lulab::c_api::option_key(index); }

int lulab_analyze(lulab_solver* solver, const lulab_matrix* a) {
  return with_handle(solver, [&](Handle& handle) { handle.analyze(a, 0); });
}

int lulab_analyze_batch(lulab_solver* solver, const lulab_matrix* a, int32_t systems) {
  return with_handle(solver, [&](Handle& handle) {
    if (systems < 1)
      lulab::c_api::refuse(fmt::format("analyze_batch: systems = {}; there must be one at least", systems));
    handle.analyze(a, systems);
  });
}

int lulab_check_pattern(lulab_solver* solver, const lulab_matrix* a) {
  return with_handle(solver, [&](Handle& handle) { handle.check_pattern(a); });
}

int lulab_set_memory(lulab_solver* solver, int32_t where, void* stream) {
  return with_handle(solver, [&](Handle& handle) { handle.set_memory(where, stream); });
}

int lulab_factor(lulab_solver* solver, int64_t count, const double* values) {
  return with_handle(solver, [&](Handle& handle) { handle.factor(count, values, false); });
}

int lulab_refactor(lulab_solver* solver, int64_t count, const double* values) {
  return with_handle(solver, [&](Handle& handle) { handle.factor(count, values, true); });
}

int lulab_solve(lulab_solver* solver, int64_t size, const double* b, double* x) {
  return with_handle(solver, [&](Handle& handle) { handle.solve(size, b, x, false); });
}

int lulab_tsolve(lulab_solver* solver, int64_t size, const double* b, double* x) {
  return with_handle(solver, [&](Handle& handle) { handle.solve(size, b, x, true); });
}

int lulab_step(lulab_solver* solver, int64_t count, const double* values, int64_t size, const double* b, double* x) {
  return with_handle(solver, [&](Handle& handle) { handle.step(count, values, size, b, x); });
}

int lulab_wait(lulab_solver* solver) {
  return with_handle(solver, [](Handle& handle) { handle.wait(); });
}

int lulab_condition(lulab_solver* solver, double* rcond, double* rcond_scaled) {
  lulab::ConditionEstimate estimate = {.rcond = std::numeric_limits<double>::quiet_NaN(),
                                       .rcond_scaled = std::numeric_limits<double>::quiet_NaN()};
  const int status = with_handle(solver, [&](Handle& handle) { estimate = handle.condition(); });
  if (rcond != nullptr) *rcond = estimate.rcond;
  if (rcond_scaled != nullptr) *rcond_scaled = estimate.rcond_scaled;
  return status;
}

int lulab_get_statistics(lulab_solver* solver, lulab_statistics* statistics) {
  return with_handle(solver, [&](Handle& handle) {
    lulab::c_api::check_size(statistics, "statistics");
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    lulab_statistics out{};
    out.structural_rank = out.numerical_rank = out.off_diagonal_pivots = out.perturbed_pivots = out.repivots = -1;
    out.peak_bytes = out.refinements = -1;
    out.pivot_growth = out.rcond = out.backward_error = out.omega = unknown;
    handle.write(out);
    lulab::c_api::write_struct(out, *statistics);
  });
}

int lulab_system_status(lulab_solver* solver, int32_t system, lulab_error* error) {
  return with_handle(solver, [&](Handle& handle) {
    if (error != nullptr) lulab::c_api::check_size(error, "error");
    const Failure of_system = handle.system_status(system);
    if (error != nullptr) lulab::c_api::write_error(*error, of_system);
    if (of_system.status != LULAB_OK) throw of_system;
  });
}

}  // extern "C"
