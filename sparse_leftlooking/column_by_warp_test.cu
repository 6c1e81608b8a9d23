// The host's side of 01, 02 and 03: how many blocks share the columns, and in which order the rows of a column lie.

#include "sparse_leftlooking/column_by_warp.h"

#include "testing/device.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_leftlooking {
namespace {

using testing::analysis_for;

struct Seen {
  std::int32_t blocks, threads, size, first_column, sorted;

  bool operator==(const Seen&) const = default;
};

/// Writes how it was launched, and whether the rows of column 0 ascend.
__global__ void look_kernel(DeviceFactorsView<double> f, const std::int32_t* level_cols, std::int64_t size, double*,
                            Seen* seen) {
  if (simt::thread_of_grid() > 0) return;
  std::int32_t sorted = 1;
  for (std::int64_t p = 1; p < f.col_ptr[1]; ++p) sorted = sorted && f.row_idx[p - 1] < f.row_idx[p];
  *seen = {static_cast<std::int32_t>(gridDim.x), static_cast<std::int32_t>(blockDim.x), static_cast<std::int32_t>(size),
           level_cols[0], sorted};
}

/// What a launch is asked for.
struct Wanted {
  int resident_blocks = 1;           // of the kernel, a multiprocessor
  std::int64_t columns = 1;          // at most at once
  std::int64_t first = 0, size = 1;  // of the launch
};

class LookingBackend final : public ColumnByWarpBackend<double> {
 public:
  LookingBackend(const FactorOptions& options, const Wanted& wanted)
      : ColumnByWarpBackend<double>(options), wanted_(wanted) {}

  Result<Seen> seen() {
    std::vector<Seen> seen(1);
    LULAB_RETURN_IF_ERROR(d_seen_.download(seen, *this->stream()));
    LULAB_RETURN_IF_ERROR(this->stream()->wait());
    return seen[0];
  }

 protected:
  Status prepare_rung() override {
    this->find_levels();
    LULAB_ASSIGN_OR_RETURN(d_seen_, simt::DeviceBuffer<Seen>::create(1));
    LULAB_RETURN_IF_ERROR(d_seen_.fill_bytes(0xff, *this->stream()));
    return this->make_work(wanted_.resident_blocks, wanted_.columns);
  }
  Status launch(const DeviceFactorsView<double>& f, simt::Stream& stream) override {
    return this->eliminate(look_kernel, f, wanted_.first, wanted_.size, stream, d_seen_.data());
  }

 private:
  const Wanted wanted_;
  simt::DeviceBuffer<Seen> d_seen_;
};

Result<Seen> look(const CscPattern& pattern, const Wanted& wanted, const FactorOptions& options = {}) {
  const Analysis analysis = analysis_for(pattern);
  LookingBackend backend(options, wanted);
  LULAB_RETURN_IF_ERROR(backend.prepare(analysis, 1));
  const std::vector<double> ones(pattern.row_idx.size(), 1.0);
  LULAB_RETURN_IF_ERROR(backend.upload(ones));
  LULAB_RETURN_IF_ERROR(backend.enqueue(Phase::factor));
  return backend.seen();
}

CscPattern diagonal(std::int32_t n) {
  return testing::pattern_of(n, [](std::int32_t i, std::int32_t j) { return i == j; });
}

std::int32_t blocks_for(const Wanted& wanted, const FactorOptions& options = {}) {
  const auto seen = look(diagonal(4), wanted, options);
  EXPECT_TRUE(seen.ok()) << seen.status().to_string();
  return seen.ok() ? seen->blocks : -1;
}

FactorOptions with_warps_per_sm(std::int64_t warps) { return {.of_rung = {{"warps_per_sm", warps}}}; }

constexpr std::int64_t many = 1'000'000;  // columns

TEST(ColumnByWarp, AsManyBlocksShareTheColumnsAsAreResident) {
  LULAB_NEED_DEVICE();
  const int sm_count = simt::device_properties()->sm_count;
  EXPECT_EQ(blocks_for({.resident_blocks = 3, .columns = many, .size = many}), 3 * sm_count);
  EXPECT_EQ(blocks_for({.resident_blocks = 100, .columns = many, .size = many}), 16 * sm_count);
}

TEST(ColumnByWarp, AnOptionSaysHowManyWarpsAMultiprocessorGets) {
  LULAB_NEED_DEVICE();
  const int sm_count = simt::device_properties()->sm_count;
  const Wanted wanted = {.resident_blocks = 8, .columns = many, .size = many};
  EXPECT_EQ(blocks_for(wanted, with_warps_per_sm(1)), sm_count);
  EXPECT_EQ(blocks_for(wanted, with_warps_per_sm(2)), sm_count);
  EXPECT_EQ(blocks_for(wanted, with_warps_per_sm(5)), 2 * sm_count);
  EXPECT_EQ(blocks_for(wanted, with_warps_per_sm(64)), 8 * sm_count);
}

TEST(ColumnByWarp, NoBlockIsWithoutAColumn) {
  LULAB_NEED_DEVICE();
  EXPECT_EQ(blocks_for({.resident_blocks = 8, .columns = 4, .size = 1}), 1);
  EXPECT_EQ(blocks_for({.resident_blocks = 8, .columns = 4, .size = 3}), 2);
  EXPECT_EQ(blocks_for({.resident_blocks = 8, .columns = 3, .size = many}), 2) << "no more than there is room for";
  EXPECT_EQ(blocks_for({.resident_blocks = 8, .columns = 0, .size = many}), 1);
}

TEST(ColumnByWarp, ALaunchGetsItsPartOfTheLevels) {
  LULAB_NEED_DEVICE();
  const auto seen = look(diagonal(9), {.resident_blocks = 8, .columns = 9, .first = 6, .size = 3});
  LULAB_ASSERT_OK(seen);
  EXPECT_EQ(*seen, (Seen{.blocks = 2, .threads = 64, .size = 3, .first_column = 6, .sorted = 1}));
}

TEST(ColumnByWarp, NothingIsLaunchedForNoColumns) {
  LULAB_NEED_DEVICE();
  const auto seen = look(diagonal(4), {.size = 0});
  LULAB_ASSERT_OK(seen);
  EXPECT_EQ(seen->blocks, -1) << "the poison";
}

TEST(ColumnByWarp, AnOptionShufflesTheRowsOfAColumn) {
  LULAB_NEED_DEVICE();
  const CscPattern pattern =
      testing::pattern_of(50, [](std::int32_t i, std::int32_t j) { return i == j || j == 0 || i == 49; });
  const std::pair<int, int> option_and_sorted[] = {{0, 1}, {1, 0}};
  for (const auto& [option, sorted] : option_and_sorted) {
    const auto seen = look(pattern, {}, {.of_rung = {{"shuffle_nonzeros", option}}});
    LULAB_ASSERT_OK(seen);
    EXPECT_EQ(seen->sorted, sorted);
  }
}

}  // namespace
}  // namespace lulab::sparse_leftlooking
