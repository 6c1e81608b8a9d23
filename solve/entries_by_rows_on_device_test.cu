#include "solve/entries_by_rows_on_device.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/launch.h"
#include "testing/made_up_factors.h"

namespace lulab {
namespace {

Result<EntriesByRows> on_device(const FilledPattern& f, TriangleSide side, const Triangle& triangle) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  simt::DeviceBuffer<std::int32_t> d_row_idx, d_column;
  simt::DeviceBuffer<std::int64_t> d_from;
  LULAB_RETURN_IF_ERROR(simt::make(d_row_idx, f.row_idx, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_column, std::vector<std::int32_t>(triangle.entries, -7), stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_from, std::vector<std::int64_t>(triangle.entries, -7), stream));
  simt::Scratch scratch;
  LULAB_RETURN_IF_ERROR(
      entries_by_rows_on_device(f, side, triangle, d_row_idx.data(), d_column.data(), d_from.data(), scratch, stream));
  EntriesByRows found{std::vector<std::int32_t>(triangle.entries), std::vector<std::int64_t>(triangle.entries)};
  LULAB_RETURN_IF_ERROR(d_column.download(found.column, stream));
  LULAB_RETURN_IF_ERROR(d_from.download(found.from, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return found;
}

TEST(EntriesByRowsOnDevice, AreThoseOfTheHost) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {1, 2, 33, 150})
    for (const auto& pattern : testing::patterns_for_tests(n))
      for (const TriangleSide side : {TriangleSide::lower, TriangleSide::upper}) {
        SCOPED_TRACE(pattern.name + (side == TriangleSide::lower ? ", L" : ", U"));
        const auto f = testing::make_up_factors<double>(pattern.n, 1, pattern.has);
        const Triangle triangle = make_triangle(f.filled, side);
        const EntriesByRows expected = entries_by_rows(f.filled, side, triangle);
        const auto found = on_device(f.filled, side, triangle);
        LULAB_ASSERT_OK(found);
        EXPECT_EQ(found->column, expected.column);
        EXPECT_EQ(found->from, expected.from);
      }
}

TEST(EntriesByRowsOnDevice, OfNothingAreNone) {
  LULAB_NEED_DEVICE();
  const auto found = on_device({}, TriangleSide::upper, make_triangle({}, TriangleSide::upper));
  LULAB_ASSERT_OK(found);
  EXPECT_TRUE(found->column.empty());
}

}  // namespace
}  // namespace lulab
