// Checks of an optimizer's parameters and options; each throws on failure.
#pragma once

#include "causeway/optim/optimizer.h"

namespace causeway::optim {

void require_rate(double rate);
void require_norm(double norm);
void require_scale(double scale);
void require_options(const GroupOptions& options);
// A leaf on the device of `control`; `first`: there is no device yet.
void require_parameter(const Tensor& parameter, const Tensor& control, bool first);

}  // namespace causeway::optim
