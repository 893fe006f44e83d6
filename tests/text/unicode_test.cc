#include "text/unicode.h"

#include <gtest/gtest.h>

#include "text/byte_level.h"

namespace minfer::text {
namespace {

TEST(Unicode, decodes_each_length_and_refuses_what_is_not_utf8) {
  const auto decode = [](std::string_view s) { return decode_char(s, 0); };
  EXPECT_EQ(decode("A").code, U'A');
  EXPECT_EQ(decode("\xC3\xA9").code, U'\u00E9');
  EXPECT_EQ(decode("\xE6\xAD\xAA").code, U'\u6B6A');
  EXPECT_EQ(decode("\xF0\x9F\xA6\x99").code, U'\U0001F999');
  EXPECT_EQ(decode("\xF4\x8F\xBF\xBF").code, U'\U0010FFFF');
  for (const std::string_view broken :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE6\xAD", "\xF0\x9F\xA6"}) {
    const Char c = decode(broken);
    EXPECT_FALSE(c.well_formed);
    EXPECT_EQ(c.length, 1);
    EXPECT_FALSE(is_valid_utf8(broken));
  }
}

TEST(Unicode, every_code_point_survives_append_and_decode) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string s;
    append_utf8(s, code);
    const Char c = decode_char(s, 0);
    ASSERT_TRUE(c.well_formed) << static_cast<unsigned>(code);
    ASSERT_EQ(c.code, code);
    ASSERT_EQ(c.length, s.size());
  }
}

TEST(Unicode, replaces_maximal_subparts_with_one_mark) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("ok \xC3\xA9"), "ok \xC3\xA9");
  EXPECT_EQ(replace_invalid_utf8("a\xF0\x9F\xA6"), "a" + r);
  EXPECT_EQ(replace_invalid_utf8("a\xF0\x9F\xA6z"), "a" + r + "z");
  EXPECT_EQ(replace_invalid_utf8("\x80\xBF"), r + r);
  // The example of the Unicode standard, table 3-8.
  EXPECT_EQ(replace_invalid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + r + r + r + "b" + r + "c" + r + r + "d");
}

TEST(Unicode, incomplete_tail_is_what_more_bytes_could_complete) {
  EXPECT_EQ(incomplete_tail(""), 0U);
  EXPECT_EQ(incomplete_tail("abc"), 0U);
  EXPECT_EQ(incomplete_tail("a\xC3"), 1U);
  EXPECT_EQ(incomplete_tail("a\xF0\x9F\xA6"), 3U);
  EXPECT_EQ(incomplete_tail("a\xF0\x9F\xA6\x99"), 0U);
  EXPECT_EQ(incomplete_tail("\xE0\x80"), 0U);  // never completed: overlong
  EXPECT_EQ(incomplete_tail("\x80\x80\x80"), 0U);
  EXPECT_EQ(incomplete_tail("\xFF"), 0U);
}

TEST(Unicode, classes) {
  EXPECT_EQ(classify('a'), kLetter);
  EXPECT_EQ(classify('7'), kNumber);
  EXPECT_EQ(classify('_'), kPunctuation);
  EXPECT_EQ(classify('`'), kSymbol);
  EXPECT_EQ(classify('\n'), kSpace | kControl);
  EXPECT_EQ(classify(0x301), kMark);
  EXPECT_EQ(classify(0xBD), kNumber);  // one half
  EXPECT_EQ(classify(0x6B6A), kLetter);
  EXPECT_EQ(classify(0x1F999), kSymbol);
  EXPECT_EQ(classify(0x3000), kSpace);
  EXPECT_EQ(classify(0x200B), kControl);  // zero width, but no white space
  EXPECT_EQ(classify(0x40000), 0);        // unassigned
}

TEST(ByteLevel, maps_every_byte_to_its_own_character_and_back) {
  std::string pieces;
  std::string bytes;
  for (int b = 0; b < 256; ++b) {
    bytes.push_back(static_cast<char>(b));
    for (int other = 0; other < b; ++other)
      EXPECT_NE(byte_to_piece(static_cast<unsigned char>(b)),
                byte_to_piece(static_cast<unsigned char>(other)));
  }
  append_byte_level(pieces, bytes);
  EXPECT_TRUE(is_valid_utf8(pieces));
  std::string back;
  append_bytes_of_piece(back, pieces);
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(byte_to_piece(' '), "\xC4\xA0");
  EXPECT_EQ(byte_to_piece('\n'), "\xC4\x8A");
}

TEST(ByteLevel, characters_that_stand_for_no_byte_stay) {
  std::string out;
  append_bytes_of_piece(out, "<\xEF\xBD\x9C\xC4\xA0x\xFF\n\xC2\xAD");
  EXPECT_EQ(out, "<\xEF\xBD\x9C x\xFF\n\xC2\xAD");
}

}  // namespace
}  // namespace minfer::text
