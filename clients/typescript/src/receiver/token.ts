import { headerOf, type HeaderSource } from "./signature.js";

/** A token that is missing, not by the issuer, not for this audience, or no longer valid. */
export class TokenError extends Error {
  override readonly name = "TokenError";
}

/** What a token says. */
export interface Claims {
  /** `account:` and the id of the account whose job it is: check it. */
  sub: string;
  /** The `webhook-id`. */
  jti: string;
  job_id: number;
  /** Of a schedule's run. */
  schedule_id?: string;
  /** Proves nothing. */
  email?: string;
  iat: number;
  exp: number;
}

export interface TokenOptions {
  /** The public URL of the service. */
  issuer: string;
  /** What tokens must be for: what the job says, or else the origin of its URL. */
  audience: string;
  /** Fetches the published keys; the global `fetch` by default. */
  fetch?: typeof fetch;
  /** The present time in milliseconds, for tests. */
  now?: () => number;
}

const keysFor = 300_000;
const keysLeast = 10_000;
const fetchLimit = 10_000;
const leeway = 60;
const maxToken = 16_384;
const maxDocument = 65_536;

interface PublishedKey {
  kty?: string;
  crv?: string;
  kid?: string;
  x?: string;
  y?: string;
}

/**
 * Verifies the tokens that the service sends with jobs whose `auth` has `oidc`: JWT
 * with ES256, by the keys that the service publishes, which are kept for five minutes.
 */
export class TokenVerifier {
  readonly #options: TokenOptions;
  #keys: Promise<Map<string, CryptoKey>> | undefined;
  #at = 0;

  constructor(options: TokenOptions) {
    if (!options.issuer || !options.audience) throw new TypeError("a TokenVerifier needs an issuer and an audience");
    this.#options = options;
  }

  /**
   * Verifies the token in the header Authorization. Check `sub` of the result: every
   * account of the service can get tokens for any audience. Throws a TokenError, or
   * another error if the keys could not be fetched.
   */
  async verifyRequest(headers: HeaderSource): Promise<Claims> {
    const [, token] = /^bearer (\S+)$/i.exec(headerOf(headers, "authorization") ?? "") ?? [];
    if (!token) throw new TokenError("the token is missing");
    return this.verify(token);
  }

  /** Verifies a token. */
  async verify(token: string): Promise<Claims> {
    const [head, body, signature, ...more] = token.split(".");
    if (!head || !body || !signature || more.length > 0 || token.length > maxToken) throw new TokenError("this is no token");
    const header = decodePart(head) as { alg?: unknown; kid?: unknown };
    if (header.alg !== "ES256" || typeof header.kid !== "string") throw new TokenError("the token is not signed with ES256");
    const key = await this.#key(header.kid);
    const sum = decodeBytes(signature);
    if (!key || sum.byteLength !== 64 || !(await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, sum, new TextEncoder().encode(`${head}.${body}`)))) {
      throw new TokenError("the token is not signed by the service");
    }
    const claims = decodePart(body) as Claims & { iss?: unknown; aud?: unknown };
    const now = this.#now() / 1000;
    if (claims.iss !== this.#options.issuer || claims.aud !== this.#options.audience) throw new TokenError("the token is by another issuer or for another audience");
    if (typeof claims.exp !== "number" || typeof claims.iat !== "number" || now > claims.exp + leeway || now < claims.iat - leeway) throw new TokenError("the token is no longer valid, or not yet");
    return claims;
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  async #key(id: string): Promise<CryptoKey | undefined> {
    const age = this.#now() - this.#at;
    const known = await this.#keys?.catch(() => undefined);
    const key = known?.get(id);
    if (known && (age < keysLeast || (key && age < keysFor))) return key;
    this.#at = this.#now();
    this.#keys = this.#fetch();
    try {
      return (await this.#keys).get(id);
    } catch (error) {
      if (!known) throw error;
      this.#keys = Promise.resolve(known); // the service can't be reached just now
      return key;
    }
  }

  async #fetch(): Promise<Map<string, CryptoKey>> {
    const response = await (this.#options.fetch ?? fetch)(`${this.#options.issuer}/.well-known/jwks.json`, { signal: AbortSignal.timeout(fetchLimit) });
    const text = await response.text();
    if (!response.ok || text.length > maxDocument) throw new Error(`the keys of ${this.#options.issuer} could not be fetched: status ${response.status}`);
    const keys = new Map<string, CryptoKey>();
    for (const { kty, crv, kid, x, y } of (JSON.parse(text) as { keys?: PublishedKey[] }).keys ?? []) {
      if (kty !== "EC" || crv !== "P-256" || !kid || !x || !y) continue;
      keys.set(kid, await crypto.subtle.importKey("jwk", { kty, crv, x, y }, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]));
    }
    return keys;
  }
}

function decodeBytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  } catch {
    throw new TokenError("this is no token");
  }
}

function decodePart(text: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(decodeBytes(text)));
  } catch {
    throw new TokenError("this is no token");
  }
}
