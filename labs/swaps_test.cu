// Checks of a lab whose lines turn row swaps into moves: every row of a small matrix, against the swaps one by one.

#include <algorithm>
#include <random>

#include "dense/04_row_swaps.h"
#include "labs/verdict_test.h"
#include "testing/device.h"

namespace lulab::labs {
namespace {

struct Case {
  std::int32_t n, first_swap;
  std::vector<std::int32_t> with;  // swap s exchanges rows first_swap + s and with[s]
};

std::string to_text(const Case& c) {
  std::string text;
  for (std::size_t s = 0; s < c.with.size(); ++s)
    text += fmt::format("{}{} and {}", s == 0 ? "" : ", ", c.first_swap + s, c.with[s]);
  return text;
}

/// False, and the first wrong row told, unless every row is where the swaps, one after the other, take it.
bool expect_moved(const Case& c, const simt::SimulatorOptions& options) {
  const simt::SimulatorScope scope(options);
  std::vector<std::int32_t> ipiv(c.n, -1), row(c.n);
  std::vector<double> a(std::size_t(c.n) * c.n), moved(a.size(), -1);
  for (std::int32_t i = 0; i < c.n; ++i) {
    row[i] = i;
    for (std::int32_t j = 0; j < c.n; ++j) a[i + std::size_t(j) * c.n] = 1000.0 * i + j;
  }
  for (std::size_t s = 0; s < c.with.size(); ++s) {
    ipiv[c.first_swap + s] = c.with[s];
    std::swap(row[c.first_swap + s], row[c.with[s]]);
  }
  const auto end = c.first_swap + static_cast<std::int32_t>(c.with.size());
  auto stream = simt::Stream::create();
  auto d_a = simt::DeviceBuffer<double>::create(a, *stream);
  auto d_ipiv = simt::DeviceBuffer<std::int32_t>::create(ipiv, *stream);
  Status status =
      dense::swap_rows<double>({c.n, c.n, d_a->data(), d_ipiv->data(), nullptr}, c.first_swap, end, 0, c.n, *stream);
  if (status.ok()) status = d_a->download(moved, *stream);
  if (status.ok()) status = stream->wait();
  const std::string name = fmt::format("n = {}, swaps of rows {}", c.n, to_text(c));
  if (!status.ok()) {
    fail_with_status(name, options, status);
    return false;
  }
  for (std::int32_t i = 0; i < c.n; ++i)
    for (std::int32_t j = 0; j < c.n; ++j) {
      const double value = moved[i + std::size_t(j) * c.n];
      if (value == 1000.0 * row[i] + j) continue;
      fail_with({{"matrix", name},
                 {"step", fmt::format("row {}, column {}", i, j)},
                 {"expected", fmt::format("what row {} had", row[i])},
                 {"actual", fmt::format("what row {} had", static_cast<int>(value) / 1000)},
                 {"schedule", labs::to_text(options)}});
      return false;
    }
  return true;
}

TEST(SwapsLab, SmallExact) {
  for (const Case& c : {Case{3, 0, {0}}, Case{3, 0, {2}}, Case{4, 0, {1, 2, 3}}, Case{5, 0, {4, 4, 4}},
                        Case{5, 1, {3, 2, 4}}, Case{6, 2, {5, 5, 4}}, Case{4, 0, {1, 1}}})
    if (!expect_moved(c, schedule(1))) return;
}

TEST(SwapsLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + (simt::race_detection ? 6 : 30); ++seed) {
    std::mt19937_64 random(seed);
    Case c;
    c.n = static_cast<std::int32_t>(2 + seed % 40);
    c.first_swap = static_cast<std::int32_t>(random() % c.n);
    const std::int32_t swaps = 1 + static_cast<std::int32_t>(random() % (c.n - c.first_swap));
    for (std::int32_t k = c.first_swap; k < c.first_swap + swaps; ++k)
      c.with.push_back(k + static_cast<std::int32_t>(random() % (c.n - k)));
    if (!expect_moved(c, schedule(seed))) return;
  }
}

}  // namespace
}  // namespace lulab::labs
