#include "causeway/pairs/generate/names.h"

#include <algorithm>

namespace causeway::pairs {

namespace {

constexpr std::string_view kPhysicsArrays[] = {"position", "velocity", "force",    "mass",
                                               "charge",   "density",  "pressure", "momentum"};
constexpr std::string_view kPhysicsScalars[] = {"dt",        "gravity", "damping",
                                                "stiffness", "drag",    "mu"};
constexpr std::string_view kPhysicsLocals[] = {"speed", "accel", "impulse", "drift",
                                               "rest",  "delta", "step"};
constexpr std::string_view kPhysicsResults[] = {"energy", "next_state", "flux", "out", "work"};
constexpr std::string_view kPhysicsVerbs[] = {"integrate", "advance", "update", "relax", "step"};

constexpr std::string_view kSignalArrays[] = {"signal", "samples", "noise",     "carrier",
                                              "window", "phase",   "amplitude", "baseline"};
constexpr std::string_view kSignalScalars[] = {"gain",      "offset", "freq",
                                               "threshold", "decay",  "rate"};
constexpr std::string_view kSignalLocals[] = {"level", "mixed", "shifted", "envelope",
                                              "tone",  "peak",  "value"};
constexpr std::string_view kSignalResults[] = {"filtered", "output", "response", "spectrum",
                                               "result"};
constexpr std::string_view kSignalVerbs[] = {"filter", "modulate", "normalize", "shape", "process"};

constexpr std::string_view kImageArrays[] = {"image",   "pixels", "mask", "depth",
                                             "weights", "albedo", "luma", "coverage"};
constexpr std::string_view kImageScalars[] = {"exposure", "contrast", "gamma",
                                              "sigma",    "bias",     "alpha"};
constexpr std::string_view kImageLocals[] = {"color", "shade", "blend", "tone",
                                             "lum",   "edge",  "mixed"};
constexpr std::string_view kImageResults[] = {"blurred", "output", "composite", "shaded", "dst"};
constexpr std::string_view kImageVerbs[] = {"blend", "shade", "tonemap", "filter", "sharpen"};

constexpr std::string_view kLearningArrays[] = {"logits", "features", "inputs", "targets",
                                                "weight", "grad",     "hidden", "scores"};
constexpr std::string_view kLearningScalars[] = {"lr",     "beta",  "temperature",
                                                 "margin", "scale", "eps"};
constexpr std::string_view kLearningLocals[] = {"error", "logit", "prob",    "score",
                                                "gate",  "act",   "residual"};
constexpr std::string_view kLearningResults[] = {"loss", "output", "activations", "update_out",
                                                 "probs"};
constexpr std::string_view kLearningVerbs[] = {"activate", "score", "compute", "apply", "forward"};

constexpr std::string_view kFinanceArrays[] = {"price",    "volume", "strike", "returns",
                                               "holdings", "yields", "spread", "premium"};
constexpr std::string_view kFinanceScalars[] = {"rate", "fee",      "discount",
                                                "vol",  "leverage", "cap"};
constexpr std::string_view kFinanceLocals[] = {"payoff", "exposure", "net",  "adjusted",
                                               "cost",   "ratio",    "basis"};
constexpr std::string_view kFinanceResults[] = {"value_out", "risk", "pnl", "quote", "result"};
constexpr std::string_view kFinanceVerbs[] = {"price", "value", "adjust", "settle", "hedge"};

constexpr std::string_view kPlainArrays[] = {"a", "b", "c", "x", "y", "u", "v", "w"};
constexpr std::string_view kPlainScalars[] = {"alpha", "s", "k", "factor", "p", "q"};
constexpr std::string_view kPlainLocals[] = {"t", "tmp", "val", "r", "acc_val", "z", "d"};
constexpr std::string_view kPlainResults[] = {"out", "result", "dst", "res", "output"};
constexpr std::string_view kPlainVerbs[] = {"compute", "transform", "evaluate", "combine", "map"};

constexpr std::string_view kClimateArrays[] = {"temperature", "humidity", "wind",      "pressure",
                                               "rainfall",    "cloud",    "elevation", "salinity"};
constexpr std::string_view kClimateScalars[] = {"lapse",   "albedo", "mixing",
                                                "forcing", "tau",    "coeff"};
constexpr std::string_view kClimateLocals[] = {"anomaly", "gradient",  "mean_val", "index",
                                               "term",    "local_val", "diff"};
constexpr std::string_view kClimateResults[] = {"forecast", "tendency", "output", "field_out",
                                                "index_out"};
constexpr std::string_view kClimateVerbs[] = {"diffuse", "estimate", "correct", "advect",
                                              "project"};

constexpr Theme kThemes[] = {
    {"particle", kPhysicsArrays, kPhysicsScalars, kPhysicsLocals, kPhysicsResults, kPhysicsVerbs},
    {"sample", kSignalArrays, kSignalScalars, kSignalLocals, kSignalResults, kSignalVerbs},
    {"pixel", kImageArrays, kImageScalars, kImageLocals, kImageResults, kImageVerbs},
    {"unit", kLearningArrays, kLearningScalars, kLearningLocals, kLearningResults, kLearningVerbs},
    {"position", kFinanceArrays, kFinanceScalars, kFinanceLocals, kFinanceResults, kFinanceVerbs},
    {"element", kPlainArrays, kPlainScalars, kPlainLocals, kPlainResults, kPlainVerbs},
    {"cell", kClimateArrays, kClimateScalars, kClimateLocals, kClimateResults, kClimateVerbs},
};

}  // namespace

const Theme& pick_theme(Dice& dice) { return dice.pick(kThemes); }

std::string Names::take(std::span<const std::string_view> words) {
  const int start = dice_.below(static_cast<int>(words.size()));
  for (int number = 1;; ++number) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string name(words[(static_cast<std::size_t>(start) + i) % words.size()]);
      if (number > 1) name += std::to_string(number);
      if (std::ranges::find(taken_, name) != taken_.end()) continue;
      taken_.push_back(name);
      return name;
    }
  }
}

}  // namespace causeway::pairs
