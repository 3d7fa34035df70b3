// First values of parameters, drawn in place from a generator.
#pragma once

#include "causeway/tensor/create.h"

namespace causeway::nn {

// The generator that layers draw from unless told otherwise; manual_seed of autograd/dropout.h does
// not move it, this does.
Generator& default_generator();

void fill_(const Tensor& x, double value);
void uniform_(const Tensor& x, double low, double high, Generator& generator);
void normal_(const Tensor& x, double mean, double deviation, Generator& generator);
// Normal numbers, those further than `cut` deviations from the mean drawn again.
void truncated_normal_(const Tensor& x, double deviation, double cut, Generator& generator);

// Of a weight (out, in, …): how many numbers go into one result, and how many results one goes to.
struct Fans {
  double in = 1;
  double out = 1;
};
Fans fans_of(const Tensor& weight);

// Keeps the spread of what flows through a layer (Glorot and Bengio 2010, He et al. 2015).
void xavier_uniform_(const Tensor& weight, double gain, Generator& generator);
void xavier_normal_(const Tensor& weight, double gain, Generator& generator);
void kaiming_uniform_(const Tensor& weight, double gain, Generator& generator);
void kaiming_normal_(const Tensor& weight, double gain, Generator& generator);

}  // namespace causeway::nn
