#ifdef LULAB_PARDISO
// PARDISO of Intel's MKL, on as many threads as it takes. A is given row by row.

#include <mkl_pardiso.h>
#include <mkl_service.h>

#include <fmt/format.h>

#include "bench/peers/by_rows.h"
#include "bench/peers/peer.h"

namespace lulab::bench {
namespace {

constexpr MKL_INT unsymmetric = 11, analysis = 11, factorization = 22, solution = 33, release_all = -1;

enum Levels : MKL_INT { one_level = 0, two_level = 1, improved = 10 };  // iparm[23]

struct Choice {
  Levels levels;
  bool matching = true;  // and scaling
  bool refines = true;   // as by default: two steps after each solve
  int threads = 0;       // 0: all
};

class Pardiso final : public Peer {
 public:
  Pardiso(CscPatternView a, Choice choice)
      : n_(a.n_cols), threads_(choice.threads), rows_(a), values_(rows_.place.size()) {
    MKL_INT type = unsymmetric;
    pardisoinit(handle_, &type, iparm_);
    iparm_[34] = 1;  // from 0
    iparm_[23] = choice.levels;
    if (!choice.matching) iparm_[10] = iparm_[12] = 0;
    if (!choice.refines) iparm_[7] = 0;
  }
  ~Pardiso() override { (void)call(release_all, nullptr, nullptr, nullptr); }
  Pardiso(const Pardiso&) = delete;

  std::span<const double> in_own_order(std::span<const double> values) override { return rows_.put(values, values_); }

  Status analyze(std::span<const double> values) override { return call(analysis, values.data(), nullptr, nullptr); }
  Status factor(std::span<const double> values) override {
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
    pardiso(handle_, &one, &one, &type, &phase, &n_, values, rows_.starts.data(), rows_.columns.data(), nullptr, &one,
            iparm_, &quiet, b != nullptr ? const_cast<double*>(b) : &none, x != nullptr ? x : &none, &error);
    mkl_set_num_threads_local(0);
    if (error == 0) return {};
    return Status::error(error == -2   ? StatusCode::out_of_memory
                         : error == -4 ? StatusCode::numerically_singular
                                       : StatusCode::invalid_argument,
                         fmt::format("pardiso, phase {}, answers with error {}", phase, error));
  }

  const MKL_INT n_;
  const int threads_;
  const ByRows rows_;
  std::vector<double> values_;
  _MKL_DSS_HANDLE_t handle_[64] = {};
  MKL_INT iparm_[64] = {};
};

}  // namespace

std::vector<PeerLibrary> pardiso_library() {
  const auto with = [](const char* id, const char* label, Choice choice) {
    return PeerLibrary{
        id, label,
        [choice](const Problem& problem) { return std::make_unique<Pardiso>(problem.a.pattern().view(), choice); },
        choice.threads == 1};
  };
  return {
      with("peers/pardiso", "defaults", {one_level}),
      with("peers/pardiso_two_level", "two-level factorization", {two_level}),
      with("peers/pardiso_no_matching", "two-level factorization, no matching", {two_level, false}),
      with("peers/pardiso_improved", "improved two-level factorization, no refinement", {improved, true, false}),
      with("peers/pardiso_improved_no_matching", "improved two-level factorization, no matching", {improved, false}),
      with("peers/pardiso_improved_four_threads", "improved two-level factorization, no refinement, four threads",
           {improved, true, false, 4}),
      with("peers/pardiso_improved_one_thread", "improved two-level factorization, no refinement, one thread",
           {improved, true, false, 1}),
      with("peers/pardiso_one_thread", "one thread", {one_level, true, true, 1})};
}

}  // namespace lulab::bench
#endif
