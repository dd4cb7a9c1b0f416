// Package textpack packs short JSON texts, of which a store has millions that are
// nearly alike: requests, responses and jobs' arguments. Its functions are pure.
//
// A packed text is a series of bytes and of references to text that stands in a fixed
// dictionary or earlier in the same text. So each text is unpacked by itself, in
// about the time that copying it takes. There is no entropy coding: DEFLATE with the same
// dictionary saves a twentieth more, and takes five times as long.
//
// The first byte is the dictionary's number. A dictionary never changes: what was
// packed with it is in databases. A better one gets the next number.
package textpack
