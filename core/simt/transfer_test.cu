// Words sent into another block's shared memory, and the barrier that counts their bytes.

#include "core/simt/transfer.h"
#include "testing/launch.h"

namespace lulab::simt {
namespace {

constexpr int threads = 40;

template <class Word>
__host__ __device__ Word next_value(Word left, Word right, int phase) {
  return Word(3) * left + Word(5) * right + Word(phase);
}
template <class Word>
Word first_value(int thread_of_grid) {
  return Word(thread_of_grid + 1) * Word(0x9e3779b97f4a7c15u);  // fills 4 and 8 bytes
}

/// Thread t of block b gives its value to thread t of both neighbours in the ring of its cluster, `phases` times. Each
/// word has a place for even phases and one for odd phases.   out: (threads of the grid), the first values on entry
template <class Word>
__global__ void ring_kernel(int phases, Word* out) {
  LULAB_SHARED_2D(Word, from_left, 2, threads);
  LULAB_SHARED_2D(Word, from_right, 2, threads);
  LULAB_SHARED(TransferBarrier, arrived, 2);
  const auto cluster = cooperative_groups::this_cluster();
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(cluster.num_blocks());
  const int rank = static_cast<int>(cluster.block_rank()), left = (rank + n - 1) % n, right = (rank + 1) % n;
  Word value = out[blockIdx.x * threads + t];
  if (t == 0)
    for (int odd = 0; odd < 2; ++odd) transfer_init(&arrived[odd]);
  cluster.sync();  // RACE: thread 0 wrote the barriers, neighbours send to them
  for (int phase = 0; phase < phases; ++phase) {
    const int odd = phase % 2;
    if (t == 0) transfer_expect(&arrived[odd], 2 * threads * sizeof(Word));
    send(remote_shared(&from_left[odd][t], right), value, remote_shared(&arrived[odd], right));
    send(remote_shared(&from_right[odd][t], left), value, remote_shared(&arrived[odd], left));
    transfer_wait(&arrived[odd], static_cast<unsigned>(phase / 2 % 2));
    value = next_value(from_left[odd][t], from_right[odd][t], phase);
    __syncthreads();  // RACE: all have read the words, which the sends of the next phase allow to be overwritten
  }
  out[blockIdx.x * threads + t] = value;
  cluster.sync();  // RACE: no block returns while another sends to it
}

template <class Word>
std::vector<Word> ring_on_the_host(std::vector<Word> value, int cluster, int phases) {
  const int blocks = static_cast<int>(value.size()) / threads;
  for (int phase = 0; phase < phases; ++phase) {
    const std::vector<Word> before = value;
    for (int b = 0; b < blocks; ++b) {
      const int first = b / cluster * cluster, rank = b - first;
      const int left = first + (rank + cluster - 1) % cluster, right = first + (rank + 1) % cluster;
      for (int t = 0; t < threads; ++t)
        value[b * threads + t] = next_value(before[left * threads + t], before[right * threads + t], phase);
    }
  }
  return value;
}

/// What kernel(phases, d_values) leaves of the values.
template <class Word>
Result<std::vector<Word>> after(void (*kernel)(int, Word*), const LaunchShape& shape, int phases,
                                std::vector<Word> values, std::uint64_t seed) {
  const SimulatorScope scope({.seed = seed});
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_values, DeviceBuffer<Word>::create(values, stream));
  LULAB_RETURN_IF_ERROR(launch(kernel, shape, stream, phases, d_values.data()));
  LULAB_RETURN_IF_ERROR(d_values.download(values, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return values;
}

template <class Word>
class Transfer : public ::testing::Test {};
using Words = ::testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Transfer, Words);

TYPED_TEST(Transfer, NeighboursInARingExchangeWordsForManyPhases) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const int cluster : {machine() == Machine::gpu ? 2 : 1, 2, 4, 8, 16})
      for (const int phases : {1, 2, 3, machine() == Machine::gpu ? 10000 : 13}) {
        const int blocks = cluster == 16 ? 16 : 2 * cluster;
        std::vector<TypeParam> values(blocks * threads);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value<TypeParam>(static_cast<int>(i));
        const LaunchShape shape{
            .grid = static_cast<unsigned>(blocks), .block = threads, .cluster = static_cast<unsigned>(cluster)};
        const auto out = after<TypeParam>(ring_kernel<TypeParam>, shape, phases, values, seed);
        LULAB_ASSERT_OK(out);
        ASSERT_EQ(*out, ring_on_the_host(values, cluster, phases))
            << "cluster " << cluster << ", " << phases << " phases, seed " << seed;
      }
}

/// Each block sends a word to each, and all make the same of them.   out: (blocks), the first values on entry
template <class Word>
__global__ void all_to_all_kernel(int phases, Word* out) {
  LULAB_SHARED_2D(Word, word, 2, 16);
  LULAB_SHARED(TransferBarrier, arrived, 2);
  const auto cluster = cooperative_groups::this_cluster();
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(cluster.num_blocks());
  const int rank = static_cast<int>(cluster.block_rank());
  Word value = out[blockIdx.x];
  if (t == 0)
    for (int odd = 0; odd < 2; ++odd) transfer_init(&arrived[odd]);
  cluster.sync();  // RACE: thread 0 wrote the barriers, all blocks send to them
  for (int phase = 0; phase < phases; ++phase) {
    const int odd = phase % 2;
    if (t == 0) transfer_expect(&arrived[odd], n * sizeof(Word));
    if (t < n) send(remote_shared(&word[odd][rank], t), value, remote_shared(&arrived[odd], t));
    transfer_wait(&arrived[odd], static_cast<unsigned>(phase / 2 % 2));
    value = Word(phase);
    for (int b = 0; b < n; ++b) value = Word(7) * value + word[odd][b];
    value += Word(rank);
    __syncwarp();  // RACE: all have read the words, which the sends of the next phase allow to be overwritten
  }
  if (t == 0) out[blockIdx.x] = value;
  cluster.sync();  // RACE: no block returns while another sends to it
}

TYPED_TEST(Transfer, EveryBlockSendsToEveryBlockForManyPhases) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const unsigned cluster : {machine() == Machine::gpu ? 2 : 1, 2, 4, 8, 16})
      for (const int phases : {1, 4, machine() == Machine::gpu ? 10000 : 40}) {
        std::vector<TypeParam> values(cluster), expected;
        for (unsigned b = 0; b < cluster; ++b) values[b] = first_value<TypeParam>(static_cast<int>(b));
        expected = values;
        for (int phase = 0; phase < phases; ++phase) {
          TypeParam sum = TypeParam(phase);
          for (unsigned b = 0; b < cluster; ++b) sum = TypeParam(7) * sum + expected[b];
          for (unsigned b = 0; b < cluster; ++b) expected[b] = sum + TypeParam(b);
        }
        const auto out = after<TypeParam>(all_to_all_kernel<TypeParam>,
                                          {.grid = cluster, .block = 32, .cluster = cluster}, phases, values, seed);
        LULAB_ASSERT_OK(out);
        ASSERT_EQ(*out, expected) << "cluster " << cluster << ", " << phases << " phases, seed " << seed;
      }
}

/// Block 0 has sent the words of two phases before block 1 expects the first; and the other way round, block 1 expects
/// both before a word comes.   out: (2 * rounds), the words on entry
template <class Word>
__global__ void ahead_kernel(int rounds, Word* out) {
  LULAB_SHARED(Word, word, 2);
  LULAB_SHARED(TransferBarrier, arrived, 2);
  const auto cluster = cooperative_groups::this_cluster();
  const bool receives = cluster.block_rank() == 1;
  if (receives)
    for (int odd = 0; odd < 2; ++odd) transfer_init(&arrived[odd]);
  for (int round = 0; round < rounds; ++round) {
    cluster.sync();  // RACE: block 1 wrote its barriers, or has read its words: block 0 may send
    if (receives && round % 2 == 1)
      for (int odd = 0; odd < 2; ++odd) transfer_expect(&arrived[odd], sizeof(Word));
    if (round % 2 == 1) cluster.sync();  // RACE: none; words come after they are expected
    if (!receives)
      for (int odd = 0; odd < 2; ++odd)
        send(remote_shared(&word[odd], 1), out[2 * round + odd], remote_shared(&arrived[odd], 1));
    if (round % 2 == 0) cluster.sync();  // RACE: none; words are expected after they were sent
    if (receives)
      for (int odd = 0; odd < 2; ++odd) {
        if (round % 2 == 0) transfer_expect(&arrived[odd], sizeof(Word));
        transfer_wait(&arrived[odd], static_cast<unsigned>(round % 2));
        out[2 * round + odd] = Word(3) * word[odd] + Word(1);
      }
  }
  cluster.sync();  // RACE: no block returns while another sends to it
}

TYPED_TEST(Transfer, WordsMayComeBeforeTheirPhaseIsExpected) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    constexpr int rounds = 9;
    std::vector<TypeParam> values(2 * rounds);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value<TypeParam>(static_cast<int>(i));
    const auto out =
        after<TypeParam>(ahead_kernel<TypeParam>, {.grid = 2, .block = 1, .cluster = 2}, rounds, values, seed);
    LULAB_ASSERT_OK(out);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ((*out)[i], TypeParam(3) * values[i] + TypeParam(1)) << "word " << i << ", seed " << seed;
  }
}

enum class Lacks { nothing, a_word, the_expectation, half_a_word };

/// Block 0 sends two words to block 1.   out: (2)
__global__ void two_words_kernel(Lacks lacks, std::uint64_t* out) {
  LULAB_SHARED(std::uint64_t, word, 2);
  LULAB_SHARED(TransferBarrier, arrived, 1);
  const auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) transfer_init(&arrived[0]);
  cluster.sync();  // RACE: thread 0 wrote the barrier, block 0 sends to it
  if (cluster.block_rank() == 1) {
    if (threadIdx.x == 0 && lacks != Lacks::the_expectation) transfer_expect(&arrived[0], 16);
    transfer_wait(&arrived[0], 0);
    if (threadIdx.x < 2) out[threadIdx.x] = word[threadIdx.x];
  } else if (threadIdx.x == 0) {
    const RemoteShared to = remote_shared(&word[0], 1), barrier = remote_shared(&arrived[0], 1);
    send(to, std::uint64_t{11}, barrier);
    if (lacks == Lacks::half_a_word)
      send(to + 8, std::uint32_t{22}, barrier);
    else if (lacks != Lacks::a_word)
      send(to + 8, std::uint64_t{22}, barrier);
  }
  cluster.sync();  // RACE: no block returns while another sends to it
}

TEST(TransferBytes, APhaseEndsWhenItWasExpectedAndItsBytesHaveCome) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<std::uint64_t>(two_words_kernel, {.grid = 2, .block = 32, .cluster = 2}, 2,
                                              {.seed = seed}, Lacks::nothing);
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(*out, (std::vector<std::uint64_t>{11, 22}));
  }
}

TEST(TransferBytes, APhaseThatNeverEndsIsADeadlockAtItsLine) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const Lacks lacks : {Lacks::a_word, Lacks::the_expectation, Lacks::half_a_word}) {
      const auto out =
          output_of<std::uint64_t>(two_words_kernel, {.grid = 2, .block = 32, .cluster = 2}, 2, {.seed = seed}, lacks);
      EXPECT_EQ(out.status().code, StatusCode::deadlock) << out.status().to_string();
      for (const char* part : {"two_words_kernel", "block 1 threads 0-31", "poll the atomic at",
                               "transfer_test.cu:", "block 0 threads 0-31", "wait at the cluster's barrier"})
        EXPECT_TRUE(contains(out.status().message, part)) << part << " is missing in: " << out.status().message;
    }
}

TEST(TransferBytes, SendingToABlockOutsideTheClusterIsNamedWithItsLine) {
  LULAB_NEED_SIMULATOR();
  const auto out =
      output_of<std::uint64_t>(two_words_kernel, {.grid = 2, .block = 32, .cluster = 1}, 2, {}, Lacks::nothing);
  EXPECT_EQ(out.status().code, StatusCode::device_error) << out.status().to_string();
  for (const char* part : {"block 1 of a cluster of 1", "transfer_test.cu:"})
    EXPECT_TRUE(contains(out.status().message, part)) << part << " is missing in: " << out.status().message;
}

}  // namespace
}  // namespace lulab::simt
