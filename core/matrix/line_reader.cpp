#include "core/matrix/line_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

namespace lulab {

namespace {

constexpr std::size_t raw_block = 256 << 10;
constexpr std::size_t text_block = 1 << 20;
static_assert(text_block > LineReader::max_line + 1);

struct FileClose {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

bool starts_with(std::string_view data, std::initializer_list<unsigned char> magic) {
  return data.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), data.begin(),
                    [](unsigned char m, char d) { return m == static_cast<unsigned char>(d); });
}

/// The command that decompresses a file that is neither text nor gzip; empty for those two.
std::string_view unpacker(std::string_view data) {
  if (starts_with(data, {0xfd, '7', 'z', 'X', 'Z', 0})) return "xz -dk";
  if (starts_with(data, {'B', 'Z', 'h'})) return "bzip2 -dk";
  if (starts_with(data, {'P', 'K', 3, 4})) return "unzip";
  if (starts_with(data, {0x28, 0xb5, 0x2f, 0xfd})) return "zstd -dk";
  return {};
}

}  // namespace

/// Bytes of a file or of memory; decompresses gzip.
struct LineReader::Input {
  std::unique_ptr<std::FILE, FileClose> file;
  std::vector<char> raw_storage;
  std::string_view raw;         // read but not consumed
  std::int64_t raw_size = 0;    // of the whole file; 0: unknown
  std::int64_t raw_loaded = 0;  // bytes that have passed through `raw`
  ReadProgress progress;
  bool gzip = false;
  bool member_done = false;  // the end of a gzip member was reached, and no next one was started
  z_stream stream{};
  std::string failure;  // why fill() returned -1

  ~Input() {
    if (gzip) inflateEnd(&stream);
  }

  /// Refills `raw`; false at the end of the data and on an error (then failure is set).
  bool load() {
    if (!raw.empty()) return true;
    if (!file) return false;
    errno = 0;
    const std::size_t got = std::fread(raw_storage.data(), 1, raw_storage.size(), file.get());
    if (got == 0 && std::ferror(file.get())) failure = fmt::format("cannot be read: {}", std::strerror(errno));
    raw = {raw_storage.data(), got};
    raw_loaded += static_cast<std::int64_t>(got);
    if (got > 0 && progress) progress(raw_loaded, raw_size);
    return got > 0;
  }

  void start() {
    if (!load()) {
      if (failure.empty()) failure = "the file is empty; expected '%%MatrixMarket matrix coordinate real general'";
      return;
    }
    if (const auto command = unpacker(raw); !command.empty()) {
      failure = fmt::format("this compression is not supported (plain text and gzip are); first run: {}", command);
    } else if (starts_with(raw, {0x1f, 0x8b})) {
      gzip = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;
      if (!gzip) failure = "zlib could not start to decompress: out of memory";
    }
  }

  /// Returns the number of bytes put into out; 0 at the end, -1 on failure.
  std::int64_t fill(char* out, std::size_t size) {
    if (!failure.empty()) return -1;
    if (gzip) return inflate_into(out, size);
    if (!load()) return failure.empty() ? 0 : -1;
    const std::size_t count = std::min(size, raw.size());
    std::memcpy(out, raw.data(), count);
    raw.remove_prefix(count);
    return static_cast<std::int64_t>(count);
  }

  std::int64_t inflate_into(char* out, std::size_t size) {
    stream.next_out = reinterpret_cast<Bytef*>(out);
    stream.avail_out = static_cast<uInt>(size);
    while (stream.avail_out == size) {
      if (!load()) {
        if (failure.empty() && !member_done) failure = "the gzip data ends too early: the file is truncated";
        return failure.empty() ? 0 : -1;
      }
      if (member_done && raw.front() == '\0') {  // zero padding after the end, as tapes and block devices leave it
        raw.remove_prefix(std::min(raw.find_first_not_of('\0'), raw.size()));
        continue;
      }
      if (member_done) {
        inflateReset(&stream);
        member_done = false;
      }
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data()));
      stream.avail_in = static_cast<uInt>(std::min(raw.size(), raw_block));
      const uInt offered = stream.avail_in;
      const int code = inflate(&stream, Z_NO_FLUSH);
      raw.remove_prefix(offered - stream.avail_in);
      if (code == Z_STREAM_END) {
        member_done = true;
      } else if (code != Z_OK) {
        failure = fmt::format("the gzip data is damaged: {}", stream.msg != nullptr ? stream.msg : zError(code));
        return -1;
      }
    }
    return static_cast<std::int64_t>(size - stream.avail_out);
  }
};

LineReader::LineReader(std::unique_ptr<Input> input, std::string name, Status status)
    : input_(std::move(input)), name_(std::move(name)), status_(std::move(status)) {
  if (status_.ok()) input_->start();
  // A file may grow while it is read; text in memory does not, and a short one needs no large block.
  block_.resize(input_->file ? text_block
                             : static_cast<std::size_t>(std::min<std::int64_t>(size_bound(), text_block - 1)) + 1);
  if (status_.ok() && !input_->failure.empty()) status_ = error(input_->failure);
}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

LineReader LineReader::open(const std::string& path, ReadProgress progress) {
  auto input = std::make_unique<Input>();
  Status status;
  std::error_code ignored;
  errno = 0;
  if (std::filesystem::is_directory(path, ignored)) {
    status = Status::error(StatusCode::parse_error, "is a folder; expected a Matrix Market file", {path, 0, {}, {}});
  } else if (input->file.reset(std::fopen(path.c_str(), "rb")); !input->file) {
    status = Status::error(StatusCode::parse_error, fmt::format("cannot be opened: {}", std::strerror(errno)),
                           {path, 0, {}, {}});
  } else {
    const auto size = std::filesystem::is_regular_file(path, ignored) ? std::filesystem::file_size(path, ignored) : 0;
    input->raw_size = ignored ? 0 : static_cast<std::int64_t>(size);
    input->raw_storage.resize(raw_block);
    input->progress = std::move(progress);
  }
  return {std::move(input), path, std::move(status)};
}

LineReader LineReader::from_memory(std::string_view text, std::string name) {
  auto input = std::make_unique<Input>();
  input->raw = text;
  input->raw_size = static_cast<std::int64_t>(text.size());
  return {std::move(input), std::move(name), {}};
}

bool LineReader::next_after_refill(std::string_view& line) {
  while (status_.ok()) {
    std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t searched = end_;
    const std::int64_t got = input_->fill(block_.data() + end_, block_.size() - end_);
    if (got < 0) {
      status_ = error(input_->failure);
      return false;
    }
    if (got == 0) {  // the last line may lack its newline
      if (end_ == 0) return false;
      const char* begin = block_.data();
      begin_ = end_;
      return take(begin, begin + end_, line);
    }
    end_ += static_cast<std::size_t>(got);
    if (std::memchr(block_.data() + searched, '\n', end_ - searched) != nullptr) return next(line);
    if (end_ > max_line + 1) {
      ++line_number_;
      return fail_too_long();
    }
  }
  return false;
}

bool LineReader::fail_too_long() {
  begin_ = end_ = 0;
  status_ = error(fmt::format("the line is longer than {} bytes; this is not a Matrix Market file", max_line));
  return false;
}

std::int64_t LineReader::size_bound() const {
  constexpr std::int64_t deflate_best = 1032;  // deflate never expands a byte into more than this
  if (input_->raw_size == 0) return std::numeric_limits<std::int64_t>::max();
  return input_->gzip ? input_->raw_size * deflate_best : input_->raw_size;
}

Status LineReader::error(std::string message) const {
  return Status::error(StatusCode::parse_error, std::move(message), {name_, line_number_, {}, {}});
}

}  // namespace lulab
