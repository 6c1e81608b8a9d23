#include "app/shrunk.h"

#include <memory>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/backend.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "sparse_leftlooking/rungs.h"
#include "testing/contains.h"
#include "testing/program.h"

namespace lulab::app {
namespace {

class NeverRuns final : public Backend<double> {
 public:
  Status prepare(const Analysis&, std::int32_t) override { return {}; }
  Status upload(std::span<const double>) override { return {}; }
  Status enqueue(Phase) override { return {}; }
  Status collect(std::span<Status>) override { return Status::error(StatusCode::device_error, "the launch failed"); }
  Result<Factors<double>> download(std::int32_t) override { return Factors<double>{}; }
};

TEST(Shrunk, FileAndCommandShowTheFailure) {
  RungFacts facts = sparse_leftlooking::reference.facts;
  facts.id = "never/runs";
  const Rung never = rung_in_double<NeverRuns>(facts);
  const testing::TemporaryFolder folder;
  const auto a = generate("random", {.n = 20}).value();
  VerifyOptions options;
  options.rungs = {&sparse_leftlooking::reference, &never};
  options.preprocess.scaling = false;
  const MatrixReport report = verify_matrix(folder.path("a"), a, options);
  const auto shrunk = write_shrunk(a, report, options, 60);
  ASSERT_TRUE(shrunk.ok()) << shrunk.status().to_string();
  EXPECT_EQ(shrunk->failure, "never/runs: error");
  EXPECT_EQ(shrunk->command, "lulab verify '" + folder.path("a-shrunk.mtx") + "' --rung never/runs --no-scaling");
  const auto read = read_matrix_market(shrunk->file);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->matrix.n_cols, 1);
  EXPECT_TRUE(contains(to_text(*shrunk), "reproduce: " + shrunk->command + "\n"));
  EXPECT_EQ(to_json(*shrunk).at("n"), 1);

  const auto refused = write_shrunk(a, verify_matrix("no/such/folder/a", a, options), options, 1);
  EXPECT_FALSE(refused.ok());
}

TEST(Shrunk, CommandNamesEveryOption) {
  VerifyOptions options;
  options.rungs = {&sparse_leftlooking::reference, &sparse_leftlooking::klu};
  EXPECT_EQ(verify_command("a b.mtx", options),
            "lulab verify 'a b.mtx' --rung sparse_leftlooking/00_reference --rung sparse_leftlooking/90_klu");
  options.rungs.pop_back();
  options.precision = Precision::f32;
  options.preprocess = {.order = Order::metis, .matching = false, .scaling = false, .blocks = true};
  options.pivots.repivot = false;
  options.max_simulator_n = 7;
  options.max_dense_n = 8;
  EXPECT_EQ(verify_command("a.mtx", options),
            "lulab verify 'a.mtx' --rung sparse_leftlooking/00_reference --precision f32 --order metis --btf "
            "--no-matching --no-scaling --no-repivot --max-simulator-n 7 --max-dense-n 8");
}

}  // namespace
}  // namespace lulab::app
