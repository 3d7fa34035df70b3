// Functions of the MPI library, loaded at first use; for files that are built with MPI. The MPI
// header determines the ABI: Open MPI or MPICH.
#pragma once

#include "causeway/core/library.h"

// Excludes the C++ interface of older versions.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace causeway::dist {

struct MpiLibrary {
  SharedLibrary library;
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Initialized);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Init_thread);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Finalized);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Finalize);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Error_string);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Get_library_version);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Comm_dup);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Comm_free);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Comm_set_errhandler);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Comm_rank);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Comm_size);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Irecv);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Isend);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Testall);
  CAUSEWAY_LIBRARY_FUNCTION(library, MPI_Cancel);

  MPI_Comm world{};                // MPI_COMM_WORLD
  MPI_Datatype byte{};             // MPI_BYTE
  MPI_Errhandler errors_return{};  // MPI_ERRORS_RETURN

  MpiLibrary();
  std::string version() const;  // "Open MPI v4.1.4"
};

// Throws a distributed error if the library is not found.
const MpiLibrary& mpi();

}  // namespace causeway::dist
