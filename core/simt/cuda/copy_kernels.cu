#include "core/simt/cuda/copy_kernels.h"

#include <cstdint>

#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"

namespace lulab::simt::cuda_rt {
namespace {

constexpr unsigned threads = 256;

template <class Word>
__global__ void copy_kernel(Word* to, const Word* from, std::int64_t count) {
  for (std::int64_t k = thread_of_grid(); k < count; k += threads_of_grid()) to[k] = from[k];
}

template <class Word>
__global__ void fill_kernel(Word* to, Word word, std::int64_t count) {
  for (std::int64_t k = thread_of_grid(); k < count; k += threads_of_grid()) to[k] = word;
}

LaunchShape shape_for(std::int64_t words) {
  constexpr unsigned most_blocks = 1024;
  return {.grid = blocks_for(words, threads, most_blocks), .block = threads};
}

/// visit(a word of the largest size that all addresses and the length are multiples of)
template <class Visit>
Status with_words(std::uintptr_t all, const Visit& visit) {
  return all % 8 == 0 ? visit(std::uint64_t{}) : all % 4 == 0 ? visit(std::uint32_t{}) : visit(std::uint8_t{});
}

}  // namespace

Status copy_by_kernel(void* to, const void* from, std::size_t bytes, Stream& stream) {
  const auto all = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  return with_words(all, [&]<class Word>(Word) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(Word));
    return launch(copy_kernel<Word>, shape_for(count), stream, static_cast<Word*>(to), static_cast<const Word*>(from),
                  count);
  });
}

Status fill_by_kernel(void* d_to, int byte, std::size_t bytes, Stream& stream) {
  return with_words(reinterpret_cast<std::uintptr_t>(d_to) | bytes, [&]<class Word>(Word) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(Word));
    constexpr std::uint64_t ones = 0x0101010101010101;
    const auto word = static_cast<Word>(ones * static_cast<std::uint8_t>(byte));
    return launch(fill_kernel<Word>, shape_for(count), stream, static_cast<Word*>(d_to), word, count);
  });
}

}  // namespace lulab::simt::cuda_rt
