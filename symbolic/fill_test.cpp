#include "symbolic/fill.h"

#include "preprocess/preprocess.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

using testing::random_matrix;

void expect_well_formed(CscPatternView b, const FilledPattern& f) {
  ASSERT_EQ(f.n, b.n_cols);
  ASSERT_TRUE(check_sorted(f.view()).ok()) << check_sorted(f.view()).to_string();
  ASSERT_EQ(f.diag.size(), b.n_cols);
  for (std::int32_t j = 0; j < f.n; ++j) {
    ASSERT_GE(f.diag[j], f.col_ptr[j]);
    ASSERT_LT(f.diag[j], f.col_ptr[j + 1]);
    ASSERT_EQ(f.row_idx[f.diag[j]], j);
    const auto begin = f.row_idx.begin() + f.col_ptr[j], end = f.row_idx.begin() + f.col_ptr[j + 1];
    ASSERT_TRUE(std::includes(begin, end, b.row_idx.begin() + b.col_ptr[j], b.row_idx.begin() + b.col_ptr[j + 1]));
  }
}

TEST(Fill, ThreeAlgorithmsAgreeOnUnsymmetricPatterns) {
  std::int64_t fill = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    const auto n = static_cast<std::int32_t>(seed % 65);
    const double per_column = 0.5 + static_cast<double>(seed / 65);  // 0.5 to 9.5 off-diagonal entries a column
    const auto b = random_matrix(seed, {.n = n, .density = per_column / (1 + n), .zero_diagonal = 0.25 * (seed % 5)});
    const auto oracle = fill_reachability(b);
    const auto reference = fill_reference(b);
    const auto pruned = fill_gilbert_peierls(b);
    ASSERT_TRUE(oracle.ok() && reference.ok() && pruned.ok());
    expect_well_formed(b, *oracle);
    EXPECT_EQ(*reference, *oracle);
    EXPECT_EQ(*pruned, *oracle);
    fill += oracle->nnz() - b.nnz();
  }
  EXPECT_GT(fill, 10000);
}

TEST(Fill, PruningChangesNothingOnLargerRandomMatrices) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto n = static_cast<std::int32_t>(200 + 10 * seed);
    const auto a = random_matrix(seed, {.n = n, .density = 2.0 / n, .zero_diagonal = 0.5, .full_rank = true});
    for (const Order order : {Order::natural, Order::amd, Order::metis}) {
      const auto plan = preprocess(a, {.order = order});
      ASSERT_TRUE(plan.ok());
      const auto b = permute(CscPatternView(a), plan->p, plan->q);
      const auto reference = fill_reference(b), pruned = fill_gilbert_peierls(b);
      ASSERT_TRUE(reference.ok() && pruned.ok());
      expect_well_formed(b, *pruned);
      EXPECT_EQ(*pruned, *reference);
      const auto permuted = fill_permuted(a, plan->p, plan->q);
      ASSERT_TRUE(permuted.ok());
      EXPECT_EQ(*permuted, *reference);
    }
  }
}

TEST(Fill, SymmetricPatternsAndArrows) {
  // Arrow pointing up-left fills completely, down-right not at all.
  const std::int32_t n = 50;
  for (const bool fills : {true, false}) {
    std::vector<std::int32_t> rows, columns;
    const std::int32_t hub = fills ? 0 : n - 1;
    for (std::int32_t k = 0; k < n; ++k) {
      rows.push_back(k), columns.push_back(k);
      if (k != hub) rows.push_back(hub), columns.push_back(k), rows.push_back(k), columns.push_back(hub);
    }
    const auto a = from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0));
    for (const auto fill : {fill_reference, fill_gilbert_peierls, fill_reachability}) {
      const auto f = fill(a);
      ASSERT_TRUE(f.ok());
      EXPECT_EQ(f->nnz(), fills ? n * n : 3 * n - 2);
    }
  }
}

TEST(Fill, SharedMatrices) {
  int seen = 0;
  for (const char* name : {"add20", "add32", "circuit_1", "memplus", "rajat19", "rajat01", "west0479", "mna5_A",
                           "will199", "fpga_dcop_01", "gre_115", "seq_resolve_ScaleMicrogrid_N1000/A_01",
                           "seq_nr_case_ACTIVSg2000/A_00", "seq_hykkt_ACTIVSg2000/A_09"}) {
    SCOPED_TRACE(name);
    const auto a = testing::read_shared(name);
    if (!a) continue;
    ++seen;
    for (const Order order : {Order::amd, Order::metis}) {
      auto plan = preprocess(*a, {.order = order});
      if (plan.status().code == StatusCode::structurally_singular)
        plan = preprocess(*a, {.order = order, .matching = false});
      ASSERT_TRUE(plan.ok()) << plan.status().to_string();
      const auto b = permute(CscPatternView(*a), plan->p, plan->q);
      const auto reference = fill_reference(b), pruned = fill_gilbert_peierls(b);
      ASSERT_TRUE(reference.ok() && pruned.ok());
      expect_well_formed(b, *pruned);
      EXPECT_TRUE(*pruned == *reference);
    }
  }
  if (seen == 0) GTEST_SKIP() << "the shared matrices are not here";
}

TEST(Fill, RefusesWhatIsNotSquareOrNotSorted) {
  const CscPattern wide{1, 2, {0, 1, 2}, {0, 0}};
  const CscPattern unsorted{2, 2, {0, 2, 3}, {1, 0, 1}};
  for (const auto fill : {fill_reference, fill_gilbert_peierls, fill_reachability}) {
    EXPECT_EQ(fill(wide).status().code, StatusCode::invalid_argument);
    EXPECT_EQ(fill(unsorted).status().code, StatusCode::invalid_argument);
  }
  const CscPattern large{65, 65, std::vector<std::int64_t>(66, 0), {}};
  EXPECT_EQ(fill_reachability(large).status().code, StatusCode::invalid_argument);
  EXPECT_TRUE(fill_gilbert_peierls(large).ok());
}

TEST(FactorFlops, EqualThoseOfTheEliminationItself) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto b = random_matrix(seed, {.n = 40, .density = 0.05});
    const auto f = fill_reference(b);
    ASSERT_TRUE(f.ok());
    std::vector<std::vector<bool>> filled(40, std::vector<bool>(40, false));
    for (std::int32_t j = 0; j < 40; ++j)
      for (std::int64_t k = f->col_ptr[j]; k < f->col_ptr[j + 1]; ++k) filled[f->row_idx[k]][j] = true;
    double flops = 0;
    for (std::int32_t k = 0; k < 40; ++k)
      for (std::int32_t i = k + 1; i < 40; ++i) {
        if (!filled[i][k]) continue;
        flops += 1;                                                               // l(i,k) = a(i,k) / u(k,k)
        for (std::int32_t j = k + 1; j < 40; ++j) flops += filled[k][j] ? 2 : 0;  // a(i,j) -= l(i,k) u(k,j)
      }
    EXPECT_EQ(factor_flops(*f), flops) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lulab
