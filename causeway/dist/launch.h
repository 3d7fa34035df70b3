// Reads the launcher's environment variables: rank, world size, and where to connect. Supports
// mpirun (Open MPI, MPICH, Intel MPI), torchrun and Slurm's srun.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace causeway::dist {

enum class Launcher : std::uint8_t { none, mpirun, torchrun, slurm };

struct Launch {
  Launcher launcher = Launcher::none;
  int rank = 0;
  int size = 1;
  int local_rank = 0;    // among the ranks of this machine
  std::string address;   // host of rank 0; may be empty under mpirun
  int port = 0;          // port of rank 0, or the first of n_ports to try
  int n_ports = 1;       // torchrun listens on its own port: the ranks use one after it
  std::string run_name;  // distinguishes runs whose ranks could reach each other
  std::string token;     // shared by the ranks of a run; others are not let in
};

// The value of a variable; nullopt if unset or empty.
using Variables = std::function<std::optional<std::string>(const char* name)>;

// Reads OMPI_COMM_WORLD_*; otherwise RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT;
// otherwise PMI_RANK, PMI_SIZE and MPI_LOCALRANKID of MPICH and Intel MPI; otherwise SLURM_PROCID,
// SLURM_STEP_NUM_TASKS, SLURM_LOCALID and the node list of a step of srun, which also starts other
// launchers. If none is set, a group of one: so is a process of a Slurm job outside of srun. Throws
// distributed errors for incomplete, non-numeric or contradictory variables. CAUSEWAY_DIST_TOKEN is
// the token.
Launch read_launch();
Launch read_launch(const Variables& variables);

// The first host of a Slurm node list: "gpu[03-05,9],login" gives "gpu03".
std::string first_host(const std::string& nodelist);

}  // namespace causeway::dist
