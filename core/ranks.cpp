#include "core/ranks.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lulab {

namespace {

Status resize(std::vector<std::byte>& bytes, std::int64_t size) try {
  bytes.resize(size);
  return {};
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, fmt::format("no {} bytes of host memory to gather with", size));
}

}  // namespace

Status Ranks::all_gather_on_device(const void* d_mine, std::span<const std::int64_t> bytes, void* d_all,
                                   simt::Stream& stream) {
  std::vector<std::byte> part;
  LULAB_RETURN_IF_ERROR(agree(*this, resize(part, std::ranges::max(bytes))));
  Status status;
  const auto first_error = [&](Status next) {
    if (status.ok()) status = std::move(next);
  };
  auto* d_to = static_cast<std::byte*>(d_all);
  for (int root = 0; root < count(); ++root) {
    const auto size = static_cast<std::size_t>(bytes[root]);
    if (size == 0) continue;
    if (root == rank()) first_error(simt::copy_to_host(part.data(), d_mine, size, stream));
    first_error(stream.wait());
    broadcast(std::span(part.data(), size), root);
    first_error(simt::copy_to_device(d_to, part.data(), size, stream));
    d_to += size;
  }
  first_error(stream.wait());  // before `part` goes
  return status;
}

void OneRank::all_gather(std::span<const std::int64_t> mine, std::span<std::int64_t> all) {
  std::ranges::copy(mine, all.begin());
}

Status agree(Ranks& ranks, Status mine) {
  if (ranks.count() == 1) return mine;
  // What an error takes to send: its code and the lengths of its texts.
  constexpr std::size_t fields = 3;
  const auto length = [](const std::string& text) { return static_cast<std::int64_t>(text.size()); };
  const std::int64_t own[fields] = {static_cast<std::int64_t>(mine.code), length(mine.message),
                                    length(mine.where.file)};
  std::vector<std::int64_t> all(fields * static_cast<std::size_t>(ranks.count()));
  ranks.all_gather(own, all);
  int failed = 0;
  while (failed < ranks.count() && all[fields * failed] == 0) ++failed;
  if (failed == ranks.count()) return {};
  const std::int64_t* const first = &all[fields * failed];
  mine.code = static_cast<StatusCode>(first[0]);
  mine.message.resize(first[1]);
  mine.where.file.resize(first[2]);
  broadcast_values(ranks, mine.message, failed);
  broadcast_values(ranks, mine.where.file, failed);
  mine.message = fmt::format("rank {} of {}: {}", failed, ranks.count(), mine.message);
  return mine;
}

}  // namespace lulab
