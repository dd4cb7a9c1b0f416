// Package mcp serves tools for agents by the Model Context Protocol
// (https://modelcontextprotocol.io). [New] returns a server: [Server.RunStdio] serves one
// client over standard input and output, and [NewHandler] serves clients at /mcp, for
// httpapi.Server.Mount.
//
// A tool is a call of the API: the table of tools (tools.go) names its method and path,
// and the inputs come from the table of fields, the table of filters and the API
// document (inputs.go, schema.go). [API] makes the calls: over HTTP for standard input
// and output, in the process for /mcp. So whatever holds for the API holds for tools:
// scopes of keys, rates, quotas and checks of requests. The few tools that need more
// than one call have a function (confirm.go, wait.go, why.go).
//
// Results have a bounded size and say what to do next (result.go). Names, bodies,
// headers and responses in them were written by others: results mark them as data.
//
// The protocol itself, its transports and its versions are the SDK's.
package mcp
