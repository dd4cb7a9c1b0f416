import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { sign, SignatureError, Verifier, verify, type SignatureReason } from "@punctual-dev/client/receiver";

// The example of the Standard Webhooks specification's own libraries.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const body = '{"test": 2432232314}';
const headers = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const then = { now: () => 1614265330_000 };

async function refused(reason: SignatureReason, changed: Record<string, string>, content = body, secrets: string | string[] = secret, now = then): Promise<void> {
  await assert.rejects(verify(secrets, { ...headers, ...changed }, content, now), (error) => {
    assert.ok(error instanceof SignatureError, String(error));
    assert.equal(error.reason, reason);
    return true;
  });
}

describe("verify", () => {
  it("accepts the specification's example, in every form", async () => {
    const want = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: new Date(1614265330_000) };
    assert.deepEqual(await verify(secret, headers, body, then), want);
    assert.deepEqual(await verify(secret, new Headers(headers), Buffer.from(body), then), want);
    assert.deepEqual(await sign(secret, { id: want.id, timestamp: want.timestamp, body }), headers);
  });

  it("accepts one of several secrets and of several signatures", async () => {
    const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    await verify([other, secret], headers, body, then);
    await verify(secret, { ...headers, "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")} v1a,xyz ${headers["webhook-signature"]}` }, body, then);
    await refused("mismatch", {}, body, other);
  });

  it("accepts the signature by a private key, for its public key only", async () => {
    const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    const raw = async (key: CryptoKey) => `whpk_${Buffer.from(await crypto.subtle.exportKey("raw", key)).toString("base64")}`;
    const content = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
    const sum = Buffer.from(await crypto.subtle.sign("Ed25519", pair.privateKey, content)).toString("base64");
    const signed = { ...headers, "webhook-signature": `${headers["webhook-signature"]} v1a,${sum}` };
    const key = await raw(pair.publicKey);
    await verify(key, signed, body, then);
    await verify([secret, key], { ...headers, "webhook-signature": `v1a,${sum}` }, body, then);
    await refused("mismatch", { "webhook-signature": signed["webhook-signature"] }, `${body} `, key);
    await refused("mismatch", {}, body, key); // a v1 that is right is not by the key
    const other = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    await refused("mismatch", { "webhook-signature": signed["webhook-signature"] }, body, await raw(other.publicKey));
    assert.throws(() => new Verifier("whpk_AAAA"), TypeError);
  });

  it("refuses what was changed", async () => {
    await refused("mismatch", {}, `${body} `);
    await refused("mismatch", { "webhook-id": "msg_other" });
    await refused("mismatch", { "webhook-timestamp": "1614265331" });
  });

  it("refuses what is old or ahead", async () => {
    await refused("stale", {}, body, secret, { now: () => 1614265330_000 + 301_000 });
    await refused("stale", {}, body, secret, { now: () => 1614265330_000 - 301_000 });
    await verify(secret, headers, body, { now: () => 1614265330_000 + 299_000 });
    await verify(secret, headers, body, { now: () => 1614265330_000 + 3_000_000, tolerance: 3000 });
  });

  it("refuses headers that are missing or malformed", async () => {
    for (const name of Object.keys(headers)) {
      await assert.rejects(verify(secret, { ...headers, [name]: undefined }, body, then), { reason: "missing" });
      await refused("missing", { [name]: "" });
    }
    await refused("malformed", { "webhook-id": "a.b" });
    await refused("malformed", { "webhook-id": "x".repeat(256) });
    for (const timestamp of ["1e9", "-1", "0x10", "16142653301614265330", "1614265330.0", " 1614265330"]) await refused("malformed", { "webhook-timestamp": timestamp });
    for (const signature of ["v1", "v1,", "v1,abc", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "v1,%%%%", Array(21).fill(headers["webhook-signature"]).join(" ")]) {
      await refused("malformed", { "webhook-signature": signature });
    }
  });

  it("refuses every changed bit of a signature", async () => {
    const verifier = new Verifier(secret, then);
    const good = Buffer.from(headers["webhook-signature"].slice(3), "base64");
    for (let bit = 0; bit < 256; bit++) {
      const bad = Buffer.from(good);
      bad[bit >> 3]! ^= 1 << (bit & 7);
      await assert.rejects(verifier.verify({ ...headers, "webhook-signature": `v1,${bad.toString("base64")}` }, body), { reason: "mismatch" });
    }
  });

  it("agrees with Node's HMAC on random messages", async () => {
    for (let round = 0; round < 50; round++) {
      const key = randomBytes(1 + (round % 64));
      const content = randomBytes(round * 100);
      const made = await sign(`whsec_${key.toString("base64")}`, { id: `msg_${round}`, body: content });
      const sum = createHmac("sha256", key).update(`msg_${round}.${made["webhook-timestamp"]}.`).update(content).digest("base64");
      assert.equal(made["webhook-signature"], `v1,${sum}`);
    }
  });

  it("needs secrets of the right form", () => {
    for (const wrong of ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%"]) assert.throws(() => new Verifier(wrong), /whsec_/);
    assert.throws(() => new Verifier([]), TypeError);
    assert.throws(() => new Verifier(Array(21).fill(secret) as string[]), TypeError);
  });
});
