#include "core/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace lulab {
namespace {

TEST(Status, OneLineNamesCodePlaceAndMessage) {
  EXPECT_EQ(Status{}.to_string(), "ok");
  EXPECT_TRUE(Status{}.ok());
  EXPECT_EQ(Status::error(StatusCode::parse_error, "expected a number", {"a.mtx", 12, {}, {}}).to_string(),
            "parse_error: a.mtx:12: expected a number");
  EXPECT_EQ(Status::error(StatusCode::parse_error, "is a folder", {"a.mtx", 0, {}, {}}).to_string(),
            "parse_error: a.mtx: is a folder");
  EXPECT_EQ(Status::error(StatusCode::deadlock, "block 3 waits").to_string(), "deadlock: block 3 waits");
}

TEST(Status, EveryCodeHasItsOwnName) {
  for (int a = 0; a <= static_cast<int>(StatusCode::not_implemented); ++a) {
    EXPECT_NE(to_string(static_cast<StatusCode>(a)), "unknown");
    for (int b = 0; b < a; ++b) EXPECT_NE(to_string(static_cast<StatusCode>(a)), to_string(static_cast<StatusCode>(b)));
  }
}

Status leave_early(bool fail, bool& reached_end) {
  LULAB_RETURN_IF_ERROR(fail ? Status::error(StatusCode::out_of_memory, "full") : Status{});
  reached_end = true;
  return {};
}

TEST(Status, ReturnIfErrorLeavesOnErrorsOnly) {
  bool reached = false;
  EXPECT_EQ(leave_early(true, reached).code, StatusCode::out_of_memory);
  EXPECT_FALSE(reached);
  EXPECT_TRUE(leave_early(false, reached).ok());
  EXPECT_TRUE(reached);
}

TEST(Result, HoldsAValueOrTheReasonForNone) {
  Result<std::unique_ptr<int>> good(std::make_unique<int>(5));
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(good.status().ok());
  const std::unique_ptr<int> moved = std::move(good).value();
  EXPECT_EQ(*moved, 5);
  const Result<int> bad(Status::error(StatusCode::invalid_argument, "no"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message, "no");
}

TEST(Result, AnOkStatusIsNoValue) {
  const Result<int> neither{Status{}};
  EXPECT_FALSE(neither.ok());
  EXPECT_FALSE(neither.status().ok());
  EXPECT_FALSE(neither.status().message.empty());
}

}  // namespace
}  // namespace lulab
