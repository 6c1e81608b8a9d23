#include "sparse_leftlooking/05_supernode_updates.h"

#include "symbolic/fill.h"
#include "testing/matrices.h"

namespace lulab::sparse_leftlooking {
namespace {

using lulab::testing::random_matrix;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A value of L(i,k) from which i and k can be read.
double l_of(std::int32_t i, std::int32_t k) { return 1000.0 * i + k; }

std::vector<double> filled_supernodes(const FilledPattern& f, const SupernodeUpdates& p) {
  std::vector<double> supernodes(p.size, nan);
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int64_t q = f.diag[k] + 1; q < f.col_ptr[k + 1]; ++q) {
      double& l = supernodes.at(p.l_begin[k] + q - f.diag[k] - 1);
      EXPECT_TRUE(std::isnan(l)) << "two entries in one place";
      l = l_of(f.row_idx[q], k);
    }
  return supernodes;
}

TEST(SupernodeUpdates, ReachEveryEntryOfLThatUpdatesAColumnOnceInOrder) {
  bool wide = false, narrow_run = false;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = 45, .density = 0.002 * double(seed)}));
    ASSERT_TRUE(f.ok());
    const std::int32_t max_narrow = 6, min_width = 1 + static_cast<std::int32_t>(seed % 4);
    const SupernodeUpdates p = make_supernode_updates(*f, 8, min_width, max_narrow);
    const std::vector<double> supernodes = filled_supernodes(*f, p);
    std::int64_t map_size = 0;
    for (std::int32_t j = 0; j < f->n; ++j) {
      std::int64_t q = f->col_ptr[j];  // entry of U(:,j) that comes next
      for (std::int64_t s = p.update_ptr[j]; s < p.update_ptr[j + 1]; ++s) {
        const Update& run = p.updates[s];
        ASSERT_EQ(run.at, q - f->col_ptr[j]);
        EXPECT_TRUE(run.width == 1 || run.width >= min_width);
        EXPECT_EQ(run.map, map_size);
        map_size += run.below;
        const std::int32_t k = f->row_idx[q], last = k + run.width - 1;
        for (std::int32_t e = 0; e < run.width; ++e) {
          ASSERT_EQ(f->row_idx[q + e], k + e);
          for (std::int32_t i = e + 1; i < run.width; ++i)
            EXPECT_EQ(supernodes.at(run.l_kk + std::int64_t(e) * run.ld + i), l_of(k + i, k + e));
          for (std::int32_t i = 0; i < run.below; ++i)
            EXPECT_EQ(supernodes.at(run.l_kk + std::int64_t(e) * run.ld + run.width + i),
                      l_of(f->row_idx[run.rows + i], k + e));
        }
        EXPECT_EQ(run.rows, f->diag[last] + 1);
        EXPECT_EQ(run.below, f->col_ptr[last + 1] - f->diag[last] - 1);
        q += run.width;
        const bool is_narrow = run.width == 1 && run.below <= max_narrow;
        const std::int32_t after = s + 1 < p.update_ptr[j + 1] ? p.updates[s + 1].narrow : 0;
        EXPECT_EQ(run.narrow, is_narrow ? 1 + after : 0);
        wide = wide || run.width > 3;
        narrow_run = narrow_run || run.narrow > 3;
      }
      EXPECT_EQ(q, f->diag[j]);
    }
    EXPECT_EQ(p.map_size, map_size);
  }
  EXPECT_TRUE(wide && narrow_run);
}

TEST(SupernodeUpdates, OfAFullMatrixAreOneRunOfItsOneSupernode) {
  const auto f = fill_gilbert_peierls(random_matrix(1, {.n = 4, .density = 1}));
  ASSERT_TRUE(f.ok());
  ASSERT_EQ(f->nnz(), 16);
  const SupernodeUpdates p = make_supernode_updates(*f, 8, 3, 64);
  EXPECT_EQ(p.size, 16) << "four columns of four rows";
  ASSERT_EQ(p.update_ptr.back() - p.update_ptr[3], 1) << "as narrow as a run may be";
  EXPECT_EQ(p.updates.back().width, 3);
  EXPECT_EQ(p.updates.back().ld, 4);
}

TEST(SupernodeUpdates, NoColumnsHaveNone) {
  const SupernodeUpdates p = make_supernode_updates(FilledPattern{}, 8, 2, 64);
  EXPECT_EQ(p.update_ptr, std::vector<std::int64_t>{0});
  EXPECT_EQ(p.size, 0);
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
