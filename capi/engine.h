#pragma once
// What a handle of lulab.h works with: a Solver or a BatchSolver, in double or float, behind one interface.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capi/lulab.h"
#include "capi/options.h"
#include "core/matrix/csc.h"
#include "core/simt/device.h"
#include "core/status.h"
#include "solve/condest.h"
#include "solve/refine.h"

namespace lulab::c_api {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Status analyze(const CscView<double>& a) = 0;
  virtual Status factor(std::span<const double> values) = 0;
  virtual Status refactor(std::span<const double> values) = 0;
  /// Shapes    b, x: (n, columns); of a batch (n, systems).
  virtual Status solve(std::span<const double> b, std::span<double> x, bool transposed) = 0;
  virtual Status step(std::span<const double> values, std::span<const double> b, std::span<double> x) = 0;
  virtual Status step_device(const double* d_values, const double* d_b, double* d_x, simt::Stream& stream) = 0;
  virtual Status wait() = 0;
  virtual Result<ConditionEstimate> condition() = 0;
  virtual void write(lulab_statistics& out) = 0;
  virtual const Analysis& analysis() const = 0;

  /// The worst of the last solutions; converged: all did.
  const Refinement& worst() const { return worst_; }
  /// Of a batch: each system in the last call. One that failed gave its error to that call.
  const std::vector<Status>& systems() const { return systems_; }
  /// The system that the last call's error is of; -1: of none, or of all.
  std::int32_t failed_system() const { return failed_system_; }

 protected:
  Refinement worst_ = {.converged = true};
  std::vector<Status> systems_;
  std::int32_t failed_system_ = -1;
};

/// systems = 0: no batch.
std::unique_ptr<Engine> make_engine(std::int32_t precision, const Options& options, std::int32_t systems);

}  // namespace lulab::c_api
