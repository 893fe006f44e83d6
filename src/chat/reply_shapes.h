// Shapes: the CallFormat that writes given calls as a given text.
//
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/reply_format.h"

namespace minfer::chat {

/// What a template writes for word::kTool with {kKey: kValue, kOtherKey: kOtherValue}, and for that
/// call and one of word::kOtherTool with {kKey: kOtherValue}: from behind the answer to the end of
/// the turn, without both.
struct CallTexts {
  std::string one;
  std::string two;  // empty: the template writes only one call
};

/// The format of texts; shape kNone where they are in none of the shapes. Everything but value
/// marks of other types than text, and the family.
CallFormat find_shape(const CallTexts& texts);

}  // namespace minfer::chat
