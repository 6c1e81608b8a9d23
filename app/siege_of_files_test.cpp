// The siege of files: Matrix Market files with one change each. A harmless change is read as the same matrix, a harmful
// one is refused with exit code 2 and the number of its line.

#include <algorithm>
#include <cctype>

#include <zlib.h>

#include "core/matrix/csc.h"
#include "core/matrix/matrix_market.h"
#include "testing/siege.h"

namespace lulab::siege {
namespace {

/// A coordinate file by lines. `matrix` is what it says.
struct File {
  std::vector<std::string> lines;  // banner, comments, size, entries
  std::size_t size_line = 0;       // counted from 0
  CscMatrix<double> matrix;
  bool integers = false;

  std::size_t first_entry() const { return size_line + 1; }
  std::string text(const char* newline = "\n") const {
    std::string text;
    for (const std::string& line : lines) text += line + newline;
    return text;
  }
};

File random_file(Random& random) {
  File file;
  const auto n = static_cast<std::int32_t>(1 + random.below(6));
  file.integers = random.chance(0.3);
  file.lines.push_back(fmt::format("%%MatrixMarket matrix coordinate {} general", file.integers ? "integer" : "real"));
  if (random.chance(0.3)) file.lines.push_back("% a comment");
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j)
      if (i == j || random.chance(0.3)) {
        rows.push_back(i), columns.push_back(j);
        values.push_back(file.integers ? static_cast<double>(1 + random.below(9)) : (i == j ? 4 : 1) * random.value());
      }
  file.size_line = file.lines.size();
  file.lines.push_back(fmt::format("{} {} {}", n, n, rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k)
    file.lines.push_back(fmt::format("{} {} {}", rows[k] + 1, columns[k] + 1, values[k]));
  file.matrix = from_triplets<double>(n, n, rows, columns, values);
  return file;
}

/// A changed file. line: the line (from 1) that an error must name, 0: any.
struct Changed {
  std::string what, text;
  bool harmful = false;
  std::int64_t line = 0;
};

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : between) + word;
  return line;
}

/// Any of several spellings of a number.
std::string respelled(Random& random, const std::string& number) {
  const bool whole = number.find_first_of(".e") == std::string::npos;
  switch (random.below(4)) {
    case 0: return number[0] == '-' ? number : "+" + number;
    case 1: return number + (whole ? ".0" : "");
    case 2: return number.find('e') == std::string::npos ? number + "e0" : number;
    default: return number.find('e') == std::string::npos ? number + "D+00" : number;
  }
}

Changed harmless(Random& random, File file) {
  Changed changed{.what = "nothing", .text = {}};
  switch (random.below(9)) {
    case 0: changed.what = "CRLF", changed.text = file.text("\r\n"); return changed;
    case 1: {
      changed.what = "blanks";
      for (std::size_t k = file.size_line; k < file.lines.size(); ++k)
        file.lines[k] = " \t" + joined(words_of(file.lines[k]), random.chance(0.5) ? "\t" : "   ") + "  ";
      break;
    }
    case 2: {
      changed.what = "comments and empty lines";
      for (int k = 0; k < 3; ++k) {
        const auto at = 1 + random.below(static_cast<std::int64_t>(file.lines.size()));
        file.lines.insert(file.lines.begin() + at, random.chance(0.5) ? "" : "% 1 1 7");
      }
      break;
    }
    case 3: {
      changed.what = "a banner in capitals";
      for (char& c : file.lines[0]) c = static_cast<char>(std::toupper(c));
      break;
    }
    case 4: changed.what = "no newline at the end", changed.text = file.text(), changed.text.pop_back(); return changed;
    case 5: {
      changed.what = "entries in another order";
      for (std::size_t k = file.lines.size() - 1; k > file.first_entry(); --k) {
        const auto other = file.first_entry() + random.below(static_cast<std::int64_t>(k - file.first_entry() + 1));
        std::swap(file.lines[k], file.lines[other]);
      }
      break;
    }
    case 6: {
      changed.what = "an entry in two parts";
      auto words = words_of(file.lines.back());
      auto size = words_of(file.lines[file.size_line]);
      const double value = std::stod(words[2]);
      words[2] = fmt::format("{}", file.integers ? 1 : value / 2);
      file.lines.back() = joined(words);
      words[2] = fmt::format("{}", file.integers ? value - 1 : value / 2);
      file.lines.push_back(joined(words));
      size[2] = fmt::format("{}", std::stoll(size[2]) + 1);
      file.lines[file.size_line] = joined(size);
      break;
    }
    case 7: {
      changed.what = "numbers in other words";
      for (std::size_t k = file.first_entry(); k < file.lines.size(); ++k) {
        auto words = words_of(file.lines[k]);
        words[2] = respelled(random, words[2]);
        words[0] = (random.chance(0.5) ? "0" : "") + words[0];
        file.lines[k] = joined(words);
      }
      break;
    }
    default: {
      changed.what = "a byte order mark";
      file.lines[0] = "\xef\xbb\xbf" + file.lines[0];
    }
  }
  changed.text = file.text();
  return changed;
}

Changed harmful(Random& random, File file) {
  Changed changed{.what = "", .text = {}, .harmful = true};
  const auto pick = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[random.below(static_cast<std::int64_t>(all.size()))]);
  };
  const auto entry =
      file.first_entry() + random.below(static_cast<std::int64_t>(file.lines.size() - file.first_entry()));
  const auto n = file.matrix.n_cols;
  auto words = words_of(file.lines[entry]);
  auto size = words_of(file.lines[file.size_line]);
  const auto change_entry = [&](std::size_t word, const std::string& to) {
    changed.what = fmt::format("word {} of an entry is '{}'", word + 1, to);
    changed.line = static_cast<std::int64_t>(entry) + 1;
    words[word] = to;
    file.lines[entry] = joined(words);
  };
  const auto change_size = [&](std::size_t word, const std::string& to) {
    changed.what = fmt::format("word {} of the size line is '{}'", word + 1, to);
    changed.line = static_cast<std::int64_t>(file.size_line) + 1;
    size[word] = to;
    file.lines[file.size_line] = joined(size);
  };
  switch (random.below(12)) {
    case 0:
      change_entry(random.below(2),
                   pick({"0", "-1", "99999999999999999999", "x", "1.5", "1e0", "0x1", "4294967297", "--1"}));
      break;
    case 1: change_entry(random.below(2), fmt::format("{}", n + 1 + random.below(1000))); break;
    case 2:
      change_entry(2, pick({"nan", "-nan", "inf", "-Infinity", "1e999", "-1e309", "x", "1,5", "1e", "0x1p3", "1 1", "",
                            "--1", "1e+", "1.2.3", "\x01", "1\xff", "i", "NaN(1)"}));
      break;
    case 3:
      changed.what = "an entry more than declared", file.lines.push_back("1 1 1");
      changed.line = static_cast<std::int64_t>(file.lines.size());
      break;
    case 4:
      changed.what = "an entry fewer than declared", file.lines.pop_back();
      changed.line = 0;  // the end of the file, or the size line where the file is too short for it
      break;
    case 5:
      change_size(random.below(2), pick({"-1", "0", "x", "2147483648", "99999999999999999999", "1.0", "1e3", ""}));
      break;
    case 6: change_size(2, pick({"-1", "x", "9223372036854775807", "1e3", "1000000000000", "1 1", ""})); break;
    case 7: {
      auto banner = words_of(file.lines[0]);
      const auto word = static_cast<std::size_t>(random.below(5));
      constexpr const char* wrong[] = {"%MatrixMarket", "vector", "dense", "rational", "triangular"};
      banner[word] = random.chance(0.3) ? "" : wrong[word];
      file.lines[0] = joined(banner);
      changed.what = "banner: " + file.lines[0], changed.line = 1;
      break;
    }
    case 8: {
      changed.what = "half of the bytes", changed.line = 0;
      const std::string all = file.text();
      // A cut inside the last number leaves a shorter number: cut before the last line.
      const std::size_t last = all.rfind('\n', all.size() - 2);
      changed.text = all.substr(0, random.below(static_cast<std::int64_t>(last)));
      return changed;
    }
    case 9: {
      changed.what = "another file begins in the middle", changed.line = 0;
      changed.text = file.text() + file.text();
      return changed;
    }
    case 10: {
      changed.what = "random bytes", changed.line = 0;
      const auto count = random.below(300);
      for (std::int64_t k = 0; k < count; ++k) changed.text += static_cast<char>(random.below(256));
      return changed;
    }
    default: {
      changed.what = "complex", changed.line = 1;
      auto banner = words_of(file.lines[0]);
      banner[3] = "complex";
      file.lines[0] = joined(banner);
    }
  }
  changed.text = file.text();
  return changed;
}

std::string gzipped(const testing::TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.path("zipped.gz");
  gzFile zipped = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(zipped, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(zipped), Z_OK);
  return testing::read_text(path);
}

bool same(const CscMatrix<double>& a, const CscMatrix<double>& b) {
  return a.n_rows == b.n_rows && a.n_cols == b.n_cols && a.col_ptr == b.col_ptr && a.row_idx == b.row_idx &&
         a.values == b.values;
}

/// What is wrong with the program's answer; empty when nothing is.
std::string attack_files(Random& random, std::string& log) {
  const File file = random_file(random);
  const Changed changed = random.chance(0.4) ? harmless(random, file) : harmful(random, file);
  const testing::TemporaryFolder folder;
  std::string name = "A.mtx", bytes = changed.text;
  bool harmful = changed.harmful, cut = false;
  if (random.chance(0.3)) {
    name += ".gz", bytes = gzipped(folder, bytes);
    cut = random.chance(0.2);
    if (cut) bytes.resize(random.below(static_cast<std::int64_t>(bytes.size())));
    harmful = harmful || cut;
  }
  folder.write(name, bytes);
  folder.write("good.mtx", file.text());
  log = fmt::format("{}{}\n{}", changed.what, cut ? ", compressed and cut" : "", changed.text);

  const auto read = read_matrix_market(folder.path(name));
  if (harmful && read.ok()) return "read, but it is no matrix";
  if (!harmful && !read.ok()) return "not read: " + read.status().to_string();
  if (!harmful && !same(read->matrix, file.matrix)) return "read as another matrix";
  if (harmful) {
    const Where& where = read.status().where;
    if (where.file != folder.path(name)) return "the error does not name the file: " + read.status().to_string();
    if (changed.line > 0 && !cut && where.line != changed.line)
      return fmt::format("the error names line {}, not {}", where.line, changed.line);
  }

  const bool as_json = random.chance(0.5);
  const std::string flag = as_json ? " --json" : "";
  const std::vector<std::string> commands = {
      "info " + name,     "factor " + name, "solve " + name + " -o x.mtx", "levels " + name, "limits " + name,
      "refactor " + name, "model " + name,  "refactor good.mtx " + name};
  const std::string arguments = commands[random.below(static_cast<std::int64_t>(commands.size()))] + flag;
  const Answer answer = lulab(folder, arguments);
  log += transcript(arguments, answer);
  if (std::string broken = broken_promise(answer, as_json); !broken.empty()) return broken;
  // The diagonal dominates, or the values are random integers: those may be singular.
  if (!harmful) return answer.code == 0 || (file.integers && answer.code == 3) ? "" : "a good file refused";
  if (answer.code != 2) return "exit code is not 2";
  if (!contains(answer.out + answer.err, name)) return "the error does not name the file";
  if (std::filesystem::exists(folder.path("x.mtx"))) return "x was written";
  return "";
}

class SiegeOfFiles : public ::testing::TestWithParam<int> {};

TEST_P(SiegeOfFiles, ReadsTheGoodOnesAndNamesTheLineOfTheBad) { besiege(GetParam(), 0.25, attack_files); }
INSTANTIATE_TEST_SUITE_P(Shard, SiegeOfFiles, ::testing::Range(0, shards));

}  // namespace
}  // namespace lulab::siege
