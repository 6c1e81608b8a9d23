#pragma once
// Memory that is freed and soon needed again: does it go back to the system meanwhile?

#include <cstdint>

namespace lulab {

/// What a first answer takes on the host, for each row and each entry of A.
constexpr std::int64_t first_answer_bytes = 128;

/// The allocator keeps about so much freed memory for later calls, at most 64 MiB. By default glibc returns what lies
/// at the end of its heap, and the next analysis has it mapped again, page by page: up to half of a first answer's
/// time. And the next `bytes`, at most 31 MiB, that are allocated come in pages of 2 MiB, where the system has them: a
/// first answer for memplus by libklu takes 13 ms instead of 17.
///
/// Ensures   glibc's thresholds, which grow with the largest block that was freed, are as after freeing one of this
///           size. Where the program or its user has set them they stay; so do other allocators.
/// Cost      some system calls where `bytes` are more than in any earlier call; no memory is touched.
void keep_freed_memory(std::int64_t bytes) noexcept;

}  // namespace lulab
