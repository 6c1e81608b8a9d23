#pragma once
// Libraries of others as their users call them, on A itself with their own defaults: solver_phases.h times them beside
// Solver. A library that is not there when lulab is built is not in the list; `./lulab peers` fetches some.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/problem.h"
#include "core/status.h"

namespace lulab::bench {

/// One matrix in one library. Its pattern is brought into the library's form when it is made.
class Peer {
 public:
  virtual ~Peer() = default;
  /// The values of A, given column by column, in the order in which the library takes them. A user has them so: this is
  /// not timed.   Ensures valid until the next call.
  virtual std::span<const double> in_own_order(std::span<const double> values) { return values; }
  /// values: in_own_order(), for a matching.
  virtual Status analyze(std::span<const double> values) = 0;
  virtual Status factor(std::span<const double> values) = 0;
  /// New values; what of the factorization before is kept is the library's choice.
  virtual Status refactor(std::span<const double> values) = 0;
  virtual Status solve(std::span<const double> b, std::span<double> x) = 0;
  /// Values, b and x in device memory: the ms from its stream. Others work on the host.
  /// Errors    not_implemented: no such.
  virtual Result<double> step_in_device_memory(std::span<const double> /*values*/, std::span<const double> /*b*/,
                                               std::span<double> /*x*/) {
    return Status::error(StatusCode::not_implemented, "works on the host");
  }
  virtual bool works_on_gpu() const { return false; }
  /// Of its own, which live on between calls.
  virtual int threads() const { return 1; }
};

struct PeerLibrary {
  std::string id;     // "peers/umfpack"
  std::string label;  // what was asked of it
  std::function<std::unique_ptr<Peer>(const Problem&)> make;
  bool on_one_core = false;
};

/// Those that this program was built with, beside KLU.
const std::vector<PeerLibrary>& peer_libraries();
/// The one with this id, with or without "peers/"; else those whose ids contain `text`; "all": every one.
/// Errors    invalid_argument: none does; it lists them.
Result<std::vector<PeerLibrary>> find_peers(const std::string& text);

std::vector<PeerLibrary> eigen_library();
std::vector<PeerLibrary> umfpack_library();
std::vector<PeerLibrary> superlu_library();
std::vector<PeerLibrary> pardiso_library();
std::vector<PeerLibrary> cudss_library();

}  // namespace lulab::bench
