// Package yamljson converts between YAML and JSON without changing the content:
// [Convert] returns JSON, [FromJSON] YAML, [Documents] the documents of a stream. Keys
// keep their order and numbers their digits. Aliases are expanded, within a limit.
//
// The generator of the API document and the commands that read schedules from
// files use it. The service itself reads no YAML.
package yamljson
