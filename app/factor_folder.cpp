#include "app/factor_folder.h"

#include <filesystem>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "app/command.h"
#include "core/matrix/matrix_market.h"

namespace lulab::app {

template <class T>
Status write_factors(const std::string& folder, const Factors<T>& factors) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Status::error(StatusCode::invalid_argument, "cannot make this folder: " + error.message(), in_file(folder));
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
template Status write_factors(const std::string&, const Factors<float>&);
template Status write_factors(const std::string&, const Factors<double>&);

static std::string file_in(const std::string& folder, const char* name) {
  const std::string plain = fmt::format("{}/{}.mtx", folder, name);
  return !std::filesystem::exists(plain) && std::filesystem::exists(plain + ".gz") ? plain + ".gz" : plain;
}

static Status wrong_size(const std::string& file, std::int64_t is, std::int64_t expected) {
  return Status::error(StatusCode::invalid_argument, fmt::format("of size {}; A has n = {}", is, expected),
                       in_file(file));
}

static Result<CscMatrix<double>> read_factor(const std::string& path, std::int32_t n) {
  auto file = read_matrix_market(path);
  if (!file.ok()) return file.status();
  if (file->matrix.n_rows != n || file->matrix.n_cols != n)
    return wrong_size(path, file->matrix.n_rows != n ? file->matrix.n_rows : file->matrix.n_cols, n);
  return std::move(file->matrix);
}

template <class T>
static Status read_if_there(const std::string& path, std::int32_t n, Result<std::vector<T>> (*read)(const std::string&),
                            std::vector<T>& into) {
  if (!std::filesystem::exists(path)) return {};
  auto vector = read(path);
  if (!vector.ok()) return vector.status();
  if (vector->size() != static_cast<std::size_t>(n))
    return wrong_size(path, static_cast<std::int64_t>(vector->size()), n);
  into = std::move(vector).value();
  return {};
}

Result<FactorFiles> read_factors(const std::string& folder, std::int32_t n) {
  auto l = read_factor(file_in(folder, "L"), n);
  if (!l.ok()) return l.status();
  auto u = read_factor(file_in(folder, "U"), n);
  if (!u.ok()) return u.status();
  FactorFiles files;
  Factors<double>& f = files.factors;
  f.plan = Plan::identity(n);
  f.plan.order = "given";
  LULAB_RETURN_IF_ERROR(read_if_there(file_in(folder, "p"), n, read_permutation, f.plan.p));
  LULAB_RETURN_IF_ERROR(read_if_there(file_in(folder, "q"), n, read_permutation, f.plan.q));
  LULAB_RETURN_IF_ERROR(read_if_there(file_in(folder, "r"), n, read_vector, f.plan.r));
  LULAB_RETURN_IF_ERROR(read_if_there(file_in(folder, "c"), n, read_vector, f.plan.c));

  f.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    double diagonal = std::numeric_limits<double>::quiet_NaN();
    bool has_diagonal = false;
    for (auto s = u->col_ptr[j]; s < u->col_ptr[j + 1]; ++s) {
      const std::int32_t i = u->row_idx[s];
      if (i > j) {
        files.failures.push_back(fmt::format("U has an entry below its diagonal: row {}, column {}", i, j));
        return files;
      }
      if (i == j) {
        has_diagonal = true;
        diagonal = u->values[s];
        continue;
      }
      f.filled.row_idx.push_back(i);
      f.values.push_back(u->values[s]);
    }
    if (!has_diagonal) {
      files.failures.push_back(fmt::format("U has no diagonal entry in column {}", j));
      return files;
    }
    f.filled.diag.push_back(f.filled.nnz());
    f.filled.row_idx.push_back(j);
    f.values.push_back(diagonal);
    for (auto s = l->col_ptr[j]; s < l->col_ptr[j + 1]; ++s) {
      const std::int32_t i = l->row_idx[s];
      if (i < j) {
        files.failures.push_back(fmt::format("L has an entry above its diagonal: row {}, column {}", i, j));
        return files;
      }
      if (i == j) {
        if (!(l->values[s] == 1)) {
          files.failures.push_back(fmt::format("the diagonal of L is {} in column {}, not 1", l->values[s], j));
          return files;
        }
        continue;
      }
      f.filled.row_idx.push_back(i);
      f.values.push_back(l->values[s]);
    }
    f.filled.col_ptr.push_back(f.filled.nnz());
  }
  return files;
}

}  // namespace lulab::app
