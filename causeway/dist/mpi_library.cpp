#include "causeway/dist/mpi_library.h"

#include "causeway/dist/transport.h"

namespace causeway::dist {

namespace {

LibrarySearch search() {
#ifdef OPEN_MPI
  std::vector<std::string> files = {"libmpi.so.40", "libmpi.so"};
#else
  std::vector<std::string> files = {"libmpich.so.12", "libmpi.so.12", "libmpi.so"};
#endif
  return {.name = "MPI",
          .files = std::move(files),
          .wheels = {},
          .variable = "CAUSEWAY_MPI",
          .advice =
              "install it (Debian, Ubuntu: apt-get install openmpi-bin), or set MASTER_ADDR and "
              "MASTER_PORT (mpirun -x MASTER_ADDR=... -x MASTER_PORT=...) to connect the ranks "
              "by TCP",
          .kind = ErrorKind::distributed,
          .global = true};
}

}  // namespace

MpiLibrary::MpiLibrary() : library(search()) {
#ifdef OPEN_MPI  // predefined handles are addresses of variables; MPICH's are integers
  if (!library.has("ompi_mpi_comm_world")) {
    library.fail_version("not Open MPI", "Open MPI, which this build was compiled for,");
  }
  world = library.symbol<MPI_Comm>("ompi_mpi_comm_world");
  byte = library.symbol<MPI_Datatype>("ompi_mpi_byte");
  errors_return = library.symbol<MPI_Errhandler>("ompi_mpi_errors_return");
#else
  world = MPI_COMM_WORLD;
  byte = MPI_BYTE;
  errors_return = MPI_ERRORS_RETURN;
#endif
}

std::string MpiLibrary::version() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find(','));
}

const MpiLibrary& mpi() {
  static const auto* const library = new MpiLibrary;  // never destroyed: used until exit
  return *library;
}

LibraryStatus mpi_status() {
  try {
    return {mpi().version(), mpi().library.path(), ""};
  } catch (const Error& error) {
    return {"", "", error.message()};
  }
}

}  // namespace causeway::dist
