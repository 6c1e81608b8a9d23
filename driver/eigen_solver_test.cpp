// One program, written for Eigen's solvers: run with Eigen::KLU and with EigenSolver, it must give the same.

#include "driver/eigen_solver.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>
#include <Eigen/KLUSupport>

#include "core/matrix/generate.h"

namespace lulab {
namespace {

template <class T, int Storage = Eigen::ColMajor, class Index = int>
Eigen::SparseMatrix<T, Storage, Index> to_eigen(const CscMatrix<double>& a) {
  std::vector<Eigen::Triplet<T, Index>> entries;
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      entries.emplace_back(a.row_idx[k], j, static_cast<T>(a.values[k]));
  Eigen::SparseMatrix<T, Storage, Index> result(a.n_rows, a.n_cols);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

template <class T = double>
Eigen::SparseMatrix<T> circuit(std::int32_t n = 300, std::uint64_t seed = 3) {
  return to_eigen<T>(generate("power_grid", {.n = n, .seed = seed}).value());
}

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  const std::vector<double> values = random_vector(static_cast<std::int32_t>(rows * columns), seed);
  return Eigen::Map<const Eigen::MatrixXd>(values.data(), rows, columns);
}

using Matrix = Eigen::SparseMatrix<double>;
// Circuits here have a condition number below 1e5: 1e5 · 2^-53 · a small factor.
constexpr double solution_tol = 1e-10;

double relative_error(const Eigen::MatrixXd& x, const Eigen::MatrixXd& expected) {
  return (x - expected).norm() / expected.norm();
}

// The program of the swap: nothing in it knows which solver it runs with.
template <class EigenStyleSolver>
struct Program {
  std::vector<Eigen::MatrixXd> solutions;
  std::vector<Eigen::ComputationInfo> infos;

  void run() {
    Matrix a = circuit();
    EigenStyleSolver solver;
    solver.analyzePattern(a);
    infos.push_back(solver.info());
    for (int step = 0; step < 5; ++step) {
      solver.factorize(a);
      infos.push_back(solver.info());
      const Eigen::VectorXd b = random_matrix(a.rows(), 1, 10 + step);
      Eigen::VectorXd x = solver.solve(b);
      infos.push_back(solver.info());
      solutions.push_back(x);
      x = 2.0 * solver.solve(b - a * x) + x;
      solutions.push_back(x);
      const std::vector<double> change = random_vector(static_cast<std::int32_t>(a.nonZeros()), 20 + step);
      for (Eigen::Index k = 0; k < a.nonZeros(); ++k) a.valuePtr()[k] *= 1 + 0.1 * change[k];
    }
    const Matrix other = circuit(120, 8);
    solver.compute(other);
    infos.push_back(solver.info());
    const Eigen::MatrixXd several = random_matrix(other.rows(), 7, 30);
    solutions.push_back(solver.solve(several));
    Eigen::MatrixXd in_place = several;
    in_place = solver.solve(in_place);
    solutions.push_back(in_place);
    const Matrix sparse = random_matrix(other.rows(), 3, 31).sparseView(1.0, 0.5);
    const Matrix x = solver.solve(sparse);
    solutions.emplace_back(x);
    const EigenStyleSolver from_matrix(other);
    infos.push_back(from_matrix.info());
    solutions.push_back(from_matrix.solve(several.col(2)));
  }
};

TEST(EigenSolver, TakesThePlaceOfEigenKlu) {
  Program<Eigen::KLU<Matrix>> theirs;
  Program<EigenSolver<Matrix>> ours;
  theirs.run();
  ours.run();
  EXPECT_EQ(ours.infos, theirs.infos);
  ASSERT_EQ(ours.solutions.size(), theirs.solutions.size());
  for (std::size_t k = 0; k < ours.solutions.size(); ++k) {
    ASSERT_EQ(ours.solutions[k].size(), theirs.solutions[k].size());
    EXPECT_FALSE(!(relative_error(ours.solutions[k], theirs.solutions[k]) <= solution_tol)) << k;
  }
  EXPECT_GT(relative_error(ours.solutions[0], ours.solutions[2]), 0.1) << "other values, another solution";
}

template <class Solver>
class EigenStyle : public testing::Test {};
using EigenStyleSolvers = testing::Types<Eigen::KLU<Matrix>, EigenSolver<Matrix>>;
TYPED_TEST_SUITE(EigenStyle, EigenStyleSolvers);

TYPED_TEST(EigenStyle, FindsTheKnownSolution) {
  const Matrix a = circuit();
  const Eigen::VectorXd expected = random_matrix(a.rows(), 1, 4);
  TypeParam solver;
  solver.compute(a);
  ASSERT_EQ(solver.info(), Eigen::Success);
  EXPECT_EQ(solver.rows(), a.rows());
  EXPECT_EQ(solver.cols(), a.cols());
  const Eigen::VectorXd x = solver.solve(a * expected);
  EXPECT_FALSE(!(relative_error(x, expected) <= solution_tol));
}

TYPED_TEST(EigenStyle, ASingularMatrixIsANumericalIssueAndTheNextOneIsNot) {
  Matrix a = circuit();
  TypeParam solver;
  solver.compute(a);
  ASSERT_EQ(solver.info(), Eigen::Success);
  Matrix singular = a;
  for (Matrix::InnerIterator entry(singular, 17); entry; ++entry) entry.valueRef() = 0;
  solver.factorize(singular);
  EXPECT_EQ(solver.info(), Eigen::NumericalIssue);
  solver.factorize(a);
  EXPECT_EQ(solver.info(), Eigen::Success);
  solver.compute(singular);
  EXPECT_EQ(solver.info(), Eigen::NumericalIssue);
  solver.factorize(a);
  EXPECT_EQ(solver.info(), Eigen::Success);
  const Eigen::VectorXd expected = random_matrix(a.rows(), 1, 4);
  EXPECT_FALSE(!(relative_error(solver.solve(a * expected), expected) <= solution_tol));
}

TYPED_TEST(EigenStyle, ReadsRowMajorAndUncompressedMatricesAndExpressions) {
  const auto generated = generate("logic_rent", {.n = 200, .seed = 5}).value();
  const Matrix a = to_eigen<double>(generated);
  const Eigen::VectorXd expected = random_matrix(a.rows(), 1, 4), b = a * expected;
  Matrix uncompressed = a;
  uncompressed.uncompress();
  ASSERT_FALSE(uncompressed.isCompressed());
  TypeParam solver;
  solver.compute(uncompressed);
  EXPECT_FALSE(!(relative_error(solver.solve(b), expected) <= solution_tol));
  solver.compute(to_eigen<double, Eigen::RowMajor>(generated));
  EXPECT_FALSE(!(relative_error(solver.solve(b), expected) <= solution_tol));
  solver.compute(Matrix(a.transpose()));
  const Eigen::VectorXd b_transposed = a.transpose() * expected;
  EXPECT_FALSE(!(relative_error(solver.solve(b_transposed), expected) <= solution_tol));
}

TEST(EigenSolver, ReadsExpressionsBlocksAndLongIndices) {
  const auto generated = generate("logic_rent", {.n = 200, .seed = 5}).value();
  const Matrix a = to_eigen<double>(generated);
  const Eigen::VectorXd expected = random_matrix(a.rows(), 1, 4), b = a * expected;
  EigenSolver<Matrix> solver;
  solver.compute(2 * a);
  EXPECT_FALSE(!(relative_error(solver.solve(b), expected / 2) <= solution_tol));
  solver.compute(a.transpose());
  EXPECT_FALSE(!(relative_error(solver.solve(a.transpose() * expected), expected) <= solution_tol));
  Matrix wide(a.rows(), a.cols() + 3);
  wide.insert(2, 1) = 7;
  wide.rightCols(a.cols()) = a;
  wide.makeCompressed();
  solver.compute(wide.rightCols(a.cols()));
  ASSERT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  EXPECT_FALSE(!(relative_error(solver.solve(b), expected) <= solution_tol));
  solver.factorize(a);  // the same pattern, stored elsewhere
  EXPECT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();

  EigenSolver<Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>> by_rows(
      to_eigen<double, Eigen::RowMajor, std::int64_t>(generated));
  ASSERT_EQ(by_rows.info(), Eigen::Success) << by_rows.lastErrorMessage();
  EXPECT_FALSE(!(relative_error(by_rows.solve(b), expected) <= solution_tol));
}

TEST(EigenSolver, FactorsFloat) {
  const auto a = circuit<float>();
  const Eigen::VectorXf expected = random_matrix(a.rows(), 1, 4).cast<float>();
  EigenSolver<Eigen::SparseMatrix<float>> solver(a);
  ASSERT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  const Eigen::VectorXf x = solver.solve(a * expected);
  // b is rounded to float: condition 1e5 · 2^-24.
  EXPECT_FALSE(!((x - expected).norm() <= 6e-3 * expected.norm()));
  Eigen::SparseMatrix<float> next = 3 * a;
  solver.factorize(next);
  EXPECT_FALSE(!((solver.solve(next * expected) - expected).norm() <= 6e-3 * expected.norm()));
}

TEST(EigenSolver, HasTheDeterminantsOfSparseLu) {
  constexpr Eigen::Index n = 30;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Eigen::MatrixXd triangular = random_matrix(n, n, seed).triangularView<Eigen::Upper>();
    double expected = triangular.diagonal().prod();
    for (const auto& [i, j] : {std::pair{0, 17}, {3, 4}, {17, 29}}) {
      triangular.row(i).swap(triangular.row(j));
      expected = -expected;
    }
    if (seed % 2 == 0) {
      triangular.col(5).swap(triangular.col(11));
      expected = -expected;
    }
    const double tol = 1e-9 * std::abs(expected);
    ASSERT_NE(expected, 0);
    const EigenSolver<Matrix> solver(Matrix(triangular.sparseView()));
    EXPECT_FALSE(!(std::abs(solver.determinant() - expected) <= tol)) << solver.determinant() << " != " << expected;
    EXPECT_FALSE(!(std::abs(solver.absDeterminant() - std::abs(expected)) <= tol));
    EXPECT_FALSE(!(std::abs(solver.logAbsDeterminant() - std::log(std::abs(expected))) <= 1e-9));
    EXPECT_EQ(solver.signDeterminant(), expected < 0 ? -1 : 1);
  }
  Matrix swapped(2, 2);
  swapped.insert(0, 1) = swapped.insert(1, 0) = 1e-200;
  EigenSolver<Matrix> solver(swapped);
  EXPECT_EQ(solver.determinant(), 0);  // -1e-400
  EXPECT_EQ(solver.signDeterminant(), -1);
  EXPECT_NEAR(solver.logAbsDeterminant(), -400 * std::log(10.0), 1e-9);
  swapped *= 0;
  solver.factorize(swapped);
  EXPECT_TRUE(std::isnan(solver.determinant()));
  EXPECT_TRUE(std::isnan(solver.logAbsDeterminant()));
  EXPECT_EQ(EigenSolver<Matrix>(Matrix(0, 0)).determinant(), 1);
  EigenSolver<Matrix> without;
  for (const bool refused : {false, true}) {
    if (refused) without.compute(Matrix(3, 4));
    EXPECT_TRUE(std::isnan(without.determinant())) << refused;
    EXPECT_TRUE(std::isnan(without.signDeterminant())) << refused;
    EXPECT_TRUE(std::isnan(without.logAbsDeterminant())) << refused;
    const Eigen::VectorXd b = Eigen::VectorXd::Ones(3);
    const Eigen::VectorXd x = without.transpose().solve(b);
    EXPECT_EQ(without.info(), Eigen::InvalidInput) << refused;
    EXPECT_FALSE(x.allFinite() && x.size() == 3) << refused;
  }
}

TEST(EigenSolver, SolvesWithTheTranspose) {
  const Matrix a = to_eigen<double>(generate("logic_rent", {.n = 200, .seed = 5}).value());
  const Eigen::MatrixXd expected = random_matrix(a.rows(), 3, 4), b = a.transpose() * expected;
  EigenSolver<Matrix> solver(a);
  EXPECT_FALSE(!(relative_error(solver.transpose().solve(b), expected) <= solution_tol));
  EXPECT_FALSE(!(relative_error(solver.adjoint().solve(b.col(1)), expected.col(1)) <= solution_tol));
  const Matrix of_sparse = solver.transpose().solve(Matrix(b.sparseView()));
  EXPECT_FALSE(!(relative_error(of_sparse, expected) <= solution_tol));
  EXPECT_GT(relative_error(solver.solve(b), expected), 0.1) << "the transpose is another matrix";
  EXPECT_EQ(solver.transpose().info(), Eigen::Success);
  solver.compute(Matrix(3, 4));
  EXPECT_EQ(solver.transpose().info(), Eigen::InvalidInput);
}

TEST(EigenSolver, ARungWithoutThisScalarTypeIsInvalidInput) {
  EigenSolver<Eigen::SparseMatrix<float>> solver(circuit<float>(), sparse_leftlooking::klu);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_EQ(solver.status().code, StatusCode::not_implemented);
}

TEST(EigenSolver, TakesAnyRung) {
  const Matrix a = circuit(100);
  const Eigen::MatrixXd expected = random_matrix(a.rows(), 2, 4);
  for (const Rung* rung : {&sparse_leftlooking::reference, &sparse_leftlooking::threads, &sparse_leftlooking::klu}) {
    EigenSolver<Matrix> solver(a, *rung);
    ASSERT_EQ(solver.info(), Eigen::Success) << rung->facts.id << solver.lastErrorMessage();
    EXPECT_FALSE(!(relative_error(solver.solve(a * expected), expected) <= solution_tol)) << rung->facts.id;
  }
}

/// A pivot vanishes: the refactorization says that it took new ones. With the factorization of every step anew, as in
/// Eigen::KLU, there would be nothing to count.
TEST(EigenSolver, RefactorsAndTakesNewPivotsOnlyWhenItMust) {
  SolverOptions options;
  options.preprocess = {.order = Order::natural, .matching = false, .scaling = false};
  Matrix a = to_eigen<double>(generate("random_dominant", {.n = 60, .seed = 4}).value());
  EigenSolver<Matrix> solver(a, sparse_leftlooking::klu, options);
  a *= 1.5;
  solver.factorize(a);
  EXPECT_EQ(solver.solver().factors().statistics.repivots, 0);
  a.coeffRef(0, 0) = 0;
  solver.factorize(a);
  ASSERT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  EXPECT_EQ(solver.solver().factors().statistics.repivots, 1);
  options.repivot = false;
  a.coeffRef(0, 0) = 9;
  EigenSolver<Matrix> stubborn(a, sparse_leftlooking::klu, options);
  a.coeffRef(0, 0) = 0;
  stubborn.factorize(a);
  EXPECT_EQ(stubborn.info(), Eigen::NumericalIssue);
  EXPECT_EQ(stubborn.status().code, StatusCode::needs_repivot);
}

TEST(EigenSolver, ThePatternMayComeWithoutValues) {
  const Matrix a = circuit();
  Matrix pattern = a;
  pattern.coeffs().setZero();
  EigenSolver<Matrix> solver;
  solver.analyzePattern(pattern);
  EXPECT_EQ(solver.info(), Eigen::Success);
  solver.factorize(pattern);
  EXPECT_EQ(solver.info(), Eigen::NumericalIssue);
  solver.factorize(a);
  ASSERT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  const Eigen::VectorXd expected = random_matrix(a.rows(), 1, 4);
  EXPECT_FALSE(!(relative_error(solver.solve(a * expected), expected) <= solution_tol));
}

TEST(EigenSolver, AWrongOrderOfCallsIsInvalidInput) {
  const Matrix a = circuit();
  const Eigen::VectorXd b = random_matrix(a.rows(), 1, 4);
  EigenSolver<Matrix> solver;
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  const Eigen::VectorXd nothing = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("compute()"), std::string::npos) << solver.lastErrorMessage();
  EXPECT_EQ(nothing.size(), 0);
  solver.factorize(a);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("analyzePattern()"), std::string::npos) << solver.lastErrorMessage();
  solver.analyzePattern(a);
  EXPECT_EQ(solver.info(), Eigen::Success);
  Eigen::VectorXd x = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("factorize()"), std::string::npos) << solver.lastErrorMessage();
  ASSERT_EQ(x.size(), b.size());
  EXPECT_TRUE(x.array().isNaN().all());
  solver.factorize(a);
  x = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::Success);
  EXPECT_TRUE(x.allFinite());
}

TEST(EigenSolver, AnotherPatternIsInvalidInputUntilItIsAnalyzed) {
  Matrix a = circuit();
  const Eigen::VectorXd b = random_matrix(a.rows(), 1, 4);
  EigenSolver<Matrix> solver(a);
  Matrix moved = a;
  const Eigen::Index last = a.rows() - 1;
  ASSERT_EQ(a.coeff(last, 0), 0.0);
  moved.coeffRef(last, 0) = 1;
  moved.makeCompressed();
  solver.factorize(moved);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("another pattern"), std::string::npos) << solver.lastErrorMessage();
  EXPECT_TRUE(Eigen::VectorXd(solver.solve(b)).array().isNaN().all());
  solver.factorize(a);
  EXPECT_EQ(solver.info(), Eigen::Success);
  solver.compute(moved);
  EXPECT_EQ(solver.info(), Eigen::Success);
}

TEST(EigenSolver, AnEntryInAnotherRowIsAnotherPattern) {
  Matrix a(3, 3), moved(3, 3);
  a.setIdentity();
  moved.setIdentity();
  a.coeffRef(1, 0) = 2;
  moved.coeffRef(2, 0) = 2;
  a.makeCompressed();
  moved.makeCompressed();
  EigenSolver<Matrix> solver(a);
  ASSERT_EQ(solver.info(), Eigen::Success);
  solver.factorize(moved);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("another pattern"), std::string::npos) << solver.lastErrorMessage();
}

TEST(EigenSolver, BadInputIsInvalidInput) {
  EigenSolver<Matrix> solver(Matrix(3, 4));
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("3 x 4"), std::string::npos) << solver.lastErrorMessage();
  Matrix a = circuit();
  const Matrix good = a;
  a.valuePtr()[5] = std::nan("");
  solver.compute(a);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  solver.compute(good);
  EXPECT_EQ(solver.info(), Eigen::Success);
}

// Arrays of others, in which Eigen looks for nothing.
TEST(EigenSolver, RefusesIndicesThatAreNone) {
  const std::vector<int> col_ptr = {0, 2, 4, 6};
  const std::vector<double> values = {4, 1, 1, 4, 1, 4};
  const std::vector<int> good = {0, 1, 0, 1, 1, 2};
  for (const auto& rows : std::vector<std::vector<int>>{
           good, {1, 0, 0, 1, 1, 2}, {0, 1, 1, 1, 1, 2}, {0, 1, 0, 1, 1, 3}, {0, 1, -1, 1, 1, 2}}) {
    const Eigen::Map<const Matrix> a(3, 3, 6, col_ptr.data(), rows.data(), values.data());
    const EigenSolver<Matrix> solver(a);
    EXPECT_EQ(solver.info(), rows == good ? Eigen::Success : Eigen::InvalidInput) << solver.lastErrorMessage();
  }
}

TEST(EigenSolver, ValuesThatGiveNoXGiveNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Matrix good = circuit();
  Eigen::VectorXd b = random_matrix(good.rows(), 1, 4);
  EigenSolver<Matrix> solver(good);
  for (const double bad : {std::nan(""), infinity, -infinity}) {
    Matrix a = good;
    a.valuePtr()[5] = bad;
    solver.factorize(a);
    EXPECT_EQ(solver.info(), Eigen::InvalidInput) << bad;
    EXPECT_TRUE(Eigen::VectorXd(solver.solve(b)).array().isNaN().all()) << bad;
    EXPECT_EQ(solver.info(), Eigen::InvalidInput) << bad;
    solver.compute(good);
    Eigen::VectorXd bad_b = b;
    bad_b[7] = bad;
    const Eigen::VectorXd x = solver.solve(bad_b);
    EXPECT_FALSE(x.allFinite()) << bad;
  }
  Matrix structurally_singular(3, 3);
  structurally_singular.insert(0, 0) = structurally_singular.insert(0, 1) = structurally_singular.insert(0, 2) = 1;
  structurally_singular.makeCompressed();
  solver.compute(structurally_singular);
  EXPECT_EQ(solver.info(), Eigen::NumericalIssue) << solver.lastErrorMessage();
}

TEST(EigenSolver, AnEmptySystemHasAnEmptySolution) {
  EigenSolver<Matrix> solver(Matrix(0, 0));
  EXPECT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  EXPECT_EQ(Eigen::VectorXd(solver.solve(Eigen::VectorXd(0))).size(), 0);
}

}  // namespace
}  // namespace lulab
