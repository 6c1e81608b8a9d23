#include "core/matrix/matrix_market.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "core/matrix/number_text.h"

namespace lulab {

std::string_view to_string(MatrixMarketField field) {
  switch (field) {
    case MatrixMarketField::real: return "real";
    case MatrixMarketField::integer: return "integer";
    case MatrixMarketField::pattern: return "pattern";
    case MatrixMarketField::complex: return "complex";
  }
  return "unknown";
}

std::string_view to_string(MatrixMarketSymmetry symmetry) {
  switch (symmetry) {
    case MatrixMarketSymmetry::general: return "general";
    case MatrixMarketSymmetry::symmetric: return "symmetric";
    case MatrixMarketSymmetry::skew_symmetric: return "skew-symmetric";
    case MatrixMarketSymmetry::hermitian: return "hermitian";
  }
  return "unknown";
}

namespace {

using Field = MatrixMarketField;
using Symmetry = MatrixMarketSymmetry;

struct Header {
  bool coordinate = true;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::int32_t n_rows = 0, n_cols = 0;
  std::int64_t entries = 0;  // lines that follow
};

// What is believed of a size line beyond what the file's entries explain: 128 MiB of column pointers at most.
constexpr std::int64_t believed(std::int64_t entries) { return (std::int64_t(1) << 24) + 64 * entries; }

/// The next line that is neither blank nor a comment.
bool next_content(LineReader& in, std::string_view& line) {
  while (in.next(line))
    if (!line.starts_with('%') && !only_blanks(line)) return true;
  return false;
}

/// The error of a file that ended too early.
Status ended(const LineReader& in, std::string message) {
  return in.status().ok() ? in.error(std::move(message)) : in.status();
}

constexpr const char* banner_form =
    "'%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric|hermitian'";

Status read_banner(LineReader& in, Header& header) {
  std::string_view line;
  if (!in.next(line)) return ended(in, fmt::format("the file is empty; expected {}", banner_form));
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // byte order mark
  std::string lower(line);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  std::vector<std::string_view> words;
  for (std::string_view rest = lower;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (rest.empty()) break;
    words.push_back(rest.substr(0, rest.find_first_of(" \t")));
    rest.remove_prefix(words.back().size());
  }
  if (words.empty() || words[0] != "%%matrixmarket")
    return in.error(
        fmt::format("no Matrix Market banner: the first line must be {}, found {}", banner_form, quoted(line)));
  if (words.size() != 5)
    return in.error(
        fmt::format("the banner has {} words; expected {}, found {}", words.size(), banner_form, quoted(line)));
  if (words[1] != "matrix")
    return in.error(fmt::format("object {} in the banner; expected 'matrix'", quoted(words[1])));

  if (words[2] != "coordinate" && words[2] != "array")
    return in.error(fmt::format("format {} in the banner; expected 'coordinate' or 'array'", quoted(words[2])));
  header.coordinate = words[2] == "coordinate";

  if (words[3] == "real" || words[3] == "double")
    header.field = Field::real;
  else if (words[3] == "integer" || words[3] == "unsigned-integer")
    header.field = Field::integer;
  else if (words[3] == "pattern")
    header.field = Field::pattern;
  else if (words[3] == "complex")
    header.field = Field::complex;
  else
    return in.error(
        fmt::format("field {} in the banner; expected real, integer, pattern or complex", quoted(words[3])));

  if (words[4] == "general")
    header.symmetry = Symmetry::general;
  else if (words[4] == "symmetric")
    header.symmetry = Symmetry::symmetric;
  else if (words[4] == "skew-symmetric")
    header.symmetry = Symmetry::skew_symmetric;
  else if (words[4] == "hermitian")
    header.symmetry = Symmetry::hermitian;
  else
    return in.error(fmt::format("symmetry {} in the banner; expected general, symmetric, skew-symmetric or hermitian",
                                quoted(words[4])));

  if (header.field == Field::complex) {
    Status refused = in.error("complex matrices are not supported yet; real, integer and pattern files are");
    refused.code = StatusCode::not_implemented;
    return refused;
  }
  if (header.field == Field::pattern && !header.coordinate)
    return in.error("an array file cannot have the field pattern; expected real or integer");
  if (header.field == Field::pattern && header.symmetry != Symmetry::general && header.symmetry != Symmetry::symmetric)
    return in.error(
        fmt::format("a pattern file cannot be {}; expected general or symmetric", to_string(header.symmetry)));
  return {};
}

Status read_size(LineReader& in, Header& header) {
  const std::string_view form = header.coordinate ? "'rows columns entries'" : "'rows columns'";
  std::string_view line;
  if (!next_content(in, line)) return ended(in, fmt::format("the file ends before its size line; expected {}", form));
  std::int64_t size[3] = {0, 0, 0};
  std::string_view rest = line;
  for (int k = 0; k < (header.coordinate ? 3 : 2); ++k) {
    const NumberText got = take_integer(rest, size[k]);
    if (got == NumberText::out_of_range || (got == NumberText::ok && size[k] < 0))
      return in.error(fmt::format("a size is negative or too large in {}; expected {}", quoted(line), form));
    if (got != NumberText::ok) return in.error(fmt::format("expected the size line {}, found {}", form, quoted(line)));
  }
  if (!only_blanks(rest)) return in.error(fmt::format("expected the size line {}, found {}", form, quoted(line)));
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  if (size[0] > largest || size[1] > largest)
    return in.error(fmt::format("{} x {} is too large: at most {} rows and columns", size[0], size[1], largest));
  header.n_rows = static_cast<std::int32_t>(size[0]);
  header.n_cols = static_cast<std::int32_t>(size[1]);
  if (header.symmetry != Symmetry::general && header.n_rows != header.n_cols)
    return in.error(
        fmt::format("a {} matrix must be square; {} x {} is declared", to_string(header.symmetry), size[0], size[1]));

  const std::int64_t n = size[0];
  if (header.coordinate)
    header.entries = size[2];
  else if (header.symmetry == Symmetry::general)
    header.entries = size[0] * size[1];
  else if (header.symmetry == Symmetry::skew_symmetric)
    header.entries = n * (n - 1) / 2;
  else
    header.entries = n * (n + 1) / 2;
  if (header.coordinate && header.entries > 0 && (size[0] == 0 || size[1] == 0))
    return in.error(fmt::format("{} entries are declared for a {} x {} matrix", size[2], size[0], size[1]));

  // The shortest entry and its newline: "1 1", "1 1 0" or "0".
  const std::int64_t shortest = header.coordinate ? (header.field == Field::pattern ? 4 : 6) : 2;
  if (header.entries > in.size_bound() / shortest + 1)
    return in.error(
        fmt::format("{} entries are declared, more than a file of this length can hold: it is truncated or its "
                    "size line is wrong",
                    header.entries));
  if (std::max(size[0], size[1]) > believed(header.entries))
    return in.error(
        fmt::format("{} x {} is declared with only {} entries: nearly all rows or columns are empty; is the size "
                    "line right?",
                    size[0], size[1], header.entries));
  return {};
}

std::string entry_form(const Header& header) {
  const std::string place = header.coordinate ? "row column" : "";
  if (header.field == Field::pattern) return "'" + place + "'";
  return fmt::format("'{}{}{}'", place, header.coordinate ? " " : "",
                     header.field == Field::integer ? "integer" : "value");
}

/// Whether the file's field allows the value. Integers must be exact as double.
bool fits_field(const Header& header, double value) {
  return header.field != Field::integer || (value == std::trunc(value) && std::abs(value) <= 9007199254740992.0);
}

struct Entry {
  std::int64_t row = 0, col = 0;  // counted from 1
  double value = 1.0;
};

/// Reads the entry on a line; false if anything is wrong with it, and explain() then says what.
bool read_entry(const Header& header, std::string_view rest, Entry& e) {
  if (take_integer(rest, e.row) != NumberText::ok || e.row < 1 || e.row > header.n_rows) return false;
  if (take_integer(rest, e.col) != NumberText::ok || e.col < 1 || e.col > header.n_cols) return false;
  if (header.field != Field::pattern && (take_real(rest, e.value) != NumberText::ok || !fits_field(header, e.value)))
    return false;
  if (!only_blanks(rest)) return false;
  if (header.symmetry == Symmetry::general || e.row > e.col) return true;
  return e.row == e.col && (header.symmetry != Symmetry::skew_symmetric || e.value == 0);
}

Status explain_index(const LineReader& in, const Header& header, std::string_view line, std::string_view& rest,
                     bool is_row) {
  std::int64_t value = 0;
  const NumberText got = take_integer(rest, value);
  if (got == NumberText::missing || got == NumberText::malformed)
    return in.error(fmt::format("expected {}, found {}", entry_form(header), quoted(line)));
  const std::int32_t n = is_row ? header.n_rows : header.n_cols;
  if (got == NumberText::ok && value >= 1 && value <= n) return {};
  return in.error(fmt::format(
      "the {} in {} is outside 1..{}{}", is_row ? "row" : "column", quoted(line), n,
      got == NumberText::ok && value == 0 ? ": Matrix Market counts from 1, this file seems to count from 0" : ""));
}

Status explain_value(const LineReader& in, const Header& header, std::string_view line, std::string_view& rest) {
  double value = 0;
  switch (take_real(rest, value)) {
    case NumberText::ok: break;
    case NumberText::out_of_range:
      return in.error(fmt::format("the value in {} is too large for a double", quoted(line)));
    case NumberText::not_finite: return in.error(fmt::format("the value in {} is not finite", quoted(line)));
    default: return in.error(fmt::format("expected {}, found {}", entry_form(header), quoted(line)));
  }
  if (fits_field(header, value)) return {};
  return in.error(fmt::format("expected an integer of at most 2^53, found {}", quoted(line)));
}

/// Why read_entry() refused the line: the first thing wrong, from left to right.
Status explain(const LineReader& in, const Header& header, std::string_view line) {
  std::string_view rest = line;
  LULAB_RETURN_IF_ERROR(explain_index(in, header, line, rest, true));
  LULAB_RETURN_IF_ERROR(explain_index(in, header, line, rest, false));
  if (header.field != Field::pattern) LULAB_RETURN_IF_ERROR(explain_value(in, header, line, rest));
  if (!only_blanks(rest)) return in.error(fmt::format("expected {}, found {}", entry_form(header), quoted(line)));
  const std::string_view held =
      header.symmetry == Symmetry::skew_symmetric ? "entries strictly below the diagonal" : "the lower triangle";
  return in.error(fmt::format("the entry {} does not belong here: a {} file holds only {}", quoted(line),
                              to_string(header.symmetry), held));
}

/// Requires that all entries were read; only blanks and comments may follow.
Status expect_end(LineReader& in, const Header& header) {
  std::string_view line;
  if (!next_content(in, line)) return in.status();
  return in.error(
      fmt::format("more than the {} entries that the size line declares; found {}", header.entries, quoted(line)));
}

Status too_few(const LineReader& in, const Header& header, std::int64_t read) {
  return ended(in, fmt::format("the file ends after {} of {} entries: it is truncated or its size line is wrong", read,
                               header.entries));
}

struct Triplets {
  std::vector<std::int32_t> rows, cols;
  std::vector<double> values;

  void reserve(std::size_t count) {
    rows.reserve(count);
    cols.reserve(count);
    values.reserve(count);
  }
  void add(std::int64_t row, std::int64_t col, double value) {
    rows.push_back(static_cast<std::int32_t>(row));
    cols.push_back(static_cast<std::int32_t>(col));
    values.push_back(value);
  }
};

Status read_coordinate(LineReader& in, const Header& header, Triplets& t) {
  const bool general = header.symmetry == Symmetry::general;
  const double mirror_sign = header.symmetry == Symmetry::skew_symmetric ? -1.0 : 1.0;
  const std::int64_t expected = general ? header.entries : 2 * header.entries;
  t.reserve(static_cast<std::size_t>(std::min(expected, believed(0))));
  std::string_view line;
  for (std::int64_t k = 0; k < header.entries; ++k) {
    if (!next_content(in, line)) return too_few(in, header, k);
    Entry e;
    if (!read_entry(header, line, e)) return explain(in, header, line);
    t.add(e.row - 1, e.col - 1, e.value);
    if (!general && e.row != e.col) t.add(e.col - 1, e.row - 1, mirror_sign * e.value);
  }
  return expect_end(in, header);
}

Status read_array(LineReader& in, const Header& header, DenseMatrix<double>& dense) {
  std::vector<double> stored;  // grows while reading, because the declared size may be wrong
  std::string_view line;
  for (std::int64_t k = 0; k < header.entries; ++k) {
    if (!next_content(in, line)) return too_few(in, header, k);
    std::string_view rest = line;
    double value = 0;
    if (take_real(rest, value) != NumberText::ok || !fits_field(header, value)) {
      rest = line;
      return explain_value(in, header, line, rest);
    }
    if (!only_blanks(rest)) return in.error(fmt::format("expected one value per line, found {}", quoted(line)));
    stored.push_back(value);
  }
  LULAB_RETURN_IF_ERROR(expect_end(in, header));

  if (header.symmetry == Symmetry::general) {
    dense.n_rows = header.n_rows;
    dense.n_cols = header.n_cols;
    dense.values = std::move(stored);
    return {};
  }
  dense = DenseMatrix<double>(header.n_rows, header.n_cols);
  const bool skew = header.symmetry == Symmetry::skew_symmetric;
  auto value = stored.begin();
  for (std::int32_t j = 0; j < header.n_cols; ++j) {
    for (std::int32_t i = j + (skew ? 1 : 0); i < header.n_rows; ++i, ++value) {
      dense(i, j) = *value;
      if (i != j) dense(j, i) = skew ? -*value : *value;
    }
  }
  return {};
}

Status read_sparse(LineReader& in, MatrixMarket& out) {
  Header header;
  LULAB_RETURN_IF_ERROR(read_banner(in, header));
  LULAB_RETURN_IF_ERROR(read_size(in, header));
  Triplets t;
  if (header.coordinate) {
    LULAB_RETURN_IF_ERROR(read_coordinate(in, header, t));
  } else {
    DenseMatrix<double> dense;
    LULAB_RETURN_IF_ERROR(read_array(in, header, dense));
    for (std::int32_t j = 0; j < dense.n_cols; ++j)
      for (std::int32_t i = 0; i < dense.n_rows; ++i)
        if (dense(i, j) != 0) t.add(i, j, dense(i, j));
  }
  out.field = header.field;
  out.symmetry = header.symmetry;
  out.pattern_only = header.field == Field::pattern;
  out.stored_entries = header.entries;
  out.matrix = from_triplets<double>(header.n_rows, header.n_cols, t.rows, t.cols, t.values);
  out.duplicates = static_cast<std::int64_t>(t.rows.size()) - out.matrix.nnz();
  if (out.pattern_only) std::fill(out.matrix.values.begin(), out.matrix.values.end(), 1.0);
  if (out.duplicates > 0 &&
      !std::all_of(out.matrix.values.begin(), out.matrix.values.end(), [](double v) { return std::isfinite(v); }))
    return in.error("entries given several times sum to a value too large for a double");
  return {};
}

Status read_dense(LineReader& in, DenseMatrix<double>& out) {
  Header header;
  LULAB_RETURN_IF_ERROR(read_banner(in, header));
  if (header.field == Field::pattern) return in.error("a pattern file has no values; expected real or integer");
  LULAB_RETURN_IF_ERROR(read_size(in, header));
  if (!header.coordinate) return read_array(in, header, out);
  if (std::int64_t(header.n_rows) * header.n_cols > believed(header.entries))
    return in.error(fmt::format("a sparse {} x {} matrix is too large to be made dense", header.n_rows, header.n_cols));
  Triplets t;
  LULAB_RETURN_IF_ERROR(read_coordinate(in, header, t));
  out = DenseMatrix<double>(header.n_rows, header.n_cols);
  for (std::size_t k = 0; k < t.rows.size(); ++k) {
    double& sum = out(t.rows[k], t.cols[k]);
    sum += t.values[k];
    if (!std::isfinite(sum)) return in.error("entries given several times sum to a value too large for a double");
  }
  return {};
}

/// Runs one of the readers above; turns bad_alloc into a Status.
template <class T, class Read>
Result<T> guarded(LineReader in, Read&& read) {
  try {
    T out;
    LULAB_RETURN_IF_ERROR(read(in, out));
    return out;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return Status::error(StatusCode::out_of_memory, "not enough memory to hold the matrix",
                       {in.name(), in.line_number(), {}, {}});
}

}  // namespace

Result<MatrixMarket> read_matrix_market(const std::string& path, ReadProgress progress) {
  return guarded<MatrixMarket>(LineReader::open(path, std::move(progress)), read_sparse);
}
Result<MatrixMarket> parse_matrix_market(std::string_view text, std::string name) {
  return guarded<MatrixMarket>(LineReader::from_memory(text, std::move(name)), read_sparse);
}

Result<DenseMatrix<double>> read_dense_matrix_market(const std::string& path) {
  return guarded<DenseMatrix<double>>(LineReader::open(path), read_dense);
}
Result<DenseMatrix<double>> parse_dense_matrix_market(std::string_view text, std::string name) {
  return guarded<DenseMatrix<double>>(LineReader::from_memory(text, std::move(name)), read_dense);
}

Result<std::vector<double>> read_vector(const std::string& path) {
  LULAB_ASSIGN_OR_RETURN(auto dense, read_dense_matrix_market(path));
  if (dense.n_cols != 1)
    return Status::error(StatusCode::parse_error,
                         fmt::format("holds {} x {} values; expected one column", dense.n_rows, dense.n_cols),
                         {path, 0, {}, {}});
  return std::move(dense.values);
}

Result<Permutation> read_permutation(const std::string& path) {
  LULAB_ASSIGN_OR_RETURN(const auto values, read_vector(path));
  Permutation p;
  for (double v : values) {
    if (!(v >= 1 && v <= static_cast<double>(values.size()) && v == std::trunc(v))) break;
    p.push_back(static_cast<std::int32_t>(v) - 1);
  }
  if (p.size() != values.size() || !is_permutation(p))
    return Status::error(StatusCode::parse_error,
                         fmt::format("is not a permutation: expected each of 1..{} once", values.size()),
                         {path, 0, {}, {}});
  return p;
}

}  // namespace lulab
