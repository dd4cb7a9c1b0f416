import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Receiver, sign, TokenError, TokenVerifier, type Claims } from "@punctual-dev/client/receiver";

const issuer = "https://punctual.example.com";
const audience = "https://api.example.com";
const now = 1_700_000_000;
const part = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

async function key(kid: string) {
  const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"])) as CryptoKeyPair;
  const jwk = { ...(await crypto.subtle.exportKey("jwk", pair.publicKey)), kid };
  const token = async (claims: object = {}, head: object = { alg: "ES256", kid }) => {
    const text = `${part(head)}.${part({ iss: issuer, aud: audience, sub: "account:x", jti: "job_1", job_id: 17, iat: now, exp: now + 300, ...claims })}`;
    const sum = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, Buffer.from(text));
    return `${text}.${Buffer.from(sum).toString("base64url")}`;
  };
  return { jwk, token };
}

function verifier(keys: object[], at: { now: number; fetches: number; fails?: boolean }): TokenVerifier {
  return new TokenVerifier({
    issuer,
    audience,
    now: () => at.now * 1000,
    fetch: async (url) => {
      assert.equal(String(url), `${issuer}/.well-known/jwks.json`);
      at.fetches++;
      if (at.fails) throw new Error("away");
      return new Response(JSON.stringify({ keys }));
    },
  });
}

describe("TokenVerifier", () => {
  it("accepts what the service signs, and nothing else", async () => {
    const [one, other] = [await key("one"), await key("one")];
    const at = { now, fetches: 0 };
    const v = verifier([one.jwk], at);
    const claims = await v.verifyRequest({ authorization: `Bearer ${await one.token()}` });
    assert.equal(claims.sub, "account:x");
    assert.equal(claims.job_id, 17);
    const good = await one.token();
    for (const bad of [
      await other.token(), await one.token({ aud: "https://other.example" }), await one.token({ iss: "https://other.example" }), await one.token({ exp: now - 61 }), await one.token({ iat: now + 61 }),
      await one.token({}, { alg: "none", kid: "one" }), await one.token({}, { alg: "HS256", kid: "one" }), await one.token({}, { alg: "ES256", kid: "two" }),
      `${good}x`, good.slice(0, -4), `${good}.x`, "a.b.c", "", "..",
    ]) {
      await assert.rejects(v.verify(bad), TokenError, bad);
    }
    await assert.rejects(v.verifyRequest({}), TokenError);
    assert.equal(at.fetches, 1);
  });

  it("fetches the keys again for one that it does not know, and keeps those it has while it can't", async () => {
    const [one, two] = [await key("one"), await key("two")];
    const keys = [one.jwk];
    const at = { now, fetches: 0, fails: false };
    const v = verifier(keys, at);
    await v.verify(await one.token());
    keys.push(two.jwk);
    await assert.rejects(v.verify(await two.token()), TokenError); // not more often than every ten seconds
    at.now += 11;
    await v.verify(await two.token());
    at.now += 301;
    at.fails = true;
    await v.verify(await two.token({ exp: now + 900 }));
    assert.equal(at.fetches, 3);
  });
});

describe("a receiver with tokens", () => {
  it("admits the requests of jobs with their own token", async () => {
    const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const one = await key("one");
    const at = { now, fetches: 0, fails: false };
    const seen: (Claims | undefined)[] = [];
    const receiver = new Receiver({ secrets: secret, tokens: verifier([one.jwk], at), onError: () => undefined });
    const send = async (id: string, token?: string, route = receiver.job((job) => void seen.push(job.claims))) => {
      const headers = { ...(await sign(secret, { id, body: "{}" })), "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
      return (await route(new Request("https://receiver.example/hook", { method: "POST", headers, body: "{}" }))).status;
    };
    at.fails = true;
    assert.equal(await send("job_1", await one.token()), 503);
    at.fails = false;
    assert.equal(await send("job_1", await one.token()), 204);
    assert.deepEqual(seen.map((claims) => claims?.sub), ["account:x"]);
    assert.equal(await send("job_2", await one.token()), 401); // of another request
    assert.equal(await send("job_3"), 401);
    assert.equal(await send("job_4", await one.token({ jti: "job_4", aud: "https://other.example" })), 401);
    assert.equal(seen.length, 1);
    assert.equal(await send("msg_1", undefined, receiver.event(() => undefined)), 422); // read without a token
  });
});
