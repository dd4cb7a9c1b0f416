import type { Route } from "./receiver.js";

/** What this needs of Hono's context. */
export interface HonoContext {
  req: { raw: Request };
}

/** Makes a route a handler of Hono: `app.post("/hook", hono(route))`. */
export function hono(route: Route): (context: HonoContext) => Promise<Response> {
  return (context) => route(context.req.raw);
}
