#include "core/ranks.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lulab {

Status Ranks::broadcast_from_device(const void* d_from, std::span<std::byte> to, int root, simt::Stream& stream) {
  Status copied;
  if (rank() == root && !to.empty()) {
    copied = simt::copy_to_host(to.data(), d_from, to.size(), stream);
    if (copied.ok()) copied = stream.wait();
  }
  broadcast(to, root);
  return copied;
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
