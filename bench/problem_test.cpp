#include "bench/problem.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/context.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "testing/program.h"

namespace lulab::bench {
namespace {

ProblemSource random_problem(std::int32_t n, std::uint64_t seed) {
  const auto load = [n, seed] {
    GenerateOptions options;
    options.n = n;
    options.seed = seed;
    return generate("random_dominant", options);
  };
  return {"random", load};
}

TEST(Problems, OfEverySetHaveUniqueNamesThatFitIntoBenchmarkNames) {
  for (const Set set : {Set::quick, Set::all, Set::gsofa}) {
    std::set<std::string> names;
    for (const ProblemSource& source : problems_of(set)) {
      EXPECT_TRUE(names.insert(source.name).second) << source.name;
      EXPECT_TRUE(parse_name(to_string(Name{"rung", source.name, Phase::factor, Scalar::f64})).ok()) << source.name;
      EXPECT_TRUE(source.load != nullptr);
    }
    EXPECT_GE(names.size(), 5u);
  }
}

TEST(Problems, WithoutTheCollectionAreGeneratedCircuits) {
  const char* before = std::getenv("LULAB_MATRICES");
  const std::string saved = before != nullptr ? before : "";
  setenv("LULAB_MATRICES", "/no/such/folder", 1);
  const auto sources = problems_of(Set::quick);
  if (before != nullptr)
    setenv("LULAB_MATRICES", saved.c_str(), 1);
  else
    unsetenv("LULAB_MATRICES");
  ASSERT_FALSE(sources.empty());
  const auto problem = load_problem(sources.front(), {.order = Order::amd}, builtin_constants("test"));
  ASSERT_TRUE(problem.ok()) << problem.status().to_string();
  EXPECT_EQ(problem->name, "power_grid_2500");
}

TEST(Problems, FromFilesAreNamedAfterFileOrSequence) {
  EXPECT_EQ(problem_from_file("a/b/memplus.mtx.gz").name, "memplus");
  EXPECT_EQ(problem_from_file("x.mtx").name, "x");
  EXPECT_EQ(problem_from_file("m/seq_nr_case_ACTIVSg10k/A_00.mtx.gz").name, "seq_nr_case_ACTIVSg10k");
  EXPECT_EQ(problem_from_file("we|rd.mtx").name, "we_rd");
  EXPECT_EQ(problem_from_file("no/such/file.mtx").load().status().code, StatusCode::parse_error);
}

/// A folder of files that goes with the test.
class SequenceOfFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_.path("seq_of_test"));
    CscMatrix<double> a = *random_problem(40, 3).load();
    for (const char* name : {"A_0", "A_1", "A_10"}) {
      ASSERT_TRUE(write_matrix_market(file(name), a).ok());
      for (double& v : a.values) v *= 2;
    }
    ASSERT_TRUE(write_vector<double>(file("b_1"), std::vector<double>(40, 7.0)).ok());
  }
  std::string file(const std::string& name) const { return folder_.path("seq_of_test/" + name + ".mtx"); }
  Result<Problem> load() const { return load_problem(problem_from_file(file("A_0")), {}, builtin_constants("test")); }

 private:
  const testing::TemporaryFolder folder_;
};

TEST_F(SequenceOfFiles, GivesAllItsSystemsInOrder) {
  const auto problem = load();
  ASSERT_TRUE(problem.ok()) << problem.status().to_string();
  EXPECT_EQ(problem->name, "seq_of_test");
  ASSERT_EQ(problem->sequence.size(), 3u);
  EXPECT_EQ(problem->sequence[0].values, problem->a.values);
  EXPECT_EQ(problem->sequence[2].values[5], 4 * problem->a.values[5]);
  EXPECT_EQ(problem->sequence[1].b, std::vector<double>(40, 7.0));
  std::vector<double> a_times_ones(40);
  multiply<double>(problem->a, std::vector<double>(40, 1.0), a_times_ones);
  EXPECT_EQ(problem->sequence[0].b, a_times_ones);
}

TEST_F(SequenceOfFiles, MustKeepOnePattern) {
  ASSERT_TRUE(write_matrix_market(file("A_2"), *random_problem(40, 4).load()).ok());
  const auto problem = load();
  EXPECT_EQ(problem.status().code, StatusCode::invalid_argument);
  EXPECT_NE(problem.status().to_string().find("A_2.mtx: "), std::string::npos) << problem.status().to_string();
}

TEST(Problems, RememberThatTheOrderStayedInsideBlocks) {
  for (const Order order : {Order::automatic, Order::amd}) {
    const auto problem =
        load_problem(random_problem(200, 3), {.order = order, .blocks = true}, builtin_constants("test"));
    ASSERT_TRUE(problem.ok()) << problem.status().to_string();
    EXPECT_TRUE(problem->preprocess.blocks);
    EXPECT_TRUE(problem->analysis.plan.order.starts_with("btf+")) << problem->analysis.plan.order;
    const auto plan = preprocess(problem->a, problem->preprocess);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->p, problem->analysis.plan.p);
    EXPECT_EQ(plan->q, problem->analysis.plan.q);
  }
}

TEST(Problems, AreAnalyzedOnceWithTheOrderThatWasChosen) {
  const auto problem = load_problem(random_problem(200, 3), {.order = Order::automatic}, builtin_constants("test"));
  ASSERT_TRUE(problem.ok()) << problem.status().to_string();
  EXPECT_NE(problem->preprocess.order, Order::automatic);
  EXPECT_EQ(to_string(problem->preprocess.order), problem->analysis.plan.order);
  EXPECT_EQ(problem->limits_f64.flops, problem->limits_f32.flops);
  EXPECT_GT(problem->limits_f64.compulsory_bytes, problem->limits_f32.compulsory_bytes);
  EXPECT_EQ(&problem->limits(Scalar::f32), &problem->limits_f32);
}

TEST(MatrixHash, ChangesWithEveryPartOfTheMatrix) {
  const CscMatrix<double> a = *random_problem(50, 1).load();
  const std::uint64_t hash = matrix_hash(a);
  EXPECT_EQ(matrix_hash(CscMatrix<double>(a)), hash);
  CscMatrix<double> other = a;
  other.values[7] = -other.values[7];
  EXPECT_NE(matrix_hash(other), hash);
  other = a;
  std::swap(other.values[3], other.values[4]);
  EXPECT_NE(matrix_hash(other), hash);
  EXPECT_NE(matrix_hash(transpose(a.view())), hash);
}

TEST(Set, RefusesUnknownNames) {
  EXPECT_EQ(*parse_set("quick"), Set::quick);
  EXPECT_EQ(*parse_set("all"), Set::all);
  EXPECT_EQ(*parse_set("dense"), Set::dense);
  EXPECT_TRUE(problems_of(Set::dense).empty());
  EXPECT_EQ(*parse_set("gsofa"), Set::gsofa);
  EXPECT_EQ(*parse_set("alternatives"), Set::alternatives);
  std::vector<std::string> alternatives, quick;
  for (const ProblemSource& source : problems_of(Set::alternatives)) alternatives.push_back(source.name);
  for (const ProblemSource& source : problems_of(Set::quick))
    if (!source.dense) quick.push_back(source.name);
  EXPECT_EQ(alternatives, quick);
  EXPECT_EQ(parse_set("some").status().code, StatusCode::invalid_argument);
}

TEST(Slug, IsLowerCaseWithSingleHyphens) {
  EXPECT_EQ(slug("NVIDIA H200"), "nvidia-h200");
  EXPECT_EQ(slug("Intel(R) Xeon(R) @ 2.0GHz "), "intel-r-xeon-r-2-0ghz");
  EXPECT_EQ(slug(""), "");
}

}  // namespace
}  // namespace lulab::bench
