// A BlockFormat is one row of the table of quantized formats: how a row of numbers is packed into blocks and read back.
// The bits of each format are defined by ggml's reference (ggml-quants.c, 2026-08); unpacking is bit-exact with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wick/layout/dtype.h"

namespace wick {

// The formats, one row each: ROW(dtype, ggml's name, ggml's number, has pack, has pack_weighted, stand-in, needs importance, file type,
// use). The columns are the members of BlockFormat. Whatever reads or writes GGUF files, quantizes models or lists types derives from the
// rows.
// clang-format off
#define WICK_BLOCK_FORMATS(ROW) \
  ROW(f32, "F32", 0, yes, no, f32, false, 0, "exact; to quantize from")                                       \
  ROW(f16, "F16", 1, yes, no, f16, false, 1, "exact for most models; to quantize from")                       \
  ROW(bf16, "BF16", 30, yes, no, bf16, false, 32, "exact for models trained in bf16; to quantize from")       \
  ROW(q4_0, "Q4_0", 2, yes, yes, q4_0, false, 2, "older; fast on CPUs, more loss than Q4_K_S")                \
  ROW(q4_1, "Q4_1", 3, yes, yes, q4_1, false, 3, "older; Q4_K_M is better")                                   \
  ROW(q5_0, "Q5_0", 6, yes, yes, q5_0, false, 8, "older; Q5_K_S is better")                                   \
  ROW(q5_1, "Q5_1", 7, yes, yes, q5_1, false, 9, "older; Q5_K_M is better")                                   \
  ROW(q8_0, "Q8_0", 8, yes, no, q8_0, false, 7, "no visible loss; fast on CPUs")                              \
  ROW(q8_1, "Q8_1", 9, yes, no, q8_1, false, -1, "")                                                          \
  ROW(q2_k, "Q2_K", 10, yes, yes, q4_0, false, 10, "large loss: for models that fit no other way")            \
  ROW(q3_k, "Q3_K", 11, yes, yes, q4_0, false, -1, "")                                                        \
  ROW(q4_k, "Q4_K", 12, yes, yes, q5_0, false, -1, "")                                                        \
  ROW(q5_k, "Q5_K", 13, yes, yes, q5_1, false, -1, "")                                                        \
  ROW(q6_k, "Q6_K", 14, yes, yes, q8_0, false, 18, "hardly any loss")                                         \
  ROW(q8_k, "Q8_K", 15, yes, no, q8_k, false, -1, "")                                                         \
  ROW(iq1_s, "IQ1_S", 19, no, yes, iq4_nl, true, 24, "for experiments; needs --imatrix")                      \
  ROW(iq1_m, "IQ1_M", 29, yes, yes, iq4_nl, true, 31, "for experiments; needs --imatrix")                     \
  ROW(iq2_xxs, "IQ2_XXS", 16, no, yes, iq4_nl, true, 19, "very large loss; needs --imatrix")                  \
  ROW(iq2_xs, "IQ2_XS", 17, no, yes, iq4_nl, true, 20, "very large loss; needs --imatrix")                    \
  ROW(iq2_s, "IQ2_S", 22, yes, yes, iq4_nl, true, -1, "")                                                     \
  ROW(iq3_xxs, "IQ3_XXS", 18, yes, yes, iq4_nl, true, 23, "large loss; needs --imatrix")                      \
  ROW(iq3_s, "IQ3_S", 21, yes, yes, iq4_nl, false, 26, "less loss than Q3_K_S; --imatrix helps")              \
  ROW(iq4_nl, "IQ4_NL", 20, yes, yes, iq4_nl, false, 25, "less loss than Q4_0 at its size; --imatrix helps")  \
  ROW(iq4_xs, "IQ4_XS", 23, yes, yes, iq4_nl, false, 30, "slightly smaller than Q4_K_S; --imatrix helps")     \
  ROW(tq1_0, "TQ1_0", 34, yes, no, q4_0, false, 36, "for ternary models such as BitNet: exact there")         \
  ROW(tq2_0, "TQ2_0", 35, yes, no, q4_0, false, 37, "for ternary models such as BitNet: exact there, faster") \
  ROW(mxfp4, "MXFP4", 39, yes, no, mxfp4, false, -1, "")                                                      \
  ROW(nvfp4, "NVFP4", 40, yes, no, nvfp4, false, 39, "for models trained in NVFP4")                           \
  ROW(q1_0, "Q1_0", 41, yes, no, q1_0, false, 40, "for models trained with 1-bit weights")                    \
  ROW(q2_0, "Q2_0", 42, yes, no, q4_0, false, 41, "for models trained with 2-bit weights")
// clang-format on

struct BlockFormat {
  DType dtype;
  std::string_view ggml_name;  // "Q4_K"
  uint32_t ggml_number;        // ggml.h, enum ggml_type
  // Reads values.size() elements, a multiple of the block length, from blocks.
  void (*unpack)(const std::byte* blocks, std::span<float> values);
  // Writes them, with the bytes of ggml's reference quantizer (no importance weights); nullptr for the formats that cannot do without.
  // Values that are not finite have no place in a block: the result is then some block, so whoever reads files checks first.
  void (*pack)(std::span<const float> values, std::byte* blocks);
  // Writes one row so that errors count as much as the importance of their columns, a weight ≥ 0 for each element of the row.
  // nullptr where ggml's quantizer of the format takes no notice of it: pack() is meant then.
  void (*pack_weighted)(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
  DType stand_in;         // for rows that its block does not divide; itself: none
  bool needs_importance;  // weights that are packed without are garbage
  int file_type;          // general.file_type of models whose weights are in it; -1: models come in mixes of it only
  std::string_view use;   // what users quantize to it for
};

// Writes one row by format.pack_weighted, or by format.pack where there is no importance (an empty span) or the format takes no notice of
// it. A column of importance 0, of which a text may tell nothing, counts a little, so that its values are not arbitrary; a block whose
// importance is all 0 is written without, or, where the format cannot do without, as if all of it counted alike.
void pack_row(const BlockFormat& format, std::span<const float> row, std::span<const float> importance, std::byte* blocks);

// The row of that dtype; nullptr if Wick cannot read the format. f32, f16 and bf16 have rows too.
[[nodiscard]] const BlockFormat* find_block_format(DType dtype) noexcept;
[[nodiscard]] std::span<const BlockFormat> block_formats() noexcept;

}  // namespace wick
