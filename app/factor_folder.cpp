#include "app/factor_folder.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "app/command.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/number_text.h"

namespace lulab::app {

namespace fs = std::filesystem;

template <class T>
static Status write_files(const std::string& folder, const Factors<T>& factors) {
  static constexpr const char* equation =
      "L U = P R A C Q: entry (i,j) of the right side is r(p(i)) A(p(i),q(j)) c(q(j))";
  const Plan& plan = factors.plan;
  LULAB_RETURN_IF_ERROR(write_matrix_market(folder + "/L.mtx", extract_l(factors), equation));
  LULAB_RETURN_IF_ERROR(write_matrix_market(folder + "/U.mtx", extract_u(factors), equation));
  LULAB_RETURN_IF_ERROR(write_permutation(folder + "/p.mtx", plan.p, equation));
  LULAB_RETURN_IF_ERROR(write_permutation(folder + "/q.mtx", plan.q, equation));
  LULAB_RETURN_IF_ERROR(write_vector<double>(folder + "/r.mtx", plan.r, equation));
  return write_vector<double>(folder + "/c.mtx", plan.c, equation);
}

template <class T>
Status write_factors(const std::string& folder, const Factors<T>& factors) {
  const auto failure = [&](const char* what, const std::string& reason) {
    return Status::error(StatusCode::invalid_argument, fmt::format("{}: {}", what, reason), in_file(folder));
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return failure("cannot create this folder", error.message());
  // All six are written before the first replaces an old one, so that no L meets the U of another matrix.
  std::string beside = folder + "/.lulab-XXXXXX";
  if (mkdtemp(beside.data()) == nullptr) return failure("cannot write to this folder", std::strerror(errno));
  Status written = write_files(beside, factors);
  if (!written.ok()) written.where.file = folder + written.where.file.substr(beside.size());
  for (const char* name : {"L.mtx", "U.mtx", "p.mtx", "q.mtx", "r.mtx", "c.mtx"}) {
    if (!written.ok()) break;
    fs::rename(fs::path(beside) / name, fs::path(folder) / name, error);
    if (error) written = failure(name, error.message());
  }
  fs::remove_all(beside, error);
  return written;
}
template Status write_factors(const std::string&, const Factors<float>&);
template Status write_factors(const std::string&, const Factors<double>&);

static bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

static std::string file_in(const std::string& folder, const char* name) {
  const std::string plain = fmt::format("{}/{}.mtx", folder, name);
  return !exists(plain) && exists(plain + ".gz") ? plain + ".gz" : plain;
}

FactorPaths paths_in(const std::string& folder) {
  const auto if_there = [&](const char* name) {
    std::string path = file_in(folder, name);
    return exists(path) ? path : std::string();
  };
  FactorPaths paths;
  paths.l = file_in(folder, "L");
  paths.u = file_in(folder, "U");
  paths.p = if_there("p");
  paths.q = if_there("q");
  paths.r = if_there("r");
  paths.c = if_there("c");
  return paths;
}

static Status wrong_size(const std::string& file, std::int64_t size, std::int64_t expected) {
  return Status::error(StatusCode::invalid_argument, fmt::format("has size {}, but A has n = {}", size, expected),
                       in_file(file));
}

static Result<CscMatrix<double>> read_factor(const std::string& path, std::int32_t n) {
  LULAB_ASSIGN_OR_RETURN(auto file, read_matrix_market(path));
  if (file.matrix.n_rows != n || file.matrix.n_cols != n)
    return wrong_size(path, file.matrix.n_rows != n ? file.matrix.n_rows : file.matrix.n_cols, n);
  return std::move(file.matrix);
}

/// n numbers from a column, a row or a diagonal matrix.
static Result<std::vector<double>> read_numbers(const std::string& path, std::int32_t n) {
  LULAB_ASSIGN_OR_RETURN(const auto file, read_matrix_market(path));
  const CscMatrix<double>& m = file.matrix;
  const bool column = m.n_cols == 1, row = !column && m.n_rows == 1;
  if (const std::int32_t size = column || m.n_rows != n ? m.n_rows : m.n_cols; size != n && !(row && m.n_cols == n))
    return wrong_size(path, row ? m.n_cols : size, n);
  std::vector<double> numbers(n, 0);
  for (std::int32_t j = 0; j < m.n_cols; ++j)
    for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k) {
      if (!column && !row && m.row_idx[k] != j)
        return Status::error(StatusCode::invalid_argument, "is neither a vector nor a diagonal matrix", in_file(path));
      numbers[column ? m.row_idx[k] : j] = m.values[k];
    }
  return numbers;
}

/// n whole numbers, or those of a permutation matrix: of its rows (P), else of its columns (Q).
static Result<std::vector<std::int64_t>> read_order(const std::string& path, std::int32_t n, bool of_rows) {
  std::vector<std::int64_t> order(n, 0);
  LULAB_ASSIGN_OR_RETURN(const auto file, read_matrix_market(path));
  const CscMatrix<double>& m = file.matrix;
  if (n > 1 && m.n_rows == n && m.n_cols == n) {
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k)
        if (m.values[k] == 1) order[of_rows ? m.row_idx[k] : j] = (of_rows ? j : m.row_idx[k]) + 1;
    return order;
  }
  LULAB_ASSIGN_OR_RETURN(const auto numbers, read_numbers(path, n));
  for (std::int32_t i = 0; i < n; ++i) {
    if (!(std::abs(numbers[i]) <= 1e15) || numbers[i] != std::floor(numbers[i]))
      return Status::error(StatusCode::invalid_argument, fmt::format("{} is not a whole number", spelled(numbers[i])),
                           in_file(path));
    order[i] = static_cast<std::int64_t>(numbers[i]);
  }
  return order;
}

Result<FactorFiles> read_factors(const FactorPaths& paths, std::int32_t n) {
  FactorFiles files;
  ForeignFactors& f = files.factors;
  Status first;
  // Reads one file, unless an earlier one was refused.
  const auto read = [&](const std::string& path, auto& into, auto&& reader) {
    if (path.empty() || !first.ok() || files.not_finite) return;
    auto result = reader(path);
    if (result.ok()) {
      into = *std::move(result);
    } else if (result.status().message.ends_with("is not finite")) {
      files.not_finite = Finding{};
      files.not_finite->fault = Fault::not_finite;
      files.not_finite->what =
          fmt::format("{}, line {}: {}", path, result.status().where.line, result.status().message);
      files.not_finite->advice = "look at the pivot of that column, and at what was read before it was written";
    } else {
      first = result.status();
    }
  };
  const auto factor = [n](const std::string& path) { return read_factor(path, n); };
  const auto numbers = [n](const std::string& path) { return read_numbers(path, n); };
  read(paths.l, f.l, factor);
  read(paths.u, f.u, factor);
  read(paths.f, f.f, factor);
  read(paths.p, f.p, [n](const std::string& path) { return read_order(path, n, true); });
  read(paths.q, f.q, [n](const std::string& path) { return read_order(path, n, false); });
  read(paths.r, f.r, numbers);
  read(paths.c, f.c, numbers);
  read(paths.x, files.x, numbers);
  read(paths.b, files.b, numbers);
  LULAB_RETURN_IF_ERROR(first);
  for (const auto& [path, name, assumed] : {std::tuple{&paths.p, "p", "1..n"}, std::tuple{&paths.q, "q", "1..n"},
                                            std::tuple{&paths.r, "r", "ones"}, std::tuple{&paths.c, "c", "ones"}})
    if (path->empty()) files.notes.push_back(fmt::format("no {0}.mtx: {0} = {1}", name, assumed));
  return files;
}

}  // namespace lulab::app
