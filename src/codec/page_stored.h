// codec/page_stored.h - what page_choice.cpp needs of page_codec.cpp. Private to codec.
//
// Errors     None.
// Threads    Any.
#pragma once

#include "codec/page_codec.h"

namespace peel::codec {

inline constexpr std::size_t dbp_guess_blocks = 8;  // blocks of 256 elements looked at to choose an order

bool codec_has_width(Codec codec);  // else the stored width is 1
// The stored form of any codec but raw and constant; 0 where it does not fit. The codec takes the width.
std::size_t compress_into(Codec codec, std::uint8_t width, Effort effort, Bytes plain, MutableBytes out);
Encoded append(Codec codec, std::uint8_t width, Bytes stored, Buffer& out);

}  // namespace peel::codec
