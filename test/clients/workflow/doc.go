// Package workflow runs applications with the published SDK @upstash/workflow, unmodified,
// against the service on both stores: a plain Node.js server and one with Hono.
//
// The tests are in node; application.mjs has the workflows, and the service and the
// applications are killed in kills.test.mjs: with PUNCTUAL_WORKFLOW_RUNS=201, as in `make
// chaos`, so many runs and more often. Node.js 20 is needed.
//
// The benchmarks measure what steps and waits cost the service, with an application that
// costs little.
package workflow
