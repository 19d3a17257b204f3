// The outside project's own header: Wick's of the same name must not hide it, nor this one Wick's.
#pragma once

struct OwnError {
  int code = 3;
};
