#include "app/explain_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace lulab::app {
namespace {

/// "block 3, column 5".
std::string who(const ExplainStep& step) {
  if (step.worker.empty() || step.column < 0) return step.worker;
  return fmt::format("{}, column {}", step.worker, step.column + 1);
}

std::string step_line(const Explanation& e, std::size_t step, std::size_t width) {
  const ExplainStep& s = e.steps[step];
  const std::size_t digits = fmt::to_string(e.steps.size()).size();
  std::string text = fmt::format("{:>{}}  {:<{}}  {}\n", step + 1, digits, who(s), width, s.text);
  if (s.kind == ExplainStep::Kind::waits) return text;  // its line is in the JSON and on the page
  for (const std::string& detail : s.details) text += fmt::format("{:>{}}  {}\n", "", digits + width + 2, detail);
  return text;
}

std::size_t widest(const Explanation& e) {
  std::size_t width = 0;
  for (const ExplainStep& step : e.steps) width = std::max(width, who(step).size());
  return width;
}

}  // namespace

std::string_view to_string(ExplainStep::Kind kind) {
  switch (kind) {
    case ExplainStep::Kind::launch: return "launch";
    case ExplainStep::Kind::takes: return "takes";
    case ExplainStep::Kind::loads: return "loads";
    case ExplainStep::Kind::updates: return "updates";
    case ExplainStep::Kind::stores: return "stores";
    case ExplainStep::Kind::divides: return "divides";
    case ExplainStep::Kind::waits: return "waits";
    case ExplainStep::Kind::goes_on: return "goes_on";
    case ExplainStep::Kind::finishes: return "finishes";
    case ExplainStep::Kind::starts: return "starts";
    case ExplainStep::Kind::ends: return "ends";
    case ExplainStep::Kind::race: return "race";
    case ExplainStep::Kind::deadlock: return "deadlock";
    case ExplainStep::Kind::result: return "result";
  }
  return "?";
}

std::string steps_as_text(const Explanation& e) {
  std::string text;
  const std::size_t width = widest(e);
  for (std::size_t k = 0; k < e.steps.size(); ++k) text += step_line(e, k, width);
  return text;
}

std::string step_as_text(const Explanation& e, const FilledPattern& f, std::size_t step) {
  std::vector<char> changed(f.row_idx.size(), 0), finished(f.n, 0);
  for (std::size_t k = 0; k < step; ++k) {
    for (const ChangedEntry& c : e.steps[k].changed) changed[c.position] = 1;
    for (const std::int32_t j : e.steps[k].finished) finished[j] = 1;
  }
  const ExplainStep& now = e.steps[step - 1];
  const auto has = [](const auto& list, std::int64_t p) { return std::ranges::find(list, p) != list.end(); };
  const std::size_t width = fmt::to_string(f.n).size();
  std::vector<std::string> rows(f.n, std::string());
  for (std::int32_t j = 0; j < f.n; ++j) {
    std::vector<std::string> cells(f.n, fmt::format(" {:>{}} ", '.', width));
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) {
      const char mark = finished[j] ? (p <= f.diag[j] ? 'U' : 'L') : changed[p] ? '*' : e.is_fill[p] ? 'o' : 'x';
      const char *left = " ", *right = " ";
      if (has(now.written, p))
        left = "[", right = "]";
      else if (has(now.read, p))
        left = "(", right = ")";
      cells[f.row_idx[p]] = fmt::format("{}{:>{}}{}", left, mark, width, right);
    }
    for (std::int32_t i = 0; i < f.n; ++i) rows[i] += cells[i];
  }
  std::string text = step_line(e, step - 1, who(now).size()) + std::string(width, ' ');
  for (std::int32_t j = 1; j <= f.n; ++j) text += fmt::format(" {:>{}} ", j, width);
  text += '\n';
  for (std::int32_t i = 0; i < f.n; ++i) text += fmt::format("{:>{}}{}\n", i + 1, width, rows[i]);
  return text +
         "x entry of A, o fill-in that is still zero, * changed, L U of a finished column; [written] (read) in this "
         "step\n";
}

}  // namespace lulab::app
