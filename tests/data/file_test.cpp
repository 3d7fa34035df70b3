// Atomic file replacement: full disks, size limits, killed writers, unusual targets.
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "tests/data/scratch.h"

#include <chrono>
#include <thread>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace causeway::data_test {
namespace {

void write_all(const std::filesystem::path& path, std::string_view text) {
  FileWriter writer("save", path);
  writer.write(text);
  writer.commit();
}

// Runs `body` in a child process; returns its exit code, or -1 if a signal ended it.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Limits the size of files to `bytes` within its scope.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);  // the default ends the process
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit before_;
  void (*old_handler_)(int);
};

TEST(FileWriter, WritesPiecesOfAllSizesInOrder) {
  const Scratch scratch;
  std::string expected;
  FileWriter writer("save", scratch / "x");
  for (const std::size_t size : {0, 1, 31, 100'000, 262'143, 262'144, 262'145, 3, 1'000'000, 0}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    writer.write(piece);
    expected += piece;
  }
  writer.commit();
  EXPECT_EQ(contents(scratch / "x"), expected);
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(FileWriter, WritesAnEmptyFile) {
  const Scratch scratch;
  write_file_atomically("save", scratch / "x", {});
  EXPECT_TRUE(std::filesystem::exists(scratch / "x"));
  EXPECT_EQ(contents(scratch / "x"), "");
}

TEST(FileWriter, KeepsTheOldFileWithoutCommit) {
  const Scratch scratch;
  put(scratch / "x", "old");
  {
    FileWriter writer("save", scratch / "x");
    writer.write(std::string(1'000'000, 'n'));
    EXPECT_EQ(contents(scratch / "x"), "old");
    EXPECT_EQ(scratch.n_files(), 2u);  // plus the temporary file
  }
  EXPECT_EQ(contents(scratch / "x"), "old");
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(FileWriter, KeepsTheOldFileIfTheNewIsTooLarge) {
  const Scratch scratch;
  put(scratch / "x", "old");
  for (const std::size_t size : {5'000, 1'000'000}) {  // fails in commit, and in write
    std::string message;
    {
      const SizeLimit limit(4096);
      message = failure([&] { write_all(scratch / "x", std::string(size, 'n')); });
    }
    EXPECT_TRUE(says(message, "io: [save] cannot write \"" + (scratch / "x").string(),
                     "File too large; raise the limit"));
    EXPECT_EQ(contents(scratch / "x"), "old");
    EXPECT_EQ(scratch.n_files(), 1u);
  }
}

TEST(FileWriter, CommitFailsAfterAFailedWrite) {
  const Scratch scratch;
  put(scratch / "x", "old");
  FileWriter writer("save", scratch / "x");
  {
    const SizeLimit limit(4096);
    EXPECT_TRUE(says(failure([&] { writer.write(std::string(1'000'000, 'n')); }), "io:"));
  }
  EXPECT_EQ(scratch.n_files(), 1u);
  EXPECT_TRUE(says(failure([&] { writer.commit(); }), "io: [save] cannot write"));
  EXPECT_EQ(contents(scratch / "x"), "old");
}

TEST(FileWriter, ReportsAFullDisk) {
  EXPECT_TRUE(says(failure([] { write_all("/dev/full", "text"); }),
                   "io: [save] cannot write \"/dev/full\": No space left on device; free"));
  EXPECT_TRUE(says(failure([] { write_all("/dev/full", std::string(1'000'000, 'n')); }),
                   "io: [save] cannot write \"/dev/full\": No space left on device; free"));
}

TEST(FileWriter, WritesToPipes) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = contents(scratch / "pipe"); });
  write_all(scratch / "pipe", "text");
  reader.join();
  EXPECT_EQ(received, "text");
  EXPECT_TRUE(std::filesystem::is_fifo(scratch / "pipe"));
}

TEST(FileWriter, FollowsSymbolicLinks) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "far");
  put(scratch / "far/x", "old");
  std::filesystem::create_symlink("far/x", scratch / "link");
  write_all(scratch / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_EQ(contents(scratch / "far/x"), "new");
}

TEST(FileWriter, KeepsPermissions) {
  const Scratch scratch;
  put(scratch / "x", "old");
  ASSERT_EQ(::chmod((scratch / "x").c_str(), 0640), 0);
  write_all(scratch / "x", "new");
  struct stat status;
  ASSERT_EQ(::stat((scratch / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);

  const mode_t mask = ::umask(027);
  write_all(scratch / "fresh", "new");
  ::umask(mask);
  ASSERT_EQ(::stat((scratch / "fresh").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(FileWriter, ReportsInvalidPaths) {
  const Scratch scratch;
  put(scratch / "file", "old");
  const auto message = [&](const std::filesystem::path& path) {
    return failure([&] { write_all(path, "new"); });
  };
  EXPECT_TRUE(says(message(scratch / "none/x"), "io: [save] cannot write",
                   "No such file or directory; check that the path"));
  EXPECT_TRUE(says(message(scratch / "file/x"), "io:", "Not a directory; check"));
  EXPECT_TRUE(says(message(scratch.folder()), "io:", "Is a directory; pass a file"));
  EXPECT_TRUE(says(message(scratch / "none/"), "io:", "Is a directory; pass a file"));
  EXPECT_TRUE(says(message(""), "io: [save] cannot write \"\": No such file"));
  EXPECT_TRUE(says(message(scratch / std::string(256, 'n')), "io:", "File name too long"));
  EXPECT_TRUE(says(message(scratch / std::string("x\0y", 3)), "io:", "Invalid argument"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "x"));
  EXPECT_EQ(message(scratch / std::string(255, 'n')), "");  // the maximum length
}

TEST(FileWriter, CleansUpAfterAFailedRename) {
  const Scratch scratch;
  {
    FileWriter writer("save", scratch / "x");
    writer.write("new");
    std::filesystem::create_directory(scratch / "x");
    EXPECT_TRUE(says(failure([&] { writer.commit(); }), "io:", "Is a directory"));
  }
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(FileWriter, KeepsWriteProtectedFiles) {
  const Scratch scratch;
  put(scratch / "x", "old");
  ASSERT_EQ(::chmod((scratch / "x").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(scratch.folder().c_str(), 0777), 0);
  const int code = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;  // root may write everywhere
    return says(failure([&] { write_all(scratch / "x", "new"); }),
                "io:", "Permission denied; check the permissions")
               ? 0
               : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(contents(scratch / "x"), "old");
}

TEST(FileWriter, KilledWriterLeavesACompleteFile) {
  const Scratch scratch;
  const std::string one(2'000'000, '1');
  const std::string two(3'000'000, '2');
  put(scratch / "x", one);
  for (int round = 0; round < 25; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      while (true) {
        write_all(scratch / "x", two);
        write_all(scratch / "x", one);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(700 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string found = contents(scratch / "x");
    ASSERT_TRUE(found == one || found == two) << found.size() << " bytes in round " << round;
  }
  write_all(scratch / "x", one);
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(FileWriter, RemovesTemporaryFilesOfKilledWriters) {
  const Scratch scratch;
  for (const char* name : {"x", "y"}) {
    ASSERT_EQ(in_child([&] {
                auto* writer = new FileWriter("save", scratch / name);
                writer->write(std::string(1'000'000, 'n'));
                return 0;  // skips its destructor, as if it were killed
              }),
              0);
  }
  ASSERT_EQ(scratch.n_files(), 2u);
  const auto odd = {".x.1-a.partial", ".x.12.partial", ".x.1-2.partial.txt", ".xx.1-2.partial"};
  for (const char* name : odd) put(scratch / name, "not ours");
  write_all(scratch / "x", "new");
  EXPECT_EQ(contents(scratch / "x"), "new");
  EXPECT_EQ(scratch.n_files(), 2 + odd.size());  // x, the temporary file of y, and these
  for (const char* name : odd) EXPECT_EQ(contents(scratch / name), "not ours") << name;
  write_all(scratch / "y", "new");
  EXPECT_EQ(scratch.n_files(), 2 + odd.size());
}

TEST(FileWriter, KeepsTemporaryFilesOfLiveWriters) {
  const Scratch scratch;
  const std::string slow(1'000'000, 's');
  {
    FileWriter writer("save", scratch / "x");
    writer.write(slow);
    write_all(scratch / "x", "quick");
    EXPECT_EQ(in_child([&] {
                write_all(scratch / "x", "quick, elsewhere");
                return 0;
              }),
              0);
    EXPECT_EQ(contents(scratch / "x"), "quick, elsewhere");
    writer.write(slow);
    writer.commit();
  }
  EXPECT_EQ(contents(scratch / "x"), slow + slow);
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(FileWriter, ConcurrentProcessesKeepTheirTemporaryFiles) {
  const Scratch scratch;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    int failures = 0;
    for (int round = 0; round < 50; ++round) {
      failures += failure([&] { write_all(scratch / "x", "text"); }).empty() ? 0 : 1;
    }
    ::_exit(failures);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(contents(scratch / "x"), "text");
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(FileWriter, ConcurrentWritersLeaveOneCompleteFile) {
  const Scratch scratch;
  std::vector<std::thread> writers;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    writers.emplace_back([&scratch, letter] {
      for (int i = 0; i < 5; ++i) write_all(scratch / "x", std::string(300'000, letter));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string found = contents(scratch / "x");
  EXPECT_EQ(found, std::string(300'000, found.at(0)));
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(MappedFile, MapsTheBytes) {
  const Scratch scratch;
  for (const std::size_t size : {0, 1, 4095, 4096, 4097}) {
    const std::string text(size, 'x');
    put(scratch / "x", text);
    const MappedFile file("load", scratch / "x");
    ASSERT_EQ(file.bytes().size(), size);
    EXPECT_TRUE(std::equal(file.bytes().begin(), file.bytes().end(), bytes(text).begin()));
  }
}

TEST(MappedFile, SurvivesAReplacement) {
  const Scratch scratch;
  put(scratch / "x", std::string(10'000, 'o'));
  const MappedFile file("load", scratch / "x");
  write_all(scratch / "x", "new");
  EXPECT_EQ(file.bytes()[9'999], std::byte{'o'});
}

TEST(MappedFile, ReportsReadErrors) {
  const Scratch scratch;
  const auto message = [&](const std::filesystem::path& path) {
    return failure([&] { MappedFile("load", path); });
  };
  EXPECT_TRUE(says(message(scratch / "none"), "io: [load] cannot read \"",
                   "none\": No such file or directory; check that the path"));
  EXPECT_TRUE(says(message(scratch.folder()), "io:", "Is a directory; pass a file"));
  EXPECT_TRUE(says(message(std::string("/dev/null\0", 10)), "io:", "Invalid argument"));
  EXPECT_TRUE(says(message("/dev/zero"), "io:", "it is a pipe or a device"));
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  // Must not block.
  EXPECT_TRUE(says(message(scratch / "pipe"), "io:", "it is a pipe or a device"));
}

TEST(MappedFile, ATruncatedFileReadsAsZerosAndIsReported) {
  const Scratch scratch;
  put(scratch / "x", std::string(100'000, 'x'));
  const MappedFile file("read", scratch / "x");
  const MappedFile other("read", scratch / "x");
  std::filesystem::resize_file(scratch / "x", 10);
  file.require_whole();  // nothing was missed so far
  EXPECT_EQ(file.bytes()[99'999], std::byte{0});
  EXPECT_TRUE(says(failure([&] { file.require_whole(); }), "io: [read] ", "was truncated while"));
  EXPECT_TRUE(says(failure([&] { file.read_whole([] { return 1; }); }), "io: "));
  other.require_whole();
}

TEST(FileWriter, PartialFilesCanBeRemovedBySignalHandlers) {
  const Scratch scratch;
  FileWriter writer("save", scratch / "a");
  {
    FileWriter done("save", scratch / "b");
    done.commit();
  }
  EXPECT_EQ(scratch.n_files(), 2u);
  remove_partial_files();
  EXPECT_EQ(scratch.n_files(), 1u);  // b
}

}  // namespace
}  // namespace causeway::data_test
