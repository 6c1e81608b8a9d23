#include "solve/batch_rows.h"

#include <set>

#include "testing/fixed_pivots.h"

namespace lulab {
namespace {

/// Each entry once, in a row or a part of it; a row after the rows and the parts that it needs.
void expect_cut(const FilledPattern& f, TriangleSide side) {
  const Triangle t = make_triangle(f, side);
  const EntriesByRows entries = entries_by_rows(f, side, t);
  const BatchTriangle cut = cut_rows(t, entries, side == TriangleSide::lower);
  std::set<std::int32_t> done;
  std::vector<std::set<std::int32_t>> of_word(cut.n_words);  // positions in As
  for (const BatchRow& row : cut.rows) {
    ASSERT_TRUE(row.count >= 0 && row.count <= max_batch_entries);
    ASSERT_TRUE(row.word >= 0 && row.word < cut.n_words);
    for (std::int32_t e = row.begin; e < row.begin + row.count; ++e) {
      const BatchEntry& entry = cut.entries[e];
      ASSERT_TRUE(done.contains(entry.column)) << row.word << " needs " << entry.column;
      ASSERT_TRUE(of_word[row.word].insert(entry.from).second);
    }
    for (std::int32_t part = row.first_part; part < row.first_part + row.parts; ++part) {
      ASSERT_TRUE(row.word < f.n && part >= f.n && done.contains(part));
      of_word[row.word].merge(of_word[part]);
      ASSERT_TRUE(of_word[part].empty()) << "an entry of two parts";
    }
    if (row.word < f.n) {
      ASSERT_EQ(row.diagonal, side == TriangleSide::lower ? -1 : static_cast<std::int32_t>(f.diag[row.word]));
    }
    ASSERT_TRUE(done.insert(row.word).second) << "solved twice";
  }
  EXPECT_EQ(std::ssize(done), cut.n_words);
  std::vector<std::set<std::int32_t>> expected(f.n);
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p)
      if (side == TriangleSide::lower ? p > f.diag[j] : p < f.diag[j])
        expected[f.row_idx[p]].insert(static_cast<std::int32_t>(p));
  for (std::int32_t i = 0; i < f.n; ++i) EXPECT_EQ(of_word[i], expected[i]) << i;
}

TEST(BatchRows, HaveEachEntryOnceAfterWhatItNeeds) {
  auto patterns = testing::random_patterns(8);
  for (auto& p : testing::generated_patterns(100)) patterns.push_back(std::move(p));
  for (const std::int32_t n : {0, 1, 2, 32, 33, 34, 65, 66, 98})  // rows of 0, 1, 31, 32, 33, 64, 65, 97 entries
    patterns.push_back(
        {"dense", testing::analysis_for(testing::random_unsymmetric<double>(n, 1.0, 2.0 * n, n).pattern()).filled});
  for (const auto& [name, f, before] : patterns)
    for (const TriangleSide side : {TriangleSide::lower, TriangleSide::upper}) {
      SCOPED_TRACE(name);
      expect_cut(f, side);
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace lulab
