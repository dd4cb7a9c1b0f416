/** The client. What receives requests from the service is in `@punctual-dev/client/receiver`. */
export { Punctual } from "./client.js";
export { Completion } from "./completion.js";
export { PunctualError, type ErrorCode } from "./errors.js";
export { Call, type WithResponse } from "./call.js";
export { List } from "./list.js";
export type { AccountEvent, EventOptions } from "./events.js";
export type { CallOptions, CallRequest, ClientOptions, QueryParameter } from "./transport.js";
export type { StateOf } from "./schedules.js";
export type { WaitOptions } from "./poll.js";
export type { Minimal, NotAtomic } from "./jobs.js";
export type * from "./types.js";
export type * from "./generated.js";
export { VERSION } from "./version.js";
