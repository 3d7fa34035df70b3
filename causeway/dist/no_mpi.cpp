// Replaces mpi.cpp in builds without MPI.
#include "causeway/core/error.h"
#include "causeway/dist/transport.h"

namespace causeway::dist {

std::unique_ptr<Transport> connect_mpi(const Launch&, const Timeouts&) {
  fail(ErrorKind::distributed, "group",
       "this build has no MPI support; set MASTER_ADDR and MASTER_PORT (mpirun -x MASTER_ADDR=… -x "
       "MASTER_PORT=…) to connect the ranks by TCP, or build with Open MPI");
}

LibraryStatus mpi_status() { return {"", "", "this build has no MPI support"}; }

}  // namespace causeway::dist
