// What the launcher of a run says in the environment: which rank this process is, of how many, and
// where they meet. Knows mpirun (Open MPI), torchrun and Slurm's srun.
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
  std::string address;   // of rank 0's machine; may be empty under mpirun
  int port = 0;          // where rank 0 listens, or the first of n_ports to try
  int n_ports = 1;       // torchrun keeps its own port to itself: the ranks take one after it
  std::string run_name;  // tells this run's ranks from those of another at the same place
};

// The value of a variable, or nothing where it is unset or empty.
using Variables = std::function<std::optional<std::string>(const char* name)>;

// Reads OMPI_COMM_WORLD_*; else RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; else
// SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID and SLURM_JOB_NODELIST, for srun's variables are there
// for whatever it starts, other launchers too. None of them: a launch of one. Throws distributed
// errors for variables that are half set, no numbers, or at odds with each other.
Launch read_launch();
Launch read_launch(const Variables& variables);

// The first machine of a list as Slurm writes it: "gpu[03-05,9],login" gives "gpu03".
std::string first_host(const std::string& nodelist);

}  // namespace causeway::dist
