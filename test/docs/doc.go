// Package docs runs the examples of the guides against the real binary, as a reader
// would paste them: the blocks of each page in the order in which they stand.
package docs
