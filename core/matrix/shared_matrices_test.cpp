#include "core/matrix/shared_matrices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/matrix/matrix_market.h"

namespace lulab {
namespace {

struct Row {
  std::string name;
  std::int32_t n = 0;
  std::int64_t nnz = 0, nonzero = 0;
  std::string field;
};

/// Rows "| name | group | n | nnz | nonzero | psym | field | ..." of the collection's table.
std::vector<Row> table_of(const std::string& folder) {
  std::ifstream file(folder + "/SOURCES.md");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '|');) {
      const auto begin = cell.find_first_not_of(' ');
      cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
    }
    if (cells.size() < 9 || cells[3].find_first_not_of("0123456789") != std::string::npos || cells[5].empty()) continue;
    rows.push_back({cells[1], std::stoi(cells[3]), std::stoll(cells[4]), std::stoll(cells[5]), cells[7]});
  }
  return rows;
}

TEST(SharedMatrices, EveryFileHasTheSizeItsTableSays) {
  const auto folder = shared_matrices_folder();
  if (!folder) GTEST_SKIP() << "no collection of matrices here (LULAB_MATRICES)";
  int read = 0;
  for (const Row& row : table_of(*folder)) {
    const auto path = shared_matrix(row.name);
    if (!path) continue;  // packed in another way, or not in this selection
    const auto a = read_matrix_market(*path);
    if (row.field.find("complex") != std::string::npos) {
      EXPECT_EQ(a.status().code, StatusCode::not_implemented) << row.name;
      continue;
    }
    ASSERT_TRUE(a.ok()) << a.status().to_string();
    EXPECT_TRUE(check_sorted(a->matrix)) << row.name;
    EXPECT_EQ(a->matrix.n_rows, row.n) << row.name;
    EXPECT_EQ(a->matrix.n_cols, row.n) << row.name;
    EXPECT_EQ(a->matrix.nnz(), row.nnz) << row.name;
    EXPECT_EQ(std::count_if(a->matrix.values.begin(), a->matrix.values.end(), [](double v) { return v != 0; }),
              row.nonzero)
        << row.name;
    EXPECT_EQ(a->pattern_only, row.field.find("pattern") != std::string::npos) << row.name;
    EXPECT_EQ(a->symmetry != MatrixMarketSymmetry::general, row.field.find("symmetric") != std::string::npos)
        << row.name;
    EXPECT_EQ(a->duplicates, 0) << row.name;
    ++read;
  }
  if (read == 0) GTEST_SKIP() << "no table of the matrices in " << *folder;
}

TEST(SharedMatrices, RightHandSidesFitTheirMatrices) {
  int read = 0;
  for (const char* name : {"add20", "circuit_1", "memplus", "fpga_dcop_01", "oscil_dcop_01"}) {
    const auto a = shared_matrix(name), b = shared_matrix(std::string(name) + "_b");
    if (!a || !b) continue;
    const auto matrix = read_matrix_market(*a);
    const auto rhs = read_vector(*b);
    ASSERT_TRUE(matrix.ok() && rhs.ok()) << rhs.status().to_string();
    EXPECT_EQ(rhs->size(), static_cast<std::size_t>(matrix->matrix.n_rows));
    ++read;
  }
  if (read == 0) GTEST_SKIP() << "no right-hand sides here (LULAB_MATRICES)";
}

TEST(SharedMatrices, SequencesKeepOnePattern) {
  const auto a0 = shared_matrix("seq_nr_case_ACTIVSg2000/A_00"), a1 = shared_matrix("seq_nr_case_ACTIVSg2000/A_01");
  if (!a0 || !a1) GTEST_SKIP() << "no sequence here (LULAB_MATRICES)";
  const auto first = read_matrix_market(*a0), second = read_matrix_market(*a1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->matrix.n_rows, 3607);
  EXPECT_EQ(first->matrix.nnz(), 26345);
  EXPECT_TRUE(first->matrix.pattern() == second->matrix.pattern());
  EXPECT_NE(first->matrix.values, second->matrix.values);
}

TEST(SharedMatrices, TheEnvironmentNamesTheFolder) {
  const char* old = std::getenv("LULAB_MATRICES");
  const std::string saved = old != nullptr ? old : "";
  const std::string folder = ::testing::TempDir() + "lulab_shared_test";
  std::filesystem::create_directories(folder + "/sequence");
  std::ofstream(folder + "/sequence/A_00.mtx") << "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
  setenv("LULAB_MATRICES", folder.c_str(), 1);
  EXPECT_EQ(shared_matrices_folder(), folder);
  ASSERT_TRUE(shared_matrix("sequence/A_00").has_value());
  EXPECT_TRUE(read_matrix_market(*shared_matrix("sequence/A_00")).ok());
  EXPECT_FALSE(shared_matrix("sequence/A_01").has_value());
  setenv("LULAB_MATRICES", (folder + "/nowhere").c_str(), 1);
  EXPECT_FALSE(shared_matrices_folder().has_value());
  EXPECT_FALSE(shared_matrix("sequence/A_00").has_value());
  old != nullptr ? setenv("LULAB_MATRICES", saved.c_str(), 1) : unsetenv("LULAB_MATRICES");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lulab
