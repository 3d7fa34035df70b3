// A folder that gets its name in one step: filled aside, brought to the disk, renamed. A run killed
// at any moment leaves the old folder or the new one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace causeway {

// Makes the folder .partial-<name>-<process>-<n> beside `path`, to be filled, and renames it on
// commit(); destroyed without a commit, it removes it. A writer that was killed leaves its partial
// folder; the next writer beside it removes it, which it knows from one in use by the lock its
// writer holds.
class FolderWriter {
 public:
  // Every function throws io errors that begin with [operation]. The folder around `path` is made
  // where there is none.
  FolderWriter(std::string_view operation, const std::filesystem::path& path);
  ~FolderWriter();
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

  // Where the files go. They are to be brought to the disk by who writes them, as FileWriter does.
  const std::filesystem::path& partial() const { return partial_; }

  // Gives the folder its name. One that has it is exchanged for this one, then removed; where the
  // file system cannot exchange, it is removed first.
  void commit();

 private:
  void make_partial();

  std::string operation_;
  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty while there is nothing to remove
  int descriptor_ = -1;            // of the partial folder, which it locks
};

// Removes a folder with all in it; a kill on the way leaves what is left of it under a partial
// name. False where there was none.
bool remove_folder(std::string_view operation, const std::filesystem::path& path);

}  // namespace causeway
