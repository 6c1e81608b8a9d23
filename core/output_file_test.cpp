#include "core/output_file.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "testing/program.h"

namespace lulab {
namespace {

namespace fs = std::filesystem;
using testing::read_text;

Status write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.add(text);
  return file.close();
}

class OutputFileTest : public ::testing::Test {
 protected:
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder.path("")), {}); }
  testing::TemporaryFolder folder;
};

TEST_F(OutputFileTest, ReplacesAFileAndKeepsItsMode) {
  const std::string path = folder.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(static_cast<int>(fs::status(path).permissions()), 0640);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, WithoutCloseTheOldFileStays) {
  const std::string path = folder.write("a", "old");
  {
    OutputFile file(path);
    file.add(std::string(3 << 20, 'x'));
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, ALinkStaysALink) {
  folder.write("a", "old");
  fs::create_symlink("a", folder.path("link"));
  fs::create_symlink("missing", folder.path("dangling"));
  ASSERT_TRUE(write_file(folder.path("link"), "new").ok());
  ASSERT_TRUE(write_file(folder.path("dangling"), "made").ok());
  EXPECT_TRUE(fs::is_symlink(folder.path("link")) && fs::is_symlink(folder.path("dangling")));
  EXPECT_EQ(read_text(folder.path("a")), "new");
  EXPECT_EQ(read_text(folder.path("missing")), "made");
}

TEST_F(OutputFileTest, AFullDeviceIsAnErrorAndIsNotRemoved) {
  fs::create_symlink("/dev/full", folder.path("full"));
  for (const std::size_t size : {1, 3 << 20}) {  // fails in close(), and before
    const Status status = write_file(folder.path("full"), std::string(size, 'x'));
    EXPECT_EQ(status.code, StatusCode::invalid_argument);
    EXPECT_EQ(status.where.file, folder.path("full"));
    EXPECT_TRUE(contains(status.message, "No space left on device")) << status.message;
  }
  EXPECT_TRUE(fs::is_symlink(folder.path("full")));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, PlacesThatCannotBeWrittenAreNamed) {
  fs::create_symlink("loop", folder.path("loop"));
  for (const std::string& path : {folder.path(""), folder.path("no/such"), folder.path("loop"), std::string()}) {
    const Status status = write_file(path, "x");
    EXPECT_EQ(status.code, StatusCode::invalid_argument) << path;
    EXPECT_EQ(status.where.file, path);
    EXPECT_FALSE(contains(status.message, "gives no reason")) << path << status.message;
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, GzipReadsBack) {
  OutputFile file(folder.path("a.gz"), true);
  file.add("text");
  ASSERT_TRUE(file.close().ok());
  const gzFile packed = gzopen(folder.path("a.gz").c_str(), "rb");
  char text[8] = {};
  EXPECT_EQ(gzread(packed, text, sizeof text), 4);
  EXPECT_EQ(std::string_view(text), "text");
  gzclose(packed);
}

}  // namespace
}  // namespace lulab
