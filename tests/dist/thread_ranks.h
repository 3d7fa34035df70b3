// Ranks that are threads of this process, connected by TCP.
#pragma once

#include "causeway/core/error.h"
#include "causeway/dist/group.h"
#include "causeway/dist/socket.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#define EXPECT_CONTAINS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

namespace causeway::dist {

// Long enough for a busy machine.
inline constexpr Timeouts kPatient = {std::chrono::seconds(60), std::chrono::seconds(60)};

inline int free_port() { return Socket::listen(0).port(); }

inline void expect_no_errors(const std::vector<std::string>& messages) {
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

inline Launch thread_launch(int rank, int size, int port) {
  Launch launch;
  launch.launcher = Launcher::torchrun;
  launch.rank = rank;
  launch.size = size;
  launch.local_rank = rank;
  launch.address = "127.0.0.1";
  launch.port = port;
  return launch;
}

// Runs `body` as every rank; returns each rank's error message, or "".
inline std::vector<std::string> errors_of_ranks(int size, const std::function<void(Group&)>& body,
                                                const Timeouts& timeouts = kPatient) {
  const int port = free_port();
  std::vector<std::string> messages(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Group group(thread_launch(rank, size, port), timeouts);
        body(group);
      } catch (const Error& error) {
        messages[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

// Every rank must succeed.
inline void run_ranks(int size, const std::function<void(Group&)>& body) {
  const std::vector<std::string> messages = errors_of_ranks(size, body);
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    EXPECT_EQ(messages[rank], "") << "rank " << rank;
  }
}

}  // namespace causeway::dist
