#pragma once
// Lines of a text file, plain or gzip-compressed, in one pass and bounded memory.

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace lulab {

/// Called during a long read with the bytes consumed so far and the size of the file (0 if unknown, as for a pipe).
using ReadProgress = std::function<void(std::int64_t bytes_done, std::int64_t bytes_total)>;

/// Splits text into lines, without their \n or \r\n. Compression is recognised by content, not by name.
///
/// Errors    parse_error naming file and line: cannot open or read (with the system's reason), a folder, empty,
///           another compression (xz, bzip2, zip, zstd), truncated or damaged gzip, a line longer than max_line bytes.
/// Cost      One pass; two blocks of memory for any file size.
class LineReader {
 public:
  static constexpr std::size_t max_line = 64 << 10;

  static LineReader open(const std::string& path, ReadProgress progress = {});
  /// `text` (plain or gzip) must outlive the reader; errors name it `name`.
  static LineReader from_memory(std::string_view text, std::string name);

  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  /// The next line, valid until the next call. false at the end and on an error: see status().
  bool next(std::string_view& line) {
    const char* begin = block_.data() + begin_;
    if (const void* found = std::memchr(begin, '\n', end_ - begin_)) {
      const char* end = static_cast<const char*>(found);
      begin_ = static_cast<std::size_t>(end - block_.data()) + 1;
      return take(begin, end, line);
    }
    return next_after_refill(line);
  }
  const Status& status() const { return status_; }

  /// 1-based number of the line last returned by next(); 0 before the first.
  std::int64_t line_number() const { return line_number_; }
  const std::string& name() const { return name_; }
  /// Upper bound of the size of the text, known before it is read; INT64_MAX if unknown.
  std::int64_t size_bound() const;
  /// A parse_error at the current line.
  Status error(std::string message) const;

 private:
  struct Input;
  LineReader(std::unique_ptr<Input> input, std::string name, Status status);

  bool take(const char* begin, const char* end, std::string_view& line) {
    ++line_number_;
    const auto length = static_cast<std::size_t>(end - begin);
    if (length > max_line) return fail_too_long();
    line = {begin, length > 0 && end[-1] == '\r' ? length - 1 : length};
    return true;
  }
  bool next_after_refill(std::string_view& line);
  bool fail_too_long();

  std::unique_ptr<Input> input_;
  std::string name_;
  Status status_;
  std::vector<char> block_;
  std::size_t begin_ = 0, end_ = 0;  // unread text is block_[begin_, end_)
  std::int64_t line_number_ = 0;
};

}  // namespace lulab
