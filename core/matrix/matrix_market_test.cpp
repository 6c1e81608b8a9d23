#include "core/matrix/matrix_market.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/matrix/generate.h"
#include "core/matrix/number_text.h"
#include "core/matrix/random.h"

namespace lulab {
namespace {

constexpr const char* general = "%%MatrixMarket matrix coordinate real general\n";

std::string gzip(const std::string& text) {
  z_stream s{};
  EXPECT_EQ(deflateInit2(&s, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&s, static_cast<uLong>(text.size())) + 64, '\0');
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

MatrixMarket parsed(const std::string& text) {
  auto a = parse_matrix_market(text);
  EXPECT_TRUE(a.ok()) << a.status().to_string();
  return a.ok() ? std::move(*a) : MatrixMarket{};
}

double entry(const CscMatrix<double>& a, std::int32_t i, std::int32_t j) {
  for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
    if (a.row_idx[k] == i) return a.values[k];
  return std::numeric_limits<double>::quiet_NaN();
}

/// A folder for this test's files, removed afterwards.
class MatrixMarketFile : public ::testing::Test {
 protected:
  MatrixMarketFile()
      : folder_(::testing::TempDir() + "lulab_" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~MatrixMarketFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string folder_;
};

TEST(MatrixMarket, EntriesInAnyOrderAreSortedRepeatsSummedZerosKept) {
  const auto a = parsed(std::string(general) + "3 4 6\n3 1 1.5\n1 1 -2\n2 4 0\n3 1 0.25\n1 2 4e-3\n2 4 0\n");
  EXPECT_EQ(a.matrix.n_rows, 3);
  EXPECT_EQ(a.matrix.n_cols, 4);
  EXPECT_TRUE(check_sorted(a.matrix));
  EXPECT_EQ(a.matrix.nnz(), 4);
  EXPECT_EQ(a.duplicates, 2);
  EXPECT_EQ(a.stored_entries, 6);
  EXPECT_EQ(entry(a.matrix, 2, 0), 1.75);
  EXPECT_EQ(entry(a.matrix, 0, 0), -2.0);
  EXPECT_EQ(entry(a.matrix, 0, 1), 0.004);
  EXPECT_EQ(entry(a.matrix, 1, 3), 0.0);
}

TEST(MatrixMarket, SymmetriesAreExpanded) {
  const auto s = parsed("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2\n3 1 5\n3 2 7\n");
  EXPECT_EQ(s.matrix.nnz(), 5);
  EXPECT_TRUE(s.matrix == transpose(s.matrix.view()));
  EXPECT_EQ(entry(s.matrix, 0, 2), 5.0);
  EXPECT_EQ(s.symmetry, MatrixMarketSymmetry::symmetric);

  const auto k = parsed("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 3\n2 2 0\n3 1 5\n3 2 -7\n");
  EXPECT_EQ(k.matrix.nnz(), 5);
  EXPECT_EQ(entry(k.matrix, 2, 0), 5.0);
  EXPECT_EQ(entry(k.matrix, 0, 2), -5.0);
  EXPECT_EQ(entry(k.matrix, 1, 2), 7.0);

  const auto h = parsed("%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 3\n");
  EXPECT_EQ(entry(h.matrix, 0, 1), 3.0);
  EXPECT_EQ(entry(h.matrix, 1, 0), 3.0);
}

TEST(MatrixMarket, PatternHasOnesAndSaysSo) {
  const auto a = parsed("%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 1\n2 1\n");
  EXPECT_TRUE(a.pattern_only);
  EXPECT_EQ(a.field, MatrixMarketField::pattern);
  EXPECT_EQ(a.matrix.values, (std::vector<double>{1.0, 1.0}));
  EXPECT_FALSE(parsed(std::string(general) + "1 1 1\n1 1 1\n").pattern_only);
}

TEST(MatrixMarket, LayoutOfTheTextDoesNotMatter) {
  const auto a = parsed(std::string(general) + "2 2 2\n1 1 0.5\n2 2 -3\n");
  EXPECT_TRUE(parsed("%%matrixMARKET Matrix  COORDINATE\tReal General \n2 2 2\n1 1 0.5\n2 2 -3").matrix == a.matrix);
  EXPECT_TRUE(parsed("%%MatrixMarket matrix coordinate double general\r\n% note\r\n\r\n2 2 2\r\n1 1 .5\r\n2 2 -3.\r\n")
                  .matrix == a.matrix);
  EXPECT_TRUE(parsed("\xef\xbb\xbf" + std::string(general) +
                     "%c\n\n \t 2 2\t2 \n%\n  1 1 +5.0D-1\n\n% c\n2   2 -30e-1  \n\n%end\n")
                  .matrix == a.matrix);
}

TEST(MatrixMarket, EmptyAndOneByOneMatricesWork) {
  EXPECT_EQ(parsed(std::string(general) + "0 0 0\n").matrix.n_rows, 0);
  EXPECT_TRUE(check_sorted(parsed(std::string(general) + "0 0 0\n").matrix));
  EXPECT_EQ(parsed(std::string(general) + "1 1 1\n1 1 7\n").matrix.values, std::vector<double>{7.0});
  EXPECT_EQ(parsed(std::string(general) + "5 0 0").matrix.n_rows, 5);
  EXPECT_EQ(parsed(std::string(general) + "1 1 0").matrix.nnz(), 0);
}

TEST(MatrixMarket, ArrayFilesAreDense) {
  const auto d = parse_dense_matrix_market("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n0\n5\n6\n");
  ASSERT_TRUE(d.ok()) << d.status().to_string();
  EXPECT_EQ((*d)(1, 0), 2.0);
  EXPECT_EQ((*d)(0, 2), 5.0);
  const auto s = parse_dense_matrix_market("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
  ASSERT_TRUE(s.ok()) << s.status().to_string();
  EXPECT_EQ(s->values, (std::vector<double>{1, 2, 2, 3}));
  const auto k = parse_dense_matrix_market("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
  ASSERT_TRUE(k.ok()) << k.status().to_string();
  EXPECT_EQ(k->values, (std::vector<double>{0, 1, 2, -1, 0, 3, -2, -3, 0}));
  const auto sparse = parse_dense_matrix_market(std::string(general) + "3 1 2\n3 1 4\n1 1 2\n");
  ASSERT_TRUE(sparse.ok()) << sparse.status().to_string();
  EXPECT_EQ(sparse->values, (std::vector<double>{2, 0, 4}));
  EXPECT_EQ(parsed("%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n").matrix.nnz(), 3);
}

struct Bad {
  const char* name;
  std::string text;
  std::int64_t line;
  const char* says;  // part of the message
  int longer = 0;    // by so many x; parameters are made and copied at every start of the program
};

class Refused : public ::testing::TestWithParam<Bad> {};

std::string with(const char* banner, const char* rest) {
  return std::string("%%MatrixMarket matrix ") + banner + "\n" + rest;
}

INSTANTIATE_TEST_SUITE_P(
    MatrixMarket, Refused,
    ::testing::Values(
        Bad{"Empty", "", 0, "empty"}, Bad{"NoBanner", "3 3 1\n1 1 1\n", 1, "banner"},
        Bad{"Binary",
            std::string("\x7f"
                        "ELF\0\1\2",
                        7),
            1, "banner"},
        Bad{"ShortBanner", "%%MatrixMarket matrix coordinate general\n1 1 0\n", 1, "4 words"},
        Bad{"Object", "%%MatrixMarket vector coordinate real general\n1 1 0\n", 1, "'vector'"},
        Bad{"Format", with("sparse real general", "1 1 0\n"), 1, "'sparse'"},
        Bad{"Field", with("coordinate quaternion general", "1 1 0\n"), 1, "'quaternion'"},
        Bad{"Symmetry", with("coordinate real diagonal", "1 1 0\n"), 1, "'diagonal'"},
        Bad{"PatternSkew", with("coordinate pattern skew-symmetric", "1 1 0\n"), 1, "pattern"},
        Bad{"PatternArray", with("array pattern general", "1 1\n1\n"), 1, "pattern"},
        Bad{"NoSize", general, 1, "size line"},
        Bad{"ShortSize", with("coordinate real general", "%\n3 3\n"), 3, "'3 3'"},
        Bad{"LongSize", with("coordinate real general", "3 3 1 1\n"), 2, "size line"},
        Bad{"NegativeSize", with("coordinate real general", "3 -3 1\n"), 2, "negative"},
        Bad{"HugeDimension", with("coordinate real general", "3000000000 3000000000 1\n1 1 1\n"), 2, "too large"},
        Bad{"HugeNumber", with("coordinate real general", "99999999999999999999999 1 1\n1 1 1\n"), 2, "too large"},
        Bad{"TrillionEntries", with("coordinate real general", "2000000 2000000 1000000000000\n1 1 1\n"), 2, "length"},
        Bad{"HugeEntryCount", with("coordinate real general", "2 2 9223372036854775807\n1 1 1\n"), 2, "length"},
        Bad{"HugeArray", with("array real general", "2000000000 2000000000\n1\n"), 2, "length"},
        Bad{"HugeButEmpty", with("coordinate real general", "2147483647 2147483647 1\n1 1 1\n"), 2, "empty"},
        Bad{"EntriesOfNothing", with("coordinate real general", "0 0 1\n1 1 1\n"), 2, "0 x 0"},
        Bad{"SymmetricNotSquare", with("coordinate real symmetric", "2 3 1\n1 1 1\n"), 2, "square"},
        Bad{"ZeroBased", with("coordinate real general", "3 3 2\n1 1 1\n0 1 1\n"), 4, "counts from 1"},
        Bad{"RowTooLarge", with("coordinate real general", "3 4 1\n4 1 1\n"), 3, "outside 1..3"},
        Bad{"ColumnTooLarge", with("coordinate real general", "3 4 1\n1 5 1\n"), 3, "outside 1..4"},
        Bad{"RowBeyondInt64", with("coordinate real general", "3 4 1\n99999999999999999999 5 1\n"), 3, "outside"},
        Bad{"NegativeRow", with("coordinate real general", "3 4 1\n-1 1 1\n"), 3, "outside"},
        Bad{"RealIndex", with("coordinate real general", "3 4 1\n1.0 1 1\n"), 3, "'row column value'"},
        Bad{"Words", with("coordinate real general", "3 4 1\nhello world 1\n"), 3, "'hello world 1'"},
        Bad{"MissingValue", with("coordinate real general", "3 4 1\n1 1\n"), 3, "'row column value'"},
        Bad{"ExtraValue", with("coordinate real general", "3 4 1\n1 1 1 1\n"), 3, "'row column value'"},
        Bad{"ValueOnPattern", with("coordinate pattern general", "3 4 1\n1 1 1\n"), 3, "'row column'"},
        Bad{"Nan", with("coordinate real general", "3 4 1\n1 1 nan\n"), 3, "not finite"},
        Bad{"Inf", with("coordinate real general", "3 4 1\n1 1 -Infinity\n"), 3, "not finite"},
        Bad{"TooLargeValue", with("coordinate real general", "3 4 1\n1 1 1e400\n"), 3, "too large"},
        Bad{"SumOverflows", with("coordinate real general", "3 4 2\n1 1 1e308\n1 1 1e308\n"), 4, "sum"},
        Bad{"FractionInIntegers", with("coordinate integer general", "3 4 1\n1 1 1.5\n"), 3, "integer"},
        Bad{"InexactInteger", with("coordinate integer general", "3 4 1\n1 1 9007199254740994\n"), 3, "2^53"},
        Bad{"AboveDiagonal", with("coordinate real symmetric", "3 3 2\n1 1 1\n1 2 1\n"), 4, "lower triangle"},
        Bad{"SkewDiagonal", with("coordinate real skew-symmetric", "3 3 1\n2 2 1\n"), 3, "strictly below"},
        Bad{"TooFew", with("coordinate real general", "3 3 3\n1 1 1\n2 2 2\n"), 4, "after 2 of 3"},
        Bad{"TooMany", with("coordinate real general", "3 3 1\n1 1 1\n\n2 2 2\n"), 5, "more than the 1"},
        Bad{"ArrayTooFew", with("array real general", "3 1\n1\n2\n"), 4, "after 2 of 3"},
        Bad{"ArrayTooMany", with("array real general", "1 1\n1\n2\n"), 4, "more than the 1"},
        Bad{"ArrayTwoALine", with("array real general", "2 1\n1 2\n"), 3, "one value"},
        Bad{"LongLine", general, 2, "longer than", 3 << 20},
        Bad{"LongBlankLine", general + std::string(100000, ' ') + "\n", 2, "longer than"},
        Bad{"LongComment", general + std::string(100000, '%') + "\n1 1 0\n", 2, "longer than"},
        Bad{"Xz",
            std::string("\xfd"
                        "7zXZ\0..",
                        8),
            0, "xz -dk"},
        Bad{"Bzip2", "BZh91AY", 0, "bzip2 -dk"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(Refused, NamesFileLineAndWhatWasExpected) {
  const std::string text = GetParam().text + std::string(GetParam().longer, 'x');
  for (const bool compressed : {false, true}) {
    if (compressed && (GetParam().line == 0 || std::strcmp(GetParam().name, "HugeArray") == 0)) continue;
    const auto a = parse_matrix_market(compressed ? gzip(text) : text, "some.mtx");
    ASSERT_FALSE(a.ok());
    EXPECT_EQ(a.status().code, StatusCode::parse_error);
    EXPECT_EQ(a.status().where.file, "some.mtx");
    EXPECT_EQ(a.status().where.line, GetParam().line) << a.status().to_string();
    EXPECT_NE(a.status().message.find(GetParam().says), std::string::npos) << a.status().to_string();
    EXPECT_LT(a.status().message.size(), 400u);
  }
}

TEST(MatrixMarket, ComplexIsRefusedByName) {
  for (const char* symmetry : {"general", "symmetric", "Hermitian"}) {
    const auto a =
        parse_matrix_market(with((std::string("coordinate complex ") + symmetry).c_str(), "1 1 1\n1 1 1 0\n"));
    EXPECT_EQ(a.status().code, StatusCode::not_implemented);
    EXPECT_NE(a.status().message.find("complex"), std::string::npos);
  }
}

TEST(MatrixMarket, GzipIsSeenByContentAndTruncationAtEveryByteIsAnError) {
  const std::string text = std::string(general) + "3 3 3\n1 1 0.123456789\n2 2 -3.25\n3 3 1e-7\n";
  const std::string packed = gzip(text);
  EXPECT_TRUE(parsed(packed).matrix == parsed(text).matrix);
  EXPECT_TRUE(parsed(packed + std::string(512, '\0')).matrix == parsed(text).matrix);
  EXPECT_TRUE(parsed(gzip(text.substr(0, 60)) + gzip(text.substr(60))).matrix == parsed(text).matrix);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto a = parse_matrix_market(std::string_view(packed).substr(0, size));
    ASSERT_FALSE(a.ok()) << size << " of " << packed.size() << " bytes";
    EXPECT_EQ(a.status().code, StatusCode::parse_error);
  }
  EXPECT_FALSE(parse_matrix_market(packed + "garbage").ok());
  const auto cut = parse_matrix_market(std::string_view(packed).substr(0, packed.size() - 9));
  EXPECT_NE(cut.status().message.find("truncated"), std::string::npos) << cut.status().to_string();
}

TEST(MatrixMarket, LinesThatStraddleBlocksAreWhole) {
  const auto a = generate("random", {.n = 30000, .seed = 3}).value();  // several blocks of text
  std::string text = std::string(general) + "30000 30000 " + std::to_string(a.nnz()) + "\n";
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      char line[80];
      std::snprintf(line, sizeof line, "%d %d %.17g\n", a.row_idx[k] + 1, j + 1, a.values[k]);
      text += line;
    }
  ASSERT_GT(text.size(), 3u << 20);
  EXPECT_TRUE(parsed(text).matrix == a);
  EXPECT_TRUE(parsed(gzip(text)).matrix == a);
}

// Every mutation of a small file gives a well-formed matrix or an error with a message.
TEST(MatrixMarket, NoMutationCrashesOrYieldsABrokenMatrix) {
  const std::string seeds[] = {
      with("coordinate real general", "% c\n4 4 5\n1 1 1.5\n4 2 -2e3\n3 3 0.25\n4 4 1\n2 1 7\n"),
      with("coordinate integer symmetric", "3 3 4\n1 1 1\n2 1 -2\n3 3 4\n3 2 9\n"),
      with("coordinate pattern general", "3 3 3\n1 1\n2 2\n3 1\n"),
      with("array real general", "2 2\n1.0\n2.0\n3.0\n-4.5\n"),
      gzip(with("coordinate real skew-symmetric", "3 3 2\n2 1 1.5\n3 1 2\n")),
  };
  Random random(2024);
  int accepted = 0, refused = 0;
  for (const std::string& seed : seeds) {
    for (int variant = 0; variant < 3000; ++variant) {
      std::string text = seed;
      for (std::int64_t change = random.below(4); change >= 0 && !text.empty(); --change) {
        const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())));
        const auto length = static_cast<std::size_t>(1 + random.below(8));
        switch (random.below(5)) {
          case 0: text[at] = static_cast<char>(random.below(256)); break;
          case 1: text[at] = "0123456789 -+.eE\n%\t"[random.below(19)]; break;
          case 2: text.erase(at, length); break;
          case 3: text.insert(at, text.substr(at, length)); break;
          default: text.resize(at);
        }
      }
      const auto a = parse_matrix_market(text);
      const auto d = parse_dense_matrix_market(text);
      if (a.ok()) {
        ASSERT_TRUE(check_sorted(a->matrix)) << text;
        ASSERT_EQ(a->matrix.values.size(), a->matrix.row_idx.size());
        for (double v : a->matrix.values) ASSERT_TRUE(std::isfinite(v)) << text;
        ++accepted;
      } else {
        ASSERT_TRUE(a.status().code == StatusCode::parse_error || a.status().code == StatusCode::not_implemented);
        ASSERT_FALSE(a.status().message.empty());
        ++refused;
      }
      if (d.ok()) {
        ASSERT_EQ(d->values.size(), static_cast<std::size_t>(d->n_rows) * static_cast<std::size_t>(d->n_cols));
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

TEST_F(MatrixMarketFile, WrittenMatrixReadsBackBitForBit) {
  for (const char* name : {"a.mtx", "a.mtx.gz"}) {
    auto a = generate("badly_scaled", {.n = 500, .seed = 11, .decades = 100}).value();
    a.values[0] = 0.0;
    a.values[1] = std::numeric_limits<double>::denorm_min();
    a.values[2] = std::numeric_limits<double>::max();
    a.values[3] = 1.0 / 3.0;
    ASSERT_TRUE(write_matrix_market(path(name), a, "two\nlines"));
    const auto back = read_matrix_market(path(name));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_TRUE(back->matrix == a);
    std::ifstream file(path(name), std::ios::binary);
    EXPECT_EQ(file.get() == 0x1f, std::string(name).ends_with(".gz"));
  }
  const auto f = convert<float>(generate("random", {.n = 50})->view());
  ASSERT_TRUE(write_matrix_market(path("f.mtx"), f));
  const auto back = read_matrix_market(path("f.mtx"));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(convert<float>(back->matrix.view()) == f);
}

TEST_F(MatrixMarketFile, EmptyMatricesAndVectorsSurviveTheRoundTrip) {
  ASSERT_TRUE(write_matrix_market(path("0.mtx"), CscMatrix<double>{}));
  EXPECT_TRUE(read_matrix_market(path("0.mtx"))->matrix == CscMatrix<double>{});
  ASSERT_TRUE(write_vector<double>(path("v.mtx"), std::vector<double>{}));
  EXPECT_TRUE(read_vector(path("v.mtx"))->empty());
}

TEST_F(MatrixMarketFile, VectorsAndPermutationsReadBack) {
  const std::vector<double> x = random_vector(1000, 3);
  ASSERT_TRUE(write_vector<double>(path("x.mtx.gz"), x, "right-hand side"));
  ASSERT_TRUE(read_vector(path("x.mtx.gz")).ok());
  EXPECT_EQ(*read_vector(path("x.mtx.gz")), x);

  const Permutation p = {3, 0, 2, 1};
  ASSERT_TRUE(write_permutation(path("p.mtx"), p));
  ASSERT_TRUE(read_permutation(path("p.mtx")).ok());
  EXPECT_EQ(*read_permutation(path("p.mtx")), p);

  for (const char* wrong : {"2 1\n1\n1\n", "2 1\n0\n1\n", "2 1\n1\n3\n", "2 1\n1.5\n2\n"}) {
    const auto bad = read_permutation(write("q.mtx", with("array real general", wrong)));
    EXPECT_EQ(bad.status().code, StatusCode::parse_error) << wrong;
  }
  const auto wide = read_vector(write("w.mtx", with("array real general", "1 2\n1\n1\n")));
  EXPECT_NE(wide.status().message.find("one column"), std::string::npos);
  EXPECT_EQ(read_vector(write("n.mtx", with("coordinate pattern general", "1 1 1\n1 1\n"))).status().code,
            StatusCode::parse_error);
}

TEST_F(MatrixMarketFile, FilesThatCannotBeReadSayWhy) {
  const auto missing = read_matrix_market(path("none.mtx"));
  EXPECT_EQ(missing.status().code, StatusCode::parse_error);
  EXPECT_NE(missing.status().message.find("No such file"), std::string::npos) << missing.status().to_string();
  EXPECT_EQ(missing.status().where.file, path("none.mtx"));
  const auto folder = read_matrix_market(path(""));
  EXPECT_NE(folder.status().message.find("folder"), std::string::npos) << folder.status().to_string();
  EXPECT_NE(read_matrix_market(write("e.mtx", "")).status().message.find("empty"), std::string::npos);
}

TEST_F(MatrixMarketFile, FilesThatCannotBeWrittenSayWhyAndLeaveNothing) {
  auto a = generate("ladder", {.n = 5}).value();
  const Status missing = write_matrix_market(path("no/such/a.mtx"), a);
  EXPECT_EQ(missing.code, StatusCode::invalid_argument);
  EXPECT_NE(missing.message.find("No such file"), std::string::npos) << missing.to_string();
  EXPECT_FALSE(write_matrix_market(path("no/such/a.mtx.gz"), a).ok());
  a.values[3] = std::numeric_limits<double>::quiet_NaN();
  const Status nan = write_matrix_market(path("a.mtx"), a);
  EXPECT_EQ(nan.code, StatusCode::invalid_argument);
  EXPECT_EQ(nan.where.columns, std::vector<std::int32_t>{1});
  EXPECT_FALSE(write_vector<double>(path("v.mtx"), a.values).ok());
  a.row_idx[0] = 99;
  EXPECT_FALSE(write_matrix_market(path("a.mtx"), a).ok());
  EXPECT_FALSE(std::filesystem::exists(path("a.mtx")));
}

TEST_F(MatrixMarketFile, AFullDiskIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::filesystem::create_symlink("/dev/full", path("full.mtx"));
  EXPECT_FALSE(write_matrix_market(path("full.mtx"), generate("ladder", {.n = 1000}).value()).ok());
}

TEST_F(MatrixMarketFile, ProgressEndsAtTheFileSize) {
  const auto a = generate("ladder", {.n = 20000}).value();
  ASSERT_TRUE(write_matrix_market(path("a.mtx"), a));
  std::int64_t last = 0, total = -1;
  int calls = 0;
  ASSERT_TRUE(read_matrix_market(path("a.mtx"), [&](std::int64_t done, std::int64_t size) {
                EXPECT_GT(done, last);
                last = done;
                total = size;
                ++calls;
              }).ok());
  EXPECT_GT(calls, 1);
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, static_cast<std::int64_t>(std::filesystem::file_size(path("a.mtx"))));
}

TEST(MatrixMarket, AnArrayWithoutRowsAsksForNoMemory) {
  const std::string array = "%%MatrixMarket matrix array real general\n";
  EXPECT_EQ(parse_matrix_market(array + "0 249999999\n").status().code, StatusCode::parse_error);
  EXPECT_EQ(parse_dense_matrix_market(array + "249999999 0\n").status().code, StatusCode::parse_error);
  EXPECT_EQ(parsed(array + "0 5\n").matrix.n_cols, 5);
}

TEST(NumberText, RealsOfEveryForm) {
  const auto real = [](std::string_view text) {
    double value = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(take_real(text, value), NumberText::ok) << text;
    EXPECT_TRUE(text.empty());
    return value;
  };
  EXPECT_EQ(real("  1.5"), 1.5);
  EXPECT_EQ(real("+2e3"), 2000.0);
  EXPECT_EQ(real("-1.25d-2"), -0.0125);
  EXPECT_EQ(real("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(real("1e-400"), 0.0);
  EXPECT_TRUE(std::signbit(real("-1e-400")));
  EXPECT_EQ(real(std::string("0.").append(400, '0') + "1"), 0.0);
  EXPECT_EQ(real(std::string("1").append(400, '0') + "e-800"), 0.0);
  EXPECT_EQ(real("0.001e-9223372036854775807"), 0.0);
  const auto fails = [](std::string_view text) {
    double value = 0;
    return take_real(text, value);
  };
  EXPECT_EQ(fails(""), NumberText::missing);
  EXPECT_EQ(fails("1e400"), NumberText::out_of_range);
  EXPECT_EQ(fails("-1D400"), NumberText::out_of_range);
  EXPECT_EQ(fails("1e99999999999999999999"), NumberText::out_of_range);
  EXPECT_EQ(fails("100e9223372036854775807"), NumberText::out_of_range);
  EXPECT_EQ(fails(std::string("1").append(400, '0')), NumberText::out_of_range);
  for (const char* text : {"x", "1x", "+-1", "++1", "1e", "0x10", "1,5", ".", "-"})
    EXPECT_EQ(fails(text), NumberText::malformed) << text;
  for (const char* text : {"nan", "-inf", "+inf", "Infinity"}) EXPECT_EQ(fails(text), NumberText::not_finite) << text;
}

}  // namespace
}  // namespace lulab
