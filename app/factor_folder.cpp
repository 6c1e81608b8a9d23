#include "app/factor_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

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

/// Reads the file `name` into `into`; without one, notes what is assumed.
template <class T>
static Status read_if_there(const std::string& folder, const char* name, const char* assumed,
                            Result<std::vector<T>> (*read)(const std::string&), FactorFiles& files,
                            std::vector<T>& into) {
  const std::string path = file_in(folder, name);
  const std::int32_t n = files.factors.plan.n();
  if (!exists(path)) {
    files.notes.push_back(fmt::format("no {}.mtx: {} = {}", name, name, assumed));
    return {};
  }
  auto vector = read(path);
  if (!vector.ok()) return vector.status();
  if (vector->size() != static_cast<std::size_t>(n))
    return wrong_size(path, static_cast<std::int64_t>(vector->size()), n);
  into = std::move(vector).value();
  return {};
}

Result<FactorFiles> read_factors(const std::string& folder, std::int32_t n) {
  LULAB_ASSIGN_OR_RETURN(auto l, read_factor(file_in(folder, "L"), n));
  LULAB_ASSIGN_OR_RETURN(auto u, read_factor(file_in(folder, "U"), n));
  FactorFiles files;
  Factors<double>& f = files.factors;
  f.plan = Plan::identity(n);
  f.plan.order = "given";
  LULAB_RETURN_IF_ERROR(read_if_there(folder, "p", "1..n", read_permutation, files, f.plan.p));
  LULAB_RETURN_IF_ERROR(read_if_there(folder, "q", "1..n", read_permutation, files, f.plan.q));
  LULAB_RETURN_IF_ERROR(read_if_there(folder, "r", "ones", read_vector, files, f.plan.r));
  LULAB_RETURN_IF_ERROR(read_if_there(folder, "c", "ones", read_vector, files, f.plan.c));

  f.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    double diagonal = std::numeric_limits<double>::quiet_NaN();
    bool has_diagonal = false;
    for (auto s = u.col_ptr[j]; s < u.col_ptr[j + 1]; ++s) {
      const std::int32_t i = u.row_idx[s];
      if (i > j) {
        files.failures.push_back(fmt::format("U has an entry below its diagonal: row {}, column {}", i + 1, j + 1));
        return files;
      }
      if (i == j) {
        has_diagonal = true;
        diagonal = u.values[s];
        continue;
      }
      f.filled.row_idx.push_back(i);
      f.values.push_back(u.values[s]);
    }
    if (!has_diagonal) {
      files.failures.push_back(fmt::format("U has no diagonal entry in column {}", j + 1));
      return files;
    }
    f.filled.diag.push_back(f.filled.nnz());
    f.filled.row_idx.push_back(j);
    f.values.push_back(diagonal);
    for (auto s = l.col_ptr[j]; s < l.col_ptr[j + 1]; ++s) {
      const std::int32_t i = l.row_idx[s];
      if (i < j) {
        files.failures.push_back(fmt::format("L has an entry above its diagonal: row {}, column {}", i + 1, j + 1));
        return files;
      }
      if (i == j) {
        if (!(l.values[s] == 1)) {
          files.failures.push_back(
              fmt::format("the diagonal of L is {} in column {}, not 1", spelled(l.values[s]), j + 1));
          return files;
        }
        continue;
      }
      f.filled.row_idx.push_back(i);
      f.values.push_back(l.values[s]);
    }
    f.filled.col_ptr.push_back(f.filled.nnz());
  }
  return files;
}

}  // namespace lulab::app
