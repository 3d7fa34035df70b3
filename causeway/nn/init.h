// Parameter initialisation, in place, from a generator.
#pragma once

#include "causeway/tensor/create.h"

namespace causeway::nn {

// The generator that layers use by default. manual_seed of autograd/dropout.h does not seed it.
Generator& default_generator();

void fill_(const Tensor& x, double value);
void uniform_(const Tensor& x, double low, double high, Generator& generator);
void normal_(const Tensor& x, double mean, double deviation, Generator& generator);
// Normal values; those more than `cut` standard deviations from the mean are redrawn.
void truncated_normal_(const Tensor& x, double deviation, double cut, Generator& generator);

// fan_in and fan_out of a weight (out, in, ...).
struct Fans {
  double in = 1;
  double out = 1;
};
Fans fans_of(const Tensor& weight);

// Xavier (Glorot and Bengio 2010) and Kaiming (He et al. 2015) initialisation.
void xavier_uniform_(const Tensor& weight, double gain, Generator& generator);
void xavier_normal_(const Tensor& weight, double gain, Generator& generator);
void kaiming_uniform_(const Tensor& weight, double gain, Generator& generator);
void kaiming_normal_(const Tensor& weight, double gain, Generator& generator);

}  // namespace causeway::nn
