// What an optimizer asks of its parameters and options; each throws where that does not hold.
#pragma once

#include "causeway/optim/optimizer.h"

namespace causeway::optim {

void require_rate(double rate);
void require_norm(double norm);
void require_scale(double scale);
void require_options(const GroupOptions& options);
// A leaf of the device that `control` is on, unless it is the first of all.
void require_parameter(const Tensor& parameter, const Tensor& control, bool first);

}  // namespace causeway::optim
