// Package workflow runs applications with the published SDK @upstash/workflow, unmodified,
// against the service on both stores: a plain Node.js server and one with Hono.
//
// The tests are in node; application.mjs has the workflows, and the service and the
// applications are killed in kills.test.mjs. Node.js 20 is needed.
package workflow
