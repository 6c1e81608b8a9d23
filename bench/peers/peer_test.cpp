#include "bench/peers/peer.h"

#include <limits>

#include <gtest/gtest.h>

#include "bench/solver_phases.h"
#include "core/matrix/generate.h"
#include "solve/refine.h"
#include "testing/rungs.h"
#include "testing/schedules.h"

namespace lulab::bench {
namespace {

Problem system_of(const char* family, std::int32_t n) {
  Problem problem;
  auto a = generate(family, {.n = n, .seed = 7});
  EXPECT_TRUE(a.ok()) << a.status().to_string();
  problem.a = std::move(*a);
  return problem;
}

std::vector<PeerLibrary> of_the_host() {
  std::vector<PeerLibrary> some;
  for (const PeerLibrary& library : peer_libraries())
    if (library.id.find("cudss") == std::string::npos) some.push_back(library);
  return some;
}

TEST(Peers, SolveAndRefactorUnsymmetricSystems) {
  if (of_the_host().empty()) GTEST_SKIP() << "built without UMFPACK, SuperLU and PARDISO";
  for (const PeerLibrary& library : of_the_host()) {
    for (const char* family : {"random_dominant", "power_grid", "sram_array"}) {
      SCOPED_TRACE(library.id + " " + family);
      Problem problem = system_of(family, 300);
      const auto peer = library.make(problem);
      const auto error_of = [&](std::uint64_t seed) {
        const std::vector<double> b = random_vector(problem.a.n_rows, seed);
        std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());
        const Status solved = peer->solve(b, x);
        EXPECT_TRUE(solved.ok()) << solved.to_string();
        return componentwise_backward_error(problem.a, x, b);
      };
      ASSERT_TRUE(peer->analyze(peer->in_own_order(problem.a.values)).ok());
      ASSERT_TRUE(peer->factor(peer->in_own_order(problem.a.values)).ok());
      EXPECT_LE(error_of(1), 1e-10);
      for (double& v : problem.a.values) v *= -1.5;
      problem.a.values[0] *= 1.1;
      ASSERT_TRUE(peer->refactor(peer->in_own_order(problem.a.values)).ok());
      EXPECT_LE(error_of(2), 1e-10) << "stale factors are off by the sign";
      EXPECT_FALSE(peer->works_on_gpu());
      EXPECT_EQ(peer->step_in_device_memory({}, {}, {}).status().code, StatusCode::not_implemented);
    }
  }
}

TEST(Peers, ASingularMatrixIsNoSuccess) {
  if (of_the_host().empty()) GTEST_SKIP() << "built without UMFPACK, SuperLU and PARDISO";
  for (const PeerLibrary& library : of_the_host()) {
    if (simt::instrumented && library.id == "peers/superlu") continue;  // loses memory of its own then
    SCOPED_TRACE(library.id);
    Problem problem = system_of("random_dominant", 50);
    for (std::int64_t k = problem.a.col_ptr[20]; k < problem.a.col_ptr[21]; ++k) problem.a.values[k] = 0;
    const auto timed = peer_contender(library, problem).make();
    const std::vector<double> b(50, 1.0);
    std::vector<double> x(50, std::numeric_limits<double>::quiet_NaN());
    const auto times = timed->first(problem.a, b, x);
    EXPECT_TRUE(!times.ok() || !judge_solution(problem.a, x, b, 1e-7).ok()) << "no x, or one that is judged wrong";
  }
}

TEST(Peers, AreFoundByTheirNames) {
  const auto none = find_peers("no_such_library");
  EXPECT_EQ(none.status().code, StatusCode::invalid_argument);
  EXPECT_NE(none.status().message.find("./lulab peers"), std::string::npos) << none.status().message;
  if (peer_libraries().empty()) return;
  const std::string id = peer_libraries()[0].id;
  for (const std::string& name : {id, id.substr(6)}) {
    const auto found = find_peers(name);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ((*found)[0].id, id);
    EXPECT_NE(none.status().message.find(id), std::string::npos) << none.status().message;
  }
  EXPECT_EQ(find_peers("all")->size(), peer_libraries().size());
}

}  // namespace
}  // namespace lulab::bench
