#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "core/matrix/matrix_market.h"

namespace lulab {

namespace {

/// Collects text and writes it in blocks, compressed when the name ends in ".gz".
class TextFile {
 public:
  explicit TextFile(const std::string& path) : path_(path) {
    errno = 0;
    if (path.ends_with(".gz")) {
      gzip_ = gzopen(path.c_str(), "wb");
    } else {
      plain_ = std::fopen(path.c_str(), "wb");
    }
    opened_ = gzip_ != nullptr || plain_ != nullptr;
    if (!opened_) note_failure();
    text_.reserve(block + 4096);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() {
    if (gzip_ != nullptr || plain_ != nullptr) (void)close();
  }

  void add(std::string_view text) {
    text_ += text;
    if (text_.size() >= block) flush();
  }
  template <class Number>
  void add_number(Number value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    add({digits, static_cast<std::size_t>(end - digits)});
  }

  Status close() {
    flush();
    errno = 0;
    if (gzip_ != nullptr && gzclose(gzip_) != Z_OK) note_failure();
    if (plain_ != nullptr && std::fclose(plain_) != 0) note_failure();
    gzip_ = nullptr;
    plain_ = nullptr;
    if (failure_.empty()) return {};
    if (opened_) std::remove(path_.c_str());
    return Status::error(StatusCode::invalid_argument, "cannot be written: " + failure_, {path_, 0, {}, {}});
  }

 private:
  static constexpr std::size_t block = 1 << 20;

  void flush() {
    if (failure_.empty() && !text_.empty()) {
      errno = 0;
      const bool written = gzip_ != nullptr ? gzwrite(gzip_, text_.data(), static_cast<unsigned>(text_.size())) ==
                                                  static_cast<int>(text_.size())
                                            : std::fwrite(text_.data(), 1, text_.size(), plain_) == text_.size();
      if (!written) note_failure();
    }
    text_.clear();
  }
  void note_failure() {
    if (failure_.empty()) failure_ = errno != 0 ? std::strerror(errno) : "the system gives no reason";
  }

  std::string path_, text_, failure_;
  gzFile gzip_ = nullptr;
  std::FILE* plain_ = nullptr;
  bool opened_ = false;
};

void add_head(TextFile& file, std::string_view banner, std::string_view comment) {
  file.add(banner);
  while (!comment.empty()) {
    const std::string_view line = comment.substr(0, comment.find('\n'));
    file.add("% ");
    file.add(line);
    file.add("\n");
    comment.remove_prefix(std::min(line.size() + 1, comment.size()));
  }
}

Status not_finite(const std::string& path, std::int32_t row, std::int32_t col, double value) {
  return Status::error(
      StatusCode::invalid_argument,
      fmt::format("entry ({}, {}) counted from 0 is {}; Matrix Market holds finite values only", row, col, value),
      {path, 0, {row}, {col}});
}

template <class Value>
Status write_column(const std::string& path, std::string_view field, std::span<const Value> x, Value offset,
                    std::string_view comment) {
  TextFile file(path);
  add_head(file, fmt::format("%%MatrixMarket matrix array {} general\n", field), comment);
  file.add(fmt::format("{} 1\n", x.size()));
  for (Value v : x) {
    file.add_number(static_cast<Value>(v + offset));
    file.add("\n");
  }
  return file.close();
}

}  // namespace

template <class T>
Status write_matrix_market(const std::string& path, const CscView<T>& a, std::string_view comment) {
  LULAB_RETURN_IF_ERROR(check_sorted(a));
  if (a.values.size() != a.row_idx.size())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values for {} entries", a.values.size(), a.row_idx.size()), {path, 0, {}, {}});
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (!std::isfinite(a.values[k])) return not_finite(path, a.row_idx[k], j, a.values[k]);

  TextFile file(path);
  add_head(file, "%%MatrixMarket matrix coordinate real general\n", comment);
  file.add(fmt::format("{} {} {}\n", a.n_rows, a.n_cols, a.nnz()));
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      file.add_number(std::int64_t(a.row_idx[k]) + 1);
      file.add(" ");
      file.add_number(std::int64_t(j) + 1);
      file.add(" ");
      file.add_number(a.values[k]);
      file.add("\n");
    }
  }
  return file.close();
}
template Status write_matrix_market(const std::string&, const CscView<float>&, std::string_view);
template Status write_matrix_market(const std::string&, const CscView<double>&, std::string_view);

template <class T>
Status write_vector(const std::string& path, std::span<const T> x, std::string_view comment) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i])) return not_finite(path, static_cast<std::int32_t>(i), 0, x[i]);
  return write_column(path, "real", x, T(0), comment);
}
template Status write_vector(const std::string&, std::span<const float>, std::string_view);
template Status write_vector(const std::string&, std::span<const double>, std::string_view);

Status write_permutation(const std::string& path, std::span<const std::int32_t> p, std::string_view comment) {
  return write_column<std::int32_t>(path, "integer", p, 1, comment);
}

}  // namespace lulab
