// NumPy's .npy files: one tensor a file.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace causeway {

// Reads a file into memory of `device`. An array in Fortran order comes as a transposed view.
// Throws io errors for a file that cannot be read, format errors for one that is damaged or
// unsupported.
Tensor load_npy(const std::filesystem::path& path, Device device = Device::cpu());

// Writes the bytes np.save would, in row-major order; a killed run leaves the old file or the new.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

// The same from and to memory.
Tensor read_npy(std::span<const std::byte> file, Device device = Device::cpu());
std::vector<std::byte> write_npy(const Tensor& tensor);

}  // namespace causeway
