// cli/json_writer.h - writes one JSON document, piece by piece, into a string.
//
// Contract   The calls must nest properly; asserts hold that. Object keys come out in the order they are written.
//            Bytes that are no UTF-8 become lone surrogates U+DC80..U+DCFF (Python's surrogateescape).
// Threads    One owner.
// Memory     What was not drained.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peel::cli {

class JsonWriter {
public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& string(std::string_view value);
  JsonWriter& integer(std::uint64_t value);
  JsonWriter& number(double value);  // null when it is no finite number
  JsonWriter& boolean(bool value);

  // key and value in one.
  JsonWriter& string(std::string_view name, std::string_view value) { return key(name).string(value); }
  JsonWriter& integer(std::string_view name, std::uint64_t value) { return key(name).integer(value); }
  JsonWriter& number(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& boolean(std::string_view name, bool value) { return key(name).boolean(value); }

  // What was written since the last drain(), for documents that are better not held in memory.
  std::string drain() { return std::exchange(out_, {}); }
  // The finished document (what drain() has left of it) and a newline.
  std::string take() &&;

private:
  void before_value();
  void new_line();

  std::string out_;
  std::vector<bool> has_members_;  // one for each open object or array
  bool after_key_ = false;
};

}  // namespace peel::cli
