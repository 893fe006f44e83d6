// Small helpers: text for one line of a terminal, checked arithmetic, hashes, the log.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "base/hashing.h"
#include "base/log.h"
#include "base/printable.h"

namespace minfer {
namespace {

TEST(Printable, keeps_text_and_escapes_the_rest) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\xa6\x99"),
            "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\xa6\x99");
  EXPECT_EQ(printable("a\nb\tc\"d\\e"), "a\\nb\\tc\\\"d\\\\e");
  EXPECT_EQ(printable(std::string_view("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // a C1 control: begins sequences too
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");           // no UTF-8, and a cut character
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable(std::string(200, 'x')), std::string(100, 'x') + "...");
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
}

TEST(Printable, grouped_digits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(123456), "123,456");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Bytes, checked_arithmetic_reports_overflow) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(checked_add<std::uint64_t>(kMax, 0), kMax);
  EXPECT_FALSE(checked_add<std::uint64_t>(kMax, 1));
  EXPECT_EQ(checked_mul<std::uint64_t>(1ULL << 32, 1ULL << 31), 1ULL << 63);
  EXPECT_FALSE(checked_mul<std::uint64_t>(1ULL << 32, 1ULL << 32));
  EXPECT_FALSE(checked_mul<std::int64_t>(1LL << 32, 1LL << 31));
  EXPECT_EQ(checked_align_up(33, 32), 64u);
  EXPECT_EQ(checked_align_up(64, 32), 64u);
  EXPECT_EQ(checked_align_up(7, 1), 7u);
  EXPECT_FALSE(checked_align_up(kMax - 30, 32));
  const unsigned char raw[] = {0, 0x78, 0x56, 0x34, 0x12};
  EXPECT_EQ(load_le<std::uint32_t>(raw + 1), 0x12345678u);
}

TEST(Hashing, depends_on_bytes_seed_and_order_alone) {
  // XXH3 of the empty string with seed 0: a stored hash stays valid from build to build.
  EXPECT_EQ(hash64(std::string_view()), 0x2d06800538d394c2ULL);
  EXPECT_EQ(hash64("abc"), hash64(as_bytes("abc")));
  EXPECT_NE(hash64("abc"), hash64("abc", 1));
  EXPECT_EQ(Hasher().add(1).add("ab").digest(), Hasher().add(1).add("ab").digest());
  EXPECT_NE(Hasher().add(1).add(2).digest(), Hasher().add(2).add(1).digest());
  EXPECT_NE(Hasher().add("ab").add("c").digest(), Hasher().add("a").add("bc").digest());
  EXPECT_NE(Hasher().add("").digest(), Hasher().digest());
}

TEST(Logging, lines_are_whole_and_filtered) {
  std::string text;
  const Log::Sink sink = [&](std::string_view line) { text += line; };
  const Log all(LogLevel::kNote, sink);
  all.note("reading");
  all.warning("odd");
  EXPECT_EQ(text, "minfer: reading\nminfer: warning: odd\n");
  text.clear();
  const Log quiet(LogLevel::kWarning, sink);
  quiet.note("reading");
  quiet.warning("odd");
  EXPECT_EQ(text, "minfer: warning: odd\n");
}

}  // namespace
}  // namespace minfer
