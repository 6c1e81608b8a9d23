#include "core/simt/primitives.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "testing/launch.h"

namespace lulab::simt {
namespace {

TEST(Primitives, SumAndSort) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  Scratch scratch;
  std::mt19937_64 random(7);
  for (const std::int64_t n : {0, 1, 31, 5000, 1, 70001}) {
    std::vector<std::int64_t> keys(n), out(n, -1), expected(n);
    for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() >> 20);  // sums exceed 32 bits
    DeviceBuffer<std::int64_t> d_keys, d_out;
    LULAB_ASSERT_OK(make(d_keys, keys, *stream));
    LULAB_ASSERT_OK(make(d_out, n));

    LULAB_ASSERT_OK(exclusive_sums(d_keys.data(), d_out.data(), n, scratch, *stream));
    LULAB_ASSERT_OK(d_out.download(out, *stream));
    LULAB_ASSERT_OK(stream->wait());
    std::exclusive_scan(keys.begin(), keys.end(), expected.begin(), std::int64_t{0});
    EXPECT_EQ(out, expected);

    LULAB_ASSERT_OK(sort_keys(d_keys.data(), d_out.data(), n, 44, scratch, *stream));
    LULAB_ASSERT_OK(d_out.download(out, *stream));
    LULAB_ASSERT_OK(exclusive_sums(d_keys.data(), d_keys.data(), n, scratch, *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_FALSE(std::ranges::is_sorted(keys) && n > 1);
    std::ranges::sort(keys);
    EXPECT_EQ(out, keys);

    LULAB_ASSERT_OK(d_keys.download(out, *stream));  // in place
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(out, expected);
  }
}

TEST(Primitives, AKeyOfMoreBitsThanToldIsFoundInTheSimulator) {
  if (machine() == Machine::gpu) GTEST_SKIP() << "a GPU sorts by the bits that it is told";
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  Scratch scratch;
  for (const bool fits : {true, false}) {
    DeviceBuffer<std::int64_t> d_keys, d_out;
    LULAB_ASSERT_OK(make(d_keys, std::vector<std::int64_t>{3, fits ? 7 : 8, 0}, *stream));
    LULAB_ASSERT_OK(make(d_out, 3));
    LULAB_ASSERT_OK(sort_keys(d_keys.data(), d_out.data(), 3, 3, scratch, *stream));
    EXPECT_EQ(stream->wait().code, fits ? StatusCode::ok : StatusCode::invalid_argument);
  }
}

}  // namespace
}  // namespace lulab::simt
