#pragma once
// For tests that run a program: a folder of their own, and what the program answered.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "testing/contains.h"

namespace lulab::testing {

/// What a program ended with. code: its exit code, -1 when a signal ended it.
struct Answer {
  int code = -1;
  std::string out, err;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

/// A folder that lives as long as this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lulab_test_XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr) << pattern;
    folder_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// A file with this text; returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

/// Runs a command of the shell without input.
inline Answer run_command(const std::string& command) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out"), err = folder.path("err");
  std::string redirected = "{ ";
  redirected.append(command).append("\n} >'").append(out).append("' 2>'").append(err).append("' </dev/null");
  const int status = std::system(redirected.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

/// Runs a program that is built beside this test.
inline Answer run_program(const std::string& name, const std::string& arguments) {
  const std::string program = (this_program().parent_path() / name).string();
  return run_command(std::string("'").append(program).append("' ").append(arguments));
}

}  // namespace lulab::testing
