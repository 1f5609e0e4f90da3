#include "codec/planes.h"

#include <algorithm>

#include "base/wire.h"
#include "codec/compressors.h"
#include "codec/page_codec.h"
#include "codec/page_estimate.h"

namespace peel::codec {
namespace {

enum class Form : std::uint8_t { raw = 0, constant = 1, entropy = 2, lz4 = 3 };
constexpr std::size_t length_size = 4;     // before what compressors made
constexpr double entropy_saving_min = 0.02;  // of a plane; less is not worth the time

// The low bytes of counters and of linear generators come round after 256 elements, and have no other regularity.
bool comes_round(Bytes plane) {
  constexpr std::size_t period = 256, looked_at = 64;
  return plane.size() >= 2 * period && std::memcmp(plane.data(), plane.data() + period, looked_at) == 0;
}

Form form_of(Bytes plane) {
  if (plane.empty()) return Form::raw;
  if (std::memcmp(plane.data(), plane.data() + 1, plane.size() - 1) == 0) return Form::constant;
  if (comes_round(plane)) return Form::lz4;
  return entropy_saving(plane, 1) >= entropy_saving_min ? Form::entropy : Form::raw;
}

class Output {
 public:
  explicit Output(MutableBytes out) : out_(out) {}
  bool put(Bytes bytes) {
    if (bytes.size() > out_.size() - at_) return false;
    if (!bytes.empty()) std::memcpy(out_.data() + at_, bytes.data(), bytes.size());
    at_ += bytes.size();
    return true;
  }
  bool put(Form form) {
    const auto byte = static_cast<std::byte>(form);
    return put(Bytes(&byte, 1));
  }
  // What `compress` makes of less than `limit` bytes, after its length; nothing where it does not get there.
  template <class F>
  bool put_compressed(Form form, std::size_t limit, F compress) {
    if (out_.size() - at_ < 1 + length_size) return false;
    const MutableBytes room = out_.subspan(at_ + 1 + length_size);
    const std::size_t n = compress(room.first(std::min(room.size(), limit)));
    if (n == 0) return false;
    put(form);
    WireWriter::store(out_.data() + at_, static_cast<std::uint32_t>(n));
    at_ += length_size + n;
    return true;
  }
  std::size_t size() const { return at_; }

 private:
  MutableBytes out_;
  std::size_t at_ = 0;
};

bool put_plane(Bytes plane, Output& out) {
  const Form form = form_of(plane);
  if (form == Form::constant) return out.put(form) && out.put(plane.first(1));
  const std::size_t limit = plane.size() - plane.size() / 64;
  if (form == Form::entropy && out.put_compressed(form, limit, [&](MutableBytes room) { return entropy_into(plane, room); })) return true;
  if (form == Form::lz4 && out.put_compressed(form, limit, [&](MutableBytes room) { return lz4_into(plane, room); })) return true;
  return out.put(Form::raw) && out.put(plane);
}

}  // namespace

std::size_t planes_bound(std::uint8_t width, std::size_t plain_size) { return plain_size + width * (1 + length_size); }

std::size_t planes_into(std::uint8_t width, Bytes plain, MutableBytes out_bytes) {
  const MutableBytes planes = scratch(Scratch::planes, plain.size());
  shuffle(plain, width, planes);
  const std::size_t n = plain.size() / width;
  Output out(out_bytes);
  for (std::size_t p = 0; p < width; ++p)
    if (!put_plane(Bytes(planes).subspan(p * n, n), out)) return 0;
  return out.put(Bytes(planes).subspan(n * width)) ? out.size() : 0;
}

Status planes_from(std::uint8_t width, Bytes stored, MutableBytes plain) {
  const MutableBytes planes = scratch(Scratch::planes, plain.size());
  const std::size_t n = plain.size() / width;
  Bytes rest = stored;
  const auto take = [&](std::size_t size) -> Result<Bytes> {
    if (rest.size() < size) return fail(ErrorKind::corrupt, "planes: the stored bytes end too early");
    const Bytes front = rest.first(size);
    rest = rest.subspan(size);
    return front;
  };
  const auto take_sized = [&]() -> Result<Bytes> {
    PEEL_TRY(const Bytes length, take(length_size), "");
    return take(WireReader::load<std::uint32_t>(length.data()));
  };
  for (std::size_t p = 0; p < width; ++p) {
    const MutableBytes plane = planes.subspan(p * n, n);
    PEEL_TRY(const Bytes form, take(1), "");
    switch (static_cast<Form>(form[0])) {
      case Form::raw: {
        PEEL_TRY(const Bytes bytes, take(n), "");
        if (n > 0) std::memcpy(plane.data(), bytes.data(), n);
        break;
      }
      case Form::constant: {
        PEEL_TRY(const Bytes byte, take(1), "");
        if (n > 0) std::memset(plane.data(), std::to_integer<int>(byte[0]), n);
        break;
      }
      case Form::entropy: {
        PEEL_TRY(const Bytes frame, take_sized(), "");
        PEEL_CHECK(zstd_from(frame, plane), "planes");
        break;
      }
      case Form::lz4: {
        PEEL_TRY(const Bytes block, take_sized(), "");
        PEEL_CHECK(lz4_from(block, plane), "planes");
        break;
      }
      default: return fail(ErrorKind::corrupt, "planes: a form that is none");
    }
  }
  const MutableBytes tail = planes.subspan(n * width);
  if (rest.size() != tail.size()) return fail(ErrorKind::corrupt, "planes: the stored bytes do not expand to the length");
  if (!tail.empty()) std::memcpy(tail.data(), rest.data(), tail.size());
  unshuffle(planes, width, plain);
  return {};
}

}  // namespace peel::codec
