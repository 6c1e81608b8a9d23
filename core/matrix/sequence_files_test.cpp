#include "core/matrix/sequence_files.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/matrix/matrix_market.h"
#include "testing/program.h"

namespace lulab {
namespace {

/// [2 0; 3 4] times a number.
CscMatrix<double> lower(double times) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = 2;
  a.col_ptr = {0, 2, 3};
  a.row_idx = {0, 1, 1};
  a.values = {2 * times, 3 * times, 4 * times};
  return a;
}

class SequenceFolder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  void write_matrix(const std::string& name) { ASSERT_TRUE(write_matrix_market(path(name), lower(1)).ok()); }
  void write_side(const std::string& name, std::vector<double> b) {
    ASSERT_TRUE(write_vector<double>(path(name), b).ok());
  }

 private:
  const testing::TemporaryFolder folder_;
};

TEST_F(SequenceFolder, ListsMatricesByNumberWithoutRightHandSides) {
  EXPECT_EQ(matrices_in(path("")).status().code, StatusCode::invalid_argument);
  for (const char* name : {"A_10.mtx", "A_9.mtx.gz", "A_009.mtx", "B.mtx"}) write_matrix(name);
  write_side("b_10.mtx", {1, 2});
  write_side("B_b.mtx.gz", {1, 2});
  write_side("b_3.mtx", {1, 2});  // of no matrix here: it is one
  const auto found = matrices_in(path(""));
  ASSERT_TRUE(found.ok());
  std::vector<std::string> names;
  for (const std::string& file : *found) names.push_back(std::filesystem::path(file).filename());
  EXPECT_EQ(names, (std::vector<std::string>{"A_009.mtx", "A_9.mtx.gz", "A_10.mtx", "B.mtx", "b_3.mtx"}));
  const Status nowhere = matrices_in(path("nowhere")).status();
  EXPECT_EQ(nowhere.code, StatusCode::invalid_argument);
  EXPECT_EQ(nowhere.where.file, path("nowhere"));
}

TEST_F(SequenceFolder, TheRightHandSideIsBesideTheMatrixOrATimesOnes) {
  write_side("b_1.mtx", {7, 8});
  write_side("A_2_b.mtx.gz", {5, 6});
  write_side("b_3.mtx", {1, 2, 3});
  EXPECT_EQ(right_side_of(lower(1), path("A_1.mtx"))->b, (std::vector<double>{7, 8}));
  EXPECT_EQ(right_side_of(lower(1), path("A_1.mtx"))->file, path("b_1.mtx"));
  EXPECT_EQ(right_side_of(lower(1), path("A_2.mtx"))->b, (std::vector<double>{5, 6}));
  EXPECT_EQ(right_side_of(lower(10), path("A_4.mtx"))->b, (std::vector<double>{20, 70}));
  EXPECT_EQ(right_side_of(lower(10), path("A_4.mtx"))->file, "");
  const Status other_length = right_side_of(lower(1), path("A_3.mtx")).status();
  EXPECT_EQ(other_length.code, StatusCode::invalid_argument);
  EXPECT_EQ(other_length.where.file, path("b_3.mtx"));
}

TEST(SamePattern, NamesTheFirstEntryThatDiffers) {
  const auto first = lower(1).pattern();
  EXPECT_TRUE(check_same_pattern(first, "A_1", lower(5), "A_2").ok());
  CscMatrix<double> less = lower(1), more = lower(1), larger = lower(1);
  less.col_ptr = {0, 1, 2}, less.row_idx = {0, 1}, less.values = {1, 1};
  more.col_ptr = {0, 2, 4}, more.row_idx = {0, 1, 0, 1}, more.values = {1, 1, 1, 1};
  larger.n_rows = larger.n_cols = 3, larger.col_ptr = {0, 2, 3, 3};
  for (const auto& [a, words] :
       {std::pair{less, "entry (2, 1) is missing"}, {more, "entry (1, 2) is extra"}, {larger, "n = 3 instead of 2"}}) {
    const Status differs = check_same_pattern(first, "A_1", a, "A_2");
    EXPECT_EQ(differs.code, StatusCode::invalid_argument);
    EXPECT_EQ(differs.where.file, "A_2");
    EXPECT_NE(differs.message.find(words), std::string::npos) << differs.message;
  }
}

}  // namespace
}  // namespace lulab
