#include "proto/history_messages.h"

namespace peel::proto {
namespace {

Result<RefKind> read_ref_kind(WireReader& r) {
  PEEL_TRY(const auto kind, r.integer<std::uint8_t>(), "kind");
  if (kind != static_cast<std::uint8_t>(RefKind::branch) && kind != static_cast<std::uint8_t>(RefKind::tag))
    return fail(ErrorKind::corrupt, "kind of ref");
  return static_cast<RefKind>(kind);
}

Result<std::string> read_ref_name(WireReader& r) {
  PEEL_TRY(auto name, read_string(r, ref_name_size_max), "name");
  if (name.empty() || name.find('\0') != std::string::npos) return fail(ErrorKind::corrupt, "name of ref");
  return name;
}

Result<std::uint8_t> read_flags(WireReader& r, std::uint8_t known) {
  PEEL_TRY(const auto flags, r.integer<std::uint8_t>(), "flags");
  if ((flags & ~known) != 0) return fail(ErrorKind::corrupt, "unknown flags");
  return flags;
}

void write_name(WireWriter& w, const ChunkName& name) { w.digest(name.digest).integer(name.length); }

Result<ChunkName> read_name(WireReader& r) {
  ChunkName name;
  PEEL_TRY(name.digest, r.digest(), "chunk");
  PEEL_TRY(name.length, r.integer<std::uint32_t>(), "chunk length");
  if (name.length == 0) return fail(ErrorKind::corrupt, "empty chunk");
  if (name.length > chunk_length_max) return fail(ErrorKind::limit, "chunk of " + std::to_string(name.length));
  return name;
}

std::uint8_t flag(bool on, unsigned bit) { return static_cast<std::uint8_t>(on ? bit : 0u); }

}  // namespace

void Haves::encode(WireWriter& w) const {
  w.integer(static_cast<std::uint8_t>(kind)).integer(static_cast<std::uint32_t>(ids.size()));
  for (const auto& id : ids) w.digest(id);
}

Result<Haves> Haves::decode(Bytes body) {
  WireReader r(body);
  Haves m;
  PEEL_TRY(const auto kind, r.integer<std::uint8_t>(), "kind");
  if (kind > 1) return fail(ErrorKind::corrupt, "kind of haves");
  m.kind = static_cast<Kind>(kind);
  PEEL_TRY(const auto n, read_count32(r, haves_max, 32), "haves");
  m.ids.resize(n);
  for (auto& id : m.ids) {
    PEEL_TRY(id, r.digest(), "id");
  }
  PEEL_CHECK(finish_decode(r), "haves");
  return m;
}

void Refs::encode(WireWriter& w) const {
  w.integer(static_cast<std::uint32_t>(refs.size()));
  for (const auto& ref : refs)
    w.integer(static_cast<std::uint8_t>(ref.kind)).string16(ref.name).digest(ref.target).string16(ref.value);
}

Result<Refs> Refs::decode(Bytes body) {
  WireReader r(body);
  Refs m;
  PEEL_TRY(const auto n, read_count32(r, refs_max, 37), "refs");
  m.refs.resize(n);
  for (auto& ref : m.refs) {
    PEEL_TRY(ref.kind, read_ref_kind(r), "");
    PEEL_TRY(ref.name, read_ref_name(r), "");
    PEEL_TRY(ref.target, r.digest(), "target");
    PEEL_TRY(ref.value, r.string16(), "value");
  }
  PEEL_CHECK(finish_decode(r), "refs");
  return m;
}

void OnionState::encode(WireWriter& w) const { w.integer(flag(exists, 1)).bytes(lineage).string16(current_branch); }

Result<OnionState> OnionState::decode(Bytes body) {
  WireReader r(body);
  OnionState m;
  PEEL_TRY(const auto flags, read_flags(r, 1), "");
  m.exists = (flags & 1) != 0;
  PEEL_TRY(m.lineage, r.array<32>(), "lineage");
  PEEL_TRY(m.current_branch, read_string(r, ref_name_size_max), "branch");
  PEEL_CHECK(finish_decode(r), "onion state");
  return m;
}

void Updates::encode(WireWriter& w) const {
  w.integer(static_cast<std::uint8_t>(flag(atomic, 1) | flag(last, 2)));
  w.integer(static_cast<std::uint32_t>(updates.size()));
  for (const auto& u : updates) {
    w.integer(static_cast<std::uint8_t>(u.kind));
    w.integer(static_cast<std::uint8_t>(flag(u.target.has_value(), 1) | flag(u.force, 2)));
    w.string16(u.name).digest(u.expected).digest(u.target.value_or(RevisionId{})).string16(u.value);
  }
}

Result<Updates> Updates::decode(Bytes body) {
  WireReader r(body);
  Updates m;
  PEEL_TRY(const auto flags, read_flags(r, 3), "");
  m.atomic = (flags & 1) != 0;
  m.last = (flags & 2) != 0;
  PEEL_TRY(const auto n, read_count32(r, refs_max, 70), "updates");
  m.updates.resize(n);
  for (auto& u : m.updates) {
    PEEL_TRY(u.kind, read_ref_kind(r), "");
    PEEL_TRY(const auto bits, read_flags(r, 3), "");
    u.force = (bits & 2) != 0;
    PEEL_TRY(u.name, read_ref_name(r), "");
    PEEL_TRY(u.expected, r.digest(), "expected");
    PEEL_TRY(const auto target, r.digest(), "target");
    if (((bits & 1) != 0) == target.is_zero()) return fail(ErrorKind::corrupt, "target");
    if ((bits & 1) != 0) u.target = target;
    PEEL_TRY(u.value, r.string16(), "value");
  }
  PEEL_CHECK(finish_decode(r), "updates");
  return m;
}

void Results::encode(WireWriter& w) const {
  w.integer(flag(last, 1)).integer(static_cast<std::uint32_t>(results.size()));
  for (const auto& x : results) {
    w.integer(static_cast<std::uint8_t>(x.kind)).integer(static_cast<std::uint8_t>(x.state)).string16(x.name);
    w.digest(x.before).digest(x.after).string16(std::string_view(x.reason).substr(0, abort_text_size_max));
  }
}

Result<Results> Results::decode(Bytes body) {
  WireReader r(body);
  Results m;
  PEEL_TRY(const auto flags, read_flags(r, 1), "");
  m.last = (flags & 1) != 0;
  PEEL_TRY(const auto n, read_count32(r, refs_max, 70), "results");
  m.results.resize(n);
  for (auto& x : m.results) {
    PEEL_TRY(x.kind, read_ref_kind(r), "");
    PEEL_TRY(const auto state, r.integer<std::uint8_t>(), "state");
    if (state > 3) return fail(ErrorKind::corrupt, "state");
    x.state = static_cast<RefResult::State>(state);
    PEEL_TRY(x.name, read_ref_name(r), "");
    PEEL_TRY(x.before, r.digest(), "before");
    PEEL_TRY(x.after, r.digest(), "after");
    PEEL_TRY(x.reason, read_string(r, abort_text_size_max), "reason");
  }
  PEEL_CHECK(finish_decode(r), "results");
  return m;
}

void LayerHead::encode(WireWriter& w) const {
  w.digest(info.id).integer(static_cast<std::uint16_t>(info.parents.size()));
  for (const auto& parent : info.parents) w.digest(parent);
  w.integer(info.generation).integer(info.size).digest(info.content);
  w.string16(info.meta.author).string16(info.meta.host).string16(info.meta.note);
  w.signed64(info.meta.time_ns).signed64(info.meta.mtime_ns).integer(info.meta.mode).integer(info.meta.labels);
  w.integer(flag(whole, 1)).integer(piece_count);
}

Result<LayerHead> LayerHead::decode(Bytes body) {
  WireReader r(body);
  LayerHead m;
  PEEL_TRY(m.info.id, r.digest(), "id");
  PEEL_TRY(const auto n, read_count16(r, parents_max, 32), "parents");
  m.info.parents.resize(n);
  for (auto& parent : m.info.parents) {
    PEEL_TRY(parent, r.digest(), "parent");
  }
  PEEL_TRY(m.info.generation, r.integer<std::uint64_t>(), "generation");
  PEEL_TRY(m.info.size, r.integer<std::uint64_t>(), "size");
  if (m.info.size > file_size_max) return fail(ErrorKind::limit, "size");
  PEEL_TRY(m.info.content, r.digest(), "content");
  PEEL_TRY(m.info.meta.author, r.string16(), "author");
  PEEL_TRY(m.info.meta.host, r.string16(), "host");
  PEEL_TRY(m.info.meta.note, r.string16(), "note");
  PEEL_TRY(m.info.meta.time_ns, r.signed64(), "time");
  PEEL_TRY(m.info.meta.mtime_ns, r.signed64(), "mtime");
  PEEL_TRY(m.info.meta.mode, r.integer<std::uint32_t>(), "mode");
  PEEL_TRY(m.info.meta.labels, r.integer<std::uint32_t>(), "labels");
  PEEL_TRY(const auto flags, read_flags(r, 1), "");
  m.whole = (flags & 1) != 0;
  PEEL_TRY(m.piece_count, r.integer<std::uint64_t>(), "pieces");
  if (m.piece_count > pieces_per_layer_max) return fail(ErrorKind::limit, "pieces");
  m.info.time_ns = m.info.meta.time_ns;
  PEEL_CHECK(finish_decode(r), "layer");
  return m;
}

namespace {
constexpr std::uint8_t piece_hole = 1, piece_gap = 2, piece_slice = 4;

bool is_slice(const Piece& piece) { return piece.chunk_offset != 0 || piece.length != piece.chunk.length; }

// `at`: where the piece before ended. Everything is checked against file_size_max, so sums cannot overflow.
Result<Piece> read_piece(WireReader& r, std::uint64_t at) {
  Piece piece;
  PEEL_TRY(const auto flags, read_flags(r, piece_hole | piece_gap | piece_slice), "");
  piece.offset = at;
  if ((flags & piece_gap) != 0) {
    PEEL_TRY(const auto gap, r.integer<std::uint64_t>(), "gap");
    if (gap == 0 || gap > file_size_max - at) return fail(ErrorKind::corrupt, "gap");
    piece.offset += gap;
  }
  if ((flags & piece_hole) != 0) {
    if ((flags & piece_slice) != 0) return fail(ErrorKind::corrupt, "hole with a slice");
    PEEL_TRY(piece.length, r.integer<std::uint64_t>(), "hole");
  } else {
    PEEL_TRY(piece.chunk, read_name(r), "piece");
    piece.length = piece.chunk.length;
    if ((flags & piece_slice) != 0) {
      PEEL_TRY(piece.chunk_offset, r.integer<std::uint32_t>(), "slice");
      PEEL_TRY(piece.length, r.integer<std::uint32_t>(), "slice");
      if (piece.chunk_offset + piece.length > piece.chunk.length || !is_slice(piece))
        return fail(ErrorKind::corrupt, "slice");
    }
  }
  if (piece.length == 0 || piece.length > file_size_max - piece.offset) return fail(ErrorKind::corrupt, "piece");
  return piece;
}
}  // namespace

void Pieces::encode(WireWriter& w) const {
  w.integer(base).integer(static_cast<std::uint32_t>(pieces.size()));
  std::uint64_t at = base;
  for (const auto& piece : pieces) {
    assert(piece.offset >= at);
    const bool gap = piece.offset > at, slice = !piece.is_hole() && is_slice(piece);
    w.integer(
        static_cast<std::uint8_t>(flag(piece.is_hole(), piece_hole) | flag(gap, piece_gap) | flag(slice, piece_slice)));
    if (gap) w.integer(piece.offset - at);
    if (piece.is_hole()) {
      w.integer(piece.length);
    } else {
      write_name(w, piece.chunk);
      if (slice) w.integer(piece.chunk_offset).integer(static_cast<std::uint32_t>(piece.length));
    }
    at = piece.offset + piece.length;
  }
}

Result<Pieces> Pieces::decode(Bytes body) {
  WireReader r(body);
  Pieces m;
  PEEL_TRY(m.base, r.integer<std::uint64_t>(), "base");
  if (m.base > file_size_max) return fail(ErrorKind::corrupt, "base");
  PEEL_TRY(const auto n, read_count32(r, frame_size_max, 9), "pieces");
  m.pieces.reserve(n);
  std::uint64_t at = m.base;
  for (std::size_t i = 0; i < n; ++i) {
    PEEL_TRY(auto piece, read_piece(r, at), "");
    at = piece.offset + piece.length;
    m.pieces.push_back(piece);
  }
  PEEL_CHECK(finish_decode(r), "pieces");
  return m;
}

Result<LayersEnd> LayersEnd::decode(Bytes body) {
  PEEL_CHECK(finish_decode(WireReader(body)), "layers end");
  return LayersEnd{};
}

void Credit::encode(WireWriter& w) const { w.integer(bytes); }

Result<Credit> Credit::decode(Bytes body) {
  WireReader r(body);
  Credit m;
  PEEL_TRY(m.bytes, r.integer<std::uint64_t>(), "bytes");
  PEEL_CHECK(finish_decode(r), "credit");
  return m;
}

void Want::encode(WireWriter& w) const {
  w.integer(static_cast<std::uint32_t>(names.size()));
  for (const auto& name : names) write_name(w, name);
}

Result<Want> Want::decode(Bytes body) {
  WireReader r(body);
  Want m;
  PEEL_TRY(const auto n, read_count32(r, wants_per_frame_max, 36), "wants");
  m.names.resize(n);
  for (auto& name : m.names) {
    PEEL_TRY(name, read_name(r), "want");
  }
  PEEL_CHECK(finish_decode(r), "want");
  return m;
}

void Chunk::encode(WireWriter& w) const {
  write_name(w, chunk.name);
  w.integer(chunk.codec).integer(chunk.width).bytes(chunk.stored);
}

Result<Chunk> Chunk::decode(Bytes body) {
  WireReader r(body);
  Chunk m;
  PEEL_TRY(m.chunk.name, read_name(r), "");
  PEEL_TRY(m.chunk.codec, r.integer<std::uint8_t>(), "codec");
  PEEL_TRY(m.chunk.width, r.integer<std::uint8_t>(), "width");
  if (r.rest().size() > chunk_stored_max) return fail(ErrorKind::limit, "stored chunk");
  m.chunk.stored.assign(r.rest().begin(), r.rest().end());
  return m;
}

void Absent::encode(WireWriter& w) const { write_name(w, name); }

Result<Absent> Absent::decode(Bytes body) {
  WireReader r(body);
  Absent m;
  PEEL_TRY(m.name, read_name(r), "");
  PEEL_CHECK(finish_decode(r), "absent");
  return m;
}

}  // namespace peel::proto
