// The files of `lulab judge` in one text: a line "== L" begins that of L; likewise A, U, F, P, Q, R, C, X, B. A digit
// before them is the convention. What cannot be judged is refused; what is accepted is a factorization.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "app/factor_folder.h"
#include "core/matrix/matrix_market.h"
#include "fuzz/reproduces.h"
#include "verify/foreign.h"

using namespace lulab;
using fuzz::require;

namespace {

/// A folder of this process.
const std::string& folder() {
  static const struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "lulab-fuzz-XXXXXX").string();
    Folder() { require(mkdtemp(path.data()) != nullptr, "cannot create {}", path); }
    ~Folder() { std::filesystem::remove_all(path); }
  } it;
  return it.path;
}

/// The part that begins with the line "== NAME"; data() is null without one.
std::string_view part(std::string_view text, char name) {
  const std::string line = std::string("\n== ") + name + "\n";
  const auto at = text.find(line);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + line.size());
  return text.substr(0, text.find("\n== "));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto a = parse_matrix_market(part(text, 'A'));
  if (!a.ok() || a->matrix.n_rows != a->matrix.n_cols || a->matrix.n_cols > 100) return 0;
  app::FactorPaths paths;
  const auto write = [&](char name, std::string& path) {
    const std::string_view content = part(text, name);
    if (content.data() == nullptr) return;
    path = folder() + '/' + name;
    std::ofstream(path, std::ios::binary) << content;
  };
  write('L', paths.l), write('U', paths.u), write('F', paths.f), write('P', paths.p), write('Q', paths.q);
  write('R', paths.r), write('C', paths.c), write('X', paths.x), write('B', paths.b);
  if (paths.l.empty() || paths.u.empty()) return 0;
  const auto files = app::read_factors(paths, a->matrix.n_cols);
  if (!files.ok()) {
    require(!files.status().message.empty(), "an error without a message");
    return 0;
  }
  if (files->not_finite) return 0;
  JudgeOptions options;
  options.convention = static_cast<Convention>(text[0] >= '0' && text[0] <= '8' ? text[0] - '0' : 0);
  options.x = files->x, options.b = files->b;
  const auto judged = judge_foreign(a->matrix, files->factors, options);
  if (!judged.ok()) return 0;
  require(judged->accepted == judged->failures.empty() && judged->accepted == !judged->finding,
          "accepted {}, {} failures", judged->accepted, judged->failures.size());
  if (!judged->accepted || judged->convention != Convention::lulab || !paths.f.empty()) return 0;
  const ForeignFactors& f = files->factors;
  const auto from_zero = [](std::vector<std::int64_t> order) {
    const bool from_one = !order.empty() && *std::min_element(order.begin(), order.end()) == 1;
    for (std::int64_t& v : order) v -= from_one;
    return order;
  };
  fuzz::require_reproduced(a->matrix, f.l, f.u, from_zero(f.p), from_zero(f.q), f.r, f.c, options.tolerance);
  return 0;
}
