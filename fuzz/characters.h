#pragma once
// An input that a person can write: one character a number, blanks and ends of lines between them do not count.
//
//   0..9  the number        a..i  -1..-9        .  no entry (of a vector: zero)
//   j 0.5   k 0.1   l 1/3   m 1e-8   n 1e8   o 1e-16   p 1e16   q 1e-100   r 1e100   s 1e-300   t 1e300   u 1e-310
//   v the largest double   w -0.5   x -1e-8   y -1e8   z -1e16   N NaN   I infinity   J -infinity
//   bytes from 128 on: more numbers of both signs, 1/16 to 16

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/matrix/csc.h"

namespace lulab::fuzz {

class Characters {
 public:
  Characters(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool at_end() {
    while (at_ < size_ && (data_[at_] == ' ' || data_[at_] == '\n')) ++at_;
    return at_ >= size_;
  }
  /// The next character; '.' at the end.
  std::uint8_t next() { return at_end() ? '.' : data_[at_++]; }
  /// 0..choices-1: that of '0' is 0.
  int choice(int choices) { return (next() + 208) % 256 % choices; }  // 208 = 256 - '0'

  std::optional<double> entry() {
    constexpr double inf = std::numeric_limits<double>::infinity();
    constexpr double special[] = {0.5,
                                  0.1,
                                  1.0 / 3,
                                  1e-8,
                                  1e8,
                                  1e-16,
                                  1e16,
                                  1e-100,
                                  1e100,
                                  1e-300,
                                  1e300,
                                  1e-310,
                                  std::numeric_limits<double>::max(),
                                  -0.5,
                                  -1e-8,
                                  -1e8,
                                  -1e16};
    const std::uint8_t c = next();
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'i') return 'a' - c - 1;
    if (c >= 'j' && c <= 'z') return special[c - 'j'];
    if (c == 'N') return std::numeric_limits<double>::quiet_NaN();
    if (c == 'I') return inf;
    if (c == 'J') return -inf;
    if (c >= 128) return std::ldexp(c % 2 ? 16 + c % 16 : -16 - c % 16, c / 16 % 8 - 8);
    return std::nullopt;
  }
  std::vector<double> vector(int n) {
    std::vector<double> x(n);
    for (double& v : x) v = entry().value_or(0);
    return x;
  }
  /// n x n, row by row.
  CscMatrix<double> matrix(int n) {
    std::vector<std::optional<double>> rows;
    for (int k = 0; k < n * n; ++k) rows.push_back(entry());
    CscMatrix<double> a;
    a.n_rows = a.n_cols = n;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i)
        if (const auto v = rows[i * n + j]) a.row_idx.push_back(i), a.values.push_back(*v);
      a.col_ptr.push_back(a.nnz());
    }
    return a;
  }
  /// Mostly small, sometimes at the ends of its type.
  std::int64_t integer() {
    using Limits = std::numeric_limits<std::int64_t>;
    constexpr std::int64_t special[] = {
        Limits::min(),         Limits::max(),        Limits::min() + 1, Limits::max() - 1, -1, -2,
        std::int64_t(1) << 31, std::int64_t(1) << 32};
    const std::uint8_t c = next();
    return c >= 128 ? special[c % 8] : c - '0';
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

}  // namespace lulab::fuzz
