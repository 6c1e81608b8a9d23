#include "symbolic/dependencies_parallel.h"

#include <algorithm>
#include <thread>

#include "testing/patterns.h"

namespace lulab {
namespace {

using testing::NamedPattern;

void expect_the_sequential_lists(const NamedPattern& pattern) {
  SCOPED_TRACE(pattern.name);
  for (const DependencyRule rule : dependency_rules) {
    SCOPED_TRACE(to_string(rule));
    const ColumnDependencies expected = find_dependencies(pattern.filled, rule);
    for (const int threads : {0, 1, 2, 3, 7, pattern.filled.n + 7}) {  // at last more than columns
      const ColumnDependencies d = find_dependencies(pattern.filled, rule, threads);
      EXPECT_EQ(d.ptr, expected.ptr) << threads << " threads";
      EXPECT_EQ(d.columns, expected.columns) << threads << " threads";
    }
  }
}

TEST(DependenciesParallel, OfThePapersExample) {
  expect_the_sequential_lists({"example", testing::peng_tan_example()});
}

TEST(DependenciesParallel, OfRandomPatterns) {  // 0, 1, 2, ... columns
  for (const NamedPattern& pattern : testing::random_patterns(60)) expect_the_sequential_lists(pattern);
}

TEST(DependenciesParallel, OfCircuitsMeshesAndExtremes) {
  for (const NamedPattern& pattern : testing::generated_patterns(500)) expect_the_sequential_lists(pattern);
}

TEST(DependenciesParallel, ThreadsStartForLargePatternsOnly) {
  EXPECT_EQ(useful_threads({}), 1);
  EXPECT_EQ(useful_threads(testing::peng_tan_example()), 1);
  const auto dense = testing::analyze_ordered(generate("arrow_first", {.n = 2000}).value(), {.order = Order::natural});
  ASSERT_TRUE(dense.ok());  // 4 million entries
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_EQ(useful_threads(dense->filled), std::clamp(cores, 1, 20));
}

}  // namespace
}  // namespace lulab
