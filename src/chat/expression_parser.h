// ExpressionParser: the expressions of a template out of its tokens, by precedence.
//
// Thread-safety: one thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "chat/ast.h"
#include "chat/token_stream.h"

namespace minfer::chat {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, FrameNames& names) : tokens_(tokens), names_(names) {}

  /// a, b if c else d: a tuple where there is a comma.
  ExprPtr tuple(bool conditional = true);
  ExprPtr expression(bool conditional = true);
  /// Filters after a value, or after nothing in a filter block.
  ExprPtr filters(ExprPtr base, bool first_without_pipe = false);
  ArgExprs arguments();

  /// Names seen so far that have a meaning in macros: varargs, kwargs.
  std::set<std::string> special_names;

 private:
  using Rule = ExprPtr (ExpressionParser::*)();
  ExprPtr logic_or();
  ExprPtr logic_and();
  ExprPtr logic_not();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concat();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary_with_filters() { return unary(true); }
  ExprPtr unary(bool with_filters);
  ExprPtr primary();
  ExprPtr literal_string();
  ExprPtr list();
  ExprPtr dict();
  ExprPtr postfix(ExprPtr base);
  ExprPtr subscript(ExprPtr base);
  ExprPtr test(ExprPtr base);
  ExprPtr chain(Rule operand, std::initializer_list<std::string_view> operators);
  [[nodiscard]] bool at_tuple_end() const;

  TokenStream& tokens_;
  FrameNames& names_;
};

}  // namespace minfer::chat
