// The sampler's settings: from the options, and from the model file where an option was not given.
#pragma once

#include "base/status.h"
#include "gguf/file.h"
#include "parse.h"
#include "sampling/sampler.h"
#include "text/tokenizer.h"

namespace minfer::app {

/// The settings that the options give; a seed of -1 is drawn here. kInvalidArgument: a --logit-bias
/// that is no ID:BIAS.
Result<sampling::SamplerOptions> sampler_settings(const Options& options);

/// Overwrites what was not given with the file's general.sampling keys, unless --sampling builtin
/// or --greedy; under mirostat, cuts that were not given are off. kCorrupt: a value of a wrong type
/// or out of the option's range.
Status take_file_settings(const Invocation& invocation, const gguf::File& file,
                          sampling::SamplerOptions& settings);

/// The tokens' bytes as sampling::Sampler::create() wants them; null where DRY is off or nothing
/// breaks a repetition.
sampling::TokenStrings breaker_bytes(const sampling::SamplerOptions& settings,
                                     const text::Tokenizer& tokenizer, std::int64_t n_vocab);

}  // namespace minfer::app
