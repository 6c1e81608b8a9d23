// lulab draw A.mtx: a small matrix as text or SVG: its entries, fill, elimination tree, levels, and waits.

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/table.h"
#include "core/output_file.h"
#include "driver/analyze.h"
#include "symbolic/dependencies.h"
#include "symbolic/levels.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab::app {
namespace {

constexpr std::int32_t max_n = 100;     // a wider picture fits no terminal and no page; density has no limit
constexpr std::int32_t max_cells = 64;  // of a side of a density

struct DrawArguments {
  std::string matrix;
  std::string what = "fill";
  std::string svg;
  SolverArguments solver;
};

/// One picture in the three forms in which it can be had.
struct Picture {
  std::string text;
  std::string svg;
  nlohmann::json json;
};

/// Shapes of an SVG, drawn on a lattice of cells.
class Svg {
 public:
  Svg(std::int32_t columns, std::int32_t rows) : columns_(columns), rows_(rows) {}

  void square(std::int32_t x, std::int32_t y, const char* colour) {
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#999\"/>\n", x * cell,
                         y * cell, cell, cell, colour);
  }
  void circle(std::int32_t x, std::int32_t y) {
    body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#fff\" stroke=\"#000\"/>\n", middle(x), middle(y),
                         cell * 2 / 5);
  }
  void line(std::int32_t x0, std::int32_t y0, std::int32_t x1, std::int32_t y1, const char* colour) {
    body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"/>\n", middle(x0), middle(y0),
                         middle(x1), middle(y1), colour);
  }
  void number(std::int32_t x, std::int32_t y, std::int32_t value) {
    body_ += fmt::format(
        "<text x=\"{}\" y=\"{}\" font-size=\"12\" font-family=\"sans-serif\" text-anchor=\"middle\">{}</text>\n",
        middle(x), middle(y) + 4, value);
  }
  std::string to_string() const {
    const std::int32_t width = columns_ * cell, height = rows_ * cell;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n{2}</svg>\n",
        width, height, body_);
  }

 private:
  static constexpr std::int32_t cell = 28;
  static std::int32_t middle(std::int32_t at) { return at * cell + cell / 2; }

  std::int32_t columns_, rows_;
  std::string body_;
};

/// A matrix of marks: '.' nothing, 'x' an entry of A, 'o' fill-in. Rows and columns count from 1.
class Grid {
 public:
  Grid(std::int32_t rows, std::int32_t columns) : marks_(rows, std::string(columns, '.')) {}
  void set(std::int32_t i, std::int32_t j, char mark) { marks_[i][j] = mark; }

  std::string to_text() const {
    const std::size_t width = fmt::to_string(std::max(marks_.size(), n_columns())).size();
    std::string text = std::string(width, ' ');
    for (std::size_t j = 1; j <= n_columns(); ++j) text += fmt::format(" {:>{}}", j, width);
    text += '\n';
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      text += fmt::format("{:>{}}", i + 1, width);
      for (const char mark : marks_[i]) text += fmt::format(" {:>{}}", mark, width);
      text += '\n';
    }
    return text;
  }
  std::string to_svg() const {
    Svg svg(static_cast<std::int32_t>(n_columns()) + 1, static_cast<std::int32_t>(marks_.size()) + 1);
    for (std::int32_t j = 1; j <= static_cast<std::int32_t>(n_columns()); ++j) svg.number(j, 0, j);
    for (std::int32_t i = 1; i <= static_cast<std::int32_t>(marks_.size()); ++i) {
      svg.number(0, i, i);
      for (std::int32_t j = 1; j <= static_cast<std::int32_t>(n_columns()); ++j) {
        const char mark = marks_[i - 1][j - 1];
        svg.square(j, i, mark == 'x' ? "#345" : mark == 'o' ? "#e80" : "#fff");
      }
    }
    return svg.to_string();
  }
  /// Positions of a mark, row and column from 1, by columns.
  nlohmann::json positions(char mark) const {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t j = 0; j < n_columns(); ++j)
      for (std::size_t i = 0; i < marks_.size(); ++i)
        if (marks_[i][j] == mark) list.push_back({i + 1, j + 1});
    return list;
  }

 private:
  std::size_t n_columns() const { return marks_.empty() ? 0 : marks_.front().size(); }

  std::vector<std::string> marks_;
};

struct Edge {
  std::int32_t from, to;
  const char* colour = "#000";
};

/// Columns from left to right, each at its depth.
std::string graph(std::span<const std::int32_t> depth, std::span<const Edge> edges) {
  constexpr std::int32_t across = 2, down = 3;  // cells from one column, one depth to the next: room for the edges
  const auto n = static_cast<std::int32_t>(depth.size());
  Svg svg(across * n, n == 0 ? 0 : down * *std::ranges::max_element(depth) + 1);
  for (const Edge& e : edges)
    svg.line(across * e.from, down * depth[e.from], across * e.to, down * depth[e.to], e.colour);
  for (std::int32_t j = 0; j < n; ++j) {
    svg.circle(across * j, down * depth[j]);
    svg.number(across * j, down * depth[j], j + 1);
  }
  return svg.to_string();
}

/// "1 2 5", counted from 1; "-" for none.
std::string numbered(std::span<const std::int32_t> columns) {
  std::string text;
  for (const std::int32_t j : columns) text += fmt::format("{}{}", text.empty() ? "" : " ", j + 1);
  return text.empty() ? "-" : text;
}

nlohmann::json from_one(std::span<const std::int32_t> columns) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::int32_t j : columns) list.push_back(j + 1);
  return list;
}

/// A as the file has it.
Picture draw_pattern(const CscMatrix<double>& a) {
  Grid grid(a.n_rows, a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p) grid.set(a.row_idx[p], j, 'x');
  return {grid.to_text(), grid.to_svg(), {{"entries", grid.positions('x')}}};
}

/// How many entries lie in each cell of a square of at most max_cells cells a side.
class Density {
 public:
  explicit Density(std::int32_t n) : n_(n), counts_(std::min(n, max_cells), std::vector<std::int64_t>(counts_size())) {}
  void add(std::int32_t i, std::int32_t j) { ++counts_[cell_of(i)][cell_of(j)]; }

  const std::vector<std::vector<std::int64_t>>& counts() const { return counts_; }
  /// 0 to 9: no entry, then by the share of the cell that is full, each step a factor of 2; 9: at least half.
  int grade(std::size_t i, std::size_t j) const {
    const double side = double(n_) / double(counts_.size());
    const double share = double(counts_[i][j]) / (side * side);
    return share == 0 ? 0 : std::clamp(10 + static_cast<int>(std::floor(std::log2(share))), 1, 9);
  }

 private:
  std::size_t counts_size() const { return std::min(n_, max_cells); }
  std::size_t cell_of(std::int32_t i) const { return std::int64_t{i} * counts_size() / n_; }

  std::int32_t n_;
  std::vector<std::vector<std::int64_t>> counts_;
};

/// A as the file has it, A permuted, and L + U: for matrices of any size.
Picture draw_density(const Analysis& analysis) {
  const FilledPattern& f = analysis.filled;
  Density before(f.n), after(f.n), filled(f.n);
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = analysis.a.col_ptr[j]; p < analysis.a.col_ptr[j + 1]; ++p)
      before.add(analysis.a.row_idx[p], j);
  std::vector<char> is_of_a(f.nnz(), 0);
  for (const std::int64_t p : analysis.a_to_filled) is_of_a[p] = 1;
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
      filled.add(f.row_idx[p], j);
      if (is_of_a[p]) after.add(f.row_idx[p], j);
    }
  const auto side = static_cast<std::int32_t>(before.counts().size());
  Picture picture;
  picture.json = {{"n", f.n}, {"nnz", analysis.a_to_filled.size()}, {"nnz_lu", f.nnz()}};
  Svg svg(3 * side + 2, side);
  std::int32_t left = 0;
  for (const auto& [name, density] :
       {std::pair("before", &before), std::pair("after", &after), std::pair("filled", &filled)}) {
    picture.text += fmt::format("{}\n", name);
    for (std::int32_t i = 0; i < side; ++i) {
      for (std::int32_t j = 0; j < side; ++j) {
        const int grade = density->grade(i, j);
        picture.text += " .:-=+*#%@"[grade];
        const std::string grey = fmt::format("#{0:02x}{0:02x}{0:02x}", 225 - 25 * grade);
        if (grade > 0) svg.square(left + j, i, grey.c_str());
      }
      picture.text += '\n';
    }
    picture.json[name] = density->counts();
    left += side + 1;
  }
  picture.svg = svg.to_string();
  return picture;
}

/// L + U: entries of A, and fill-in.
Picture draw_fill(const Analysis& analysis) {
  const FilledPattern& f = analysis.filled;
  std::vector<char> mark(f.nnz(), 'o');
  for (const std::int64_t p : analysis.a_to_filled) mark[p] = 'x';
  Grid grid(f.n, f.n);
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) grid.set(f.row_idx[p], j, mark[p]);
  const std::string counts = fmt::format("{} entries of A (x), {} of fill-in (o)\n", std::ranges::count(mark, 'x'),
                                         std::ranges::count(mark, 'o'));
  return {grid.to_text() + counts, grid.to_svg(), {{"entries", grid.positions('x')}, {"fill_in", grid.positions('o')}}};
}

/// Each column under the smallest larger one with which it shares an entry of L + U.
Picture draw_tree(const Analysis& analysis) {
  const std::vector<std::int32_t> parent = elimination_tree(analysis.filled);
  const std::int32_t n = analysis.filled.n;
  std::vector<std::vector<std::int32_t>> children(n);
  std::vector<std::int32_t> depth(n, 0);
  std::vector<Edge> edges;
  for (std::int32_t j = n - 1; j >= 0; --j) {
    if (parent[j] < 0) continue;
    depth[j] = depth[parent[j]] + 1;
    edges.push_back({j, parent[j]});
  }
  for (std::int32_t j = 0; j < n; ++j)
    if (parent[j] >= 0) children[parent[j]].push_back(j);
  std::string text;
  const std::function<void(std::int32_t, const std::string&)> add_below = [&](std::int32_t j, const std::string& left) {
    for (const std::int32_t child : children[j]) {
      text += fmt::format("{}+- {}\n", left, child + 1);
      add_below(child, left + (child == children[j].back() ? "   " : "|  "));
    }
  };
  for (std::int32_t j = 0; j < n; ++j) {
    if (parent[j] >= 0) continue;
    text += fmt::format("{}\n", j + 1);
    add_below(j, "");
  }
  return {text, graph(depth, edges), {{"parent", from_one(parent)}}};  // 0: a root
}

/// Columns of each level, by the rule of left-looking columns and by those of right-looking ones.
Picture draw_levels(const Analysis& analysis) {
  const FilledPattern& f = analysis.filled;
  std::vector<std::pair<std::string, Schedule>> schedules = {{"left_looking", levels_left_looking(f)}};
  for (const DependencyRule rule : dependency_rules)
    schedules.emplace_back(to_string(rule), levels_right_looking(f, rule));
  std::vector<Table::Column> titles = {{"level"}};
  std::int32_t n_levels = 0;
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, schedule] : schedules) {
    titles.push_back({name, Table::Align::left});
    n_levels = std::max(n_levels, schedule.n_levels());
    json[name] = schedule.level_of;
  }
  Table table(titles);
  for (std::int32_t level = 0; level < n_levels; ++level) {
    std::vector<std::string> cells = {fmt::to_string(level)};
    for (const auto& [name, s] : schedules) {
      const bool there = level < s.n_levels();
      cells.push_back(
          there ? numbered(
                      std::span(s.level_cols).subspan(s.level_ptr[level], s.level_ptr[level + 1] - s.level_ptr[level]))
                : "");
    }
    table.add(std::move(cells));
  }
  const ColumnDependencies exact = find_dependencies(f, DependencyRule::double_u);
  std::vector<Edge> edges;
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = exact.ptr[j]; p < exact.ptr[j + 1]; ++p) {
      const auto u_end = f.row_idx.begin() + f.diag[j];
      const bool by_u = std::binary_search(f.row_idx.begin() + f.col_ptr[j], u_end, exact.columns[p]);
      edges.push_back({exact.columns[p], j, by_u ? "#000" : "#c00"});
    }
  return {table.to_string(), graph(levels_right_looking(f, DependencyRule::double_u).level_of, edges), json};
}

/// Columns that j needs by `rule` and not by `less`.
std::vector<std::int32_t> added(const ColumnDependencies& rule, const ColumnDependencies& less, std::int32_t j) {
  std::vector<std::int32_t> columns;
  std::set_difference(rule.columns.begin() + rule.ptr[j], rule.columns.begin() + rule.ptr[j + 1],
                      less.columns.begin() + less.ptr[j], less.columns.begin() + less.ptr[j + 1],
                      std::back_inserter(columns));
  return columns;
}

/// For each column the columns that it needs: of the left-looking algorithm, and what the right-looking rules add.
Picture draw_waits(const Analysis& analysis) {
  const FilledPattern& f = analysis.filled;
  const ColumnDependencies up = find_dependencies(f, DependencyRule::up_looking);
  const ColumnDependencies exact = find_dependencies(f, DependencyRule::double_u);
  const ColumnDependencies relaxed = find_dependencies(f, DependencyRule::relaxed);
  Table table({{"column"},
               {"needs, U(:,k)", Table::Align::left},
               {"degree"},
               {"double_u adds", Table::Align::left},
               {"relaxed adds", Table::Align::left}});
  nlohmann::json json = {{"needs", nlohmann::json::array()},
                         {"double_u_adds", nlohmann::json::array()},
                         {"relaxed_adds", nlohmann::json::array()}};
  std::vector<Edge> edges;
  for (std::int32_t j = 0; j < f.n; ++j) {
    const auto needs = std::span(f.row_idx).subspan(f.col_ptr[j], f.diag[j] - f.col_ptr[j]);
    const std::vector<std::int32_t> by_double_u = added(exact, up, j), by_relaxed = added(relaxed, exact, j);
    table.add({fmt::to_string(j + 1), numbered(needs), fmt::to_string(needs.size() + 1), numbered(by_double_u),
               numbered(by_relaxed)});
    for (const std::int32_t i : needs) edges.push_back({i, j});
    json["needs"].push_back(from_one(needs));
    json["double_u_adds"].push_back(from_one(by_double_u));
    json["relaxed_adds"].push_back(from_one(by_relaxed));
  }
  return {table.to_string(), graph(levels_left_looking(f).level_of, edges), json};
}

/// "rows of A: 3 1 2; columns of A: 1 2 3" where the plan permutes, else nothing.
std::string permutation_line(const Plan& plan) {
  if (std::ranges::is_sorted(plan.p) && std::ranges::is_sorted(plan.q)) return "";
  return fmt::format("rows of A: {}; columns of A: {}\n", numbered(plan.p), numbered(plan.q));
}

int run_draw(const Context& context, const DrawArguments& arguments) {
  auto preprocess = preprocess_options(arguments.solver);
  if (!preprocess.ok()) return fail(context, preprocess.status());
  auto input = load_matrix(arguments.matrix, arguments.what == "pattern" ? Needs::anything : Needs::square_pattern);
  if (!input.ok()) return fail(context, input.status());
  const CscMatrix<double>& a = input->a();
  if (arguments.what != "density" && std::max(a.n_rows, a.n_cols) > max_n)
    return fail(context, Status::error(StatusCode::invalid_argument,
                                       fmt::format("{} rows and {} columns; at most {} of each can be drawn, of any "
                                                   "number with --what density",
                                                   a.n_rows, a.n_cols, max_n),
                                       in_file(input->path)));
  nlohmann::json json = {{"matrix", input->name}, {"n_rows", a.n_rows}, {"n_cols", a.n_cols}, {"what", arguments.what}};
  std::string text = fmt::format("{}  {} x {}, {} entries", input->name, a.n_rows, a.n_cols, a.nnz());
  Picture picture;
  if (arguments.what == "pattern") {
    picture = draw_pattern(a);
    text += '\n';
  } else {
    const auto analysis = analyze(a, *preprocess);
    if (!analysis.ok()) return fail(context, concerning(input->path, analysis.status()));
    const auto draw = arguments.what == "etree"     ? draw_tree
                      : arguments.what == "levels"  ? draw_levels
                      : arguments.what == "waits"   ? draw_waits
                      : arguments.what == "density" ? draw_density
                                                    : draw_fill;
    picture = draw(*analysis);
    const bool is_small = arguments.what != "density";
    text += fmt::format(", ordering {}\n{}", analysis->plan.order, is_small ? permutation_line(analysis->plan) : "");
    json["order"] = analysis->plan.order;
    if (is_small) json.update({{"p", from_one(analysis->plan.p)}, {"q", from_one(analysis->plan.q)}});
  }
  if (!arguments.svg.empty()) {
    OutputFile file(arguments.svg);
    file.add(picture.svg);
    if (const Status written = file.close(); !written.ok()) return fail(context, written);
  }
  json.update(picture.json);
  if (context.json)
    print_json(json);
  else
    fmt::print("{}{}", text, picture.text);
  return exit_ok;
}

}  // namespace

void add_draw(CLI::App& app, Context& context) {
  auto* command =
      add_command(app, "draw", "Draw a small matrix as text or SVG: entries, fill, elimination tree, levels, waits",
                  "lulab draw A.mtx --what levels --svg levels.svg");
  auto arguments = std::make_shared<DrawArguments>();
  arguments->solver.order = "natural";
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command
      ->add_option(
          "--what", arguments->what,
          "pattern: A as the file has it; fill: L + U; etree: elimination tree; levels: columns that can be "
          "eliminated together; waits: the columns that each column needs; density: entries of A before and after "
          "ordering and of L + U, by cells, for any size")
      ->capture_default_str()
      ->check(CLI::IsMember({"pattern", "fill", "etree", "levels", "waits", "density"}));
  command->add_option("--svg", arguments->svg, "Also write the picture to this file");
  add_order_options(*command, arguments->solver);
  add_column_order_option(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_draw(context, *arguments); }; });
}

}  // namespace lulab::app
