// Keys, the edit buffer, the history, and what an input is.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/utf8.h"
#include "chat_command_line.h"
#include "history.h"
#include "key_decoder.h"
#include "line_editor.h"
#include "line_editor_buffer.h"
#include "line_editor_input.h"
#include "line_editor_text.h"

namespace minfer::app {
namespace {

/// Keys as one text: "abc <left> <ctrl-a>".
std::string spelt(const std::vector<KeyEvent>& keys) {
  static const char* const kNames[] = {
      "text", "paste", "ctrl", "alt",   "enter",     "new line",   "tab",  "back", "del",
      "up",   "down",  "left", "right", "word left", "word right", "home", "end",  "esc"};
  std::string result;
  for (const KeyEvent& key : keys) {
    if (key.key == Key::kText) {
      result += key.text;
    } else if (key.key == Key::kPaste) {
      result += "<paste:" + key.text + ">";
    } else {
      result += std::string("<") + kNames[static_cast<int>(key.key)];
      if (key.letter != 0) result += std::string("-") + key.letter;
      result += ">";
    }
  }
  return result;
}

std::string keys_of(std::string_view bytes, std::size_t cut = 1000) {
  KeyDecoder decoder;
  std::vector<KeyEvent> keys;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(cut, bytes.size()))) {
    decoder.feed(bytes.substr(0, cut), keys);
  }
  decoder.give_up(keys);
  return spelt(keys);
}

TEST(KeyDecoder, keys_of_terminals) {
  EXPECT_EQ(keys_of("a\x01\x1a\x7f\b\t\r\n"),
            "a<ctrl-a><ctrl-z><back><back><tab><enter><new line>");
  EXPECT_EQ(keys_of("\x1b[A\x1bOB\x1b[C\x1bOD"), "<up><down><right><left>");
  EXPECT_EQ(keys_of("\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~\x1bOH"),
            "<home><end><home><end><del><home>");
  EXPECT_EQ(keys_of("\x1b[1;5D\x1b[1;3C\x1b\x1b[D"), "<word left><word right><word left>");
  EXPECT_EQ(keys_of("\x1b"
                    "b\x1b"
                    "F\x1b\x7f\x1b\r\x1b\n"),
            "<alt-b><alt-f><alt-\x7f><new line><new line>");
  EXPECT_EQ(keys_of("\x1b[13;2u\x1b[27;2;13~\x1b[13u\x1bOM"), "<new line><new line><enter><enter>");
  EXPECT_EQ(keys_of("\x1b"), "<esc>");
}

TEST(KeyDecoder, unknown_sequences_give_nothing) {
  for (const char* sequence :
       {"\x1b[15~", "\x1b[1;2;3;4;5;6q", "\x1b[?1;2c", "\x1b[[A", "\x1b]0;title\a",
        "\x1bP1$r0m\x1b\\", "\x1b[<0;1;1M", "\x1b[ A9", "\x1b[201~", "\x1bOp"}) {
    const std::string rest = std::string_view(sequence).ends_with("A9") ? "9" : "";
    EXPECT_EQ(keys_of(std::string(sequence) + "x").substr(0, 9), rest.empty() ? "x" : "<up>9x")
        << sequence + 1;
  }
  EXPECT_EQ(keys_of("\x1b[" + std::string(1000, '1') + "~x").back(), 'x');
}

TEST(KeyDecoder, pastes_are_one_key_whatever_they_hold) {
  EXPECT_EQ(keys_of("a\x1b[200~one\rtwo\r\nthree\x03\x1b[A\x1b[201~b"),
            "a<paste:one\ntwo\nthree\x03\x1b[A>b");
  EXPECT_EQ(keys_of("\x1b[200~\xff\xc3\x1b[201~"), "<paste:\xEF\xBF\xBD\xEF\xBF\xBD>");
}

TEST(KeyDecoder, reads_may_end_anywhere) {
  const std::string bytes =
      "a\xC3\xA9\xF0\x9F\x98\x80\x1b[1;5D\x1b[200~x\xE2\x82\xAC\ry\x1b[20\x1b[201~\x1b]0;"
      "t\x1b\\z\x1bOA\xff!";
  const std::string whole = keys_of(bytes);
  EXPECT_NE(whole.find("\xE2\x82\xAC\ny\x1b[20>z<up>"), std::string::npos) << whole;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) EXPECT_EQ(keys_of(bytes, cut), whole) << cut;
}

TEST(KeyDecoder, a_long_paste_in_small_reads_takes_no_quadratic_time) {
  const std::string bytes = "\x1b[200~" + std::string(8 << 20, 'x') + "\x1b[201~";
  EXPECT_EQ(keys_of(bytes, 4096).size(), (8U << 20) + 8);
}

TEST(KeyDecoder, any_bytes_give_well_formed_text) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 40; ++i) {
      const char* const pieces[] = {"\x1b", "[", "200~", "\x1b[201~", "\xC3",
                                    "\xA9", "a", ";",    "\xF0\x9F"};
      bytes += random() % 2 == 0 ? std::string(pieces[random() % 9])
                                 : std::string(1, static_cast<char>(random() % 256));
    }
    EXPECT_EQ(keys_of(bytes), keys_of(bytes, 1 + random() % 5));
    EXPECT_TRUE(is_valid_utf8(keys_of(bytes)));
  }
}

TEST(Clusters, ends_and_widths) {
  struct Case {
    const char* text;
    int width;
  };
  for (const Case& each : {Case{"a", 1},
                           {"\xC3\xA9", 1},
                           {"e\xCC\x81", 1},
                           {"\xE6\xAD\xAA", 2},
                           {"\xF0\x9F\xA6\x99", 2},
                           {"\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9", 2},
                           {"\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA", 2},
                           {"\t", 4},
                           {"\x1b", 1}}) {
    const std::string text = std::string("x") + each.text + "x";
    EXPECT_EQ(cluster_end(text, 1), text.size() - 1) << each.text;
    EXPECT_EQ(cluster_begin(text, text.size() - 1), 1U) << each.text;
    EXPECT_EQ(shown_cluster(each.text).width, each.width) << each.text;
  }
  EXPECT_EQ(shown_cluster("\x1b").text, "\xE2\x90\x9B");
}

/// A buffer with the cursor at the '|'.
EditBuffer at(std::string_view text) {
  EditBuffer buffer;
  buffer.insert(text.substr(0, text.find('|')));
  const std::string behind(text.substr(text.find('|') + 1));
  buffer.insert(behind);
  while (buffer.text().size() - buffer.cursor() < behind.size()) buffer.left();
  return buffer;
}
std::string shown(const EditBuffer& buffer) {
  std::string text = buffer.text();
  return text.insert(buffer.cursor(), "|");
}
template <class... Operations>
std::string after(std::string_view text, Operations... operations) {
  EditBuffer buffer = at(text);
  (static_cast<void>((buffer.*operations)()), ...);
  return shown(buffer);
}

TEST(EditBuffer, moves) {
  using B = EditBuffer;
  EXPECT_EQ(after("ab|", &B::left), "a|b");
  EXPECT_EQ(after("|ab", &B::left), "|ab");
  EXPECT_EQ(after("e\xCC\x81|", &B::left), "|e\xCC\x81");
  EXPECT_EQ(after("|e\xCC\x81x", &B::right), "e\xCC\x81|x");
  EXPECT_EQ(after("one, two|", &B::word_left), "one, |two");
  EXPECT_EQ(after("one, |two", &B::word_left), "|one, two");
  EXPECT_EQ(after("|one, two", &B::word_right), "one|, two");
  EXPECT_EQ(after("one|, two", &B::word_right), "one, two|");
  EXPECT_EQ(after("a\nbc|d\ne", &B::line_start), "a\n|bcd\ne");
  EXPECT_EQ(after("a\nb|cd\ne", &B::line_end), "a\nbcd|\ne");
  EXPECT_EQ(after("abc\nde|f\ng", &B::up), "ab|c\ndef\ng");
  EXPECT_EQ(after("abc\nde|f\ng", &B::down), "abc\ndef\ng|");
  EXPECT_EQ(after("ab|c", &B::up), "ab|c");
}

TEST(EditBuffer, erases_and_kills) {
  using B = EditBuffer;
  EXPECT_EQ(after("a\xE6\xAD\xAA|b", &B::erase_left), "a|b");
  EXPECT_EQ(after("a|\xE6\xAD\xAA"
                  "b",
                  &B::erase_right),
            "a|b");
  EXPECT_EQ(after("one two|three\nfour", &B::kill_to_line_end), "one two|\nfour");
  EXPECT_EQ(after("one|\nfour", &B::kill_to_line_end), "one|four");
  EXPECT_EQ(after("x\none two|three", &B::kill_to_line_start), "x\n|three");
  EXPECT_EQ(after("see a/b.c  |", &B::kill_blank_word_left), "see |");
  EXPECT_EQ(after("see a/b.c|", &B::kill_word_left), "see a/b.|");
  EXPECT_EQ(after("|see a", &B::kill_word_right), "| a");
  EXPECT_EQ(after("one two| x", &B::kill_word_left, &B::kill_word_left, &B::line_end, &B::yank),
            " xone two|");
  EXPECT_EQ(
      after("one |two three", &B::kill_word_right, &B::kill_word_right, &B::line_start, &B::yank),
      "two three|one ");
  EXPECT_EQ(after("one two|", &B::kill_word_left, &B::left, &B::kill_word_left, &B::yank), "one| ");
  EXPECT_EQ(after("ab|", &B::transpose), "ba|");
  EXPECT_EQ(after("a|bc", &B::transpose), "ba|c");
  EXPECT_EQ(after("|ab", &B::transpose), "|ab");
}

TEST(EditBuffer, the_cursor_stays_between_clusters) {
  using B = EditBuffer;
  void (B::* const operations[])() = {&B::left,
                                      &B::right,
                                      &B::word_left,
                                      &B::word_right,
                                      &B::line_start,
                                      &B::line_end,
                                      &B::erase_left,
                                      &B::erase_right,
                                      &B::transpose,
                                      &B::kill_to_line_end,
                                      &B::kill_to_line_start,
                                      &B::kill_word_left,
                                      &B::kill_word_right,
                                      &B::kill_blank_word_left,
                                      &B::yank};
  const char* const pieces[] = {"a",
                                " ",
                                "\n",
                                "e\xCC\x81",
                                "\xCC\x81",
                                "\xE6\xAD\xAA",
                                "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9",
                                "\xE2\x80\x8D"};
  std::mt19937 random(3);
  EditBuffer buffer;
  for (int step = 0; step < 20000; ++step) {
    if (buffer.text().size() > 100) buffer.set({});
    if (random() % 2 == 0) {
      buffer.insert(pieces[random() % std::size(pieces)]);
    } else if (random() % 4 == 0) {
      static_cast<void>(random() % 2 == 0 ? buffer.up() : buffer.down());
    } else {
      (buffer.*operations[random() % std::size(operations)])();
    }
    ASSERT_TRUE(is_valid_utf8(buffer.text()));
    std::size_t at = 0;
    while (at < buffer.cursor()) at = cluster_end(buffer.text(), at);
    ASSERT_EQ(at, buffer.cursor()) << step;
  }
}

TEST(TypedInput, continued_lines_blocks_and_multiline_mode) {
  EXPECT_EQ(continued_input("one", false), std::nullopt);
  EXPECT_EQ(continued_input("one\\", false), "one\n");
  EXPECT_EQ(continued_input("one\\\\", false), std::nullopt);
  EXPECT_EQ(continued_input("\"\"\"one", false), "\"\"\"one\n");
  EXPECT_EQ(continued_input("\"\"\"one\n/help\n\"\"\"", false), std::nullopt);
  EXPECT_EQ(continued_input("\"\"\"", false), "\"\"\"\n");
  EXPECT_EQ(continued_input("one", true), "one\n");
  EXPECT_EQ(continued_input("one\\", true), "one\\\n");
  EXPECT_EQ(continued_input("one\n", true), std::nullopt);

  EXPECT_EQ(finished_input("one\\\\", false).text, "one\\\\");
  EXPECT_EQ(finished_input("one\ntwo\n", true).text, "one\ntwo");
  const TypedInput block = finished_input("\"\"\"\n/help\n \n\"\"\" ", false);
  EXPECT_EQ(block.text, "/help\n ");
  EXPECT_TRUE(block.literal);
  EXPECT_EQ(finished_input("\"\"\"one\"\"\"", false).text, "one");
}

TEST(ChatLine, only_known_words_at_the_start_are_commands) {
  const auto kind = [](std::string_view text) { return classify_chat_line(text).kind; };
  for (const char* text : {"hello", "/etc/fstab: what is it?", " /help", "", "/", "a /help",
                           "//help", "/tmp", "/home", "/bin", "/usr", "/root: who?", "/dev/null",
                           "\n/help", "/helping hands are needed", "/a", "/1"}) {
    EXPECT_EQ(kind(text), ChatLineKind::kMessage) << text;
  }
  for (const char* text :
       {"/regne", "/Help", "/exi", "/sav x", "/cleer", "/qiut", "/syste you are"}) {
    EXPECT_EQ(kind(text), ChatLineKind::kNearMiss) << text;
    EXPECT_EQ(classify_chat_line(text).text, text);
  }
  EXPECT_EQ(classify_chat_line("/regne").row->name, "regen");
  EXPECT_EQ(classify_chat_line("/qiut").row->command, ChatCommand::kExit);
  EXPECT_EQ(classify_chat_line(" /help").text, "/help");
  EXPECT_EQ(classify_chat_line("  /help").text, "  /help");
  for (const ChatCommandRow& row : chat_command_table()) {
    const ChatLine line = classify_chat_line("/" + std::string(row.name) + "  a b\nc ");
    EXPECT_EQ(line.kind, ChatLineKind::kCommand);
    EXPECT_EQ(line.row->command, row.command);
    EXPECT_EQ(line.text, "a b\nc");
    EXPECT_NE(chat_command_help(80).find("/" + std::string(row.name)), std::string::npos);
  }
  EXPECT_EQ(classify_chat_line("/bye").row->command, ChatCommand::kExit);
}

TEST(ChatLine, completion) {
  EXPECT_EQ(complete_chat_command("/reg"), "en ");
  EXPECT_EQ(complete_chat_command("/re"), "");  // regen, read
  EXPECT_EQ(complete_chat_command("/u"), "ndo ");
  EXPECT_EQ(complete_chat_command("/x"), "");
  EXPECT_EQ(complete_chat_command("/save f"), "");
}

/// A folder that goes when the test ends.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "minfer_history" + std::to_string(getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file() const { return path_ + "/state/history"; }

 private:
  std::string path_;
};

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(History, entries_come_back_once_each) {
  const Folder folder;
  const std::vector<std::string> wanted = {"two\nlines", "back\\slash\\n", "one"};
  {
    auto history = History::open(folder.file());
    ASSERT_TRUE(history.ok());
    for (const char* entry : {"one", "two\nlines", "two\nlines", "back\\slash\\n", " ", "one"}) {
      ASSERT_TRUE(history->add(entry).ok());
    }
    EXPECT_EQ(std::vector<std::string>(history->entries().begin(), history->entries().end()),
              wanted);
  }
  const auto again = History::open(folder.file());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(std::vector<std::string>(again->entries().begin(), again->entries().end()), wanted);
  struct stat info{};
  ASSERT_EQ(stat(folder.file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(History, two_programs_share_a_file) {
  const Folder folder;
  auto a = History::open(folder.file());
  auto b = History::open(folder.file());
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(a->add("of a").ok());
  ASSERT_TRUE(b->add("of b").ok());
  ASSERT_TRUE(a->add("a again").ok());
  EXPECT_EQ(contents(folder.file()), "of a\nof b\na again\n");
}

TEST(History, is_bounded_and_survives_damage) {
  const Folder folder;
  auto history = History::open(folder.file());
  ASSERT_TRUE(history.ok());
  ASSERT_TRUE(history->add(std::string(History::kMaxEntryBytes + 1, 'x')).ok());
  EXPECT_TRUE(history->entries().empty());
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(history->add(std::to_string(i) + std::string(60000, 'x')).ok());
    ASSERT_LE(std::filesystem::file_size(folder.file()), 4U << 20);
  }
  for (std::size_t i = 0; i < History::kMaxEntries + 10; ++i) {
    ASSERT_TRUE(history->add(std::to_string(i)).ok());
  }
  EXPECT_EQ(history->entries().size(), History::kMaxEntries);
  std::ofstream(folder.file(), std::ios::app) << "\xff broken\ngood\ntorn";
  const auto again = History::open(folder.file());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->entries().back(), "good");
  EXPECT_LE(again->entries().size(), History::kMaxEntries);
  EXPECT_FALSE(History::open("/dev/null").ok());
}

EditAction type(LineEditor& editor, std::string_view bytes) {
  KeyDecoder decoder;
  std::vector<KeyEvent> keys;
  decoder.feed(bytes, keys);
  decoder.give_up(keys);
  EditAction action = EditAction::kNone;
  for (const KeyEvent& key : keys) action = editor.handle(key);
  return action;
}

History some_history() {
  History history;
  for (const char* entry : {"first cat", "second dog", "third cat"}) {
    EXPECT_TRUE(history.add(entry).ok());
  }
  return history;
}

TEST(LineEditor, history_keeps_the_draft) {
  const History history = some_history();
  LineEditor editor({}, history);
  type(editor, "draft\x1b[A");
  EXPECT_EQ(editor.text(), "third cat");
  type(editor, "\x10\x10\x10\x10");
  EXPECT_EQ(editor.text(), "first cat");
  type(editor, "\x0e\x1b[B\x1b[B\x1b[B");
  EXPECT_EQ(editor.text(), "draft");
}

TEST(LineEditor, search) {
  const History history = some_history();
  LineEditor editor({}, history);
  type(editor,
       "draft\x12"
       "cat");
  EXPECT_EQ(editor.text(), "third cat");
  EXPECT_EQ(editor.view().prompt, "(search) cat: ");
  type(editor, "\x12");
  EXPECT_EQ(editor.text(), "first cat");
  type(editor, "\x12");
  EXPECT_NE(editor.view().prompt.find("nothing found"), std::string_view::npos);
  type(editor, "\x07");
  EXPECT_EQ(editor.text(), "draft");
  type(editor, "\x12second");
  EXPECT_EQ(type(editor, "\r"), EditAction::kSubmit);
  EXPECT_EQ(editor.take(), "second dog");
}

TEST(LineEditor, submits_clears_leaves) {
  const History history;
  LineEditorOptions options;
  options.is_command = [](std::string_view text) { return text == "/help"; };
  options.completion = complete_chat_command;
  LineEditor editor(options, history);
  EXPECT_EQ(type(editor, "  \r"), EditAction::kNone);
  EXPECT_EQ(type(editor, "one\\\r"), EditAction::kNone);
  EXPECT_EQ(type(editor, "two\x1b\rthree\nfour\r"), EditAction::kSubmit);
  EXPECT_EQ(editor.take(), "one\ntwo\nthree\nfour");
  EXPECT_EQ(type(editor, "text\x03"), EditAction::kCleared);
  EXPECT_EQ(editor.text(), "");
  EXPECT_EQ(type(editor, "\x03"), EditAction::kInterrupt);
  EXPECT_EQ(type(editor, "\x04"), EditAction::kEnd);
  EXPECT_EQ(type(editor, "a\x04"), EditAction::kNone);
  EXPECT_EQ(type(editor, "\x1a"), EditAction::kSuspend);
  type(editor, "\x03/reg\t");
  EXPECT_EQ(editor.take(), "/regen ");
  type(editor, "a\tb");
  EXPECT_EQ(editor.take(), "a\tb");

  options.multiline = true;
  LineEditor many(options, history);
  EXPECT_EQ(type(many, "one\r"), EditAction::kNone);
  EXPECT_EQ(type(many, "two\r"), EditAction::kNone);
  EXPECT_EQ(type(many, "\r"), EditAction::kSubmit);
  EXPECT_EQ(finished_input(many.take(), true).text, "one\ntwo");
  EXPECT_EQ(type(many, "/help\r"), EditAction::kSubmit);
}

}  // namespace
}  // namespace minfer::app
