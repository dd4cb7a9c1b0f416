// Package textpack packs short JSON texts, of which a store has millions that are nearly
// alike: requests, responses and jobs' arguments. Call [Pack] and [Unpack]. They are
// pure.
//
// A packed text is a dictionary's number in one byte, the text's CRC-32C in four, and a
// block of s2 that refers to that dictionary. So each text is unpacked by itself, in
// about the time that copying it takes. Without the checksum, most damaged blocks would
// be unpacked as other texts.
//
// A dictionary never changes: what was packed with it is in databases. A better one gets
// the next number.
package textpack
