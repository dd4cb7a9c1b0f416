// Package mcp tests the tools for agents with other people's programs: a client with the
// official TypeScript SDK, and the protocol's conformance suite. Both are npm packages,
// which the test installs; it needs Node.js 20.
package mcp
