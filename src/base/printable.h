// printable: makes text of unknown origin fit for one line of a terminal or a message.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minfer {

/// `text` with control characters (0x00-0x1f, 0x7f, U+0080-U+009f) and bytes that are no UTF-8 as
/// \xNN, newline and tab as \n and \t, quote and backslash with a backslash before them; cut after
/// about `max_bytes` bytes with "..." in its place.
std::string printable(std::string_view text, std::size_t max_bytes = 100);

/// `number` with a comma after every third digit: "1,048,576".
std::string grouped(std::uint64_t number);

}  // namespace minfer
