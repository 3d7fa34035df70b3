// The functions of NCCL, opened at first use; for the files that are built with it. A copy that
// PyTorch loaded is used where there is one.
#pragma once

#include "causeway/core/library.h"

#include <nccl.h>

#include <string>

namespace causeway::dist {

struct NcclLibrary {
  SharedLibrary library;
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclGetVersion);
  std::string version = checked_version();  // before the functions that an old one has not
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclGetUniqueId);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclGetErrorString);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclGetLastError);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclCommInitRankConfig);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclCommGetAsyncError);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclCommFinalize);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclCommDestroy);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclCommAbort);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclAllReduce);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclBroadcast);

  NcclLibrary();

 private:
  std::string checked_version() const;
};

// Throws a distributed error where the library is not found or older than 2.14, the first with
// communicators that do not block.
const NcclLibrary& nccl();

}  // namespace causeway::dist
