#include "causeway/core/library.h"
#include "tests/data/scratch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace causeway {
namespace {

LibrarySearch search_for(std::vector<std::string> files) {
  return {.name = "Maths",
          .files = std::move(files),
          .wheels = {"maths/lib"},
          .variable = "CAUSEWAY_TEST_LIBRARY",
          .advice = "install the maths",
          .kind = ErrorKind::distributed};
}

std::string message_of(const LibrarySearch& search) {
  try {
    const SharedLibrary library(search);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), search.kind);
    return error.message();
  }
  return "";
}

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(SharedLibrary, FindsFunctions) {
  const SharedLibrary library(search_for({"libnot-there.so.7", "libm.so.6"}));
  using Function = double (*)(double);
  EXPECT_EQ(library.symbol<Function>("floor")(2.5), 2.0);
  EXPECT_TRUE(library.has("floor"));
  EXPECT_FALSE(library.has("no_such_function"));
  EXPECT_NE(library.path().find("libm"), std::string::npos);
}

TEST(SharedLibrary, MissingFunctionsNameTheFile) {
  const SharedLibrary library(search_for({"libm.so.6"}));
  try {
    library.symbol<void*>("no_such_function");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("no_such_function"), std::string::npos);
    EXPECT_NE(error.message().find(library.path()), std::string::npos);
  }
}

TEST(SharedLibrary, AMissingLibrarySaysWhatToInstall) {
  const std::string message = message_of(search_for({"libnot-there.so.7"}));
  EXPECT_NE(message.find("[Maths]"), std::string::npos) << message;
  EXPECT_NE(message.find("install the maths"), std::string::npos) << message;
  EXPECT_NE(message.find("libnot-there.so.7"), std::string::npos) << message;
  EXPECT_NE(message.find("CAUSEWAY_TEST_LIBRARY"), std::string::npos) << message;
}

TEST(SharedLibrary, AnOldLibraryNamesBothVersions) {
  const SharedLibrary library(search_for({"libm.so.6"}));
  try {
    library.fail_version("1.0", "2.0 or newer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("1.0"), std::string::npos);
    EXPECT_NE(error.message().find("2.0 or newer"), std::string::npos);
  }
}

TEST(SharedLibrary, TheEnvironmentVariableTakesPrecedence) {
  const SharedLibrary found(search_for({"libm.so.6"}));
  {
    const Variable variable("CAUSEWAY_TEST_LIBRARY", found.path());
    EXPECT_EQ(SharedLibrary(search_for({"libnot-there.so.7"})).path(), found.path());
  }
  const Variable variable("CAUSEWAY_TEST_LIBRARY", "/no/such/file.so");
  const std::string message = message_of(search_for({"libm.so.6"}));
  EXPECT_NE(message.find("/no/such/file.so"), std::string::npos) << message;
}

// A wheel's copy is preferred to the system's, but not to one that is already loaded.
TEST(SharedLibrary, WheelsComeAfterLoadedCopies) {
  namespace fs = std::filesystem;
  const data_test::Scratch folder;
  fs::create_directories(folder / "maths/lib");
  const std::string loaded = SharedLibrary(search_for({"libm.so.6"})).path();
  fs::copy_file(loaded, folder / "maths/lib/libm.so.6", fs::copy_options::overwrite_existing);
  fs::copy_file(loaded, folder / "maths/lib/libother-maths.so",
                fs::copy_options::overwrite_existing);
  const Variable variable("CAUSEWAY_WHEELS", "/no/such/folder:" + folder.folder().string());
  EXPECT_EQ(SharedLibrary(search_for({"libm.so.6"})).path(), loaded);
  EXPECT_EQ(SharedLibrary(search_for({"libother-maths.so"})).path(),
            (folder / "maths/lib/libother-maths.so").string());
}

}  // namespace
}  // namespace causeway
