import type { Route } from "./receiver.js";

/** A route handler of Next.js (App Router). */
export type NextHandler = (request: Request) => Promise<Response>;

/** The handlers of a `route.ts`, one for each method that a job can have. */
export interface NextRoute {
  GET: NextHandler;
  POST: NextHandler;
  PUT: NextHandler;
  PATCH: NextHandler;
  DELETE: NextHandler;
}

/** Makes a route the exports of a `route.ts`: `export const { POST } = next(route)`. */
export function next(route: Route): NextRoute {
  const handler: NextHandler = (request) => route(request);
  return { GET: handler, POST: handler, PUT: handler, PATCH: handler, DELETE: handler };
}
