#include "chat/reply_parser.h"

#include <algorithm>

#include "base/hashing.h"
#include "chat/reply_marks.h"

namespace minfer::chat {
namespace {

constexpr std::size_t kMaxHeader = 256;

std::string make_id(std::uint64_t seed, std::size_t call) {
  static constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::uint64_t bits = Hasher(seed).add(call).add(std::uint64_t{0x63616C6C}).digest();
  std::string id;
  for (int i = 0; i < 9; ++i) {
    id += kDigits[bits % kDigits.size()];
    bits /= kDigits.size();
  }
  return id;
}

bool is_plain_id(std::string_view id) {
  return id.size() == 9 && is_tool_name(id) && id.find_first_of("_-.") == std::string_view::npos;
}

std::size_t blank_head(std::string_view text) {
  return std::min(text.find_first_not_of(kBlanks), text.size());
}

std::size_t without_blank_tail(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kBlanks);
  return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace

ReplyParser::ReplyParser(const ReplyFormat& format, const ReplyOptions& options)
    : format_(format), options_(options) {
  drops_blanks_ =
      options.start == ReplyStart::kThought || options.start == ReplyStart::kAfterThought;
  set_mode(options.start == ReplyStart::kThought  ? Mode::kThought
           : options.start == ReplyStart::kHeader ? Mode::kHeader
           : options.start == ReplyStart::kCall   ? Mode::kStart
                                                  : Mode::kText);
}

std::vector<ReplyEvent> ReplyParser::feed(std::string_view bytes, bool is_control) {
  buffer_ += bytes;
  controls_.append(bytes.size(), is_control ? '\1' : '\0');
  run(false);
  return std::exchange(events_, {});
}

std::vector<ReplyEvent> ReplyParser::finish() {
  run(true);
  if (after_call_) blanks_.clear();
  flush_blanks();
  return std::exchange(events_, {});
}

void ReplyParser::run(bool is_final) {
  while (step(is_final)) {
  }
  buffer_.erase(0, begin_);
  controls_.erase(0, begin_);
  begin_ = 0;
}

bool ReplyParser::step(bool is_final) {
  switch (mode_) {
    case Mode::kText:
    case Mode::kThought:
      return read_text(is_final);
    case Mode::kHeader:
      return read_header(is_final);
    case Mode::kStart:
      return read_start(is_final);
    case Mode::kSection:
      return read_section(is_final);
    case Mode::kCall:
      return read_call(is_final);
  }
  return false;
}

std::string_view ReplyParser::rest() const { return std::string_view(buffer_).substr(begin_); }

bool ReplyParser::reads_calls() const {
  return options_.tools != nullptr && !options_.tools->empty() && format_.calls.exists();
}

// No mark says that a call begins.
bool ReplyParser::is_bare() const {
  const CallFormat& calls = format_.calls;
  return !format_.headers.exists() && is_blank(calls.section_begin) && is_blank(calls.call_begin);
}

std::string ReplyParser::visible(std::string_view bytes, std::string_view controls) const {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (controls[i] == '\0') out += bytes[i];
  }
  return out;
}

void ReplyParser::add_mark(MarkKind kind, std::string_view mark) {
  mark = trimmed(mark);
  if (mark.empty()) return;
  marks_.emplace_back(mark);
  mark_kinds_.push_back(kind);
}

void ReplyParser::set_mode(Mode mode) {
  mode_ = mode;
  marks_.clear();
  mark_kinds_.clear();
  if (mode != Mode::kText && mode != Mode::kThought) return;
  const ReasoningFormat& reasoning = format_.reasoning;
  if (mode == Mode::kThought) {
    add_mark(MarkKind::kThoughtEnd, reasoning.end);
  } else {
    if (reads_calls()) {
      add_mark(MarkKind::kSection, format_.calls.section_begin);
      if (format_.headers.call_prefix.empty()) add_mark(MarkKind::kCall, format_.calls.call_begin);
    }
    if (at_start_) {
      add_mark(MarkKind::kThoughtBegin, reasoning.begin);
      add_mark(MarkKind::kIgnored, reasoning.end);  // of a thought that the prompt has closed
    }
    for (const std::string& mark : format_.ignored) add_mark(MarkKind::kIgnored, mark);
    if (!reply_.tool_calls.empty()) {
      add_mark(MarkKind::kIgnored, format_.calls.call_end);
      add_mark(MarkKind::kIgnored, format_.calls.section_end);
    }
  }
  add_mark(MarkKind::kHeader, format_.headers.start);
}

void ReplyParser::give(ReplyEvent::Kind kind, std::string text) {
  if (text.empty()) return;
  if (kind == ReplyEvent::Kind::kContent) {
    reply_.content += text;
    after_call_ = false;
    if (at_start_) {
      at_start_ = false;
      if (mode_ == Mode::kText) set_mode(Mode::kText);
    }
  } else {
    reply_.reasoning += text;
  }
  if (!events_.empty() && events_.back().kind == kind) {
    events_.back().text += text;
    return;
  }
  ReplyEvent event;
  event.kind = kind;
  event.text = std::move(text);
  events_.push_back(std::move(event));
}

void ReplyParser::flush_blanks() {
  give(mode_ == Mode::kThought ? ReplyEvent::Kind::kReasoning : ReplyEvent::Kind::kContent,
       std::exchange(blanks_, {}));
}

void ReplyParser::give_text(std::size_t n) {
  if (n == 0) return;
  std::string text = visible(rest().substr(0, n), std::string_view(controls_).substr(begin_, n));
  begin_ += n;
  if (drops_blanks_) {
    text.erase(0, blank_head(text));
    blanks_.clear();
  }
  if (text.empty()) return;
  drops_blanks_ = false;
  // White space is held back where a mark or a call may follow.
  const bool holds = !marks_.empty() || reads_calls();
  const std::size_t end = holds ? without_blank_tail(text) : text.size();
  if (end > 0) {
    give(mode_ == Mode::kThought ? ReplyEvent::Kind::kReasoning : ReplyEvent::Kind::kContent,
         std::exchange(blanks_, {}) + text.substr(0, end));
  }
  blanks_ += text.substr(end);
}

// Where a call without marks may begin: at the first visible byte of an answer, if it is a bracket.
// `end`: no further than here.
bool ReplyParser::at_bare_call(std::size_t end, std::size_t& at) const {
  if (mode_ != Mode::kText || !at_start_ || call_failed_ || !reads_calls() || !is_bare()) {
    return false;
  }
  const std::string_view text = rest();
  at = 0;
  while (at < end &&
         (controls_[begin_ + at] != '\0' || kBlanks.find(text[at]) != std::string_view::npos))
    ++at;
  return at < end && (text[at] == '{' || text[at] == '[');
}

bool ReplyParser::read_text(bool is_final) {
  if (rest().empty()) return false;
  const MarkHit hit = find_mark(rest(), marks_, is_final);
  if (std::size_t at = 0; at_bare_call(hit.at, at)) {
    give_text(at);
    raw_ = std::exchange(blanks_, {});
    set_mode(Mode::kSection);
    expects_call_ = true;
    return true;
  }
  const MarkKind kind = hit.whole ? mark_kinds_[hit.index] : MarkKind::kIgnored;
  const std::string mark = hit.whole ? marks_[hit.index] : std::string();
  if (hit.at > 0) {
    const bool was_start = at_start_;
    give_text(hit.at);
    // With the first text of the answer some marks are marks no more.
    if (was_start != at_start_) return true;
  }
  if (!hit.whole) return false;
  take_mark(kind, mark);
  return true;
}

void ReplyParser::take_mark(MarkKind kind, const std::string& mark) {
  const bool calls = kind == MarkKind::kSection || kind == MarkKind::kCall;
  if (calls) raw_ = std::exchange(blanks_, {});
  if (kind != MarkKind::kHeader || mode_ != Mode::kText) blanks_.clear();
  if (calls) {
    consume(mark.size());
  } else {
    begin_ += mark.size();
  }
  switch (kind) {
    case MarkKind::kThoughtBegin:
      drops_blanks_ = true;
      return set_mode(Mode::kThought);
    case MarkKind::kThoughtEnd:
      drops_blanks_ = true;
      return set_mode(Mode::kText);
    case MarkKind::kIgnored:
      drops_blanks_ = drops_blanks_ || at_start_;
      return;
    case MarkKind::kHeader:
      blanks_.clear();
      return set_mode(Mode::kHeader);
    case MarkKind::kSection:
      in_section_ = true;
      expects_call_ = true;
      return set_mode(Mode::kSection);
    case MarkKind::kCall:
      return begin_call({});
  }
}

bool ReplyParser::read_header(bool is_final) {
  const std::string marks[] = {format_.headers.message};
  const MarkHit hit = find_mark(rest(), marks, is_final);
  const std::string header(rest().substr(0, std::min(hit.at, kMaxHeader)));
  const std::string text =
      visible(header, std::string_view(controls_).substr(begin_, header.size()));
  if (hit.at > kMaxHeader) {  // none
    begin_ += header.size();
    set_mode(Mode::kText);
    give(ReplyEvent::Kind::kContent, text);
    return true;
  }
  if (!hit.whole) {
    if (is_final) begin_ = buffer_.size();
    return false;
  }
  begin_ += header.size();
  begin_ += marks[0].size();
  const HeaderFormat& headers = format_.headers;
  const std::size_t call =
      headers.call_prefix.empty() ? std::string::npos : header.find(headers.call_prefix);
  if (call != std::string::npos && reads_calls()) {
    std::size_t end = call + headers.call_prefix.size();
    const std::size_t begin = end;
    while (end < header.size() && is_tool_name(header.substr(end, 1))) ++end;
    raw_ = text;
    begin_call(header.substr(begin, end - begin));
    return true;
  }
  const bool thought = header.find(trimmed(headers.thought)) != std::string::npos;
  set_mode(thought ? Mode::kThought : Mode::kText);
  drops_blanks_ = false;
  const std::string& before = thought ? reply_.reasoning : reply_.content;
  if (!before.empty()) blanks_ = "\n";
  return true;
}

// Behind the mark of a call that the prompt ends with: a call, or an answer that says so.
bool ReplyParser::read_start(bool is_final) {
  const std::string& answer = format_.answer_begin;
  const Match match = answer.empty() ? Match::kNo : match_at(rest(), answer);
  if (match == Match::kMaybe && !is_final) return false;
  drops_blanks_ = match == Match::kYes;
  if (match == Match::kYes) begin_ += answer.size();
  if (match == Match::kNo && reads_calls()) {
    begin_call({});
  } else {
    set_mode(Mode::kText);
  }
  return true;
}

void ReplyParser::consume(std::size_t n) {
  raw_ += visible(rest().substr(0, n), std::string_view(controls_).substr(begin_, n));
  begin_ += n;
}

void ReplyParser::begin_call(std::string name) {
  expects_call_ = false;
  begun_ = false;
  const bool from_header = !format_.headers.call_prefix.empty();
  call_.emplace(format_.calls, *options_.tools, std::move(name));
  if (from_header && !call_->has_name()) {
    fail_call();
    return;
  }
  set_mode(Mode::kCall);
}

bool ReplyParser::read_call(bool is_final) {
  std::size_t used = 0;
  const auto state = call_->read(rest(), is_final, used);
  consume(used);
  if (state == CallReader::State::kBad) {
    fail_call();
    return true;
  }
  const std::size_t index = reply_.tool_calls.size() - (begun_ ? 1 : 0);
  if (call_->has_name() && !begun_) {
    begun_ = true;
    ReplyEvent event;
    event.kind = ReplyEvent::Kind::kCallBegin;
    event.call = index;
    event.id = is_plain_id(call_->id()) ? call_->id() : make_id(options_.id_seed, index);
    event.name = call_->name();
    reply_.tool_calls.push_back({event.id, event.name, {}});
    events_.push_back(std::move(event));
  }
  if (std::string text = begun_ ? call_->take_arguments() : std::string(); !text.empty()) {
    reply_.tool_calls.back().arguments += text;
    ReplyEvent event;
    event.kind = ReplyEvent::Kind::kCallArguments;
    event.call = index;
    event.text = std::move(text);
    events_.push_back(std::move(event));
  }
  if (state == CallReader::State::kMore) return false;
  end_call();
  return true;
}

void ReplyParser::end_call() {
  ReplyEvent event;
  event.kind = ReplyEvent::Kind::kCallEnd;
  event.call = reply_.tool_calls.size() - 1;
  events_.push_back(std::move(event));
  call_.reset();
  begun_ = false;
  after_call_ = true;
  raw_.clear();
  blanks_.clear();
  set_mode(Mode::kSection);
}

void ReplyParser::fail_call() {
  if (begun_) {
    ReplyEvent event;
    event.kind = ReplyEvent::Kind::kCallDropped;
    event.call = reply_.tool_calls.size() - 1;
    events_.push_back(std::move(event));
    reply_.tool_calls.pop_back();
  }
  call_.reset();
  begun_ = false;
  call_failed_ = true;
  leave_section();
  give(ReplyEvent::Kind::kContent, std::exchange(raw_, {}));
}

void ReplyParser::leave_section() {
  in_section_ = false;
  in_list_ = false;
  expects_call_ = false;
  set_mode(Mode::kText);
}

bool ReplyParser::read_section(bool is_final) {
  const CallFormat& calls = format_.calls;
  const std::size_t head = blank_head(rest());
  if (expects_call_ || in_section_ || in_list_) {
    consume(head);
  } else {
    blanks_ += visible(rest().substr(0, head), std::string_view(controls_).substr(begin_, head));
    begin_ += head;
  }
  if (rest().empty()) {
    if (!is_final) return false;
    if (expects_call_) fail_call();
    return false;
  }
  const std::string marks[] = {std::string(trimmed(calls.call_begin)),
                               std::string(trimmed(calls.call_end)),
                               std::string(trimmed(calls.section_end))};
  const MarkHit hit = find_mark(rest(), marks, is_final);
  if (hit.at == 0 && !hit.whole && !is_final) return false;
  if (is_final && !expects_call_ && find_mark(rest(), marks, false).at == 0 && !hit.whole) {
    begin_ = buffer_.size();  // the reply ends inside an end mark
    return false;
  }
  const std::size_t which = hit.at == 0 && hit.whole ? hit.index : 3;
  if (which == 0) {
    raw_ = std::exchange(blanks_, {}) + raw_;
    consume(marks[0].size());
    begin_call({});
    return true;
  }
  if (expects_call_) return expect_call();
  if (which == 1) {
    begin_ += marks[1].size();
    return true;
  }
  if (which == 2) {
    begin_ += marks[2].size();
    raw_.clear();
    leave_section();
    return true;
  }
  return read_separator();
}

bool ReplyParser::expect_call() {
  if (rest().front() == '[' && !in_list_ && format_.calls.notation == ValueNotation::kJson) {
    in_list_ = true;
    consume(1);
  } else if (rest().front() == '[' && !in_list_ && format_.calls.is_list) {
    in_list_ = true;
    consume(1);
  } else if (trimmed(format_.calls.call_begin).empty()) {
    begin_call({});
  } else {
    fail_call();
  }
  return true;
}

bool ReplyParser::read_separator() {
  const char c = rest().front();
  const bool open = in_section_ || in_list_ || is_bare();
  if (c == ',' && open) {
    consume(1);
    expects_call_ = true;
  } else if (c == ';' && open && !in_list_) {
    consume(1);
    expects_call_ = true;
  } else if (c == ']' && in_list_) {
    begin_ += 1;
    in_list_ = false;
    raw_.clear();
  } else if (c == '{' && open && !in_list_ && trimmed(format_.calls.call_begin).empty()) {
    begin_call({});
  } else {
    leave_section();
    if (!raw_.empty()) give(ReplyEvent::Kind::kContent, std::exchange(raw_, {}));
  }
  return true;
}

}  // namespace minfer::chat
