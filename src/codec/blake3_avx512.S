// codec/blake3_avx512.S - one BLAKE3 block for 8, 16 or 32 lanes at once, each lane with its own counter.
//
// void peel_blake3_block_N(state, message, next, rows, offset, ahead)      N = 8, 16, 32
//   state    u32[10][N]: eight words of chaining value (in and out), then the counters' low and high halves;
//            then u32: the flags
//   message  u32[16][N]: the block, already transposed: message[w][lane]
//   next     u32[16][N]: filled with the block to compress next: next[w][lane] = word w at rows[lane] + offset
//   ahead    rows[lane] + ahead will be wanted soon: a prefetch, never a read
//
// Why not the official kernel: it hashes 16 lanes with one counter, or with counters that rise by one. Pages
// restart their counters every few chunks, so a small commit could fill no more than 4 lanes.
//
// Why like this: 32 lanes in 32 registers leave nothing to wait for; the vector units are busy all the time
// with the rounds themselves. Transposing 32 rows with shuffles would need the same units for another tenth
// of the time, so words are moved one by one through the integer units, which have nothing else to do: each
// eight bytes of a row are dropped between the vector instructions of this block, for the next one.
// Two groups of registers (0-15 and 16-31) are interleaved to hide the latency of rotations.
//
// Needs      AVX-512F and VL; the caller checks (blake3_lanes.cpp). System V calling convention.
// Checked    tests/codec compares every count and size with the official hasher.
#if defined(__x86_64__)

.text

// Two instructions' worth of helpers: \op on four registers with four others, or with memory.
.macro four op, r, a0, a1, a2, a3, b0, b1, b2, b3
  \op %\r\b0, %\r\a0, %\r\a0
  \op %\r\b1, %\r\a1, %\r\a1
  \op %\r\b2, %\r\a2, %\r\a2
  \op %\r\b3, %\r\a3, %\r\a3
.endm
.macro rotate_four n, r, a0, a1, a2, a3
  vprord $\n, %\r\a0, %\r\a0
  vprord $\n, %\r\a1, %\r\a1
  vprord $\n, %\r\a2, %\r\a2
  vprord $\n, %\r\a3, %\r\a3
.endm
.macro add_message r, at, a0, a1, a2, a3, m0, m1, m2, m3
  vpaddd (row_bytes*\m0+\at)(%rsi), %\r\a0, %\r\a0
  vpaddd (row_bytes*\m1+\at)(%rsi), %\r\a1, %\r\a1
  vpaddd (row_bytes*\m2+\at)(%rsi), %\r\a2, %\r\a2
  vpaddd (row_bytes*\m3+\at)(%rsi), %\r\a3, %\r\a3
.endm

// Moves the next eight bytes of the next block, until every row is done.
.macro gather
  .if gathered < 8*lanes
    .if (gathered & 7) == 0
      movq (gathered & ~7)(%rcx), %r11
      prefetcht0 (%r11,%r9)
    .endif
    movq (8*(gathered & 7))(%r11,%r8), %rax
    movl %eax, (row_bytes*2*(gathered & 7) + 4*(gathered >> 3))(%rdx)
    shrq $32, %rax
    movl %eax, (row_bytes*(2*(gathered & 7)+1) + 4*(gathered >> 3))(%rdx)
    .set gathered, gathered+1
  .endif
.endm

// Half of four G functions on words a (always 0-3), b, c, d of both groups.
.macro half_step r, b0,b1,b2,b3, c0,c1,c2,c3, d0,d1,d2,d3, B0,B1,B2,B3, C0,C1,C2,C3, D0,D1,D2,D3, m0,m1,m2,m3, turn_d,turn_b
  add_message \r, 0, 0,1,2,3, \m0,\m1,\m2,\m3
  gather
  .if groups == 2
    add_message \r, row_bytes/2, 16,17,18,19, \m0,\m1,\m2,\m3
    gather
  .endif
  four vpaddd, \r, 0,1,2,3, \b0,\b1,\b2,\b3
  .if groups == 2
    gather
    four vpaddd, \r, 16,17,18,19, \B0,\B1,\B2,\B3
  .endif
  gather
  four vpxord, \r, \d0,\d1,\d2,\d3, 0,1,2,3
  .if groups == 2
    gather
    four vpxord, \r, \D0,\D1,\D2,\D3, 16,17,18,19
  .endif
  gather
  rotate_four \turn_d, \r, \d0,\d1,\d2,\d3
  .if groups == 2
    gather
    rotate_four \turn_d, \r, \D0,\D1,\D2,\D3
  .endif
  gather
  four vpaddd, \r, \c0,\c1,\c2,\c3, \d0,\d1,\d2,\d3
  .if groups == 2
    gather
    four vpaddd, \r, \C0,\C1,\C2,\C3, \D0,\D1,\D2,\D3
  .endif
  gather
  four vpxord, \r, \b0,\b1,\b2,\b3, \c0,\c1,\c2,\c3
  .if groups == 2
    four vpxord, \r, \B0,\B1,\B2,\B3, \C0,\C1,\C2,\C3
  .endif
  rotate_four \turn_b, \r, \b0,\b1,\b2,\b3
  .if groups == 2
    rotate_four \turn_b, \r, \B0,\B1,\B2,\B3
  .endif
.endm

.macro columns r, m0,m1,m2,m3, turn_d,turn_b
  half_step \r, 4,5,6,7, 8,9,10,11, 12,13,14,15, 20,21,22,23, 24,25,26,27, 28,29,30,31, \m0,\m1,\m2,\m3, \turn_d,\turn_b
.endm
.macro diagonals r, m0,m1,m2,m3, turn_d,turn_b
  half_step \r, 5,6,7,4, 10,11,8,9, 15,12,13,14, 21,22,23,20, 26,27,24,25, 31,28,29,30, \m0,\m1,\m2,\m3, \turn_d,\turn_b
.endm

// One round; the arguments are the message words in the order of the schedule.
.macro round r, m0,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,m13,m14,m15
  columns \r, \m0,\m2,\m4,\m6, 16,12
  columns \r, \m1,\m3,\m5,\m7, 8,7
  diagonals \r, \m8,\m10,\m12,\m14, 16,12
  diagonals \r, \m9,\m11,\m13,\m15, 8,7
.endm

// Sets up words 0-15 of one group from the state at `at`.
.macro load_group r, at, v0,v1,v2,v3,v4,v5,v6,v7,v8,v9,v10,v11,v12,v13,v14,v15
  vmovdqu32 (row_bytes*0+\at)(%rdi), %\r\v0
  vmovdqu32 (row_bytes*1+\at)(%rdi), %\r\v1
  vmovdqu32 (row_bytes*2+\at)(%rdi), %\r\v2
  vmovdqu32 (row_bytes*3+\at)(%rdi), %\r\v3
  vmovdqu32 (row_bytes*4+\at)(%rdi), %\r\v4
  vmovdqu32 (row_bytes*5+\at)(%rdi), %\r\v5
  vmovdqu32 (row_bytes*6+\at)(%rdi), %\r\v6
  vmovdqu32 (row_bytes*7+\at)(%rdi), %\r\v7
  vpbroadcastd peel_blake3_constants+0(%rip), %\r\v8
  vpbroadcastd peel_blake3_constants+4(%rip), %\r\v9
  vpbroadcastd peel_blake3_constants+8(%rip), %\r\v10
  vpbroadcastd peel_blake3_constants+12(%rip), %\r\v11
  vmovdqu32 (row_bytes*8+\at)(%rdi), %\r\v12
  vmovdqu32 (row_bytes*9+\at)(%rdi), %\r\v13
  vpbroadcastd peel_blake3_constants+16(%rip), %\r\v14
  vpbroadcastd (row_bytes*10)(%rdi), %\r\v15
.endm

.macro store_word r, at, w, low, high
  vpxord %\r\high, %\r\low, %\r\low
  vmovdqu32 %\r\low, (row_bytes*\w+\at)(%rdi)
.endm
.macro store_group r, at, v0,v1,v2,v3,v4,v5,v6,v7,v8,v9,v10,v11,v12,v13,v14,v15
  store_word \r, \at, 0, \v0, \v8
  store_word \r, \at, 1, \v1, \v9
  store_word \r, \at, 2, \v2, \v10
  store_word \r, \at, 3, \v3, \v11
  store_word \r, \at, 4, \v4, \v12
  store_word \r, \at, 5, \v5, \v13
  store_word \r, \at, 6, \v6, \v14
  store_word \r, \at, 7, \v7, \v15
.endm

.macro kernel name, r, lane_count, group_count
  .set lanes, \lane_count
  .set groups, \group_count
  .set row_bytes, 4*lanes
  .set gathered, 0
  .globl \name
  .hidden \name
  .type \name, @function
  .p2align 6
\name:
  load_group \r, 0, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  .if groups == 2
    load_group \r, row_bytes/2, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  .endif
  round \r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  round \r, 2,6,3,10,7,0,4,13,1,11,12,5,9,14,15,8
  round \r, 3,4,10,12,13,2,7,14,6,5,9,0,11,15,8,1
  round \r, 10,7,12,9,14,3,13,15,4,0,11,2,5,8,1,6
  round \r, 12,13,9,11,15,10,14,8,7,2,5,3,0,1,6,4
  round \r, 9,14,11,5,8,12,15,1,13,3,0,10,2,6,4,7
  round \r, 11,15,5,0,1,9,8,6,14,10,2,12,3,4,7,13
  store_group \r, 0, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  .if groups == 2
    store_group \r, row_bytes/2, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  .endif
  vzeroupper
  ret
  .size \name, .-\name
.endm

kernel peel_blake3_block_8, ymm, 8, 1
kernel peel_blake3_block_16, ymm, 16, 2
kernel peel_blake3_block_32, zmm, 32, 2

.section .rodata
.p2align 5
peel_blake3_constants:  // the first half of the IV, and the block length
  .long 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 64

#endif
#if defined(__linux__) && defined(__ELF__)
.section .note.GNU-stack, "", %progbits
#endif
