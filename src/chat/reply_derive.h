// derive_reply_format: how a template's model writes its replies, found by rendering probes.
//
// A probe is a conversation of known words (reply_probe.h). What the template writes around an
// answer, a thought, a tool's name and its arguments are the marks. Names of models and templates
// play no part. Where a template shows marks of thoughts or calls without writing any itself (it
// drops them from history, or only tells the model of them), the tables thoughts and families stand
// in (reply_families.def). Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "chat/reply_format.h"
#include "chat/reply_probe.h"

namespace minfer::chat {

/// Costs some thirty renderings of a short conversation. What a template does not show is empty.
ReplyFormat derive_reply_format(const Template& source, const ProbeOptions& options);

/// The parts of it. `format` has what was derived before: headers, reasoning, calls in this order.
void derive_headers(const Template& source, const ProbeOptions& options, ReplyFormat& format);
void derive_reasoning(const Template& source, const ProbeOptions& options, ReplyFormat& format);
void derive_calls(const Template& source, const ProbeOptions& options, ReplyFormat& format);

/// A row of reply_families.def.
struct CallFamily {
  std::string shown;
  CallFormat format;
};
std::vector<CallFamily> call_families();

}  // namespace minfer::chat
