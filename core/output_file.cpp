#include "core/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lulab {

namespace fs = std::filesystem;

namespace {

/// The place that a chain of symbolic links names; it need not exist.
fs::path followed(fs::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && fs::is_symlink(path, error); ++links) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;
  }
  return path;
}

/// Creates a file of a new name in the folder; -1 with errno on an error.
int create_in(const fs::path& folder, std::string& path) {
  for (int k = 0;; ++k) {
    path = (folder / fmt::format(".lulab-{}-{}.tmp", ::getpid(), k)).string();
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

OutputFile::OutputFile(const std::string& path, bool gzip) : path_(path), target_(followed(path).string()) {
  text_.reserve(block + 4096);
  errno = 0;
  open(gzip);
  if (gzip_ == nullptr && plain_ == nullptr) note_failure();
}

void OutputFile::open(bool gzip) {
  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  int file = -1;
  if (exists && !S_ISREG(old.st_mode)) {
    file = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else if (!exists ? errno == ENOENT : ::access(target_.c_str(), W_OK) == 0) {
    errno = 0;
    std::string temporary;
    file = create_in(fs::path(target_).parent_path(), temporary);
    if (file >= 0) temporary_ = std::move(temporary);
    if (file >= 0 && exists) {
      // Only root may give a file away; without the owner's consent the new file is the writer's.
      if (::fchown(file, old.st_uid, old.st_gid) != 0) errno = 0;
      if (::fchmod(file, old.st_mode & 07777) != 0) errno = 0;
    }
  }
  if (file < 0) return;
  if (gzip)
    gzip_ = gzdopen(file, "wb");
  else
    plain_ = ::fdopen(file, "wb");
  if (gzip_ == nullptr && plain_ == nullptr) ::close(file);
}

OutputFile::~OutputFile() {
  text_.clear();
  close_stream();
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

Status OutputFile::close() {
  flush();
  close_stream();
  if (failure_.empty() && !temporary_.empty()) {
    if (std::rename(temporary_.c_str(), target_.c_str()) == 0)
      temporary_.clear();
    else
      note_failure();
  }
  if (failure_.empty()) return {};
  return Status::error(StatusCode::invalid_argument, "cannot be written: " + failure_, {path_, 0, {}, {}});
}

void OutputFile::close_stream() {
  errno = 0;
  if (gzip_ != nullptr && gzclose(gzip_) != Z_OK) note_failure();
  if (plain_ != nullptr && std::fclose(plain_) != 0) note_failure();
  gzip_ = nullptr;
  plain_ = nullptr;
}

void OutputFile::flush() {
  if (failure_.empty() && !text_.empty()) {
    errno = 0;
    const bool written = gzip_ != nullptr ? gzwrite(gzip_, text_.data(), static_cast<unsigned>(text_.size())) ==
                                                static_cast<int>(text_.size())
                                          : std::fwrite(text_.data(), 1, text_.size(), plain_) == text_.size();
    if (!written) note_failure();
  }
  text_.clear();
}

void OutputFile::note_failure() {
  if (failure_.empty()) failure_ = errno != 0 ? std::strerror(errno) : "the system gives no reason";
}

}  // namespace lulab
