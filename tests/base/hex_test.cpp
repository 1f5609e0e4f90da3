#include "base/hex.h"

#include <gtest/gtest.h>

namespace peel {
namespace {

TEST(Hex, RoundTrip) {
  Buffer all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  const std::string text = to_hex(all);
  EXPECT_EQ(text.substr(0, 8), "00010203");
  EXPECT_EQ(text.substr(504), "fcfdfeff");
  const auto back = from_hex(text);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, all);
  const auto upper = from_hex("ABCdef");
  ASSERT_TRUE(upper.ok());
  EXPECT_EQ(to_hex(*upper), "abcdef");
  EXPECT_TRUE(from_hex("")->empty());
}

TEST(Hex, RefusesWhatIsNoHexadecimal) {
  for (const char* text : {"a", "abc", "0g", "g0", " 0", "0x", "0\n", "\xc3\xa9"}) {
    const auto r = from_hex(text);
    ASSERT_FALSE(r.ok()) << text;
    EXPECT_EQ(r.error().kind(), ErrorKind::usage);
  }
}

TEST(Hex, Digests) {
  Digest d;
  for (std::size_t i = 0; i < 32; ++i) d.bytes[i] = static_cast<std::byte>(i * 7);
  const auto back = digest_from_hex(to_hex(d));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, d);
  EXPECT_EQ(short_hex(d), to_hex(d).substr(0, 12));
  EXPECT_EQ(short_hex(d, 4), "0007");
  EXPECT_FALSE(digest_from_hex(to_hex(d).substr(2)).ok());
  EXPECT_FALSE(digest_from_hex(to_hex(d) + "00").ok());
  EXPECT_FALSE(digest_from_hex("").ok());
}

TEST(EscapeForTerminal, LeavesReadableTextAlone) {
  for (const char* text : {"", "data.h5", "a b (c) [d] ~!@#$%^&*", "Gr\xc3\xb6\xc3\x9f" "e \xe6\xb5\x8b\xe9\x87\x8f \xf0\x9f\x93\x88"})
    EXPECT_EQ(escape_for_terminal(text), text);
}

TEST(EscapeForTerminal, NothingSteersTheTerminal) {
  EXPECT_EQ(escape_for_terminal("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(escape_for_terminal("line\nforged\r\t"), "line\\x0aforged\\x0d\\x09");
  EXPECT_EQ(escape_for_terminal("\x7f"), "\\x7f");
  EXPECT_EQ(escape_for_terminal("a\\x1b"), "a\\x5cx1b");                    // no ambiguity with our own escapes
  EXPECT_EQ(escape_for_terminal("\xc2\x9b" "2J"), "\\xc2\\x9b2J");          // the C1 form of ESC [
  EXPECT_EQ(escape_for_terminal("\xe2\x80\xae" "x"), "\\xe2\\x80\\xaex");   // right-to-left override
  EXPECT_EQ(escape_for_terminal("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");        // isolate
  EXPECT_EQ(escape_for_terminal(std::string_view("\0", 1)), "\\x00");
}

TEST(EscapeForTerminal, InvalidUtf8IsEscapedByteByByte) {
  EXPECT_EQ(escape_for_terminal("\x80"), "\\x80");                          // a lone continuation
  EXPECT_EQ(escape_for_terminal("\xc3"), "\\xc3");                          // cut short
  EXPECT_EQ(escape_for_terminal("\xe6\xb5"), "\\xe6\\xb5");
  EXPECT_EQ(escape_for_terminal("\xc0\xaf"), "\\xc0\\xaf");                 // overlong
  EXPECT_EQ(escape_for_terminal("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(escape_for_terminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");        // surrogate
  EXPECT_EQ(escape_for_terminal("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(escape_for_terminal("\xc3(ok"), "\\xc3(ok");
}

// Whatever comes in, what goes out is printable: no control byte and no byte that is not UTF-8 survives.
TEST(EscapeForTerminal, EveryPairOfBytes) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string in{static_cast<char>(a), static_cast<char>(b)};
      const std::string out = escape_for_terminal(in);
      for (const char c : out) {
        const auto u = static_cast<unsigned char>(c);
        ASSERT_TRUE(u >= 0x20 && u != 0x7f) << a << " " << b;
      }
      const bool two_byte_character = a >= 0xc2 && a <= 0xdf && b >= 0x80 && b <= 0xbf && !(a == 0xc2 && b < 0xa0);
      ASSERT_EQ(out == in && (a >= 0x80 || b >= 0x80), two_byte_character) << a << " " << b;
    }
}

}  // namespace
}  // namespace peel
