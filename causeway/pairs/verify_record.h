// Verifies a record from its JSON alone: nothing is taken from the generator.
#pragma once

#include "causeway/jit/worker_processes.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::pairs {

struct RecordCheck {
  std::string id;       // empty where the record has none
  std::string problem;  // empty where the record is right
};

// Compiles the Python text again and compares every derived text, hash and result with the
// record's; checks the gradients. Never throws for a wrong record.
RecordCheck verify_record(std::string_view json);

// Further checks of many records at once.
struct RecordChecks {
  bool cpp = false;  // compile and run the C++
  bool gpu = false;  // run the CUDA text on the first GPU
  int threads = 1;
  jit::WorkerProcesses* workers = nullptr;  // that compile for the GPU; where null, the threads do
};

// One result per record. Throws where there is no compiler or no GPU.
std::vector<RecordCheck> verify_records(std::span<const std::string> records,
                                        const RecordChecks& checks);

struct OutputArray {
  std::string name;
  std::string scalar;               // "float32"
  std::vector<std::int64_t> shape;  // components of vectors and matrices come last
  std::vector<std::byte> bytes;
};

// Interprets the record's kernel on an input set and returns the written arrays. Throws
// invalid_argument for a wrong record.
std::vector<OutputArray> run_record(std::string_view json, int set);

}  // namespace causeway::pairs
