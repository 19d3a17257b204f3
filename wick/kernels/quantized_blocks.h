// The elements of quantized tensors as kernels read them: sixteen at a time, as signed bytes with a scale.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "wick/ir/builder.h"
#include "wick/layout/dtype.h"

namespace wick::kernels {

// Sixteen neighbouring elements, four signed bytes in each word, the first lowest: element = scale · byte + offset.
struct Sixteen {
  std::array<ir::Value, 4> bytes;
  ir::Value scale;
  std::optional<ir::Value> offset;

  // Byte i as f32.
  [[nodiscard]] ir::Value number(uint32_t i) const;
  // Element i.
  [[nodiscard]] ir::Value element(uint32_t i) const { return offset ? fma(scale, number(i), *offset) : scale * number(i); }
};

// Reads a tensor of one block format (quant/blocks.h has their memory layouts).
class QuantizedBlocks {
 public:
  // Declares its buffers, `name`, the tensor's bytes as u32 words, and "codebook" where has_codebook(dtype); and a parameter, the word
  // that holds the tensor's scale, where has_tensor_scale(dtype).
  QuantizedBlocks(ir::KernelBuilder& k, DType dtype, const std::string& name = "w");
  // A second tensor of the same format, which shares codebook and place of the scale.
  QuantizedBlocks(ir::KernelBuilder& k, const QuantizedBlocks& other, const std::string& name);

  [[nodiscard]] const ir::Memory& words() const noexcept { return words_; }
  [[nodiscard]] uint32_t sixteens_per_block() const noexcept { return static_cast<uint32_t>(info(dtype_).block_elements) / 16; }
  // Elements 16 · sixteen to 16 · sixteen + 15 of a block, counted from the tensor's first.
  [[nodiscard]] Sixteen read(const ir::Value& block, const ir::Value& sixteen) const;

 private:
  DType dtype_;
  ir::Memory words_;
  std::optional<ir::Memory> codebook_;
  std::optional<ir::Value> scale_word_;
};

// The formats that QuantizedBlocks reads.
[[nodiscard]] bool reads_blocks_of(DType dtype) noexcept;
// Contents of a format's codebook buffer; empty if the kernel has none.
[[nodiscard]] std::vector<uint32_t> codebook_words(DType dtype);
[[nodiscard]] bool has_codebook(DType dtype) noexcept;
// Whether one scale behind the last block is that of all (I2_S).
[[nodiscard]] constexpr bool has_tensor_scale(DType dtype) noexcept { return dtype == DType::i2_s; }

}  // namespace wick::kernels
