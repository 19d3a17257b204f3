// An Owned object is one reference to an object of Objective-C's, released when it goes.
#pragma once

#import <Foundation/Foundation.h>

#include <string>
#include <utility>

namespace wick::metal {

template <class T>
class Owned {
 public:
  Owned() = default;
  // Takes over the reference that a method named new… or copy… returned.
  explicit Owned(T object) noexcept : object_(object) {}
  // Adds a reference to what any other method returned.
  [[nodiscard]] static Owned retained(T object) { return Owned([object retain]); }
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nil)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Owned(const Owned& other) : object_([other.object_ retain]) {}
  Owned& operator=(const Owned& other) {
    Owned copy(other);
    std::swap(object_, copy.object_);
    return *this;
  }
  ~Owned() { [object_ release]; }

  [[nodiscard]] T get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nil; }
  void reset() { *this = Owned(); }

 private:
  T object_ = nil;
};

[[nodiscard]] inline std::string text_of(NSString* string) { return string == nil ? std::string() : std::string([string UTF8String]); }

}  // namespace wick::metal
