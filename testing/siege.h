#pragma once
// A siege: many seeded cases against the program, each with an answer that is known beforehand. A failed case prints
// its files and the command that runs it alone.
//   LULAB_SIEGE_CASES=100000 ./lulab test -R Siege      more than the 2,000 of every test run

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/random.h"
#include "testing/program.h"
#include "testing/schedules.h"

namespace lulab::siege {

using testing::Answer;

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A siege is split into so many tests, which run side by side.
inline constexpr int shards = 4;

/// The seeds of one shard. `share` is the part of all cases that this siege takes.
inline std::vector<std::uint64_t> seeds_of(int shard, double share) {
  const std::uint64_t all = number_from("LULAB_SIEGE_CASES", simt::instrumented ? 100 : 1000);
  const auto cases = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(all) * share));
  const std::uint64_t first = number_from("LULAB_SIEGE_SEED", 1);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t k = 0; k < cases; ++k)
    if (k % shards == static_cast<std::uint64_t>(shard)) seeds.push_back(first + k);
  return seeds;
}

/// attack(random, log): one case; returns what is wrong with the program's answer, empty when nothing is, and tells in
/// `log` what was done. Stops at the fifth failure.
template <class Attack>
void besiege(int shard, double share, Attack&& attack) {
  const std::string suite = ::testing::UnitTest::GetInstance()->current_test_suite()->name();
  int failed = 0;
  for (const std::uint64_t seed : seeds_of(shard, share)) {
    Random random(seed);
    std::string log;
    const std::string wrong = attack(random, log);
    if (wrong.empty()) continue;
    ADD_FAILURE() << wrong << "\n"
                  << log << "\nreplay: LULAB_SIEGE_SEED=" << seed << " LULAB_SIEGE_CASES=1 ./lulab test -R "
                  << suite.substr(suite.find('/') + 1);
    if (++failed == 5) return;
  }
}

/// As one word of the shell.
inline std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Runs the program in this folder; a command that takes a minute hangs.
inline Answer lulab(const testing::TemporaryFolder& folder, const std::string& arguments,
                    const std::string& redirection = "") {
  const std::string program = (testing::this_program().parent_path() / "lulab").string();
  return testing::run_command(
      fmt::format("cd '{}' && timeout 60 '{}' {} {}", folder.path(""), program, arguments, redirection));
}

/// What every answer keeps, whatever was asked. Returns what is wrong with it, or nothing.
///   An exit code that is documented. With --json: lines of JSON, and nothing on stderr. Without: no error twice, none
///   with exit code 0, and a word where the exit code is 2 or 4.
inline std::string broken_promise(const Answer& answer, bool json) {
  if (answer.code < 0 || answer.code > 4) return fmt::format("exit code {}: crashed or hangs", answer.code);
  if (json) {
    if (!answer.err.empty()) return "text on stderr beside JSON";
    std::istringstream lines(answer.out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      if (!nlohmann::json::accept(line)) return "a line of stdout is not JSON";
    return count == 0 ? "no JSON" : "";
  }
  std::set<std::string> errors;
  std::istringstream lines(answer.err);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("lulab: error:") && !errors.insert(line).second) return "the same error twice";
  if (answer.code == 0 && !errors.empty()) return "an error on stderr, but exit code 0";
  if ((answer.code == 2 || answer.code == 4) && errors.empty() && answer.out.empty()) return "failed without a word";
  return "";
}

inline std::string transcript(std::string_view arguments, const Answer& answer) {
  return fmt::format("lulab {}\nexit code {}\n{:.1000}\n{:.1000}", arguments, answer.code, answer.out, answer.err);
}

}  // namespace lulab::siege
