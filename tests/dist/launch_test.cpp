// Reading the environment variables of mpirun, torchrun and Slurm.
#include "causeway/core/error.h"
#include "causeway/dist/launch.h"

#include <gtest/gtest.h>

#include <map>

namespace causeway::dist {
namespace {

using Environment = std::map<std::string, std::string>;

Launch read(const Environment& variables) {
  return read_launch([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

// The message of the distributed error thrown while reading.
std::string refusal(const Environment& variables) {
  try {
    read(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::distributed);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

#define EXPECT_CONTAINS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

const Environment kTorchrun = {{"RANK", "5"},
                               {"WORLD_SIZE", "8"},
                               {"LOCAL_RANK", "1"},
                               {"MASTER_ADDR", "node7"},
                               {"MASTER_PORT", "29500"}};
const Environment kMpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                             {"OMPI_COMM_WORLD_SIZE", "3"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};
const Environment kSlurm = {
    {"SLURM_PROCID", "6"},  {"SLURM_STEP_NUM_TASKS", "16"},          {"SLURM_NTASKS", "32"},
    {"SLURM_LOCALID", "2"}, {"SLURM_JOB_NODELIST", "gpu[07-10,12]"}, {"SLURM_JOB_ID", "123456789"}};

Environment with(Environment base, const Environment& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}
Environment without(Environment base, const char* name) {
  base.erase(name);
  return base;
}

TEST(Launch, NoVariablesGiveAGroupOfOne) {
  const Launch launch = read({});
  EXPECT_EQ(launch.launcher, Launcher::none);
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
}

TEST(Launch, AddressAloneGivesAGroupOfOne) {
  EXPECT_EQ(read({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "1"}}).size, 1);
}

TEST(Launch, Torchrun) {
  const Launch launch = read(kTorchrun);
  EXPECT_EQ(launch.launcher, Launcher::torchrun);
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.address, "node7");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_EQ(launch.n_ports, 1);
}

TEST(Launch, AvoidsTorchrunsOwnPort) {
  const Environment agent = {{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  const Launch launch = read(with(kTorchrun, agent));
  EXPECT_EQ(launch.port, 29501);
  EXPECT_GT(launch.n_ports, 1);
  const Launch last = read(with(with(kTorchrun, agent), {{"MASTER_PORT", "65535"}}));
  EXPECT_LT(last.port + last.n_ports - 1, 65535);
}

TEST(Launch, Mpirun) {
  const Launch launch = read(kMpirun);
  EXPECT_EQ(launch.launcher, Launcher::mpirun);
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 3);
  EXPECT_EQ(launch.local_rank, 0);
}

TEST(Launch, Slurm) {
  const Launch launch = read(kSlurm);
  EXPECT_EQ(launch.launcher, Launcher::slurm);
  EXPECT_EQ(launch.rank, 6);
  EXPECT_EQ(launch.size, 16);
  EXPECT_EQ(launch.local_rank, 2);
  EXPECT_EQ(launch.address, "gpu07");
  EXPECT_EQ(launch.port, 20000 + 6789);
  const Launch given = read(with(kSlurm, {{"MASTER_ADDR", "head"}, {"MASTER_PORT", "77"}}));
  EXPECT_EQ(given.address, "head");
  EXPECT_EQ(given.port, 77);
}

// The batch script of a job is no step: SLURM_NTASKS counts tasks that nobody starts.
TEST(Launch, SlurmWithoutAStepIsAGroupOfOne) {
  const Launch launch = read(without(kSlurm, "SLURM_STEP_NUM_TASKS"));
  EXPECT_EQ(launch.launcher, Launcher::none);
  EXPECT_EQ(launch.size, 1);
}

TEST(Launch, MpichAndIntelMpi) {
  const Environment hydra = {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}};
  for (const Environment& around : {Environment(), kSlurm}) {  // mpirun may use srun
    const Launch launch = read(with(around, hydra));
    EXPECT_EQ(launch.launcher, Launcher::mpirun);
    EXPECT_EQ(launch.rank, 2);
    EXPECT_EQ(launch.size, 4);
    EXPECT_EQ(launch.local_rank, 1);
  }
  const Environment by_srun = without(hydra, "MPI_LOCALRANKID");
  EXPECT_EQ(read(with(kSlurm, by_srun)).launcher, Launcher::slurm);
  EXPECT_CONTAINS(refusal(by_srun), "PMI_SIZE is set, but MPI_LOCALRANKID is not");
  EXPECT_EQ(read({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).size, 1);
}

// Two jobs on neighbouring ports try the same ones.
TEST(Launch, RunsOnOtherPortsHaveOtherNames) {
  const Environment elastic =
      with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "none"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  const std::string name = read(elastic).run_name;
  EXPECT_NE(read(with(elastic, {{"MASTER_PORT", "29501"}})).run_name, name);
  EXPECT_NE(read(with(elastic, {{"MASTER_ADDR", "node8"}})).run_name, name);
  EXPECT_EQ(read(with(elastic, {{"TORCHELASTIC_RESTART_COUNT", "1"}})).run_name, name);
}

TEST(Launch, Token) {
  EXPECT_EQ(read(kTorchrun).token, "");
  EXPECT_EQ(read(with(kTorchrun, {{"CAUSEWAY_DIST_TOKEN", "secret"}})).token, "secret");
}

TEST(Launch, OtherLaunchersOverrideSlurm) {
  EXPECT_EQ(read(with(kSlurm, kTorchrun)).launcher, Launcher::torchrun);
  EXPECT_EQ(read(with(kSlurm, kMpirun)).launcher, Launcher::mpirun);
}

TEST(Launch, FirstHost) {
  EXPECT_EQ(first_host("alone"), "alone");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("gpu[03-05,9],login"), "gpu03");
  EXPECT_EQ(first_host("gpu[7]"), "gpu7");
  EXPECT_EQ(first_host("gpu[1,2].cluster.net,x[1-2]"), "gpu1.cluster.net");
  EXPECT_EQ(first_host("rack[2-3]node[05-06],other"), "rack2node05");
  EXPECT_THROW(first_host("gpu["), Error);
  EXPECT_THROW(first_host("gpu[]"), Error);
}

TEST(Launch, IncompleteVariables) {
  EXPECT_CONTAINS(refusal({{"RANK", "0"}}), "RANK set, but WORLD_SIZE, LOCAL_RANK not");
  EXPECT_CONTAINS(refusal(without(kMpirun, "OMPI_COMM_WORLD_LOCAL_RANK")),
                  "OMPI_COMM_WORLD_LOCAL_RANK not");
  EXPECT_CONTAINS(refusal(without(kTorchrun, "MASTER_PORT")), "MASTER_ADDR is set but MASTER_PORT");
  EXPECT_CONTAINS(refusal(without(without(kTorchrun, "MASTER_PORT"), "MASTER_ADDR")),
                  "MASTER_ADDR and MASTER_PORT are not");
  EXPECT_CONTAINS(refusal(without(kSlurm, "SLURM_JOB_NODELIST")), "SLURM_JOB_NODELIST is not");
}

TEST(Launch, InvalidNumbers) {
  EXPECT_CONTAINS(refusal(with(kTorchrun, {{"RANK", "8"}})),
                  "RANK is \"8\"; expected a number from 0 to 7");
  EXPECT_CONTAINS(refusal(with(kTorchrun, {{"RANK", "-1"}})), "RANK is \"-1\"");
  EXPECT_CONTAINS(refusal(with(kTorchrun, {{"WORLD_SIZE", "8x"}})), "WORLD_SIZE is \"8x\"");
  EXPECT_CONTAINS(refusal(with(kTorchrun, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE is \"0\"");
  EXPECT_CONTAINS(refusal(with(kTorchrun, {{"MASTER_PORT", "70000"}})), "MASTER_PORT is \"70000\"");
}

TEST(Launch, ContradictoryLaunchers) {
  EXPECT_CONTAINS(refusal(with(kTorchrun, kMpirun)),
                  "give rank 2 of 3, but RANK and WORLD_SIZE rank 5 of 8");
  const Launch agreed = read(with(with(kTorchrun, kMpirun), {{"RANK", "2"}, {"WORLD_SIZE", "3"}}));
  EXPECT_EQ(agreed.launcher, Launcher::mpirun);
}

}  // namespace
}  // namespace causeway::dist
