// The program that `lulab lab check` links with a student's file in front of the libraries, and runs.
//
//   labs_simt_test --rung ID --seed S --verdicts FD --gtest_filter=...      a token on standard input
//
// A verdict counts only with the token, on a descriptor of its own: what the tested code prints is no verdict, and a
// process that ends early leaves its test without one.

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "labs/count_accesses.h"
#include "labs/verdict_test.h"

namespace lulab::labs {
namespace {

CheckOptions options;

class TellVerdicts final : public ::testing::EmptyTestEventListener {
 public:
  TellVerdicts(int descriptor, std::string token) : descriptor_(descriptor), token_(std::move(token)) {}

 private:
  void OnTestStart(const ::testing::TestInfo&) override { start_counting(); }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const Accesses accesses = stop_counting();
    const ::testing::TestResult& result = *test.result();
    nlohmann::ordered_json verdict = {{"token", token_},
                                      {"test", std::string(test.test_suite_name()) + "." + test.name()},
                                      {"passed", result.Passed()},
                                      {"accesses", accesses.all},
                                      {"longest", accesses.of_longest_thread}};
    for (int k = 0; k < result.test_property_count(); ++k)
      verdict["facts"][result.GetTestProperty(k).key()] = result.GetTestProperty(k).value();
    for (int k = 0; k < result.total_part_count() && !verdict.contains("message"); ++k)
      if (result.GetTestPartResult(k).failed()) verdict["message"] = result.GetTestPartResult(k).message();
    const std::string line = verdict.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(2);
  }

  int descriptor_;
  std::string token_;
};

}  // namespace

const CheckOptions& check_options() { return options; }

}  // namespace lulab::labs

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int descriptor = -1;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view name = argv[k];
    if (name == "--rung") lulab::labs::options.rung = argv[k + 1];
    if (name == "--seed") lulab::labs::options.seed = std::strtoull(argv[k + 1], nullptr, 10);
    if (name == "--verdicts") descriptor = std::atoi(argv[k + 1]);
  }
  if (descriptor >= 0) {
    std::string token;
    std::getline(std::cin, token);
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());  // what is printed is then the tested code's
    listeners.Append(new lulab::labs::TellVerdicts(descriptor, token));
  }
  return RUN_ALL_TESTS();
}
