#include "causeway/dist/launch.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace causeway::dist {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::distributed, "launch", message);
}

// The environment variables of one launcher.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
};
constexpr Names kMpirun = {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr Names kTorchrun = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Names kHydra = {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"};
constexpr Names kSlurm = {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"};

int read_number(const char* name, const std::string& text, int low, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    refuse(fmt::format("{} is {}; expected a number from {} to {}", name, shown(text), low, high));
  }
  return value;
}

// Rank, size and local rank; nullopt if none is set.
std::optional<Launch> read_ranks(const Variables& variables, const Names& names) {
  const char* const all[] = {names.rank, names.size, names.local_rank};
  std::string set;
  std::string missing;
  for (const char* name : all) {
    std::string& list = variables(name).has_value() ? set : missing;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  if (set.empty()) return std::nullopt;
  if (!missing.empty()) {
    refuse(fmt::format(
        "{} set, but {} not; {} sets all of them: set the others too, or unset them all", set,
        missing, names.launcher));
  }
  constexpr int kMost = 1 << 20;
  Launch launch;
  launch.size = read_number(names.size, *variables(names.size), 1, kMost);
  launch.rank = read_number(names.rank, *variables(names.rank), 0, launch.size - 1);
  launch.local_rank =
      read_number(names.local_rank, *variables(names.local_rank), 0, launch.size - 1);
  return launch;
}

void require_equal(const Launch& mpirun, const Launch& torchrun) {
  if (mpirun.rank == torchrun.rank && mpirun.size == torchrun.size) return;
  refuse(fmt::format(
      "OMPI_COMM_WORLD_RANK and _SIZE give rank {} of {}, but RANK and WORLD_SIZE rank {} of {}; "
      "unset those of the launcher that did not start this process",
      mpirun.rank, mpirun.size, torchrun.rank, torchrun.size));
}

// MASTER_ADDR and MASTER_PORT: both or neither.
bool read_master_address(const Variables& variables, Launch& launch) {
  const auto address = variables("MASTER_ADDR");
  const auto port = variables("MASTER_PORT");
  if (!address.has_value() && !port.has_value()) return false;
  if (!address.has_value() || !port.has_value()) {
    refuse(fmt::format("{} is set but {} is not; the ranks need both to find rank 0",
                       address.has_value() ? "MASTER_ADDR" : "MASTER_PORT",
                       address.has_value() ? "MASTER_PORT" : "MASTER_ADDR"));
  }
  launch.address = *address;
  launch.port = read_number("MASTER_PORT", *port, 1, 65535);
  return true;
}

Launch finish_torchrun(const Variables& variables, Launch launch) {
  launch.launcher = Launcher::torchrun;
  if (launch.size == 1) return launch;
  if (!read_master_address(variables, launch)) {
    refuse(
        "RANK and WORLD_SIZE are set but MASTER_ADDR and MASTER_PORT are not; torchrun sets them "
        "all: MASTER_ADDR is the machine of rank 0, MASTER_PORT any free port there");
  }
  // Ports of neighbouring runs overlap. Restart counts differ between the agents of a run.
  launch.run_name = fmt::format("{} {}:{}", variables("TORCHELASTIC_RUN_ID").value_or(""),
                                launch.address, launch.port);
  // torchrun itself listens on that port.
  if (variables("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") {
    constexpr int kTried = 16;
    launch.port = launch.port + kTried > 65535 ? launch.port - kTried : launch.port + 1;
    launch.n_ports = kTried;
  }
  return launch;
}

Launch finish_slurm(const Variables& variables, Launch launch) {
  launch.launcher = Launcher::slurm;
  launch.run_name =
      variables("SLURM_JOB_ID").value_or("") + "." + variables("SLURM_STEP_ID").value_or("");
  if (launch.size == 1 || read_master_address(variables, launch)) return launch;
  auto nodes = variables("SLURM_STEP_NODELIST");
  if (!nodes.has_value()) nodes = variables("SLURM_JOB_NODELIST");
  if (!nodes.has_value()) nodes = variables("SLURM_NODELIST");
  if (!nodes.has_value()) {
    refuse(
        "SLURM_PROCID is set but SLURM_JOB_NODELIST is not; start the ranks with srun, or set "
        "MASTER_ADDR and MASTER_PORT");
  }
  launch.address = first_host(*nodes);
  // Jobs on the same machine use different ports.
  constexpr int kFirstPort = 20000;
  constexpr unsigned long kPorts = 10000;
  const unsigned long job = std::strtoul(launch.run_name.c_str(), nullptr, 10);
  launch.port = kFirstPort + static_cast<int>(job % kPorts);
  return launch;
}

}  // namespace

std::string first_host(const std::string& nodelist) {
  const std::size_t bracket = nodelist.find_first_of("[,");
  if (bracket == std::string::npos || nodelist[bracket] == ',') return nodelist.substr(0, bracket);
  const std::size_t close = nodelist.find(']', bracket);
  const std::size_t stop = nodelist.find_first_of("-,]", bracket);
  if (close == std::string::npos || stop == bracket + 1) {
    refuse(fmt::format("{} is not a valid Slurm node list", shown(nodelist)));
  }
  const std::size_t comma = nodelist.find_first_of("[,", close);
  if (comma != std::string::npos && nodelist[comma] == '[') {  // "rack[1-2]node[1-4]"
    return nodelist.substr(0, bracket) + nodelist.substr(bracket + 1, stop - bracket - 1) +
           first_host(nodelist.substr(close + 1));
  }
  const std::size_t end = comma == std::string::npos ? nodelist.size() : comma;
  return nodelist.substr(0, bracket) + nodelist.substr(bracket + 1, stop - bracket - 1) +
         nodelist.substr(close + 1, end - close - 1);
}

namespace {

Launch read_ranks_of_any(const Variables& variables) {
  const auto torchrun = read_ranks(variables, kTorchrun);
  if (auto mpirun = read_ranks(variables, kMpirun)) {
    if (torchrun.has_value()) require_equal(*mpirun, *torchrun);
    mpirun->launcher = Launcher::mpirun;
    read_master_address(variables, *mpirun);
    return *mpirun;
  }
  if (torchrun.has_value()) return finish_torchrun(variables, *torchrun);
  // srun sets PMI_RANK too, but only mpirun the local rank; mpirun may start its daemons by srun.
  if (variables(kHydra.local_rank).has_value()) {
    Launch hydra = *read_ranks(variables, kHydra);
    hydra.launcher = Launcher::mpirun;
    read_master_address(variables, hydra);
    return hydra;
  }
  if (variables(kSlurm.size).has_value()) {
    return finish_slurm(variables, *read_ranks(variables, kSlurm));
  }
  if (variables(kHydra.size).value_or("1") != "1" && !variables(kSlurm.rank).has_value()) {
    refuse(
        fmt::format("PMI_SIZE is set, but {} is not: this launcher is not supported; start the "
                    "ranks with mpirun of Open MPI, MPICH or Intel MPI, with torchrun or srun",
                    kHydra.local_rank));
  }
  return {};
}

}  // namespace

Launch read_launch(const Variables& variables) {
  Launch launch = read_ranks_of_any(variables);
  launch.token = variables("CAUSEWAY_DIST_TOKEN").value_or("");
  return launch;
}

Launch read_launch() { return read_launch(environment); }

}  // namespace causeway::dist
