// Package app puts a node together and takes it apart again: the one package
// that knows all others.
//
// A node starts from the store upwards and listens last, so that what is
// served works; it stops from the edge downwards, so that nothing is accepted
// that would not be carried out. There is no logic here.
package app
