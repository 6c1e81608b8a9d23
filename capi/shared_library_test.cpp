// liblulab.so: what it exports, that it can be loaded while a program runs, and that C programs need nothing else. The
// man pages say what the headers say.
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

const std::string solver_header = "/capi/lulab.h", judge_header = "/verify/lulab_judge.h";

std::set<std::string> functions_of(const std::string& header) {
  return all_matches(testing::read_text(source + header), "\nLULAB_API [^(]*?(lulab_[a-z_]+)\\(");
}
std::set<std::string> declared_functions() {
  std::set<std::string> all = functions_of(solver_header);
  all.merge(functions_of(judge_header));
  return all;
}

TEST(LulabSharedLibrary, ExportsTheFunctionsOfTheHeadersAndNothingElse) {
  const testing::Answer answer = testing::run_command("nm -D --defined-only --with-symbol-versions '" + library + "'");
  ASSERT_EQ(answer.code, 0) << answer.err;
  std::set<std::string> expected = {"A LULAB_1"}, exported;
  for (const std::string& function : declared_functions()) expected.insert("T " + function + "@@LULAB_1");
  ASSERT_EQ(expected.size(), 28u);
  std::istringstream lines(answer.out);
  for (std::string line; std::getline(lines, line);) exported.insert(line.substr(line.find(' ') + 1));
  EXPECT_EQ(exported, expected);
}

TEST(LulabSharedLibrary, IsLoadedTwiceAndStays) {
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
  EXPECT_NE(dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(LulabSharedLibrary, AProgramInCNeedsNothingElse) {
  for (const char* name : {"lulab-solve-from-c", "lulab-judge-from-c"}) {
    const std::string program = (testing::this_program().parent_path() / name).string();
    const testing::Answer needed = testing::run_command("readelf -d '" + program + "'");
    EXPECT_TRUE(contains(needed.out, "liblulab.so.1")) << needed.out;
    const testing::Answer taken =
        testing::run_command("nm -D --undefined-only --with-symbol-versions '" + program + "'");
    EXPECT_TRUE(contains(taken.out, "@LULAB_1")) << taken.out;
  }
  const testing::Answer answer = testing::run_program("lulab-solve-from-c", "");
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_TRUE(contains(answer.out, "step 10  v(1) = 0.83")) << answer.out;
  EXPECT_EQ(answer.err, "");
}

TEST(LulabManPage, NamesEveryFunctionStatusAndOption) {
  const std::string function = "\n\\.BI \"[^\"]*?(lulab_[a-z_]+)\\(", status = "\n\\.B (LULAB_[A-Z_]+)\n";
  const std::string page = testing::read_text(source + "/capi/man/lulab.3");
  const std::string page_of_judge = testing::read_text(source + "/capi/man/lulab_judge.3");
  EXPECT_EQ(all_matches(page, function), functions_of(solver_header));
  EXPECT_EQ(all_matches(page_of_judge, function), functions_of(judge_header));
  const auto numbered = [](const std::string& header, const std::string& name) {
    return all_matches(testing::read_text(source + header), "\n  (" + name + ") = [0-9]+,? *(?:/\\*[^\n]*)?");
  };
  EXPECT_EQ(all_matches(page, status), numbered(solver_header, "LULAB_[A-Z_]+"));
  EXPECT_EQ(all_matches(page_of_judge, status),
            numbered(judge_header, "LULAB_JUDGE_(?:OK|BAD_INPUT|OUT_OF_MEMORY|INTERNAL)"));
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
