// Package yamljson writes a YAML document as JSON without changing it: keys
// stay in their order and numbers keep their digits, as both mean something in
// the examples of a contract. Aliases are written out.
//
// It serves the generator of openapi.json and the test that watches over it;
// the service itself reads no YAML.
package yamljson
