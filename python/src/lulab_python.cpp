// The Python module lulab._core: Solver, the judge, generators and Matrix Market on NumPy arrays. What users see is in
// lulab/*.py; everything here takes and gives arrays of one type, and releases the GIL while it works.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#ifdef LULAB_CUDA
#include <cuda_runtime_api.h>
#endif

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include "capi/options.h"
#include "core/factors.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "driver/batch_solver.h"
#include "driver/solver.h"
#include "verify/foreign.h"

namespace nb = nanobind;

namespace lulab::python {

namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Filled = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // the caller's, to write to

/// An array in device memory that Python has checked: its address and how many entries it has.
using OnDevice = std::tuple<std::uintptr_t, std::size_t>;

struct Failure {
  Status status;
};

void check(Status s) {
  if (!s.ok()) throw Failure{std::move(s)};
}

template <class T>
T value_of(Result<T> result) {
  check(result.status());
  return *std::move(result);
}

template <class T>
std::span<const T> span_of(const In<T>& a) {
  return {a.data(), a.size()};
}

/// The vector's memory as an array, without a copy.
template <class T>
Out<T> array_of(std::vector<T> values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = kept->data();
  const std::size_t size = kept->size();
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  (void)kept.release();
  return Out<T>(data, {size}, owner);
}

/// A sparse matrix on its way: n_rows, n_cols, col_ptr, row_idx, values.
using MatrixIn = std::tuple<std::int32_t, std::int32_t, In<std::int64_t>, In<std::int32_t>, In<double>>;
template <class T>
using MatrixOut = std::tuple<std::int32_t, std::int32_t, Out<std::int64_t>, Out<std::int32_t>, Out<T>>;

CscView<double> view_of(const MatrixIn& m) {
  const auto& [n_rows, n_cols, col_ptr, row_idx, values] = m;
  const CscView<double> a{{n_rows, n_cols, span_of(col_ptr), span_of(row_idx)}, span_of(values)};
  check(check_sorted(a));
  if (a.values.size() != a.row_idx.size()) throw nb::value_error("the matrix has not as many values as row indices");
  return a;
}

template <class T>
MatrixOut<T> arrays_of(CscMatrix<T> m) {
  return {m.n_rows, m.n_cols, array_of(std::move(m.col_ptr)), array_of(std::move(m.row_idx)),
          array_of(std::move(m.values))};
}

using EitherMatrix = std::variant<CscMatrix<double>, CscMatrix<float>>;
EitherMatrix either(CscMatrix<double> m) { return m; }
EitherMatrix either(CscMatrix<float> m) { return m; }

/// With unit L of P·A·Q instead of P·R·A·C·Q: row i of both is divided by r, column j of U by c. Exact, as r and c are
/// powers of two, but for over- and underflow.
template <class T>
void take_scaling_out(const Plan& plan, CscMatrix<T>& l, CscMatrix<T>& u) {
  const auto row = [&](std::int32_t i) { return plan.r[plan.p[i]]; };
  for (std::int32_t j = 0; j < l.n_cols; ++j) {
    for (std::int64_t k = l.col_ptr[j]; k < l.col_ptr[j + 1]; ++k)
      l.values[k] = static_cast<T>(l.values[k] / row(l.row_idx[k]) * row(j));
    for (std::int64_t k = u.col_ptr[j]; k < u.col_ptr[j + 1]; ++k)
      u.values[k] = static_cast<T>(u.values[k] / row(u.row_idx[k]) / plan.c[plan.q[j]]);
  }
}

/// The worst of several solutions: converged, omega, backward error, number of refinements.
using Refined = std::tuple<bool, double, double, int>;

Refined worst_of(std::span<const Refinement> all) {
  Refined worst{true, 0, 0, 0};
  auto& [converged, omega, backward_error, iterations] = worst;
  for (const Refinement& r : all) {
    converged = converged && r.converged;
    omega = larger_or_nan(omega, r.omega);
    backward_error = larger_or_nan(backward_error, r.backward_error);
    iterations = std::max(iterations, r.iterations);
  }
  return worst;
}

using ColumnOrder = std::optional<std::vector<std::int32_t>>;

c_api::Options options_of(const std::map<std::string, std::string>& given, ColumnOrder columns) {
  c_api::Options options;
  for (const auto& [key, text] : given) {
    if (!c_api::is_option(key))
      throw nb::type_error(("there is no option " + key + "; there are: " + c_api::list_of_options()).c_str());
    check(c_api::set_option(options, key, text));
  }
  if (columns) options.solver.preprocess = with_column_order(std::move(options.solver.preprocess), *std::move(columns));
  return options;
}

/// The exception of lulab._errors.   Requires the GIL.
nb::object exception_of(const Status& s) {
  return nb::module_::import_("lulab._errors")
      .attr("error_of")(std::string(to_string(s.code)), s.message, s.where.rows, s.where.columns);
}

// NOLINTNEXTLINE(performance-no-int-to-ptr)
void* pointer_of(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

/// The array of a DLPack capsule as __cuda_array_interface__ describes one. owner: what keeps it alive.
nb::dict array_in(const nb::object& capsule) {
  nb::ndarray<> writable;
  nb::ndarray<nb::ro> a;
  const bool is_writable = nb::try_cast(capsule, writable);
  if (is_writable)
    a = nb::ndarray<nb::ro>(writable);
  else if (!nb::try_cast(capsule, a))
    throw nb::type_error("__dlpack__() returned no DLPack capsule, or one of a version that lulab does not know");
  const auto item = static_cast<std::int64_t>(a.itemsize());
  std::vector<std::int64_t> shape, strides;
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    shape.push_back(a.shape(i));
    strides.push_back(a.stride(i) * item);
  }
  constexpr std::string_view kinds = "iufVVcb";
  const std::size_t code = a.dtype().code;
  nb::dict d;
  d["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(a.data()), !is_writable);
  d["shape"] = nb::tuple(nb::cast(shape));
  d["strides"] = nb::tuple(nb::cast(strides));
  d["typestr"] = fmt::format("<{}{}", code < kinds.size() ? kinds[code] : 'V', item);
  d["owner"] = is_writable ? nb::cast(writable, nb::rv_policy::reference) : nb::cast(a, nb::rv_policy::reference);
  return d;
}

/// The number of the device in whose memory the address is; -1: the host's.
int device_of([[maybe_unused]] std::uintptr_t address) {
#ifdef LULAB_CUDA
  cudaPointerAttributes known{};
  if (cudaPointerGetAttributes(&known, pointer_of(address)) != cudaSuccess) {
    cudaGetLastError();
    return -1;
  }
  return known.type == cudaMemoryTypeDevice || known.type == cudaMemoryTypeManaged ? known.device : -1;
#else
  return 0;  // the simulator's device memory is the host's
#endif
}

/// Of this thread; -1: there is no GPU.
int current_device() {
  const auto device = simt::current_device();
  return device.ok() ? *device : -1;
}

/// A Solver or BatchSolver of either precision. Threads that call one at the same time wait for each other.
template <template <class> class Driver>
class Shared {
 protected:
  Shared(bool single, const c_api::Options& options) {
    if (single)
      driver_ = made<float>(options);
    else
      driver_ = made<double>(options);
  }

  /// Runs a call without the GIL, one thread at a time.
  template <class Call>
  auto alone(Call&& call) {
    const nb::gil_scoped_release release;  // before the lock: its holder may wait for the GIL
    const std::lock_guard lock(in_use_);
    return std::visit(call, driver_);
  }

  /// Likewise a call that may prepare the driver for the GPU.
  template <class Call>
  auto numeric(Call&& call) {
    return alone([&](auto& driver) {
      auto done = call(driver);
      if (device_ < 0) keep_device(driver);
      return done;
    });
  }

  std::size_t n_ = 0, nnz_ = 0;  // of all systems; asking the driver would wait for a step
  int device_ = -1;              // what the driver prepared; -1: none yet

  template <class D>
  void keep_device(const D& driver) {
    const Rung* const rung = driver.choice().rung;
    device_ = rung != nullptr && rung->facts.device == Device::gpu ? current_device() : -1;
  }

 public:
  /// earlier: the streams whose work the step comes after.
  void step_device(const OnDevice& values, const OnDevice& b, const OnDevice& x, std::uintptr_t stream,
                   const std::vector<std::uintptr_t>& earlier) {
    const auto size = [](const OnDevice& a) { return std::get<1>(a); };
    const auto data = [](const OnDevice& a) { return static_cast<double*>(pointer_of(std::get<0>(a))); };
    alone([&](auto& driver) {
      if (size(values) != nnz_ || size(b) != n_ || size(x) != n_)
        check(Status::error(StatusCode::invalid_argument,
                            fmt::format("step_device: values, b and x have {}, {} and {} entries; {}, {} and {} belong "
                                        "to the analyzed matrix",
                                        size(values), size(b), size(x), nnz_, n_, n_)));
      if (device_ < 0) device_ = current_device();
      if (device_ != current_device())
        check(
            Status::error(StatusCode::invalid_argument,
                          fmt::format("step_device: this solver works on the device {}, but the current device of this "
                                      "thread is {}",
                                      device_, current_device())));
      const std::pair key(stream, stream == per_thread ? std::this_thread::get_id() : std::thread::id());
      if (!stream_ || stream_key_ != key) {
        (void)driver.wait_for_step();
        stream_ = value_of(simt::Stream::of(pointer_of(stream)));
        stream_key_ = key;
      }
      for (const std::uintptr_t e : earlier) {
        simt::Stream other = value_of(simt::Stream::of(pointer_of(e)));
        check(stream_->wait_for(other));
      }
      check(driver.step_device(data(values), data(b), data(x), *stream_));
    });
  }

 private:
  static constexpr std::uintptr_t per_thread = 2;  // cudaStreamPerThread

  template <class T>
  static Driver<T> made(const c_api::Options& options) {
    return options.rung == nullptr ? Driver<T>(options.solver) : Driver<T>(*options.rung, options.solver);
  }

  std::mutex in_use_;
  std::optional<simt::Stream> stream_;  // of the last step_device(); the driver may use it until it goes
  std::pair<std::uintptr_t, std::thread::id> stream_key_;
  std::variant<Driver<double>, Driver<float>> driver_;
};

class PySolver : public Shared<Solver> {
 public:
  PySolver(bool single, const std::map<std::string, std::string>& options, ColumnOrder columns)
      : Shared(single, options_of(options, std::move(columns))) {}

  void analyze(const MatrixIn& a) {
    const CscView<double> view = view_of(a);
    alone([&](auto& solver) {
      n_ = nnz_ = 0;
      check(solver.analyze(view));
      keep_device(solver);
      n_ = view.col_ptr.size() - 1;
      nnz_ = view.row_idx.size();
    });
  }
  bool knows(const MatrixIn& a) {
    const CscView<double> view = view_of(a);
    return alone([&](auto& solver) {
      const CscPattern& known = solver.analysis().a;
      return view.n_rows == known.n_rows && view.n_cols == known.n_cols &&
             std::ranges::equal(view.col_ptr, known.col_ptr) && std::ranges::equal(view.row_idx, known.row_idx);
    });
  }
  void factor(const In<double>& values) {
    check(numeric([&](auto& solver) { return solver.factor(span_of(values)); }));
  }
  void refactor(const In<double>& values) {
    check(numeric([&](auto& solver) { return solver.refactor(span_of(values)); }));
  }
  Refined solve(const In<double>& b, const Filled& x, std::int32_t columns, bool transposed) {
    const std::span<double> to(x.data(), x.size());
    return alone([&](auto& solver) {
      return worst_of(value_of(transposed ? solver.solve_transposed(span_of(b), to, columns)
                                          : solver.solve(span_of(b), to, columns)));
    });
  }
  Refined step(const In<double>& values, const In<double>& b, const Filled& x) {
    const std::span<double> to(x.data(), x.size());
    const Refinement r = value_of(numeric([&](auto& solver) { return solver.step(span_of(values), span_of(b), to); }));
    return worst_of({&r, 1});
  }
  Refined wait() {
    return alone([](auto& solver) {
      const Refinement r = value_of(solver.wait_for_step());
      return worst_of({&r, 1});
    });
  }
  std::tuple<double, double> condition() {
    return alone([](auto& solver) {
      const ConditionEstimate c = value_of(solver.condition());
      return std::tuple(c.rcond, c.rcond_scaled);
    });
  }

  /// L, U, p, q, r, c. unscaled: L·U = P·A·Q, and r and c are ones.
  nb::tuple factors(bool unscaled) {
    Plan plan;
    auto [l, u] = alone([&](auto& solver) {
      const auto* const f = value_of(solver.download_factors());
      auto lower = extract_l(*f);
      auto upper = extract_u(*f);
      plan = f->plan;
      if (unscaled) {
        take_scaling_out(plan, lower, upper);
        std::ranges::fill(plan.r, 1.0);
        std::ranges::fill(plan.c, 1.0);
      }
      return std::pair(either(std::move(lower)), either(std::move(upper)));
    });
    const auto arrays = [](auto& m) { return nb::cast(arrays_of(std::move(m))); };
    return nb::make_tuple(std::visit(arrays, l), std::visit(arrays, u), array_of(std::move(plan.p)),
                          array_of(std::move(plan.q)), array_of(std::move(plan.r)), array_of(std::move(plan.c)));
  }

  nb::dict statistics() {
    Statistics s;
    StepTimes t;
    nb::dict d;
    std::string rung, reason, order;
    std::int64_t n = 0, nnz = 0, nnz_l = 0, nnz_u = 0;
    alone([&](auto& solver) {
      s = solver.statistics();
      t = solver.times();
      const Analysis& known = solver.analysis();
      n = known.filled.n;
      nnz = known.a.nnz();
      nnz_l = known.filled.nnz_l();
      nnz_u = known.filled.nnz_u();
      order = known.plan.order;
      if (solver.choice().rung != nullptr) rung = std::string(solver.choice().rung->facts.id);
      reason = solver.choice().reason;
    });
    d["n"] = n;
    d["nnz"] = nnz;
    d["nnz_l"] = nnz_l;
    d["nnz_u"] = nnz_u;
    d["rung"] = rung;
    d["reason"] = reason;
    d["order"] = order;
    d["structural_rank"] = s.structural_rank;
    d["numerical_rank"] = s.numerical_rank;
    d["off_diagonal_pivots"] = s.off_diagonal_pivots;
    d["perturbed_pivots"] = s.perturbed_pivots;
    d["repivots"] = s.repivots;
    d["peak_bytes"] = s.peak_bytes;
    d["pivot_growth"] = s.pivot_growth;
    d["rcond"] = s.rcond;
    d["pivots_ms"] = t.prepare + t.pivots;
    d["upload_ms"] = t.upload;
    d["refactor_ms"] = t.refactor;
    d["judge_ms"] = t.judge;
    d["solve_ms"] = t.solve;
    d["download_ms"] = t.download;
    return d;
  }
};

/// Each call returns a list: for each system None, or the exception that says what became of it.
class PyBatchSolver : public Shared<BatchSolver> {
 public:
  PyBatchSolver(bool single, const std::map<std::string, std::string>& options, ColumnOrder columns)
      : Shared(single, options_of(options, std::move(columns))) {}

  void analyze(const MatrixIn& a, std::int32_t systems) {
    const CscView<double> view = view_of(a);
    alone([&](auto& batch) {
      n_ = nnz_ = 0;
      check(batch.analyze(view, systems));
      keep_device(batch);
      n_ = (view.col_ptr.size() - 1) * systems;
      nnz_ = view.row_idx.size() * systems;
    });
  }
  nb::list factor(const In<double>& values) {
    return errors_of(alone([&](auto& batch) { return value_of(batch.factor(span_of(values))); }));
  }
  nb::list solve(const In<double>& b, const Filled& x) {
    const std::span<double> to(x.data(), x.size());
    return errors_of(alone([&](auto& batch) { return statuses_of(value_of(batch.solve(span_of(b), to))); }));
  }
  nb::list step(const In<double>& values, const In<double>& b, const Filled& x) {
    const std::span<double> to(x.data(), x.size());
    return errors_of(
        alone([&](auto& batch) { return statuses_of(value_of(batch.step(span_of(values), span_of(b), to))); }));
  }
  nb::list wait() {
    return errors_of(alone([](auto& batch) { return statuses_of(value_of(batch.wait_for_step())); }));
  }
  nb::dict statistics() {
    BatchStatistics s;
    std::string rung;
    alone([&](auto& batch) {
      s = batch.statistics();
      if (batch.choice().rung != nullptr) rung = std::string(batch.choice().rung->facts.id);
    });
    nb::dict d;
    d["systems"] = s.systems;
    d["failed"] = s.failed;
    d["recovered"] = s.recovered;
    d["on_device"] = s.on_device;
    d["peak_bytes"] = s.peak_bytes;
    d["rung"] = rung;
    return d;
  }

 private:
  static std::vector<Status> statuses_of(const std::vector<Result<Refinement>>& results) {
    std::vector<Status> statuses;
    for (const auto& r : results) statuses.push_back(r.status());
    return statuses;
  }
  static nb::list errors_of(const std::vector<Status>& statuses) {
    nb::list errors;
    for (const Status& s : statuses) errors.append(s.ok() ? nb::object(nb::none()) : exception_of(s));
    return errors;
  }
};

CscMatrix<double> owned(const MatrixIn& m) { return convert<double>(view_of(m)); }

template <class T>
std::vector<T> owned(const std::optional<In<T>>& a) {
  return a ? std::vector<T>(a->data(), a->data() + a->size()) : std::vector<T>();
}

std::string judge(const MatrixIn& a, const MatrixIn& l, const MatrixIn& u, const std::optional<MatrixIn>& f,
                  const std::optional<In<std::int64_t>>& p, const std::optional<In<std::int64_t>>& q,
                  const std::optional<In<double>>& r, const std::optional<In<double>>& c,
                  const std::optional<In<double>>& x, const std::optional<In<double>>& b, const std::string& convention,
                  int index_base, double tolerance, std::uint64_t seed) {
  const auto named = convention_named(convention);
  if (!named) throw nb::value_error(("there is no convention " + convention).c_str());
  const CscView<double> view = view_of(a);
  ForeignFactors given{
      .l = owned(l), .u = owned(u), .f = {}, .p = owned(p), .q = owned(q), .r = owned(r), .c = owned(c)};
  if (f) given.f = owned(*f);
  const JudgeOptions options{.convention = *named,
                             .index_base = index_base,
                             .tolerance = tolerance,
                             .seed = seed,
                             .x = owned(x),
                             .b = owned(b)};
  const nb::gil_scoped_release release;
  return to_json(value_of(judge_foreign(view, given, options))).dump();
}

MatrixOut<double> generate_matrix(const std::string& family, std::int32_t n, std::uint64_t seed, std::int32_t degree,
                                  std::int32_t decades) {
  CscMatrix<double> made;
  {
    const nb::gil_scoped_release release;
    made = value_of(generate(family, {.n = n, .seed = seed, .degree = degree, .decades = decades}));
  }
  return arrays_of(std::move(made));
}

MatrixOut<double> read_matrix(const std::string& path) {
  CscMatrix<double> read;
  {
    const nb::gil_scoped_release release;
    read = value_of(read_matrix_market(path)).matrix;
  }
  return arrays_of(std::move(read));
}

void write_matrix(const std::string& path, const MatrixIn& a, const std::string& comment) {
  const CscView<double> view = view_of(a);
  const nb::gil_scoped_release release;
  check(write_matrix_market(path, view, comment));
}

}  // namespace

NB_MODULE(_core, m) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& f) {
      const nb::object error = exception_of(f.status);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    }
  });

  m.attr("version") = LULAB_VERSION;
  nb::class_<PySolver>(m, "Solver")
      .def(nb::init<bool, const std::map<std::string, std::string>&, ColumnOrder>(), nb::arg("single"),
           nb::arg("options"), nb::arg("column_order") = nb::none())
      .def("analyze", &PySolver::analyze, nb::arg("a"))
      .def("knows", &PySolver::knows, nb::arg("a"))
      .def("factor", &PySolver::factor, nb::arg("values"))
      .def("refactor", &PySolver::refactor, nb::arg("values"))
      .def("solve", &PySolver::solve, nb::arg("b"), nb::arg("x").noconvert(), nb::arg("columns"), nb::arg("transposed"))
      .def("step", &PySolver::step, nb::arg("values"), nb::arg("b"), nb::arg("x").noconvert())
      .def("step_device", &PySolver::step_device, nb::arg("values"), nb::arg("b"), nb::arg("x"), nb::arg("stream"),
           nb::arg("earlier"))
      .def("wait", &PySolver::wait)
      .def("condition", &PySolver::condition)
      .def("factors", &PySolver::factors, nb::arg("unscaled"))
      .def("statistics", &PySolver::statistics);
  nb::class_<PyBatchSolver>(m, "BatchSolver")
      .def(nb::init<bool, const std::map<std::string, std::string>&, ColumnOrder>(), nb::arg("single"),
           nb::arg("options"), nb::arg("column_order") = nb::none())
      .def("analyze", &PyBatchSolver::analyze, nb::arg("a"), nb::arg("systems"))
      .def("factor", &PyBatchSolver::factor, nb::arg("values"))
      .def("solve", &PyBatchSolver::solve, nb::arg("b"), nb::arg("x").noconvert())
      .def("step", &PyBatchSolver::step, nb::arg("values"), nb::arg("b"), nb::arg("x").noconvert())
      .def("step_device", &PyBatchSolver::step_device, nb::arg("values"), nb::arg("b"), nb::arg("x"), nb::arg("stream"),
           nb::arg("earlier"))
      .def("wait", &PyBatchSolver::wait)
      .def("statistics", &PyBatchSolver::statistics);
  m.attr("on_gpu") = simt::machine() == simt::Machine::gpu;
  m.def("array_in", &array_in, nb::arg("capsule"));
  m.def("device_of", &device_of, nb::arg("address"));
  m.def("current_device", [] { return value_of(simt::current_device()); });
  m.def("option_keys", [] {
    std::vector<std::string> keys;
    for (std::int32_t i = 0; c_api::option_key(i) != nullptr; ++i) keys.emplace_back(c_api::option_key(i));
    return keys;
  });
  m.def("judge", &judge, nb::arg("a"), nb::arg("l"), nb::arg("u"), nb::arg("f").none(), nb::arg("p").none(),
        nb::arg("q").none(), nb::arg("r").none(), nb::arg("c").none(), nb::arg("x").none(), nb::arg("b").none(),
        nb::arg("convention"), nb::arg("index_base"), nb::arg("tolerance"), nb::arg("seed"));
  m.def("generate", &generate_matrix, nb::arg("family"), nb::arg("n"), nb::arg("seed"), nb::arg("degree"),
        nb::arg("decades"));
  m.def("generator_families", [] {
    std::vector<std::tuple<std::string, std::string>> families;
    for (const GeneratorFamily& f : generator_families()) families.emplace_back(f.name, f.description);
    return families;
  });
  m.def("read_matrix_market", &read_matrix, nb::arg("path"));
  m.def("write_matrix_market", &write_matrix, nb::arg("path"), nb::arg("a"), nb::arg("comment"));
}

}  // namespace lulab::python
