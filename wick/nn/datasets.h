// Data sets from files: MNIST, tables of numbers, folders of images.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "wick/device/device.h"
#include "wick/nn/dataset.h"

namespace [[gnu::visibility("default")]] wick {

enum class MnistPart { train, test };
// The IDX files of a folder, plain or .gz, named as their makers name them (train-images-idx3-ubyte, t10k-labels-idx1-ubyte …): inputs f32
// [n, 1, h, w], pixels / 255; targets u32 [n]. Fashion-MNIST and KMNIST come in the same form.
// Errors: not_found, corrupt_file, each naming the file.
[[nodiscard]] nn::Dataset load_mnist(const std::filesystem::path& folder, MnistPart part = MnistPart::train,
                                     const Device& device = default_device());

struct CsvOptions {
  // The column of the targets, counted from 0, from the end if negative; all others are inputs.
  int64_t target_column = -1;
  // Targets are class numbers: u32 [n] in place of f32 [n].
  bool classes = false;
  char separator = ',';
  // Whether the first row names the columns. None: it does where no field of it is a number.
  std::optional<bool> header = {};
  // The value of an empty field, such as NaN. None: it is an error.
  std::optional<double> missing = {};
};
// A table of numbers, with or without a header; fields may be quoted, and rows end with LF or CRLF: inputs f32 [n, columns - 1].
// Errors: not_found, corrupt_file, naming line and column; index_out_of_range for the target column; invalid_argument for a class that is
// not a whole number from 0 on.
[[nodiscard]] nn::Dataset load_csv(const std::filesystem::path& path, const CsvOptions& options = {},
                                   const Device& device = default_device());

struct ImageFolderOptions {
  // Images of another size are scaled to it, bilinearly. 0: all must have the first one's size.
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;  // 1 or 3
};
// A folder with one folder for each class, in the order of their names, of PNG and JPEG files: inputs f32 [n, channels, h, w], pixels /
// 255; targets u32 [n]. Errors: not_found for a folder without an image; shape_mismatch; and read_image's, naming the file.
[[nodiscard]] nn::Dataset load_image_folder(const std::filesystem::path& folder, const ImageFolderOptions& options = {},
                                            const Device& device = default_device());

}  // namespace wick
