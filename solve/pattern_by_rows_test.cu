#include "solve/pattern_by_rows.h"

#include <vector>

#include <gtest/gtest.h>

#include "solve/by_rows.h"
#include "testing/device.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

TEST(PatternByRows, IsTheTransposeWithItsPositions) {
  LULAB_NEED_DEVICE();
  auto created = simt::Stream::create();
  LULAB_ASSERT_OK(created);
  simt::Stream& stream = *created;
  auto patterns = testing::random_patterns(60);
  for (auto& p : testing::generated_patterns(100)) patterns.push_back(std::move(p));
  for (const auto& [name, f, before] : patterns) {
    if (f.n == 0) continue;
    SCOPED_TRACE(name);
    simt::Scratch scratch;
    const auto as = PatternOnDevice::create(f.view(), stream);
    LULAB_ASSERT_OK(as);
    const auto rows = PatternByRowsOnDevice::create(as->view(), scratch, stream);
    LULAB_ASSERT_OK(rows);
    const CscMatrix<std::int64_t> expected = by_rows(f.view());
    std::vector<std::int64_t> ptr(f.n + 1), diag(f.n);
    std::vector<std::int32_t> col(f.nnz());
    std::vector<std::uint32_t> from(f.nnz());
    LULAB_ASSERT_OK(rows->d_ptr.download(ptr, stream));
    LULAB_ASSERT_OK(rows->d_diag.download(diag, stream));
    LULAB_ASSERT_OK(rows->d_col.download(col, stream));
    LULAB_ASSERT_OK(rows->d_from.download(from, stream));
    LULAB_ASSERT_OK(stream.wait());
    EXPECT_EQ(ptr, std::vector(expected.col_ptr.begin(), expected.col_ptr.end()));
    EXPECT_EQ(col, std::vector(expected.row_idx.begin(), expected.row_idx.end()));
    EXPECT_EQ(from, std::vector<std::uint32_t>(expected.values.begin(), expected.values.end()));
    for (std::int32_t i = 0; i < f.n; ++i) EXPECT_EQ(col[diag[i]], i);
  }
}

}  // namespace
}  // namespace lulab
