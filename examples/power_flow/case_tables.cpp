#include "examples/power_flow/case_tables.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace lulab::examples::power_flow {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word(char c) { return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Reader {
 public:
  Reader(std::string_view text, std::span<const std::string_view> wanted, const std::string& file)
      : text_(text), wanted_(wanted), file_(file) {}

  Result<std::map<std::string, Table>> read() {
    for (skip_blanks(true); !at_end(); skip_blanks(true)) LULAB_RETURN_IF_ERROR(read_statement());
    return std::move(tables_);
  }

 private:
  bool at_end() const { return position_ >= text_.size(); }
  char now() const { return at_end() ? '\0' : text_[position_]; }
  std::string_view rest() const { return text_.substr(std::min(position_, text_.size())); }
  std::int64_t column() const { return static_cast<std::int64_t>(position_ - line_start_) + 1; }
  Status wrong(const std::string& what) const { return wrong_at(file_, line_, column(), what); }

  void advance() {
    if (text_[position_++] != '\n') return;
    ++line_;
    line_start_ = position_;
  }
  void skip_line() {
    while (!at_end() && now() != '\n') advance();
  }
  /// Is a line of its own, as the signs of a block comment must be?
  bool alone_in_line(std::string_view sign) const {
    if (!rest().starts_with(sign)) return false;
    const std::string_view before = text_.substr(line_start_, position_ - line_start_);
    std::string_view after = rest().substr(sign.size());
    after = after.substr(0, after.find('\n'));
    return std::ranges::all_of(before, is_space) && std::ranges::all_of(after, is_space);
  }
  void skip_comment() {
    if (!alone_in_line("%{")) return skip_line();
    for (int depth = 0; !at_end(); advance()) {
      if (alone_in_line("%{")) ++depth;
      if (alone_in_line("%}") && --depth == 0) return skip_line();
    }
  }
  /// Blanks, comments and continued lines; also ends of lines and stray separators where `lines` says so.
  void skip_blanks(bool lines) {
    while (!at_end()) {
      if (now() == '%')
        skip_comment();
      else if (rest().starts_with("...")) {
        skip_line();
        if (!at_end()) advance();
      } else if (is_space(now()) || (lines && (now() == '\n' || now() == ';' || now() == ',')))
        advance();
      else
        return;
    }
  }

  Status read_statement() {
    const std::int64_t line = line_;
    const std::size_t start = position_;
    if (!is_letter(now())) {
      skip_statement();
      if (position_ == start) advance();  // a bracket that closes nothing
      return {};
    }
    while (is_word(now()) || (now() == '.' && !rest().starts_with("..."))) advance();
    const std::string_view name = text_.substr(start, position_ - start);
    if (name == "function") {
      skip_line();
      return {};
    }
    const std::string field(name.substr(name.rfind('.') + 1));
    const bool is_wanted = std::ranges::find(wanted_, field) != wanted_.end();
    skip_blanks(false);
    if (!is_wanted) {
      skip_statement();
      return {};
    }
    if (now() != '=' || rest().starts_with("=="))
      return wrong(
          fmt::format("expected '=' after '{}': computations are not read; let MATPOWER's savecase write the "
                      "case as plain tables",
                      name));
    advance();
    skip_blanks(false);
    if (tables_.contains(field))
      return wrong_at(file_, line, 1,
                      fmt::format("'{}' has a value since line {}; remove one of the two", name, tables_[field].line));
    Table& table = tables_[field];
    table.line = line;
    LULAB_RETURN_IF_ERROR(now() == '[' ? read_table(table) : read_number(table));
    if (table.columns == 0) table.columns = table.cells.size();
    skip_blanks(false);
    if (!at_end() && now() != ';' && now() != ',' && now() != '\n')
      return wrong(fmt::format("expected ';' or the end of the line after the value of '{}'", name));
    return {};
  }

  Status read_table(Table& table) {
    advance();
    std::size_t in_row = 0;
    for (;;) {
      skip_blanks(false);
      if (at_end()) return wrong(fmt::format("the table of line {} has no closing ']'", table.line));
      const char c = now();
      if (c == ']' || c == ';' || c == '\n') {
        if (in_row > 0 && table.columns == 0) table.columns = in_row;
        if (in_row > 0 && in_row != table.columns)
          return wrong(fmt::format("this row has {} numbers, the rows above have {}", in_row, table.columns));
        in_row = 0;
        advance();
        if (c == ']') return {};
      } else if (c == ',') {
        if (in_row == 0) return wrong("a row begins with a comma; a number is missing");
        advance();
        skip_blanks(false);
        if (now() == ',') return wrong("two commas in a row; a number is missing between them");
      } else {
        LULAB_RETURN_IF_ERROR(read_number(table));
        ++in_row;
      }
    }
  }

  /// A number up to the next separator.
  Status read_number(Table& table) {
    constexpr std::string_view separators = " \t\r\n,;]%";
    const std::string_view token = rest().substr(0, std::min(rest().find_first_of(separators), rest().size()));
    const char *begin = token.data(), *end = begin + token.size();
    if (token.starts_with('+') && !token.starts_with("+-")) ++begin;
    Cell cell{0, line_, column()};
    const auto [stop, error] = std::from_chars(begin, end, cell.value);
    if (error == std::errc::result_out_of_range)
      return wrong(fmt::format("{} is out of the range of double precision", token));
    if (token.empty() || error != std::errc() || stop != end)
      return wrong(fmt::format("expected a number, found '{}'", token.empty() ? rest().substr(0, 1) : token));
    table.cells.push_back(cell);
    position_ += token.size();
    return {};
  }

  /// Up to the end of a statement that is not read: outside brackets, a separator or the end of a line.
  void skip_statement() {
    int depth = 0;
    for (char before = ' '; !at_end();) {
      const char c = now();
      if (depth <= 0 && (c == ';' || c == ',' || c == '\n')) return;
      if (c == '%' || rest().starts_with("...")) {
        skip_blanks(false);
        continue;
      }
      if (c == '[' || c == '(' || c == '{') ++depth;
      if (c == ']' || c == ')' || c == '}') --depth;
      const bool transposes = is_word(before) || before == ']' || before == ')' || before == '}';
      const bool quotes = c == '"' || (c == '\'' && !transposes);
      if (quotes) skip_string(c);
      before = c;
      if (!at_end() && !(quotes && now() == '\n')) advance();
    }
  }
  /// To the quote that closes the string, or to the end of the line.
  void skip_string(char quote) {
    advance();
    while (!at_end() && now() != quote && now() != '\n') advance();
  }

  std::string_view text_;
  std::span<const std::string_view> wanted_;
  const std::string& file_;
  std::size_t position_ = 0, line_start_ = 0;
  std::int64_t line_ = 1;
  std::map<std::string, Table> tables_;
};

}  // namespace

Status wrong_at(const std::string& file, std::int64_t line, std::int64_t column, const std::string& what) {
  return Status::error(StatusCode::parse_error, fmt::format("column {}: {}", column, what), Where{file, line, {}, {}});
}

Result<std::map<std::string, Table>> read_tables(std::string_view text, std::span<const std::string_view> wanted,
                                                 const std::string& file) {
  return Reader(text, wanted, file).read();
}

}  // namespace lulab::examples::power_flow
