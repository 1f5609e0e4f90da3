#include "hdf5/answer.h"

#include <bit>

#include "hdf5/protocol.h"

namespace peel::hdf5 {
namespace {

class Encoder {
 public:
  explicit Encoder(Question question) {
    out_.integer(std::uint8_t{0}).integer(static_cast<std::uint8_t>(question));
  }
  Encoder() { out_.integer(std::uint8_t{1}); }

  template <class Enum>
    requires std::is_enum_v<Enum>
  Encoder& operator()(Enum value) {
    out_.integer(static_cast<std::uint8_t>(value));
    return *this;
  }
  Encoder& operator()(bool value) {
    out_.integer(static_cast<std::uint8_t>(value ? 1 : 0));
    return *this;
  }
  Encoder& operator()(std::uint64_t value) {
    out_.integer(value);
    return *this;
  }
  Encoder& operator()(double value) { return (*this)(std::bit_cast<std::uint64_t>(value)); }
  Encoder& operator()(const std::string& text) {
    out_.string16(std::string_view(text).substr(0, text_size_max));
    return *this;
  }
  Encoder& operator()(const std::vector<std::uint64_t>& shape) {
    out_.integer(static_cast<std::uint8_t>(shape.size()));
    for (const std::uint64_t n : shape) out_.integer(n);
    return *this;
  }
  template <class T>
  Encoder& operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
    return *this;
  }
  Encoder& count(std::size_t n) {
    out_.integer(static_cast<std::uint32_t>(n));
    return *this;
  }
  Buffer take() { return std::move(out_).take(); }

 private:
  WireWriter out_;
};

// Reads fields until one is wrong; from then on everything is skipped and good() is false. One check at the
// end of each item keeps the field lists as readable as the encoder's.
class Decoder {
 public:
  explicit Decoder(Bytes bytes, std::size_t items_max = 0) : in_(bytes), items_left_(items_max) {}

  template <class T>
  Decoder& integer(T& out) {
    take(in_.integer<T>(), out);
    return *this;
  }
  Decoder& operator()(std::uint64_t& out) { return integer(out); }
  Decoder& operator()(double& out) {
    std::uint64_t bits = 0;
    integer(bits);
    out = std::bit_cast<double>(bits);
    return *this;
  }
  Decoder& operator()(bool& out) {
    std::uint8_t raw = 0;
    integer(raw);
    require(raw <= 1);
    out = raw == 1;
    return *this;
  }
  template <class Enum>
  Decoder& enumeration(Enum& out, Enum last) {
    std::uint8_t raw = 0;
    integer(raw);
    require(raw <= static_cast<std::uint8_t>(last));
    out = static_cast<Enum>(raw);
    return *this;
  }
  Decoder& operator()(std::string& out) {
    take(in_.string16(), out);
    return *this;
  }
  Decoder& operator()(std::vector<std::uint64_t>& out) {
    std::uint8_t n = 0;
    integer(n);
    require(n <= dimensions_max);
    if (!good_) return *this;
    out.resize(n);
    for (std::uint64_t& value : out) integer(value);
    return *this;
  }
  template <class T>
  Decoder& operator()(std::optional<T>& out) {
    bool there = false;
    (*this)(there);
    out.reset();
    if (there) (*this)(out.emplace());
    return *this;
  }
  // Items of at least `item_size_min` bytes, each read by `read_one`. All lists of an answer share one allowance.
  template <class T, class ReadOne>
  Decoder& list(std::vector<T>& out, std::size_t item_size_min, ReadOne read_one) {
    std::uint32_t n = 0;
    integer(n);
    require(n <= in_.rest().size() / item_size_min && n <= items_left_);
    if (good_) items_left_ -= n;
    for (std::uint32_t i = 0; i < n && good_; ++i) read_one(out.emplace_back());
    return *this;
  }
  void require(bool condition) { good_ = good_ && condition; }
  bool good() const { return good_; }
  bool at_end() const { return good_ && in_.empty(); }

 private:
  template <class T>
  void take(Result<T> result, T& out) {
    if (!result) good_ = false;
    if (good_) out = std::move(*result);
  }

  WireReader in_;
  std::size_t items_left_;
  bool good_ = true;
};

Error nonsense() { return fail(ErrorKind::corrupt, "the HDF5 reader sent an answer that makes no sense"); }

ErrorKind believable(std::uint8_t raw) {
  switch (static_cast<ErrorKind>(raw)) {
    case ErrorKind::unsupported: return ErrorKind::unsupported;
    case ErrorKind::limit: return ErrorKind::limit;
    case ErrorKind::timeout: return ErrorKind::timeout;
    case ErrorKind::not_found: return ErrorKind::not_found;
    default: return ErrorKind::corrupt;
  }
}

// Everything up to the fields of the report; an error when the helper reported one.
Status read_opening(Decoder& in, Question expected) {
  std::uint8_t outcome = 0;
  in.integer(outcome);
  if (in.good() && outcome == 1) {
    std::uint8_t kind = 0;
    std::string text;
    in.integer(kind)(text);
    if (!in.at_end()) return nonsense();
    return fail(believable(kind), std::move(text));
  }
  std::uint8_t question = 0;
  in.integer(question);
  if (!in.good() || outcome != 0 || question != static_cast<std::uint8_t>(expected)) return nonsense();
  return {};
}

void write(Encoder& out, const Object& object) {
  out(object.path)(object.kind)(object.type)(object.shape)(object.shape_max)(object.layout)(object.chunk);
  out(object.filters)(object.storage_bytes)(object.target);
  out.count(object.attributes.size());
  for (const Attribute& a : object.attributes) out(a.name)(a.type)(a.shape)(a.value);
}

void read(Decoder& in, Object& object) {
  in(object.path).enumeration(object.kind, ObjectKind::link)(object.type)(object.shape)(object.shape_max);
  in(object.layout)(object.chunk)(object.filters)(object.storage_bytes)(object.target);
  in.list(object.attributes, 7, [&](Attribute& a) { in(a.name)(a.type)(a.shape)(a.value); });
}

void write(Encoder& out, const Change& change) {
  out(change.path)(change.attribute)(change.object)(change.what)(change.before)(change.after);
  out(change.changed)(change.total)(change.max_difference)(change.note);
}

void read(Decoder& in, Change& change) {
  in(change.path)(change.attribute).enumeration(change.object, ObjectKind::link);
  in.enumeration(change.what, What::not_compared)(change.before)(change.after);
  in(change.changed)(change.total)(change.max_difference)(change.note);
}

}  // namespace

Buffer encode_answer(const Health& health) {
  Encoder out(Question::inspect);
  return out(health.state)(health.swmr)(health.size)(health.expected_size)(health.text).take();
}

Buffer encode_answer(const Listing& listing) {
  Encoder out(Question::list);
  out(listing.complete)(listing.incomplete_because).count(listing.objects.size());
  for (const Object& object : listing.objects) write(out, object);
  return out.take();
}

Buffer encode_answer(const FileDiff& diff) {
  Encoder out(Question::compare);
  out(diff.complete)(diff.incomplete_because)(diff.datasets_compared)(diff.bytes_read).count(diff.changes.size());
  for (const Change& change : diff.changes) write(out, change);
  return out.take();
}

Buffer encode_answer(const Error& error) {
  Encoder out;
  return out(error.kind())(error.message()).take();
}

Result<Health> decode_health(Bytes answer) {
  Decoder in(answer);
  PEEL_CHECK(read_opening(in, Question::inspect), "");
  Health out;
  in.enumeration(out.state, HealthState::not_hdf5)(out.swmr)(out.size)(out.expected_size)(out.text);
  if (!in.at_end()) return nonsense();
  return out;
}

Result<Listing> decode_listing(Bytes answer, std::size_t items_max) {
  Decoder in(answer, items_max);
  PEEL_CHECK(read_opening(in, Question::list), "");
  Listing out;
  in(out.complete)(out.incomplete_because);
  in.list(out.objects, 26, [&](Object& object) { read(in, object); });
  if (!in.at_end()) return nonsense();
  return out;
}

Result<FileDiff> decode_file_diff(Bytes answer, std::size_t items_max) {
  Decoder in(answer, items_max);
  PEEL_CHECK(read_opening(in, Question::compare), "");
  FileDiff out;
  in(out.complete)(out.incomplete_because)(out.datasets_compared)(out.bytes_read);
  in.list(out.changes, 22, [&](Change& change) { read(in, change); });
  if (!in.at_end()) return nonsense();
  return out;
}

}  // namespace peel::hdf5
