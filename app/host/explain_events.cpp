#include "app/host/explain_events.h"

#include <algorithm>
#include <string_view>

namespace lulab::app {
namespace {

using Event = simt::host::TraceEvent;

const char* event_name(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::launch: return "launch";
    case Event::Kind::block_starts: return "block_starts";
    case Event::Kind::takes_column: return "takes_column";
    case Event::Kind::read: return "read";
    case Event::Kind::write: return "write";
    case Event::Kind::atomic_add: return "atomic_add";
    case Event::Kind::atomic: return "atomic";
    case Event::Kind::waits: return "waits";
    case Event::Kind::block_ends: return "block_ends";
    case Event::Kind::launch_ends: return "launch_ends";
  }
  return "?";
}

}  // namespace

nlohmann::json events_to_json(const simt::host::Trace& trace, const FilledPattern& filled) {
  nlohmann::json list = nlohmann::json::array();
  for (const Event& e : trace.events()) {
    nlohmann::json j = {{"event", event_name(e.kind)}, {"launch", e.launch + 1}};
    if (e.kind == Event::Kind::launch)
      j.update({{"kernel", trace.kernels()[e.launch]}, {"blocks", e.index}, {"resident", e.after}});
    if (e.block >= 0) j["block"] = e.block;
    if (e.lane >= 0) j.update({{"warp", e.warp}, {"lane", e.lane}});
    if (e.column >= 0) j["column"] = e.column + 1;
    if (e.array >= 0) {
      const std::string& array = trace.arrays()[e.array];
      j.update({{"array", array}, {"element", e.index}, {"value", e.after}});
      if (array == "As") {
        const auto after = std::ranges::upper_bound(filled.col_ptr, e.index);
        j.update({{"row", filled.row_idx[e.index] + 1}, {"of_column", after - filled.col_ptr.begin()}});
      }
    }
    if (e.kind == Event::Kind::write || e.kind == Event::Kind::atomic_add) {
      j["before"] = e.before;
      for (const std::int32_t from : e.from)
        if (from >= 0) j["from"].push_back(from);
    }
    if (e.kind == Event::Kind::atomic) j.update({{"reads", e.reads}, {"writes", e.writes}});
    if (e.site.file != nullptr) {
      const std::string_view file = e.site.file;
      j.update({{"file", file.substr(file.find_last_of('/') + 1)}, {"line", e.site.line}});
    }
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace lulab::app
