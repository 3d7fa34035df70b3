// NumPy .npy files: one tensor per file.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace causeway {

// Reads a file into memory of `device`. Fortran-order arrays become transposed views. Throws io
// errors for unreadable files, format errors for damaged or unsupported ones.
Tensor load_npy(const std::filesystem::path& path, Device device = Device::cpu());

// Writes the same bytes as np.save, in row-major order, atomically: a killed process leaves either
// the old or the new file.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

// From and to memory.
Tensor read_npy(std::span<const std::byte> file, Device device = Device::cpu());
std::vector<std::byte> write_npy(const Tensor& tensor);

}  // namespace causeway
