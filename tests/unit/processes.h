// Work that several processes do at the same time.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <vector>

namespace wick {

// Calls work(0), work(1), … each in a process of its own; in each it must return true. An exception is status 2.
inline void run_in_processes(int count, const std::function<bool(int part)>& work) {
  std::vector<pid_t> children;
  for (int part = 0; part < count; ++part) {
    children.push_back(::fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() == 0) {
      try {
        ::_exit(work(part) ? 0 : 1);
      } catch (const std::exception&) {
        ::_exit(2);
      }
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace wick
