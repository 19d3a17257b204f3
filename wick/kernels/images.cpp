#include "wick/kernels/images.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/order_key.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

namespace {

Value u32(KernelBuilder& k, const std::string& name) { return k.parameter(name, Type::u32); }

// A number for the height and one for the width.
struct Extents {
  Value height, width;
  Extents(KernelBuilder& k, const std::string& name) : height(u32(k, name + "_height")), width(u32(k, name + "_width")) {}
};

// Where in a result of [batch, channels, height, width] an element is.
struct Place {
  Value image, channel, row, column;
  Place(const Value& element, const Value& channels, const Extents& extents)
      : image(element / extents.width / extents.height / channels),
        channel(element / extents.width / extents.height % channels),
        row(element / extents.width % extents.height),
        column(element % extents.width) {}
};

// The parameters of a kernel that takes x in any strides.
struct Images {
  KernelBuilder& k;
  Value count, channels;
  Extents extents;
  Value y_first, offset, image_stride, channel_stride, row_stride, column_stride;
  Value element;

  explicit Images(KernelBuilder& builder)
      : k(builder),
        count(u32(k, "count")),
        channels(u32(k, "channels")),
        extents(k, "y"),
        y_first(u32(k, "y_first")),
        offset(u32(k, "x_offset")),
        image_stride(u32(k, "image_stride")),
        channel_stride(u32(k, "channel_stride")),
        row_stride(u32(k, "row_stride")),
        column_stride(u32(k, "column_stride")),
        element(global_lane(k)) {}

  // The body with the lane's element and where the image that it comes from begins.
  void run(const std::function<void(const Place& place, const Value& image)>& body) const {
    k.when(element < count, [&] {
      const Place place(element, channels, extents);
      body(place, offset + place.image * image_stride + place.channel * channel_stride);
    });
  }
  [[nodiscard]] Value at(const Value& image, const Value& row, const Value& column) const {
    return image + row * row_stride + column * column_stride;
  }
};

ir::KernelOptions image_options(const DeviceCaps& caps) { return {.group_size = group_options(caps, 256).group_size}; }

}  // namespace

Kernel conv2d(DType dtype, ConvDirection direction, const DeviceCaps& caps) {
  const bool forward = direction == ConvDirection::forward;
  KernelBuilder k(fmt::format("{}_{}", forward ? "conv2d" : "conv_transpose2d", to_string(dtype)), image_options(caps));
  const Element element = element_of(dtype);
  const Memory x = k.buffer("x", element), weight = k.buffer("weight", element), y = k.output("y", element);
  const Value count = u32(k, "count"), x_first = u32(k, "x_first"), weight_first = u32(k, "weight_first"), y_first = u32(k, "y_first");
  const Value channels = u32(k, "channels");
  const Extents extents(k, "y");
  const Value x_channels = u32(k, "x_channels");
  const Extents x_extents(k, "x");
  const Value groups = u32(k, "groups");
  const Extents kernel(k, "kernel"), padding(k, "padding"), stride(k, "stride"), dilation(k, "dilation");
  // Where along one dimension of x a tap of the kernel lies for an element of y; the extent or more where there is none.
  const auto source = [&](const Value& at, const Value& tap, Value Extents::* dim) {
    if (forward) return at * stride.*dim + tap * dilation.*dim - padding.*dim;
    const Value spread = at + padding.*dim - tap * dilation.*dim;
    const Value exists = (spread < x_extents.*dim * stride.*dim) & (spread % stride.*dim == 0U);
    return select(exists, spread / stride.*dim, x_extents.*dim);
  };
  const Value lane = global_lane(k);
  k.when(lane < count, [&] {
    const Place place(lane, channels, extents);
    const Value per_group = channels / groups, x_per_group = x_channels / groups, x_begin = place.channel / per_group * x_per_group;
    const Type type = compute_type(dtype);
    Variable sum = k.variable(k.number_of(type, 0, 0));
    k.loop(0, x_per_group, 1, [&](const Value& c) {
      const Value pair = forward ? place.channel * x_per_group + c : (x_begin + c) * per_group + place.channel % per_group;
      const Value taps = weight_first + pair * (kernel.height * kernel.width);
      const Value image = x_first + (place.image * x_channels + x_begin + c) * (x_extents.height * x_extents.width);
      k.loop(0, kernel.height, 1, [&](const Value& ky) {
        const Value row = source(place.row, ky, &Extents::height);
        k.when(row < x_extents.height, [&] {
          k.loop(0, kernel.width, 1, [&](const Value& kx) {
            const Value column = source(place.column, kx, &Extents::width);
            const Value number = load_number_if(x, dtype, column < x_extents.width, image + row * x_extents.width + column);
            const Value tap = load_number(weight, dtype, taps + ky * kernel.width + kx);
            sum = ir::is_float(type) ? fma(number, tap, sum) : number * tap + sum;
          });
        });
      });
    });
    store_number(y, dtype, y_first + lane, sum);
  });
  return k.finish();
}

Kernel avg_pool2d(DType dtype, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("avg_pool2d_{}", to_string(dtype)), image_options(caps));
  const Memory x = k.buffer("x", element_of(dtype)), y = k.output("y", element_of(dtype));
  const Images images(k);
  const Extents kernel(k, "kernel"), stride(k, "stride");
  const Type type = compute_type(dtype);
  images.run([&](const Place& place, const Value& image) {
    Variable sum = k.variable(k.number_of(type, 0, 0));
    const Value row = place.row * stride.height, column = place.column * stride.width;
    k.loop(0, kernel.height, 1, [&](const Value& ky) {
      k.loop(0, kernel.width, 1, [&](const Value& kx) { sum = sum + load_number(x, dtype, images.at(image, row + ky, column + kx)); });
    });
    store_number(y, dtype, images.y_first + images.element, sum / cast(type, kernel.height * kernel.width));
  });
  return k.finish();
}

Kernel max_pool2d(DType dtype, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("max_pool2d_{}", to_string(dtype)), image_options(caps));
  const Memory x = k.buffer("x", key_element(dtype)), y = k.output("y", key_element(dtype)), places = k.output("places", Element::u32);
  const Images images(k);
  const Extents kernel(k, "kernel"), stride(k, "stride");
  const Value places_first = u32(k, "places_first"), x_width = u32(k, "x_width");
  const bool two = key_words(dtype) == 2;
  images.run([&](const Place& place, const Value& image) {
    const Value first_row = place.row * stride.height, first_column = place.column * stride.width;
    const OrderKey first = load_key(x, dtype, images.at(image, first_row, first_column));
    Variable high = k.variable(first.high), low = k.variable(two ? first.low : first.high);
    Variable best_row = k.variable(first_row), best_column = k.variable(first_column);
    k.loop(0, kernel.height, 1, [&](const Value& ky) {
      k.loop(0, kernel.width, 1, [&](const Value& kx) {
        const Value row = first_row + ky, column = first_column + kx;
        const OrderKey key = load_key(x, dtype, images.at(image, row, column)), best{high, two ? Value(low) : Value()};
        k.when(is_less(best, key), [&] {
          high = key.high;
          if (two) low = key.low;
          best_row = row;
          best_column = column;
        });
      });
    });
    const Value row = best_row, column = best_column;
    move_element(y, images.y_first + images.element, x, images.at(image, row, column), dtype);
    places.store(places_first + images.element, row * x_width + column);
  });
  return k.finish();
}

Kernel upsample_nearest(uint32_t element_bytes, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("upsample_nearest_{}", element_bytes), image_options(caps));
  const Element element = element_of_bytes(element_bytes);
  const Memory x = k.buffer("x", element), taps = k.buffer("taps", Element::u32), y = k.output("y", element);
  const Images images(k);
  const uint32_t words = words_of_bytes(element_bytes);
  images.run([&](const Place& place, const Value& image) {
    const Value from = images.at(image, taps[place.row], taps[images.extents.height + place.column]);
    for (uint32_t word = 0; word < words; ++word) y.store((images.y_first + images.element) * words + word, x.load(from * words + word));
  });
  return k.finish();
}

Kernel upsample_bilinear(DType dtype, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("upsample_bilinear_{}", to_string(dtype)), image_options(caps));
  const Type type = compute_type(dtype);
  const Memory x = k.buffer("x", element_of(dtype)), taps = k.buffer("taps", Element::u32);
  const Memory weights = k.buffer("weights", type == Type::f64 ? Element::f64 : Element::f32), y = k.output("y", element_of(dtype));
  const Images images(k);
  images.run([&](const Place& place, const Value& image) {
    const Value column = images.extents.height + place.column;
    const Value left = taps[column * 2U], right = taps[column * 2U + 1U], down = weights[place.row], across = weights[column];
    const auto between = [&](const Value& row) {
      const Value a = load_number(x, dtype, images.at(image, row, left)), b = load_number(x, dtype, images.at(image, row, right));
      return a * (1.0 - across) + b * across;
    };
    const Value upper = between(taps[place.row * 2U]), lower = between(taps[place.row * 2U + 1U]);
    store_number(y, dtype, images.y_first + images.element, upper * (1.0 - down) + lower * down);
  });
  return k.finish();
}

}  // namespace wick::kernels
