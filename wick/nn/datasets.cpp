#include "wick/nn/datasets.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/formats/csv.h"
#include "wick/formats/idx.h"
#include "wick/formats/image.h"

namespace wick {
namespace {

IdxArray read_part(const std::filesystem::path& folder, std::string_view name, size_t rank) {
  std::filesystem::path path = folder / name;
  if (!std::filesystem::exists(path)) path += ".gz";
  IdxArray array = read_idx(path);
  if (array.dims.size() != rank) {
    fail(ErrorCode::corrupt_file, "{}: an array of {} dimensions where {} are expected", path.string(), array.dims.size(), rank);
  }
  return array;
}

// Bytes [n, h, w, channels] as f32 [n, channels, h, w], divided by 255.
Tensor scaled(const std::vector<uint8_t>& pixels, const Shape& shape, const Device& device) {
  return Tensor::from_vector(pixels, shape, device).permute({0, 3, 1, 2}).to_dtype(DType::f32) / 255.0;
}

std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder, bool folders) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (folders ? entry.is_directory() : has_image_extension(entry.path())) paths.push_back(entry.path());
  }
  if (error) fail(ErrorCode::not_found, "{}: cannot be read as a folder: {}", folder.string(), error.message());
  std::ranges::sort(paths);
  return paths;
}

uint32_t class_number(double value, const std::string& name, int64_t row) {
  if (value < 0 || value > 4294967295.0 || value != std::floor(value)) {
    fail(ErrorCode::invalid_argument, "{}: row {} has the class {}; classes are whole numbers from 0", name, row, value);
  }
  return static_cast<uint32_t>(value);
}

}  // namespace

nn::Dataset load_mnist(const std::filesystem::path& folder, MnistPart part, const Device& device) {
  const std::string prefix = part == MnistPart::train ? "train" : "t10k";
  const IdxArray images = read_part(folder, prefix + "-images-idx3-ubyte", 3);
  const IdxArray labels = read_part(folder, prefix + "-labels-idx1-ubyte", 1);
  if (images.dims[0] != labels.dims[0]) {
    fail(ErrorCode::corrupt_file, "{}: {} images and {} labels of part {}", folder.string(), images.dims[0], labels.dims[0], prefix);
  }
  const Tensor inputs = scaled(images.values, {images.dims[0], images.dims[1], images.dims[2], 1}, device);
  const std::vector<uint32_t> classes(labels.values.begin(), labels.values.end());
  return {inputs, Tensor::from_vector(classes, {labels.dims[0]}, device)};
}

nn::Dataset load_csv(const std::filesystem::path& path, const CsvOptions& options, const Device& device) {
  const CsvTable table = read_csv(path, {options.separator, options.header, options.missing});
  const std::string name = path.string();
  const int64_t target = options.target_column < 0 ? table.width + options.target_column : options.target_column;
  if (target < 0 || target >= table.width || table.width < 2) {
    fail(ErrorCode::index_out_of_range, "{}: target_column {} of a table with {} columns; it must be one of at least two", name,
         options.target_column, table.width);
  }
  std::vector<float> inputs, numbers;
  std::vector<uint32_t> classes;
  for (int64_t row = 0; row < table.rows; ++row) {
    const auto values = std::span(table.values).subspan(static_cast<size_t>(row * table.width), static_cast<size_t>(table.width));
    for (int64_t column = 0; column < table.width; ++column) {
      const double value = values[static_cast<size_t>(column)];
      if (column != target) {
        inputs.push_back(static_cast<float>(value));
      } else if (options.classes) {
        classes.push_back(class_number(value, name, row));
      } else {
        numbers.push_back(static_cast<float>(value));
      }
    }
  }
  const Tensor targets = options.classes ? Tensor::from_owned(std::move(classes), {table.rows}, device)
                                         : Tensor::from_owned(std::move(numbers), {table.rows}, device);
  return {Tensor::from_owned(std::move(inputs), {table.rows, table.width - 1}, device), targets};
}

nn::Dataset load_image_folder(const std::filesystem::path& folder, const ImageFolderOptions& options, const Device& device) {
  if ((options.height == 0) != (options.width == 0) || options.height < 0 || options.width < 0) {
    fail(ErrorCode::invalid_argument, "load_image_folder: height {} and width {}: give both, or neither", options.height, options.width);
  }
  std::vector<std::string> classes;
  std::vector<Tensor> images;
  std::vector<uint32_t> targets;
  for (const std::filesystem::path& inner : sorted_entries(folder, true)) {
    for (const std::filesystem::path& file : sorted_entries(inner, false)) {
      const Image image = read_image(file, options.channels);
      Tensor pixels = scaled(image.pixels, {1, image.height, image.width, image.channels}, Device::cpu());
      if (options.height != 0) pixels = pixels.upsample_bilinear2d(options.height, options.width, false);
      if (!images.empty() && pixels.shape() != images.front().shape()) {
        fail(ErrorCode::shape_mismatch, "{}: {} x {} pixels, other images have {} x {}; give ImageFolderOptions a height and a width",
             file.string(), image.width, image.height, images.front().dims()[3], images.front().dims()[2]);
      }
      images.push_back(pixels);
      targets.push_back(static_cast<uint32_t>(classes.size()));
    }
    classes.push_back(inner.filename().string());
  }
  if (images.empty()) fail(ErrorCode::not_found, "{}: no PNG or JPEG file in the folders below it", folder.string());
  const auto count = static_cast<int64_t>(targets.size());
  return {Tensor::cat(images, 0).to_device(device), Tensor::from_owned(std::move(targets), {count}, device), std::move(classes)};
}

}  // namespace wick
