#include "core/simt/workspace.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "testing/launch.h"

namespace lulab::simt {
namespace {

TEST(Workspace, ArraysAreApartAndMemoryGrowsWhereItMust) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  DeviceBuffer<std::byte> memory;
  std::int64_t most = 0;
  for (const std::int64_t n : {1, 300, 0, 7, 5000}) {
    std::uint8_t* d_small = nullptr;
    std::int64_t* d_large = nullptr;
    std::int32_t* d_last = nullptr;
    LULAB_ASSERT_OK(place_together(memory, *stream, Placed{d_small, n}, Placed{d_large, 2 * n}, Placed{d_last, n}));
    most = std::max(most, placed_bytes(Placed{d_small, n}, Placed{d_large, 2 * n}, Placed{d_last, n}));
    EXPECT_EQ(memory.size(), most);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(d_large) % alignof(std::int64_t), 0u);

    std::vector<std::uint8_t> a(n, 7), found_a(n);
    std::vector<std::int64_t> b(2 * n), found_b(2 * n);
    std::vector<std::int32_t> c(n, -3), found_c(n);
    std::iota(b.begin(), b.end(), std::int64_t{1} << 40);
    LULAB_ASSERT_OK(copy_to_device(d_last, c.data(), 4 * c.size(), *stream));
    LULAB_ASSERT_OK(copy_to_device(d_large, b.data(), 8 * b.size(), *stream));
    LULAB_ASSERT_OK(copy_to_device(d_small, a.data(), a.size(), *stream));
    LULAB_ASSERT_OK(copy_to_host(found_a.data(), d_small, a.size(), *stream));
    LULAB_ASSERT_OK(copy_to_host(found_b.data(), d_large, 8 * b.size(), *stream));
    LULAB_ASSERT_OK(copy_to_host(found_c.data(), d_last, 4 * c.size(), *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(found_a, a);
    EXPECT_EQ(found_b, b);
    EXPECT_EQ(found_c, c);
  }
}

TEST(WorkspaceDeathTest, AddressSanitizerSeesWhoGoesBeyondAnArray) {
#if defined(LULAB_CUDA) || !defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "without AddressSanitizer";
#else
  DeviceBuffer<std::byte> memory;
  std::int32_t *d_first = nullptr, *d_second = nullptr;
  LULAB_ASSERT_OK(place_together(memory, Placed{d_first, 64}, Placed{d_second, 1}));
  d_first[63] = 1;
  EXPECT_DEATH(d_first[64] = 1, "use-after-poison");
#endif
}

}  // namespace
}  // namespace lulab::simt
