/** Why a signature was refused. */
export type SignatureReason = "missing" | "malformed" | "stale" | "mismatch";

/** A request that the service did not send, or not now. */
export class SignatureError extends Error {
  override readonly name = "SignatureError";
  readonly reason: SignatureReason;

  constructor(reason: SignatureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What a signature vouches for. */
export interface Verified {
  /** `webhook-id`: the same for every try of one message. */
  id: string;
  /** When this try was sent. */
  timestamp: Date;
}

/** Headers of a request: `Headers`, or an object with names in lower case, as Node has them. */
export type HeaderSource = { get(name: string): string | null } | { [name: string]: string | string[] | undefined };

export interface VerifyOptions {
  /** How many seconds old, or ahead, a request may be: 300 by default. */
  tolerance?: number;
  /** The present time in milliseconds, for tests. */
  now?: () => number;
}

const secretPrefix = "whsec_";
const publicPrefix = "whpk_";
const maxIdLength = 255;
const maxSignatures = 20;
const encoder = new TextEncoder();
const malformed = (what: string) => new SignatureError("malformed", `${what} is malformed`);

/** A signature and its version. */
interface Signature {
  version: "v1" | "v1a";
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Verifies signatures as Standard Webhooks define them. With several secrets,
 * one of them must have signed: during a rotation give the new and the old one.
 *
 * A public key (`whpk_…`, see `GET /api/account`) can stand in place of a secret
 * (`whsec_…`): it verifies the signatures `v1a`, and can't make any.
 */
export class Verifier {
  readonly #keys: Promise<CryptoKey[]>;
  readonly #tolerance: number;
  readonly #now: () => number;

  constructor(secrets: string | readonly string[], options: VerifyOptions = {}) {
    const all = typeof secrets === "string" ? [secrets] : [...secrets];
    if (all.length === 0 || all.length > maxSignatures) throw new TypeError(`give 1 to ${maxSignatures} signing secrets or public keys`);
    this.#keys = Promise.all(all.map(decodeKey).map((key) => (key.version === "v1" ? importKey(key.bytes) : importPublicKey(key.bytes))));
    this.#keys.catch(() => {}); // verify rejects with it
    this.#tolerance = options.tolerance ?? 300;
    this.#now = options.now ?? Date.now;
  }

  /** Checks everything but the signature itself, before the body is read. */
  check(headers: HeaderSource): Verified {
    return this.#read(headers).verified;
  }

  /** Returns what the signature vouches for, or throws a SignatureError. */
  async verify(headers: HeaderSource, body: Uint8Array | string): Promise<Verified> {
    const { verified, signatures } = this.#read(headers);
    const content = signedContent(verified.id, unixSeconds(verified.timestamp), body);
    let matches = false;
    for (const key of await this.#keys) {
      if (key.type === "public") {
        for (const { version, bytes } of signatures) matches = (version === "v1a" && (await crypto.subtle.verify("Ed25519", key, bytes, content))) || matches;
        continue;
      }
      const expected = new Uint8Array(await crypto.subtle.sign("HMAC", key, content));
      for (const { version, bytes } of signatures) matches = (version === "v1" && equal(expected, bytes)) || matches;
    }
    if (!matches) throw new SignatureError("mismatch", "the signature does not match: the body was changed, or the secret is another account's");
    return verified;
  }

  #read(headers: HeaderSource): { verified: Verified; signatures: Signature[] } {
    const [id, seconds, text] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => headerOf(headers, name));
    if (!id || !seconds || !text) throw new SignatureError("missing", "webhook-id, webhook-timestamp or webhook-signature is missing: the service did not send this");
    if (id.length > maxIdLength || !/^[\x21-\x2d\x2f-\x7e]+$/.test(id)) throw malformed("webhook-id");
    if (!/^\d{1,12}$/.test(seconds)) throw malformed("webhook-timestamp");
    if (Math.abs(this.#now() / 1000 - Number(seconds)) > this.#tolerance) {
      throw new SignatureError("stale", `webhook-timestamp is more than ${this.#tolerance} seconds from this machine's time`);
    }
    return { verified: { id, timestamp: new Date(Number(seconds) * 1000) }, signatures: readSignatures(text) };
  }
}

/** Verifies one request; a {@link Verifier} does the same for many. */
export function verify(secrets: string | readonly string[], headers: HeaderSource, body: Uint8Array | string, options?: VerifyOptions): Promise<Verified> {
  return new Verifier(secrets, options).verify(headers, body);
}

/** The headers of a signed request, for tests of a receiver. */
export async function sign(secret: string, message: { id: string; body: Uint8Array | string; timestamp?: Date }): Promise<Record<string, string>> {
  const seconds = unixSeconds(message.timestamp ?? new Date());
  const key = await importKey(decodeSecret(secret));
  const sum = new Uint8Array(await crypto.subtle.sign("HMAC", key, signedContent(message.id, seconds, message.body)));
  return { "webhook-id": message.id, "webhook-timestamp": String(seconds), "webhook-signature": `v1,${btoa(String.fromCharCode(...sum))}` };
}

/** A header's value; undefined without one, or with several. */
export function headerOf(headers: HeaderSource, name: string): string | undefined {
  const value = typeof headers.get === "function" ? (headers.get as (name: string) => string | null)(name) : (headers as Record<string, unknown>)[name];
  return typeof value === "string" ? value : undefined;
}

const unixSeconds = (at: Date): number => Math.floor(at.getTime() / 1000);

function signedContent(id: string, seconds: number, body: Uint8Array | string): Uint8Array<ArrayBuffer> {
  const prefix = encoder.encode(`${id}.${seconds}.`);
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const content = new Uint8Array(prefix.byteLength + bytes.byteLength);
  content.set(prefix);
  content.set(bytes, prefix.byteLength);
  return content;
}

/** The signatures by secrets (v1) and by keys (v1a); others are for receivers that know them. */
function readSignatures(text: string): Signature[] {
  const parts = text.split(" ", maxSignatures + 1);
  if (parts.length > maxSignatures) throw malformed("webhook-signature");
  const signatures: Signature[] = [];
  for (const part of parts) {
    const [version, encoded] = part.split(",", 2);
    if (version !== "v1" && version !== "v1a") continue;
    const bytes = decodeBase64(encoded ?? "");
    if (bytes?.byteLength === (version === "v1" ? 32 : 64)) signatures.push({ version, bytes });
    else if (version === "v1") throw malformed("webhook-signature");
  }
  if (signatures.length === 0) throw malformed("webhook-signature");
  return signatures;
}

/** Compares in a time that does not depend on where the bytes differ. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.byteLength ^ b.byteLength;
  for (let i = 0; i < a.byteLength; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}

function decodeKey(text: string): Signature {
  if (!text.startsWith(publicPrefix)) return { version: "v1", bytes: decodeSecret(text) };
  const bytes = decodeBase64(text.slice(publicPrefix.length));
  if (bytes?.byteLength !== 32) throw new TypeError('a public key must be "whpk_" followed by the base64 of 32 bytes');
  return { version: "v1a", bytes };
}

function decodeSecret(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith(secretPrefix) ? decodeBase64(secret.slice(secretPrefix.length)) : undefined;
  if (!bytes || bytes.byteLength === 0) throw new TypeError('a signing secret must be "whsec_" followed by base64');
  return bytes;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function importPublicKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}
