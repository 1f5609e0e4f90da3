#include "sync/url.h"

#include <gtest/gtest.h>

namespace peel::sync {
namespace {

std::string must_path(const char* text) { return Url::parse(text).value().path; }

TEST(Url, ReadsEachForm) {
  const auto server = Url::parse("peel://hub.example.org/lab/run 7.h5");
  ASSERT_TRUE(server);
  EXPECT_EQ(server.value().host, "hub.example.org");
  EXPECT_EQ(server.value().port, 7731);
  EXPECT_EQ(server.value().name, "lab/run 7.h5");
  const auto six = Url::parse("peel://[::1]:99/a.onion");
  ASSERT_TRUE(six);
  EXPECT_EQ(six.value().host, "::1");
  EXPECT_EQ(six.value().port, 99);
  EXPECT_EQ(six.value().name, "a");
  EXPECT_EQ(six.value().text(), "peel://[::1]:99/a");
  const auto peer = Url::parse("lab:runs/a");
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer.value().peer, "lab");
  EXPECT_EQ(peer.value().name, "runs/a");
  EXPECT_EQ(must_path("file:///tmp/x"), "/tmp/x");
  EXPECT_EQ(must_path("./x"), "./x");
  EXPECT_TRUE(Url::parse("peel://host").value().name.empty());
  EXPECT_TRUE(Url::parse("lab:").value().name.empty());
}

TEST(Url, TextComesBackAsTheSame) {
  for (const char* text : {"peel://h/a/b", "peel://h:1/a", "lab:a/b", "file:///a/b", "peel://[fe80::1]/x"}) {
    const auto url = Url::parse(text);
    ASSERT_TRUE(url) << text;
    EXPECT_EQ(url.value().text(), text);
  }
}

TEST(Url, RefusesWhatIsNone) {
  for (const char* text :
       {"", "data.h5", "peel://", "peel:///x", "peel://h:0x/x", "peel://h:99999/x", "-x:y", "file://relative"})
    EXPECT_EQ(Url::parse(text).error().kind(), ErrorKind::usage) << text;
  for (const char* text : {"mesh://n/x", "zmodem:", "http://h/x"}) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().kind(), ErrorKind::usage) << text;
    EXPECT_NE(url.error().message().find("peel://HOST"), std::string::npos) << "names the forms there are";
  }
}

TEST(OnionNames, NothingThatCouldLeave) {
  for (const char* name : {"a", "a/b/c", "run 7.h5", "ü"}) EXPECT_TRUE(check_onion_name(name)) << name;
  const std::string long_part(256, 'a'), long_last(181, 'a'), newline = "a\nb", zero("a\0b", 3);
  std::string deep = "a";
  for (int i = 0; i < 32; ++i) deep += "/a";
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("a/../b"), std::string("/a"), std::string("a/"),
        std::string("a//b"), std::string(".a"), std::string("a/.b"), std::string("-a"), std::string("a/-b"),
        long_part + "/a", long_last, newline, zero, deep})
    EXPECT_EQ(check_onion_name(name).error().kind(), ErrorKind::refused) << name;
}

}  // namespace
}  // namespace peel::sync
