#ifdef LULAB_PARDISO
// PARDISO of Intel's MKL, on as many threads as it takes. Its rows are our columns, so it solves with the transpose.

#include <mkl_pardiso.h>
#include <mkl_service.h>

#include <fmt/format.h>

#include "bench/peers/peer.h"

namespace lulab::bench {
namespace {

constexpr MKL_INT unsymmetric = 11, analysis = 11, factorization = 22, solution = 33, release_all = -1;

struct Choice {
  bool two_level;  // parallel factorization
  bool matching;
  int threads;  // 0: all
};

class Pardiso final : public Peer {
 public:
  Pardiso(CscPatternView a, Choice choice)
      : n_(a.n_cols),
        threads_(choice.threads),
        ia_(a.col_ptr.begin(), a.col_ptr.end()),
        ja_(a.row_idx.begin(), a.row_idx.end()) {
    MKL_INT type = unsymmetric;
    pardisoinit(handle_, &type, iparm_);
    iparm_[11] = 2;  // solve with the transpose
    iparm_[34] = 1;  // from 0
    if (choice.two_level) iparm_[23] = 1;
    if (!choice.matching) iparm_[10] = iparm_[12] = 0;
  }
  ~Pardiso() override { (void)call(release_all, nullptr, nullptr, nullptr); }
  Pardiso(const Pardiso&) = delete;

  Status analyze(std::span<const double> values) override { return call(analysis, values.data(), nullptr, nullptr); }
  Status factor(std::span<const double> values) override {
    values_ = values;
    return call(factorization, values.data(), nullptr, nullptr);
  }
  Status refactor(std::span<const double> values) override { return factor(values); }
  Status solve(std::span<const double> b, std::span<double> x) override {
    return call(solution, values_.data(), b.data(), x.data());
  }
  int threads() const override { return threads_ > 0 ? threads_ : mkl_get_max_threads(); }

 private:
  Status call(MKL_INT phase, const double* values, const double* b, double* x) {
    MKL_INT one = 1, type = unsymmetric, quiet = 0, error = 0;
    double none = 0;
    mkl_set_num_threads_local(threads_);  // all calls of a matrix need the same number
    pardiso(handle_, &one, &one, &type, &phase, &n_, values, ia_.data(), ja_.data(), nullptr, &one, iparm_, &quiet,
            b != nullptr ? const_cast<double*>(b) : &none, x != nullptr ? x : &none, &error);
    mkl_set_num_threads_local(0);
    if (error == 0) return {};
    return Status::error(error == -2   ? StatusCode::out_of_memory
                         : error == -4 ? StatusCode::numerically_singular
                                       : StatusCode::invalid_argument,
                         fmt::format("pardiso, phase {}, answers with error {}", phase, error));
  }

  const MKL_INT n_;
  const int threads_;
  const std::vector<MKL_INT> ia_, ja_;
  _MKL_DSS_HANDLE_t handle_[64] = {};
  MKL_INT iparm_[64] = {};
  std::span<const double> values_;
};

}  // namespace

std::vector<PeerLibrary> pardiso_library() {
  const auto with = [](const char* id, const char* label, Choice choice) {
    return PeerLibrary{
        id, label,
        [choice](const Problem& problem) { return std::make_unique<Pardiso>(problem.a.pattern().view(), choice); },
        choice.threads == 1};
  };
  return {with("peers/pardiso", "defaults", {false, true, 0}),
          with("peers/pardiso_two_level", "two-level factorization", {true, true, 0}),
          with("peers/pardiso_no_matching", "two-level factorization, no matching", {true, false, 0}),
          with("peers/pardiso_four_threads", "two-level factorization, four threads", {true, true, 4}),
          with("peers/pardiso_one_thread", "one thread", {false, true, 1})};
}

}  // namespace lulab::bench
#endif
