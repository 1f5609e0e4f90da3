// Which codec a chunk gets. Every attempt is preceded by a look that costs a few per cent of it: how much the bytes
// repeat (page_estimate.h), what bit-packing promises (dbp_guess), how flat the byte planes are (entropy_saving).
#include <algorithm>

#include "codec/compressors.h"
#include "codec/dbp.h"
#include "codec/page_codec.h"
#include "codec/page_estimate.h"
#include "codec/page_stored.h"

namespace peel::codec {
namespace {

constexpr double dbp_worth = 0.9;           // stored / plain that makes bit-packing the answer
constexpr double dbp_settles = 0.5;         // and, of differences, leaves nothing to look for
constexpr double entropy_worth = 1.0 / 12;  // saved by an entropy coder: below, planes are not worth their time
constexpr double repetitive = 0.75;         // bytes equal to an earlier one: lz4 may beat bit-packing
constexpr double unrepetitive = 0.15;       // and here it will find nothing

bool repeats(Bytes plain, std::size_t width) {
  return plain.size() <= width || std::memcmp(plain.data(), plain.data() + width, plain.size() - width) == 0;
}

// Width of the element all of `plain` repeats, or 0.
std::uint8_t constant_width(Bytes plain) {
  // What repeats 1, 2 or 4 bytes repeats 8; then the first 8 decide.
  if (plain.size() > 8 && !repeats(plain, 8)) return 0;
  const Bytes front = plain.first(std::min<std::size_t>(plain.size(), 8));
  for (const std::uint8_t width : {1, 2, 4, 8})
    if (plain.size() > width && repeats(front, width)) return width;
  return 0;
}

// The best form of one chunk so far.
class Choice {
 public:
  Choice(Bytes plain, Effort effort) : plain_(plain), effort_(effort), size_(plain.size() - plain.size() / 16 + 1) {}

  // Takes the codec when it is at least `margin` bytes smaller than the best so far.
  void consider(Codec codec, std::uint8_t width, std::size_t margin = 1) {
    consider_with(codec, width, margin, [&](MutableBytes out) { return compress_into(codec, width, effort_, plain_, out); });
  }
  void consider_dbp(std::uint8_t width, unsigned order) {
    consider_with(Codec::dbp, width, 1, [&](MutableBytes out) { return dbp_encode(width, order, plain_, out); });
  }
  bool raw() const { return codec_ == Codec::raw; }
  Codec codec() const { return codec_; }
  // While raw: the first size that does not save enough.
  std::size_t size() const { return size_; }
  Encoded finish(Buffer& out) const { return raw() ? append(Codec::raw, 1, plain_, out) : append(codec_, width_, best_, out); }

 private:
  template <class F>
  void consider_with(Codec codec, std::uint8_t width, std::size_t margin, F make) {
    if (size_ <= margin) return;
    const MutableBytes room = scratch(where_, plain_.size()).first(size_ - margin);
    const std::size_t n = make(room);
    if (n == 0) return;
    codec_ = codec;
    width_ = width;
    size_ = n;
    best_ = room.first(n);
    where_ = where_ == Scratch::candidate ? Scratch::best : Scratch::candidate;  // the next attempt leaves this one alone
  }

  Bytes plain_, best_;
  Effort effort_;
  Scratch where_ = Scratch::candidate;
  Codec codec_ = Codec::raw;
  std::uint8_t width_ = 1;
  std::size_t size_;
};

struct Look {
  PageEstimate page;
  std::uint8_t width;  // of an element, told or guessed
  DbpGuess dbp;
  bool numeric() const { return width == 2 || width == 4 || width == 8; }
};

// Where bit-packing promises enough, little is left to find; else planes or bytes by lz4, else planes one by one.
void choose_fast(Bytes plain, const Look& look, Choice& choice) {
  if (look.dbp.stored <= dbp_worth) {
    choice.consider_dbp(look.width, look.dbp.order);
    // Bytes need not be numbers: text has seven bits, too.
    const bool settled = look.numeric() || choice.size() <= plain.size() / 4;
    if (!choice.raw() && settled && (look.page.matches < repetitive || choice.size() <= plain.size() / 16)) return;
  }
  if (look.page.looks_random) return;
  if (look.numeric()) {
    // Weights: nothing repeats, but some planes hold few values.
    if (look.page.matches < unrepetitive && entropy_saving(plain, look.width) >= entropy_worth) choice.consider(Codec::planes, look.width);
    if (choice.codec() == Codec::planes) return;
    choice.consider(Codec::shuffle_lz4, look.width);
    if (choice.raw() || look.page.matches >= repetitive) choice.consider(Codec::lz4, 1);
    if (choice.raw() && entropy_saving(plain, look.width) >= entropy_worth) choice.consider(Codec::planes, look.width);
  } else {
    choice.consider(Codec::lz4, 1);
  }
}

// zstd costs ten times what lz4 does, so lz4 (or a look at the entropy) says first whether and on which form of the
// bytes it has a chance.
void choose_balanced(Bytes plain, const Look& look, Choice& choice) {
  choose_fast(plain, look, choice);
  const std::size_t margin = choice.raw() ? 1 : plain.size() / 64 + 1;
  const double saving = look.page.looks_random ? 0 : entropy_saving(plain, look.numeric() ? look.width : std::uint8_t{1});
  if (choice.codec() == Codec::dbp) {
    if (look.dbp.order > 0) choice.consider(Codec::delta_zstd, look.width, margin);
    choice.consider(look.numeric() ? Codec::shuffle_zstd : Codec::zstd, look.width, margin);
    return;
  }
  if (choice.raw() && saving < 1.0 / 16) return;
  const bool bytes = choice.codec() == Codec::lz4 || !look.numeric();
  choice.consider(bytes ? Codec::zstd : Codec::shuffle_zstd, look.width, margin);
  if (look.numeric() && saving >= entropy_worth) choice.consider(Codec::planes, look.width, margin);
}

void choose_thorough(Bytes plain, Look look, Choice& choice) {
  if (look.width == 1 && entropy_saving(plain, 4) > entropy_saving(plain, 1) + 0.01) {
    look.width = 4;
    look.dbp = dbp_guess(look.width, plain, dbp_guess_blocks);
  }
  choose_fast(plain, look, choice);
  if (look.dbp.stored < 1) choice.consider_dbp(look.width, look.dbp.order);  // never of a width it does not take
  if (look.numeric()) {
    choice.consider(Codec::delta_zstd, look.width);
    choice.consider(Codec::shuffle_zstd, look.width);
    choice.consider(Codec::planes, look.width);
  }
  choice.consider(Codec::zstd, 1);
  if (!look.numeric())  // rows of a table
    for (const std::uint8_t width : {4, 8}) choice.consider(Codec::shuffle_zstd, width, plain.size() / 64 + 1);
}

// With the codec the caller wants; nothing when it does not fit these bytes or stores them larger.
std::optional<Encoded> encode_wanted(Bytes plain, const EncodeHint& hint, Buffer& out) {
  const std::size_t base = out.size();
  std::uint8_t width = hint.element_width != 0 ? hint.element_width : estimate(plain).element_width;
  if (width <= 1 && codec_has_width(*hint.codec)) width = 4;
  const auto encoded = encode_as(*hint.codec, width, hint.effort, plain, out);
  if (encoded && (encoded->size < plain.size() || *hint.codec == Codec::raw)) return *encoded;
  out.resize(base);
  return std::nullopt;
}

}  // namespace

Encoded encode(Bytes plain, EncodeHint hint, Buffer& out) {
  if (plain.empty() || plain.size() > chunk_size_max) return append(Codec::raw, 1, plain, out);
  if (hint.codec)
    if (const auto wanted = encode_wanted(plain, hint, out)) return *wanted;
  if (const std::uint8_t width = constant_width(plain)) return append(Codec::constant, width, plain.first(width), out);

  Choice choice(plain, hint.effort);
  Look look{{}, hint.element_width, {}};
  // Numbers, and smooth ones: the common case of scientific files, and the quickest to answer.
  const bool told_and_quick = look.numeric() && hint.effort == Effort::fast;
  if (told_and_quick) {
    look.dbp = dbp_guess(look.width, plain, dbp_guess_blocks);
    if (look.dbp.order > 0 && look.dbp.stored <= dbp_settles) {
      choice.consider_dbp(look.width, look.dbp.order);
      if (!choice.raw()) return choice.finish(out);
    }
  }
  look.page = estimate(plain);
  if (look.width == 0) look.width = look.page.element_width;
  if (!told_and_quick && dbp_takes(look.width)) {
    if (look.page.looks_random) look.dbp = dbp_guess(look.width, plain, dbp_guess_blocks / 4);
    // The order comes from the same look as encode_as() takes: both store the same bytes.
    if (!look.page.looks_random || look.dbp.stored < 1) look.dbp = dbp_guess(look.width, plain, dbp_guess_blocks);
  }

  switch (hint.effort) {
    case Effort::fast: choose_fast(plain, look, choice); break;
    case Effort::balanced: choose_balanced(plain, look, choice); break;
    case Effort::thorough: choose_thorough(plain, look, choice); break;
  }
  return choice.finish(out);
}

}  // namespace peel::codec
