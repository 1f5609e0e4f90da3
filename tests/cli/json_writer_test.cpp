// tests/cli/json_writer_test.cpp - documents, read back by another implementation.
#include "cli/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace peel::cli {
namespace {

TEST(JsonWriter, NestedDocument) {
  JsonWriter json;
  json.begin_object()
      .string("a", "x")
      .key("b")
      .begin_array()
      .integer(1)
      .begin_object()
      .end_object()
      .begin_array()
      .end_array();
  json.end_array().boolean("c", false).number("d", 0.5).integer("e", ~0ull);
  json.number("f", std::numeric_limits<double>::infinity()).end_object();
  const auto read = nlohmann::json::parse(std::move(json).take());
  EXPECT_EQ(read,
            nlohmann::json::parse(R"({"a":"x","b":[1,{},[]],"c":false,"d":0.5,"e":18446744073709551615,"f":null})"));
}

TEST(JsonWriter, EveryByteValueIsValidAndTextComesBack) {
  std::string ascii;
  for (int c = 0; c < 128; ++c) ascii += static_cast<char>(c);
  ascii += "\xc3\xa9\xe2\x82\xac\xf0\x9f\xa7\x85";
  JsonWriter json;
  json.begin_array().string(ascii).end_array();
  EXPECT_EQ(nlohmann::json::parse(std::move(json).take())[0].get<std::string>(), ascii);
}

TEST(JsonWriter, BytesThatAreNoTextBecomeLoneSurrogates) {
  JsonWriter json;
  json.begin_array()
      .string(
          "a\xff"
          "b\xc3")
      .string("\xed\xa0\x80")
      .string("\xc0\x80")
      .end_array();
  EXPECT_EQ(std::move(json).take(),
            "[\n  \"a\\udcffb\\udcc3\",\n  \"\\udced\\udca0\\udc80\",\n  \"\\udcc0\\udc80\"\n]\n");
}

// Whatever the bytes are: no control character and no invalid UTF-8 comes out.
TEST(JsonWriter, AnyBytesGiveCleanText) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 20, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 256);
    JsonWriter json;
    json.begin_array().string(bytes).end_array();
    std::string out = std::move(json).take();
    for (std::size_t at = 0; (at = out.find("\\udc", at)) != std::string::npos;) out.replace(at, 6, "?");
    EXPECT_NO_THROW(nlohmann::json::parse(out)) << out;
  }
}

}  // namespace
}  // namespace peel::cli
