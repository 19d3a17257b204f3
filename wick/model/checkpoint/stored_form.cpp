#include "wick/model/checkpoint/stored_form.h"

#include <utility>
#include <vector>

namespace wick {

bool is_transposed(StoredForm form) noexcept {
  return form == StoredForm::transposed || form == StoredForm::transposed_halves || form == StoredForm::interleaved_transposed;
}
bool is_mxfp4(StoredForm form) noexcept { return form == StoredForm::mxfp4 || form == StoredForm::interleaved_mxfp4; }
bool is_reshaped(StoredForm form) noexcept {
  return form == StoredForm::column || form == StoredForm::minus_exp || form == StoredForm::minus_exp_column ||
         form == StoredForm::kernels || form == StoredForm::state_norm || form == StoredForm::flat;
}
bool holds_two(StoredForm form) noexcept {
  return form != StoredForm::as_it_is && form != StoredForm::transposed && form != StoredForm::mxfp4 &&
         form != StoredForm::query_key_value_gate && form != StoredForm::latent_heads && form != StoredForm::stacked && !is_reshaped(form);
}

StoredView view_of(const SafetensorsTensor& tensor, StoredForm form, int64_t part) {
  StoredView view{.data = tensor.data, .file = tensor.file, .element_bytes = static_cast<size_t>(storage_bytes(tensor.dtype, 1))};
  const Stack stack(tensor.shape);
  const int64_t whole = stack.rows * stack.columns;
  switch (form) {
    case StoredForm::mxfp4:
    case StoredForm::interleaved_mxfp4:  // not of elements
    case StoredForm::column:
    case StoredForm::minus_exp:
    case StoredForm::minus_exp_column:
    case StoredForm::query_key_value_gate:  // of several views
    case StoredForm::latent_heads:
    case StoredForm::kernels:
    case StoredForm::flat:
    case StoredForm::stacked:
    case StoredForm::state_norm:
    case StoredForm::row_stack:  // of another shape
    case StoredForm::row_stack_transposed:
    case StoredForm::as_it_is:
      view.extents = {stack.groups, stack.rows, stack.columns};
      view.strides = {whole, stack.columns, 1};
      break;
    case StoredForm::halves:
      view.first = part * (whole / 2);
      view.extents = {stack.groups, stack.rows / 2, stack.columns};
      view.strides = {whole, stack.columns, 1};
      break;
    case StoredForm::transposed:
      view.extents = {stack.groups, stack.columns, stack.rows};
      view.strides = {whole, 1, stack.columns};
      break;
    case StoredForm::transposed_halves:
      view.first = part * (stack.columns / 2);
      view.extents = {stack.groups, stack.columns / 2, stack.rows};
      view.strides = {whole, 1, stack.columns};
      break;
    case StoredForm::interleaved_transposed:
      view.first = part;
      view.extents = {stack.groups, stack.columns / 2, stack.rows};
      view.strides = {whole, 2, stack.columns};
      break;
    case StoredForm::in_turns:
      view.first = part;
      view.extents = {stack.groups, stack.rows, stack.columns / 2};
      view.strides = {whole, stack.columns, 2};
      break;
  }
  return view;
}

Shape shape_of(const Shape& stored, StoredForm form) {
  if (form == StoredForm::as_it_is) return stored;
  std::vector<int64_t> extents(stored.dims().begin(), stored.dims().end());
  if (is_transposed(form)) std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
  if (holds_two(form)) extents[form == StoredForm::in_turns ? extents.size() - 1 : extents.size() - 2] /= 2;
  return Shape(extents);
}

void Mxfp4View::write(std::span<std::byte> to) const {
  constexpr size_t kStored = 16, kBlock = kStored + 1;  // a block's scale comes first
  std::byte* block = to.data();
  const int64_t rows = blocks.shape[0] * blocks.shape[1];
  for (int64_t row = first; row < rows; row += step) {
    for (int64_t index = row * blocks_a_row(); index < (row + 1) * blocks_a_row(); ++index, block += kBlock) {
      const std::byte* codes = blocks.data.data() + static_cast<size_t>(index) * kStored;
      block[0] = scales.data[static_cast<size_t>(index)];
      // Neighbours share a byte there; here an element and the sixteenth behind it.
      const auto code = [&](size_t element) { return codes[element / 2] >> (4 * (element % 2)) & std::byte{15}; };
      for (size_t element = 0; element < kStored; ++element) block[1 + element] = code(element) | code(element + kStored) << 4;
    }
  }
}

}  // namespace wick
