#include "chat/reply_marks.h"

#include <algorithm>

namespace minfer::chat {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

Match match_at(std::string_view text, std::string_view mark) {
  if (text.starts_with(mark)) return Match::kYes;
  return text.size() < mark.size() && mark.starts_with(text) ? Match::kMaybe : Match::kNo;
}

namespace {

// The longest mark at the front; kMaybe where a longer one may still come.
Match longest_at(std::string_view text, std::span<const std::string> marks, bool is_final,
                 std::size_t& index) {
  Match best = Match::kNo;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].empty()) continue;
    const Match match = match_at(text, marks[i]);
    if (match == Match::kMaybe && !is_final) return Match::kMaybe;
    if (match != Match::kYes || marks[i].size() <= longest) continue;
    longest = marks[i].size();
    index = i;
    best = Match::kYes;
  }
  return best;
}

}  // namespace

MarkHit find_mark(std::string_view text, std::span<const std::string> marks, bool is_final) {
  std::string firsts;
  for (const std::string& mark : marks) {
    if (!mark.empty() && firsts.find(mark[0]) == std::string::npos) firsts += mark[0];
  }
  MarkHit hit;
  hit.at = firsts.empty() ? std::string_view::npos : text.find_first_of(firsts);
  while (hit.at != std::string_view::npos) {
    const Match match = longest_at(text.substr(hit.at), marks, is_final, hit.index);
    hit.whole = match == Match::kYes;
    if (match != Match::kNo) return hit;
    hit.at = text.find_first_of(firsts, hit.at + 1);
  }
  hit.at = text.size();
  return hit;
}

}  // namespace minfer::chat
