#pragma once
// A file that is written whole or not at all.

#include <cstdio>
#include <string>
#include <string_view>

#include <zlib.h>

#include "core/status.h"

namespace lulab {

/// Collects text and writes it, plain or gzip, to a temporary file in the folder of `path`; close() renames it to
/// `path`. After an error, and without close(), what was at `path` is still there. A symbolic link stays a link: the
/// file that it names is replaced. A device or a pipe is written in place and never removed.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path, bool gzip = false);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void add(std::string_view text) {
    text_ += text;
    if (text_.size() >= block) flush();
  }
  /// Errors    invalid_argument naming the file: it could not be opened, written, closed or renamed, with the system's
  ///           reason.
  Status close();

 private:
  static constexpr std::size_t block = 1 << 20;

  void open(bool gzip);
  void flush();
  void close_stream();
  void note_failure();

  std::string path_, target_, temporary_;  // as given; its links followed; empty: written in place
  std::string text_, failure_;
  gzFile gzip_ = nullptr;
  std::FILE* plain_ = nullptr;
};

}  // namespace lulab
