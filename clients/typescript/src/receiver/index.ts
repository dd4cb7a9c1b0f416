/** Receives what the service sends: requests of jobs, callbacks, events and alerts. */
export { Receiver, type JobEvent, type PlainResponse, type ReceiverOptions, type Result, type Route } from "./receiver.js";
export { type Incoming, type JobDelivery, type Message } from "./delivery.js";
export { reply, RetryLater, type JobReply, type Outcome, type Reply } from "./reply.js";
export { sign, SignatureError, Verifier, verify, type HeaderSource, type SignatureReason, type Verified, type VerifyOptions } from "./signature.js";
export { TokenError, TokenVerifier, type Claims, type TokenOptions } from "./token.js";
export { BusyError, type Handled, type ReceiptStore, type TableOptions } from "./store.js";
export { MemoryStore, type MemoryStoreOptions } from "./memory.js";
export { Completion } from "../completion.js";
