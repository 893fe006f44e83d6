// Lexer: a template's source as tokens, with the white-space rules that model templates rely on:
// the line break after a block tag goes (trim_blocks), blanks before one at the start of a line go
// (lstrip_blocks), `-` strips, `+` keeps, one line break at the end of the source goes.
//
// Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace minfer::chat {

/// 1-based, columns in bytes.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// "template, line 3, column 7: what".
Status template_status(Position at, std::string_view what);

enum class TokenKind : std::uint8_t {
  kData,
  kBlockBegin,
  kBlockEnd,
  kOutputBegin,
  kOutputEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // a string's escapes are resolved
  Position at;
};

/// The tokens of `source`, the last of which is kEnd. kUnsupported with line and column.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace minfer::chat
