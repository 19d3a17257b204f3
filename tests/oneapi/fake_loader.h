// What tests may ask of the fake loader, by names in its library: which calls fail, and which calls there were.
#pragma once

extern "C" {
// The call of that name ("zeMemAllocDevice") gives this status from now on; 0: it works again. "*": every one that has to do with work.
using FakeFail = void(const char* call, int status);
// How often it was called.
using FakeCount = unsigned(const char* call);
}
