// The text of a race, and where the lines of source in it come from.

#include "core/simt/host/race_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "testing/program.h"

namespace lulab::simt::host {
namespace {

namespace fs = std::filesystem;

TEST(RaceReport, ReadsTheLineWithoutItsComment) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.write("kernel.h", "int a;\n  x[i] = y;          // a remark\n\n");
  EXPECT_EQ(line_of_source(file, 1), "kernel.h:1: int a;");
  EXPECT_EQ(line_of_source(file, 2), "kernel.h:2: x[i] = y;");
  EXPECT_EQ(line_of_source(file, 3), "kernel.h:3: ");
  EXPECT_EQ(line_of_source(file, 9), "kernel.h:9") << "there is no such line";
  EXPECT_EQ(line_of_source(folder.path("missing.h"), 1), "missing.h:1");
}

// ccache with a base_dir makes names relative to the folder that the compiler ran in, which holds the program's.
TEST(RaceReport, FindsRelativeNamesFromAnyCurrentFolder) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.write("kernel.h", "x[i] = y;\n"), bin = testing::this_program().parent_path();
  const fs::path before = fs::current_path();
  fs::create_directory(folder.path("elsewhere"));
  fs::current_path(folder.path("elsewhere"));
  for (const fs::path& from : {bin, bin.parent_path(), bin.parent_path().parent_path()})
    EXPECT_EQ(line_of_source(file.lexically_relative(from).string(), 1), "kernel.h:1: x[i] = y;") << from;
  EXPECT_EQ(line_of_source("../kernel.h", 1), "kernel.h:1: x[i] = y;") << "from the current folder";
  fs::current_path(before);
}

TEST(RaceReport, HasFiveLinesOfWhichTheLastNamesTheFile) {
  RaceReport race;
  race.kernel = "k";
  race.where = "x[3]";
  race.now = {.thread = "block 1, warp 0, lane 0", .line = "a.h:7: y = x[3];"};
  race.before = {.thread = "block 0, warp 0, lane 2", .line = "a.h:5: x[3] = 1;", .writes = true, .is_atomic = true};
  race.schedule = {.seed = 9, .resident_blocks = 2};
  race.file = "report.1";
  const std::string text = to_text(race);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  EXPECT_TRUE(contains(text, "race in kernel k: x[3]\n")) << text;
  EXPECT_TRUE(contains(text, "\n  block 1, warp 0, lane 0: read at a.h:7: y = x[3];\n")) << text;
  EXPECT_TRUE(contains(text, "\n  earlier, block 0, warp 0, lane 2: atomic write at a.h:5: x[3] = 1;\n")) << text;
  EXPECT_TRUE(contains(text, "again: LULAB_SIM_SEED=9 LULAB_SIM_RESIDENT=2 ")) << text;
  EXPECT_TRUE(text.ends_with(": report.1")) << text;
  EXPECT_EQ(summary_of(race),
            "x[3]: read at a.h:7 (block 1, warp 0, lane 0) and atomic write at a.h:5 (block 0, warp 0, lane "
            "2) have no order");
  race.file.clear();
  EXPECT_TRUE(to_text(race).ends_with("before the same command")) << to_text(race);
}

TEST(RaceReport, KnowsNamedMemoryUntilItIsFreed) {
  auto buffer = DeviceBuffer<double>::create(10);
  ASSERT_TRUE(buffer.ok());
  const std::vector<std::int64_t> col_ptr = {0, 2, 6};
  double* const d = buffer->data();
  name_elements(d, 1, "ticket");
  name_memory(d + 1, 6 * sizeof(double), sizeof(double), "As", col_ptr);
  const auto name_at = [&](int i) {
    const auto array = device_array_of(d + i);
    return !array ? "none" : array->name == nullptr ? "no name" : array->name;
  };
  EXPECT_STREQ(name_at(0), "ticket");
  EXPECT_STREQ(name_at(1), "As");
  EXPECT_STREQ(name_at(6), "As");
  EXPECT_STREQ(name_at(7), "no name");
  EXPECT_EQ(device_array_of(d + 3)->begin, reinterpret_cast<const std::byte*>(d + 1));
  EXPECT_EQ(device_array_of(d + 3)->col_ptr.size(), 3u);
  EXPECT_EQ(device_array_of(d + 7)->begin, reinterpret_cast<const std::byte*>(d));
  *buffer = {};
  EXPECT_FALSE(device_array_of(d)) << "its name outlived it";
}

}  // namespace
}  // namespace lulab::simt::host
