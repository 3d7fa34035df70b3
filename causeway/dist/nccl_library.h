// Functions of NCCL, loaded at first use; for files that are built with NCCL. Uses the copy that
// PyTorch loaded, if any.
#pragma once

#include "causeway/core/library.h"

#include <nccl.h>

#include <string>

namespace causeway::dist {

struct NcclLibrary {
  SharedLibrary library;
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclGetVersion);
  std::string version = checked_version();  // checked first: older versions lack some functions
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
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclReduceScatter);
  CAUSEWAY_LIBRARY_FUNCTION(library, ncclAllGather);

  NcclLibrary();

 private:
  std::string checked_version() const;
};

// Throws a distributed error if the library is not found or older than 2.14, the first version with
// non-blocking communicators.
const NcclLibrary& nccl();

}  // namespace causeway::dist
