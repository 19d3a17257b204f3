// Tables of codebooks where no shuffle is long enough for them: included behind the words_….h of such an instruction set.
#pragma once

// Entries low + 256 · high of tables of 256 << kHighBits bytes. No shuffle takes as long a table, so one byte after the other.
template <int kHighBits>
HWY_INLINE void look_up_planes(const uint8_t* first_table, const uint8_t* second_table, Bytes low, Bytes high, Bytes& first,
                               Bytes& second) {
  constexpr int kBytesOfVector = 4 * kVectorRows;
  std::byte low_bytes[kBytesOfVector];
  std::byte high_bytes[kBytesOfVector];
  std::byte first_bytes[kBytesOfVector];
  std::byte second_bytes[kBytesOfVector];
  store_bytes(low, low_bytes);
  if constexpr (kHighBits > 0) store_bytes(high, high_bytes);
  for (int at = 0; at < kBytesOfVector; ++at) {
    int index = static_cast<int>(low_bytes[at]);
    if constexpr (kHighBits > 0) index |= static_cast<int>(high_bytes[at]) << 8;
    first_bytes[at] = static_cast<std::byte>(first_table[index]);
    second_bytes[at] = static_cast<std::byte>(second_table[index]);
  }
  first = load_bytes(first_bytes);
  second = load_bytes(second_bytes);
}
// The same for many vectors.
template <int kHighBits, int kVectors>
HWY_INLINE void look_up_many(const uint8_t* first_table, const uint8_t* second_table, const Bytes (&low)[kVectors],
                             const Bytes (&high)[kVectors], Bytes (&first)[kVectors], Bytes (&second)[kVectors]) {
  for (int v = 0; v < kVectors; ++v) look_up_planes<kHighBits>(first_table, second_table, low[v], high[v], first[v], second[v]);
}
