#ifdef LULAB_UMFPACK
// UMFPACK (Davis 2004), serial; its solve refines.

#include <umfpack.h>

#include <fmt/format.h>

#include "bench/peers/peer.h"

namespace lulab::bench {
namespace {

Status status_of(int status, const char* call) {
  if (status == UMFPACK_OK) return {};
  if (status == UMFPACK_WARNING_singular_matrix)
    return Status::error(StatusCode::numerically_singular, fmt::format("{}: singular", call));
  return Status::error(status == UMFPACK_ERROR_out_of_memory ? StatusCode::out_of_memory : StatusCode::invalid_argument,
                       fmt::format("{} answers with status {}", call, status));
}

class Umfpack final : public Peer {
 public:
  explicit Umfpack(CscPatternView a)
      : n_(a.n_cols), Ap_(a.col_ptr.begin(), a.col_ptr.end()), Ai_(a.row_idx.begin(), a.row_idx.end()) {
    umfpack_di_defaults(control_);
  }
  ~Umfpack() override {
    umfpack_di_free_numeric(&numeric_);
    umfpack_di_free_symbolic(&symbolic_);
  }
  Umfpack(const Umfpack&) = delete;

  Status analyze(std::span<const double> values) override {
    umfpack_di_free_symbolic(&symbolic_);
    return status_of(umfpack_di_symbolic(n_, n_, Ap_.data(), Ai_.data(), values.data(), &symbolic_, control_, nullptr),
                     "umfpack_di_symbolic");
  }
  Status factor(std::span<const double> values) override {
    values_ = values;
    umfpack_di_free_numeric(&numeric_);
    return status_of(umfpack_di_numeric(Ap_.data(), Ai_.data(), values.data(), symbolic_, &numeric_, control_, nullptr),
                     "umfpack_di_numeric");
  }
  Status refactor(std::span<const double> values) override { return factor(values); }
  Status solve(std::span<const double> b, std::span<double> x) override {
    return status_of(umfpack_di_solve(UMFPACK_A, Ap_.data(), Ai_.data(), values_.data(), x.data(), b.data(), numeric_,
                                      control_, nullptr),
                     "umfpack_di_solve");
  }

 private:
  const int n_;
  const std::vector<int> Ap_, Ai_;
  double control_[UMFPACK_CONTROL];
  std::span<const double> values_;
  void *symbolic_ = nullptr, *numeric_ = nullptr;
};

}  // namespace

std::vector<PeerLibrary> umfpack_library() {
  return {{"peers/umfpack", "defaults",
           [](const Problem& problem) { return std::make_unique<Umfpack>(problem.a.pattern().view()); }, true}};
}

}  // namespace lulab::bench
#endif
