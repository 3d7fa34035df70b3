// A folder that is written atomically: filled under a temporary name, flushed to disk, renamed. A
// process killed at any moment leaves the old folder or the new one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace causeway {

// Creates the folder .partial-<name>-<process>-<n> next to `path` and renames it on commit(). If
// destroyed without commit(), it removes the folder. A killed writer leaves its partial folder; the
// next writer in the same place removes it, because it is no longer locked.
class FolderWriter {
 public:
  // Every function throws io errors that begin with [operation]. The parent folder of `path` is
  // created if needed.
  FolderWriter(std::string_view operation, const std::filesystem::path& path);
  ~FolderWriter();
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

  // The folder to write files to. The caller flushes them to disk, as FileWriter does.
  const std::filesystem::path& partial() const { return partial_; }

  // Renames the folder. An existing folder of that name is exchanged for this one and removed; on
  // file systems that cannot exchange, it is removed first.
  void commit();

 private:
  void make_partial();

  std::string operation_;
  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty if there is nothing to remove
  int descriptor_ = -1;            // of the partial folder, holds the lock
};

// Removes a folder and its contents. If the process is killed on the way, the rest is left under a
// partial name. Returns false if the folder does not exist.
bool remove_folder(std::string_view operation, const std::filesystem::path& path);

}  // namespace causeway
