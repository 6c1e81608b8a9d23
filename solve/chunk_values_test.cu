// Inverses of triangles of every size, and moves beside them.

#include "solve/chunk_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "testing/device.h"

namespace lulab {
namespace {

using chunk_solve::ValuesView;

template <class T>
struct Problem {
  std::vector<T> values;
  std::vector<ChunkTriangle> triangles;
  std::vector<ChunkEntry> entries, inverses;
  std::vector<ChunkMove> moves;
  std::vector<double> expected, bound;  // of the tasks; bound: what rounding may do
};

/// Some triangles of one size with random entries; inverse entries and moved ones lie in random places of the tasks.
template <class T>
Problem<T> make_problem(std::int32_t size, double density, bool has_pivots, int count, int moves, std::uint64_t seed) {
  Problem<T> p;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> any(-0.3, 0.3), pivot(0.5, 2), chance(0, 1);
  const std::size_t places = std::size_t(count) * size * (size - 1) / 2 + moves;
  std::vector<std::uint32_t> place(places);
  for (std::size_t k = 0; k < places; ++k) place[k] = static_cast<std::uint32_t>(k);
  std::ranges::shuffle(place, random);
  p.expected.resize(places);
  p.bound.assign(places, 0);
  std::size_t taken = 0;
  const auto value = [&](double v) {
    p.values.push_back(static_cast<T>(v));
    return static_cast<std::uint32_t>(p.values.size() - 1);
  };
  for (int c = 0; c < count; ++c) {
    ChunkTriangle t = {
        static_cast<std::uint32_t>(p.entries.size()), 0, static_cast<std::uint32_t>(p.inverses.size()), 0, size, 1};
    std::vector<double> row_pivot(size, 1), tri(std::size_t(size) * size, 0);
    if (has_pivots)
      for (std::int32_t i = 0; i < size; ++i) {
        p.entries.push_back({value(pivot(random)), static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i)});
        row_pivot[i] = p.values.back();
      }
    for (std::int32_t i = 0; i < size; ++i)
      for (std::int32_t j = 0; j < i; ++j)
        if (chance(random) < density || (i == 1 && j == 0)) {
          p.entries.push_back({value(any(random)), static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(j)});
          tri[i * size + j] = p.values.back() / row_pivot[i];
        }
    std::vector<double> x(tri.size(), 0), error(tri.size(), 0);  // the inverse, and |X| |T| |X|
    for (std::int32_t j = 0; j < size; ++j) {
      x[j * size + j] = 1;
      for (std::int32_t i = j + 1; i < size; ++i)
        for (std::int32_t k = j; k < i; ++k) x[i * size + j] -= tri[i * size + k] * x[k * size + j];
    }
    for (std::int32_t i = 0; i < size; ++i)
      for (std::int32_t k = 0; k <= i; ++k) {
        double of_row = std::abs(x[i * size + k]);
        for (std::int32_t m = k + 1; m <= i; ++m) of_row += std::abs(x[i * size + m] * tri[m * size + k]);
        for (std::int32_t j = 0; j <= k; ++j) error[i * size + j] += of_row * std::abs(x[k * size + j]);
      }
    for (std::int32_t i = 0; i < size; ++i)
      for (std::int32_t j = 0; j < i; ++j) {
        p.inverses.push_back({place[taken], static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(j)});
        p.expected[place[taken]] = x[i * size + j];
        p.bound[place[taken++]] = size * double(std::numeric_limits<T>::epsilon()) * error[i * size + j];
      }
    t.entry_end = static_cast<std::uint32_t>(p.entries.size());
    t.inverse_end = static_cast<std::uint32_t>(p.inverses.size());
    p.triangles.push_back(t);
  }
  for (int k = 0; k < moves; ++k) {
    p.moves.push_back({place[taken], value(any(random))});
    p.expected[place[taken++]] = -double(p.values.back());
  }
  return p;
}

template <class T>
void expect_inverses(const Problem<T>& p, unsigned move_blocks, std::uint32_t few_move_blocks) {
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  simt::DeviceBuffer<T> d_values, d_tasks;
  simt::DeviceBuffer<ChunkMove> d_moves;
  simt::DeviceBuffer<ChunkTriangle> d_triangles;
  simt::DeviceBuffer<ChunkEntry> d_entries, d_inverses;
  simt::DeviceBuffer<unsigned long long> d_max;
  LULAB_ASSERT_OK(simt::make(d_values, p.values, *stream));
  LULAB_ASSERT_OK(simt::make(d_tasks, static_cast<std::int64_t>(p.expected.size())));
  LULAB_ASSERT_OK(d_tasks.fill_bytes(0xFF, *stream));
  LULAB_ASSERT_OK(simt::make(d_moves, p.moves, *stream));
  LULAB_ASSERT_OK(simt::make(d_triangles, p.triangles, *stream));
  LULAB_ASSERT_OK(simt::make(d_entries, p.entries, *stream));
  LULAB_ASSERT_OK(simt::make(d_inverses, p.inverses, *stream));
  LULAB_ASSERT_OK(simt::make(d_max, std::vector<unsigned long long>(1, 0), *stream));
  const auto count = static_cast<std::uint32_t>(p.triangles.size());
  const bool large = p.triangles[0].size > chunk_solve::warp_columns;
  ValuesView<T> v = {};
  v.values = d_values.data();
  v.tasks = d_tasks.data();
  v.moves = d_moves.data();
  v.n_moves = std::ssize(p.moves);
  v.large = v.small = d_triangles.data();
  v.n_large = large ? count : 0;
  v.n_small = large ? 0 : count;
  v.entries = d_entries.data();
  v.inverses = d_inverses.data();
  v.max_inverse = d_max.data();
  v.few_move_blocks = few_move_blocks;
  LULAB_ASSERT_OK(simt::launch(chunk_solve::chunk_values_kernel<T>,
                               {.grid = v.triangle_blocks() + move_blocks, .block = 32 * chunk_solve::values_warps},
                               *stream, v));
  std::vector<T> tasks(p.expected.size());
  std::vector<unsigned long long> max(1);
  LULAB_ASSERT_OK(d_tasks.download(tasks, *stream));
  LULAB_ASSERT_OK(d_max.download(max, *stream));
  LULAB_ASSERT_OK(stream->wait());
  double largest = 0;
  for (std::size_t k = 0; k < tasks.size(); ++k)
    ASSERT_TRUE(std::abs(tasks[k] - p.expected[k]) <= p.bound[k]) << k << ": " << tasks[k] << " " << p.expected[k];
  for (const ChunkEntry& e : p.inverses) largest = std::max(largest, std::abs(double(tasks[e.at])));
  EXPECT_EQ(std::bit_cast<double>(max[0]), largest);
}

template <class T>
class ChunkValuesOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ChunkValuesOf, Scalars);

TYPED_TEST(ChunkValuesOf, AreInversesOfTrianglesOfEverySize) {
  LULAB_NEED_DEVICE();
  std::uint64_t seed = 0;
  for (const std::int32_t size : {2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 47, 48, 49, 56, 57, 63, 64})
    for (const double density : {0.3, 1.0})
      for (const bool has_pivots : {false, true}) {
        SCOPED_TRACE(::testing::Message() << size << " columns, density " << density << ", pivots " << has_pivots);
        const bool moves_first = ++seed % 3 == 0;
        const auto p = make_problem<TypeParam>(size, density, has_pivots, 5, seed % 2 == 0 ? 700 : 0, seed);
        expect_inverses(p, seed % 2 == 0 ? 3 : 0, moves_first ? 1024 : 0);
        if (this->HasFatalFailure()) return;
      }
}

}  // namespace
}  // namespace lulab
