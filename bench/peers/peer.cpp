#include "bench/peers/peer.h"

#include <fmt/format.h>

namespace lulab::bench {

const std::vector<PeerLibrary>& peer_libraries() {
  static const std::vector<PeerLibrary> all = [] {
    std::vector<PeerLibrary> list;
    const auto add = [&](std::vector<PeerLibrary> some) {
      for (PeerLibrary& one : some) list.push_back(std::move(one));
    };
    add(eigen_library());
#ifdef LULAB_UMFPACK
    add(umfpack_library());
#endif
#ifdef LULAB_SUPERLU
    add(superlu_library());
#endif
#ifdef LULAB_PARDISO
    add(pardiso_library());
#endif
#ifdef LULAB_CUDSS
    add(cudss_library());
#endif
    return list;
  }();
  return all;
}

Result<std::vector<PeerLibrary>> find_peers(const std::string& text) {
  std::vector<PeerLibrary> found;
  std::string ids;
  for (const PeerLibrary& peer : peer_libraries()) {
    if (peer.id == "peers/" + text || peer.id == text) return std::vector{peer};
    if (text == "all" || peer.id.find(text) != std::string::npos) found.push_back(peer);
    ids += (ids.empty() ? "" : ", ") + peer.id;
  }
  if (found.empty())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("no peer '{}'; this program was built with {}; './lulab peers' fetches more", text,
                                     ids.empty() ? "none beside KLU" : ids));
  return found;
}

}  // namespace lulab::bench
