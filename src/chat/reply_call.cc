#include "chat/reply_call.h"

#include <algorithm>

#include "chat/reply_marks.h"
#include "chat/reply_parameter.h"

namespace minfer::chat {
namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxKey = 256;

bool is_name_byte(char c) { return is_tool_name(std::string_view(&c, 1)); }

// The text that a JSON string spells.
std::string decoded(const std::string& json) {
  const auto value = parse_json(json);
  return value.ok() && value->string() != nullptr ? *value->string() : std::string();
}

}  // namespace

CallReader::CallReader(const CallFormat& format, const ToolSet& tools, std::string name)
    : format_(format), tools_(tools) {
  if (format.shape == CallShape::kObject || format.shape == CallShape::kKeyedObject)
    step_ = Step::kObject;
  if (name.empty()) return;
  step_ = Step::kValue;
  if (!set_name(name)) bad_ = true;
}

CallReader::State CallReader::read(std::string_view text, bool is_final, std::size_t& used) {
  rest_ = text;
  while (!bad_ && step_ != Step::kDone && step(is_final)) {
  }
  used = text.size() - rest_.size();
  if (bad_ || (is_final && step_ != Step::kDone)) return State::kBad;
  return step_ == Step::kDone ? State::kDone : State::kMore;
}

std::string CallReader::take_arguments() {
  std::string out;
  gate_.feed(arguments_, out);
  arguments_.clear();
  return out;
}

bool CallReader::step(bool is_final) {
  switch (step_) {
    case Step::kName:
      return read_name(is_final);
    case Step::kNameEnd:
      return read_mark(format_.name_end, format_.has_hole ? Step::kHole : Step::kHoleEnd);
    case Step::kHole:
      return read_hole(is_final);
    case Step::kHoleEnd:
      return read_mark(format_.has_hole ? std::string_view(format_.hole_end) : std::string_view(),
                       format_.shape == CallShape::kParameters ? Step::kParameter : Step::kValue);
    case Step::kValue:
      return read_value(is_final);
    case Step::kParameter:
      return begin_parameter(is_final);
    case Step::kParameterKey:
      return read_parameter_key(is_final);
    case Step::kParameterValue:
      return read_parameter_value(is_final);
    case Step::kObject:
      return expect('{', Step::kMember);
    case Step::kMember:
      return read_member_key();
    case Step::kColon:
      return expect(':', Step::kMemberValue) && begin_member_value();
    case Step::kMemberValue:
      return read_member_value(is_final);
    case Step::kNextMember:
      return next_member();
    case Step::kDone:
      break;
  }
  return false;
}

bool CallReader::fail() {
  bad_ = true;
  return false;
}

void CallReader::skip_blanks() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
}

bool CallReader::set_name(std::string_view name) {
  tool_ = tools_.find(name);
  return tool_ != nullptr;
}

bool CallReader::read_name(bool is_final) {
  skip_blanks();
  std::size_t n = 0;
  while (n < rest_.size() && is_name_byte(rest_[n])) ++n;
  if (n > kMaxName) return fail();
  if (n == rest_.size() && !is_final) return false;
  if (!set_name(rest_.substr(0, n))) return fail();
  rest_.remove_prefix(n);
  step_ = Step::kNameEnd;
  if (format_.shape == CallShape::kParameters) arguments_ += '{';
  return true;
}

bool CallReader::read_mark(std::string_view mark, Step next) {
  mark = trimmed(mark);
  if (!mark.empty()) {
    skip_blanks();
    const Match match = match_at(rest_, mark);
    if (match == Match::kMaybe) return false;
    if (match == Match::kNo) return fail();
    rest_.remove_prefix(mark.size());
  }
  step_ = next;
  return true;
}

bool CallReader::read_hole(bool is_final) {
  std::size_t n = 0;
  while (n < rest_.size() && is_name_byte(rest_[n])) ++n;
  if (n > kMaxName) return fail();
  if (n == rest_.size() && !is_final) return false;
  if (format_.hole_is_id) id_ = rest_.substr(0, n);
  rest_.remove_prefix(n);
  step_ = Step::kHoleEnd;
  return true;
}

bool CallReader::read_value(bool is_final) {
  if (!value_) value_.emplace(format_.notation, format_.quote, true);
  std::size_t used = 0;
  auto state = value_->read(rest_, used, arguments_);
  rest_.remove_prefix(used);
  if (state == ValueReader::State::kMore && is_final) state = value_->finish(arguments_);
  if (state == ValueReader::State::kBad) return fail();
  if (state == ValueReader::State::kMore) return false;
  step_ = Step::kDone;
  return true;
}

bool CallReader::begin_parameter(bool is_final) {
  skip_blanks();
  const std::string marks[] = {std::string(trimmed(format_.parameter_begin)),
                               std::string(trimmed(format_.call_end))};
  if (rest_.empty()) return false;
  const MarkHit hit = find_mark(rest_, marks, is_final);
  if (hit.at > 0) return fail();
  if (!hit.whole) return false;
  rest_.remove_prefix(marks[hit.index].size());
  if (hit.index == 1) {
    arguments_ += '}';
    step_ = Step::kDone;
  } else {
    step_ = Step::kParameterKey;
  }
  return true;
}

bool CallReader::read_parameter_key(bool is_final) {
  std::vector<std::string> marks;
  for (const ValueMark& mark : format_.value_marks) marks.emplace_back(trimmed(mark.begin));
  const MarkHit hit = find_mark(rest_, marks, is_final);
  if (hit.at > kMaxKey) return fail();
  if (!hit.whole) return false;
  const std::string_view key = trimmed(rest_.substr(0, hit.at));
  if (key.empty()) return fail();
  key_ = key;
  rest_.remove_prefix(hit.at + marks[hit.index].size());
  begin_parameter_value(format_.value_marks[hit.index]);
  step_ = Step::kParameterValue;
  return true;
}

void CallReader::begin_parameter_value(const ValueMark& mark) {
  is_text_ =
      mark.for_text && (!mark.for_other || parameter_kind(tool_, key_) == ParameterKind::kText);
  value_began_ = false;
  drops_break_ = mark.begin.ends_with('\n');
  held_.clear();
  arguments_ += n_parameters_++ > 0 ? ", " : "";
  arguments_ += json_quoted(key_) + ": ";
  if (is_text_) arguments_ += '"';
}

// The line break that the template writes before a value, and the mark of a text taken literally.
bool CallReader::begin_value_text(bool is_final) {
  static constexpr std::string_view kCdata = "<![CDATA[";
  if (rest_.empty() && !is_final) return false;
  if (drops_break_ && rest_.starts_with('\n')) {
    rest_.remove_prefix(1);
    drops_break_ = false;
  }
  const Match match = match_at(rest_, kCdata);
  if (match == Match::kMaybe && !is_final) return false;
  is_cdata_ = match == Match::kYes;
  if (is_cdata_) rest_.remove_prefix(kCdata.size());
  return true;
}

bool CallReader::read_parameter_value(bool is_final) {
  if (!value_began_) {
    if (!begin_value_text(is_final)) return false;
    value_began_ = true;
  }
  const std::string marks[] = {(is_cdata_ ? "]]>" : "") + parameter_end_mark(format_, key_)};
  const MarkHit hit = find_mark(rest_, marks, is_final);
  std::size_t n = hit.at;
  // The line break before the end mark is the template's.
  if (format_.parameter_end.starts_with('\n') && n > 0 && rest_[n - 1] == '\n') --n;
  append_parameter(rest_.substr(0, n));
  if (!hit.whole) {
    rest_.remove_prefix(n);
    return false;
  }
  rest_.remove_prefix(hit.at + marks[0].size());
  end_parameter();
  step_ = Step::kParameter;
  return true;
}

void CallReader::append_parameter(std::string_view text) {
  if (!is_text_) {
    held_ += text;
    return;
  }
  for (const char c : text) append_json_byte(arguments_, c);
}

void CallReader::end_parameter() {
  arguments_ += is_text_ ? std::string("\"") : parameter_json(format_, held_, tool_, key_);
}

bool CallReader::expect(char c, Step next) {
  skip_blanks();
  if (rest_.empty()) return false;
  if (rest_.front() != c) return fail();
  rest_.remove_prefix(1);
  step_ = next;
  return true;
}

bool CallReader::read_member_key() {
  if (!value_) {
    skip_blanks();
    if (rest_.empty()) return false;
    if (rest_.front() == '}') return end_object();
    if (rest_.front() != '"') return fail();
    held_.clear();
    value_.emplace(ValueNotation::kJson, "", false);
  }
  std::size_t used = 0;
  const auto state = value_->read(rest_, used, held_);
  rest_.remove_prefix(used);
  if (state == ValueReader::State::kBad) return fail();
  if (state == ValueReader::State::kMore) return false;
  key_ = decoded(held_);
  step_ = Step::kColon;
  return true;
}

bool CallReader::begin_member_value() {
  held_.clear();
  if (format_.shape == CallShape::kKeyedObject) {
    if (has_name() || !set_name(key_)) return fail();
    value_.emplace(ValueNotation::kJson, "", true);
    role_ = Role::kArguments;
    has_arguments_ = true;
    return true;
  }
  value_.emplace(ValueNotation::kJson, "", false);
  role_ = Role::kOther;
  if (key_ == format_.name_key || key_ == "name") role_ = Role::kName;
  if (key_ == format_.arguments_key || key_ == "arguments" || key_ == "parameters")
    role_ = Role::kArguments;
  if ((role_ == Role::kName && has_name()) || (role_ == Role::kArguments && has_arguments_))
    return fail();
  if (role_ == Role::kArguments) {
    // Only an object is streamed: a text with the object in it is opened first.
    has_arguments_ = true;
    streams_ = false;
  }
  return true;
}

bool CallReader::read_member_value(bool is_final) {
  if (role_ == Role::kArguments && !streams_ && held_.empty() && has_name()) {
    skip_blanks();
    if (rest_.empty()) return is_final ? fail() : false;
    streams_ = rest_.front() == '{';
  }
  std::size_t used = 0;
  std::string& out = role_ == Role::kArguments && streams_ ? arguments_ : held_;
  const auto state = value_->read(rest_, used, out);
  rest_.remove_prefix(used);
  if (state == ValueReader::State::kBad) return fail();
  if (state == ValueReader::State::kMore) return false;
  return end_member();
}

bool CallReader::end_member() {
  if (role_ == Role::kName && !set_name(decoded(held_))) return fail();
  if (role_ == Role::kArguments && !streams_) {
    const auto value = parse_json(held_);
    if (!value.ok()) return fail();
    const auto inner = value->string() != nullptr ? parse_json(*value->string()) : value;
    if (!inner.ok() || (inner->object() == nullptr && !inner->is_null())) return fail();
    early_ = inner->is_null() ? "{}" : json_text(*inner);
  }
  if (has_name()) arguments_ += std::exchange(early_, {});
  value_.reset();
  step_ = Step::kNextMember;
  return true;
}

bool CallReader::next_member() {
  skip_blanks();
  if (rest_.empty()) return false;
  if (rest_.front() == '}') return end_object();
  return expect(',', Step::kMember);
}

bool CallReader::end_object() {
  rest_.remove_prefix(1);
  if (!has_name()) return fail();
  if (!has_arguments_) arguments_ += "{}";
  step_ = Step::kDone;
  return true;
}

}  // namespace minfer::chat
