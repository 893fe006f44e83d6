// The sampler's settings: from the options, and from the model file where an option was not given.
#pragma once

#include "base/status.h"
#include "gguf/file.h"
#include "parse.h"
#include "sampling/sampler.h"

namespace minfer::app {

/// The settings that the options give; a seed of -1 is drawn here. kInvalidArgument: a --logit-bias
/// that is no ID:BIAS.
Result<sampling::SamplerOptions> sampler_settings(const Options& options);

/// Overwrites what was not given with the file's general.sampling keys, unless --sampling builtin
/// or --greedy. kCorrupt: a value of a wrong type or out of the option's range.
Status take_file_settings(const Invocation& invocation, const gguf::File& file,
                          sampling::SamplerOptions& settings);

}  // namespace minfer::app
