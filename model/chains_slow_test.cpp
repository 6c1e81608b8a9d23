#include "model/chains.h"
#include "preprocess/ordering.h"
#include "symbolic/fill.h"
#include "testing/matrices.h"

namespace lulab {
namespace {

TEST(FillAtScale, AMillionGridPointsUnderBothOrders) {
  const auto a = testing::grid_matrix(1000, 1);
  for (const auto order : {amd_order, metis_order}) {
    const auto q = order(a);
    ASSERT_TRUE(q.ok()) << q.status().to_string();
    const CscPattern b = permute(CscPatternView(a), *q, *q);
    const auto f = fill_gilbert_peierls(b);
    ASSERT_TRUE(f.ok()) << f.status().to_string();
    EXPECT_TRUE(check_sorted(f->view()).ok());
    for (std::int32_t j = 0; j < f->n; ++j) ASSERT_EQ(f->row_idx[f->diag[j]], j);
    EXPECT_EQ(f->nnz_l(), f->nnz_u() - f->n);  // a symmetric pattern stays symmetric
    EXPECT_LT(f->nnz(), 100'000'000);          // the natural order would leave 2 · 1000 n
    const Chains chains = critical_chains(*f);
    EXPECT_GE(chains.fine, 2 * chains.levels - 1);
    EXPECT_LE(chains.fine, chains.walking);
  }
}

}  // namespace
}  // namespace lulab
