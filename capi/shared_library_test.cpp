// liblulab.so: what it exports, that it can be loaded and unloaded, and that C programs need nothing else. The man page
// says what the header says.
#include <dlfcn.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capi/lulab.h"
#include "testing/program.h"

namespace lulab {
namespace {

const std::string source = LULAB_SOURCE_DIR;
const std::string library = LULAB_SHARED_LIBRARY;

std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

std::string header() { return testing::read_text(source + "/capi/lulab.h"); }
std::set<std::string> declared_functions() { return all_matches(header(), "\nLULAB_API [^(]*?(lulab_[a-z_]+)\\("); }

TEST(LulabSharedLibrary, ExportsTheFunctionsOfTheHeaderAndNothingElse) {
  const testing::Answer answer = testing::run_command("nm -D --defined-only --with-symbol-versions '" + library + "'");
  ASSERT_EQ(answer.code, 0) << answer.err;
  std::set<std::string> expected = {"A LULAB_1"}, exported;
  for (const std::string& function : declared_functions()) expected.insert("T " + function + "@@LULAB_1");
  ASSERT_EQ(expected.size(), 23u);
  std::istringstream lines(answer.out);
  for (std::string line; std::getline(lines, line);) exported.insert(line.substr(line.find(' ') + 1));
  EXPECT_EQ(exported, expected);
}

TEST(LulabSharedLibrary, IsLoadedAndUnloaded) {
  for (int round = 0; round < 2; ++round) {
    void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(loaded, nullptr) << dlerror();
    for (const std::string& function : declared_functions())
      EXPECT_NE(dlsym(loaded, function.c_str()), nullptr) << function;
    const auto abi = reinterpret_cast<int (*)()>(dlsym(loaded, "lulab_abi"));
    const auto create = reinterpret_cast<int (*)(lulab_solver**, int32_t, int32_t)>(dlsym(loaded, "lulab_create"));
    const auto destroy = reinterpret_cast<int (*)(lulab_solver*)>(dlsym(loaded, "lulab_destroy"));
    EXPECT_EQ(abi(), LULAB_ABI);
    lulab_solver* solver = nullptr;
    EXPECT_EQ(create(&solver, LULAB_DOUBLE, LULAB_ABI), LULAB_OK);
    EXPECT_EQ(lulab_destroy(solver), LULAB_WRONG_HANDLE);  // this program has a lulab of its own
    EXPECT_EQ(destroy(solver), LULAB_OK);
    EXPECT_EQ(dlclose(loaded), 0);
  }
}

TEST(LulabSharedLibrary, AProgramInCNeedsNothingElse) {
  const std::string program = (testing::this_program().parent_path() / "lulab-solve-from-c").string();
  const testing::Answer needed = testing::run_command("readelf -d '" + program + "'");
  EXPECT_TRUE(contains(needed.out, "liblulab.so.1")) << needed.out;
  const testing::Answer answer = testing::run_program("lulab-solve-from-c", "");
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_TRUE(contains(answer.out, "step 10  v(1) = 0.83")) << answer.out;
  EXPECT_EQ(answer.err, "");
}

TEST(LulabManPage, NamesEveryFunctionStatusAndOption) {
  const std::string page = testing::read_text(source + "/capi/man/lulab.3");
  const std::set<std::string> functions = all_matches(page, "\n\\.BI \"[^\"]*?(lulab_[a-z_]+)\\(");
  EXPECT_EQ(functions, declared_functions());
  const std::set<std::string> statuses = all_matches(page, "\n\\.B (LULAB_[A-Z_]+)\n");
  EXPECT_EQ(statuses, all_matches(header(), "\n  (LULAB_[A-Z_]+) = [0-9]+,? *(?:/\\*[^\n]*)?"));
  std::set<std::string> keys;
  lulab_solver* solver = nullptr;
  ASSERT_EQ(lulab_create(&solver, LULAB_DOUBLE, LULAB_ABI), LULAB_OK);
  for (int32_t k = 0; lulab_option_key(k) != nullptr; ++k) {
    const std::string key = lulab_option_key(k);
    char value[100];
    ASSERT_EQ(lulab_get_option(solver, key.c_str(), value, sizeof value), LULAB_OK);
    const std::string heading = "\n.BR " + key + " \" (" + value + ")\"\n";
    EXPECT_TRUE(contains(page, heading)) << heading;
    keys.insert(key);
  }
  EXPECT_EQ(lulab_destroy(solver), LULAB_OK);
  EXPECT_EQ(all_matches(page, "\n\\.BR ([a-z_]+) \" \\("), keys);
}

}  // namespace
}  // namespace lulab
