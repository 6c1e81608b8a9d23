// The device finds the supernodes of the definition, for chunks and limits that cut them anywhere.

#include "symbolic/t3_supernodes.h"

#include <array>

#include "symbolic/fill.h"
#include "testing/gaihre_example.h"
#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

using testing::random_matrix;

Result<DeviceFilledPattern> on_device(const FilledPattern& f, simt::Stream& stream) {
  DeviceFilledPattern d;
  d.n = f.n;
  d.nnz = f.nnz();
  LULAB_RETURN_IF_ERROR(simt::make(d.d_col_ptr, f.col_ptr, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_diag, f.diag, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d.d_row_idx, f.row_idx, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return d;
}

/// Dense blocks on the diagonal, of sizes that cross chunks; a few more entries; all filled.
FilledPattern of_dense_blocks(std::uint64_t seed, std::int32_t n, std::int32_t most) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t begin = 0; begin < n;) {
    const auto end = static_cast<std::int32_t>(std::min<std::int64_t>(n, begin + 1 + random() % most));
    for (std::int32_t j = begin; j < end; ++j)
      for (std::int32_t i = begin; i < end; ++i) rows.push_back(i), columns.push_back(j);
    if (end < n) {  // the next block hangs on this one, so counts go on one less, or not
      rows.push_back(end), columns.push_back(end - 1);
      if (random() % 2 == 0) rows.push_back(end - 1), columns.push_back(end);
    }
    begin = end;
  }
  return fill_gilbert_peierls(from_triplets<double>(n, n, rows, columns, std::vector<double>(rows.size(), 1.0)))
      .value();
}

/// As definition 1 of Gaihre et al. reads: whether column s joins the supernode r .. s - 1.
bool joins(const FilledPattern& f, std::int32_t r, std::int32_t s) {
  const auto rows_of_l = [&](std::int32_t j) { return f.col_ptr[j + 1] - f.diag[j]; };
  const auto begin = f.row_idx.begin() + f.col_ptr[s], end = f.row_idx.begin() + f.col_ptr[s + 1];
  return rows_of_l(s) == rows_of_l(s - 1) - 1 && std::find(begin, end, r) != end;
}

TEST(T3Supernodes, FollowTheDefinition) {
  std::int32_t widest = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const FilledPattern f = seed % 2 == 0
                                ? of_dense_blocks(seed, 100, 20)
                                : fill_gilbert_peierls(random_matrix(seed, {.n = 70, .density = 0.04})).value();
    const auto max_width = static_cast<std::int32_t>(1 + seed % 9);
    const Supernodes s = find_t3_supernodes(f, max_width);
    ASSERT_EQ(s.of.size(), static_cast<std::size_t>(f.n));
    EXPECT_EQ(s.first.front(), 0);
    EXPECT_EQ(s.first.back(), f.n);
    for (std::int32_t k = 1; k < f.n; ++k) {
      const std::int32_t r = s.first[s.of[k - 1]];
      EXPECT_EQ(s.of[k] == s.of[k - 1], k - r < max_width && joins(f, r, k)) << "seed " << seed << ", column " << k;
      widest = std::max(widest, k - s.first[s.of[k]] + 1);
    }
  }
  EXPECT_EQ(widest, 9);
}

TEST(T3Supernodes, OnTheDeviceAreTheSame) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  for (std::uint64_t seed = 1; seed <= (simt::instrumented ? 4 : 16); ++seed) {
    const FilledPattern f = seed % 3 == 0
                                ? fill_gilbert_peierls(random_matrix(seed, {.n = 300, .density = 0.01})).value()
                                : of_dense_blocks(seed, 5 * t3_chunk + int(seed), 10 + 40 * std::int32_t(seed % 5));
    const simt::SimulatorScope scope({.seed = seed, .resident_blocks = int(seed % 3)});
    const auto d = on_device(f, *stream);
    LULAB_ASSERT_OK(d);
    for (const std::int32_t max_width : {1, 7, t3_chunk, 1 << 20}) {
      const auto s = find_t3_supernodes(*d, max_width, *stream);
      LULAB_ASSERT_OK(s);
      const Supernodes expected = find_t3_supernodes(f, max_width);
      EXPECT_EQ(s->first, expected.first) << "seed " << seed << ", at most " << max_width;
      EXPECT_EQ(s->of, expected.of);
    }
  }
}

TEST(T3Supernodes, OnTheDeviceOfNoColumnAreNone) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  const auto filled = on_device(FilledPattern{}, *stream);
  LULAB_ASSERT_OK(filled);
  const DeviceFilledPattern without_arrays;
  for (const DeviceFilledPattern* none : {&*filled, &without_arrays}) {
    const auto s = find_t3_supernodes(*none, 8, *stream);
    LULAB_ASSERT_OK(s);
    const Supernodes expected = find_t3_supernodes(FilledPattern{}, 8);
    EXPECT_EQ(s->first, expected.first);
    EXPECT_EQ(s->of, expected.of);
    EXPECT_EQ(s->size(), 0);
  }
}

// The supernodes of Fig. 8: {0,1}, {2}, {3}.
TEST(T3Supernodes, OfTheExampleOfGaihreAndOthers) {
  const auto f = fill_gilbert_peierls(testing::gaihre_example());
  LULAB_ASSERT_OK(f);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(f->col_ptr[k + 1] - f->diag[k] - 1, (std::array{2, 1, 3, 3})[k]);
  const auto first = find_t3_supernodes(*f, 128).first;
  EXPECT_EQ(std::vector(first.begin(), first.begin() + 4), (std::vector<std::int32_t>{0, 2, 3, 4}));
}

struct StopsAtTheChunk : T3Rules {
  static constexpr bool crosses_chunks = false;
};
struct NeverRestarts : T3Rules {
  static constexpr bool restarts = false;
};

template <class Keeps>
int wrong_leads() {
  int wrong = 0;
  auto stream = simt::Stream::create();
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const simt::SimulatorScope scope({.seed = seed});
    const FilledPattern f = of_dense_blocks(seed, 3 * t3_chunk, 100);
    const auto d = on_device(f, *stream);
    simt::DeviceBuffer<std::uint8_t> d_leads;
    EXPECT_TRUE(d.ok() && simt::make(d_leads, f.n).ok() && d_leads.fill_bytes(7, *stream).ok());
    const std::int32_t max_width = 16;
    EXPECT_TRUE(simt::launch(t3_supernodes_kernel<Keeps>, {.grid = 3, .block = t3_chunk}, *stream, f.n,
                             d->d_col_ptr.data(), d->d_diag.data(), d->d_row_idx.data(), max_width, d_leads.data())
                    .ok());
    std::vector<std::uint8_t> leads(f.n), expected(f.n, 0);
    EXPECT_TRUE(d_leads.download(leads, *stream).ok() && stream->wait().ok());
    for (const std::int32_t first : find_t3_supernodes(f, max_width).first)
      if (first < f.n) expected[first] = 1;
    wrong += leads != expected;
  }
  return wrong;
}

TEST(T3SupernodesMutants, AreSeen) {
  LULAB_NEED_SIMULATOR();
  EXPECT_EQ(wrong_leads<T3Rules>(), 0);
  EXPECT_GT(wrong_leads<StopsAtTheChunk>(), 0);
  EXPECT_GT(wrong_leads<NeverRestarts>(), 0);
}

TEST(T3SupernodesMutants, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic([] { return wrong_leads<T3Rules>() > 0; });
  EXPECT_EQ(atomics.met.size(), 1u);  // the place in the queue
  EXPECT_EQ(atomics.unnoticed, std::set<std::string>{});
}

}  // namespace
}  // namespace lulab
