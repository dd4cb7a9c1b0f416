// Tokens of jobs whose auth has oidc, verified by a library that many receivers in
// JavaScript use. The published client brings it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {createRemoteJWKSet, errors, jwtVerify} from 'jose';
import {start} from './receivers.mjs';

test('tokens verify with jose', async () => {
  const target = await start();
  const service = process.env.QSTASH_URL, {UserID: account, Password: key} = JSON.parse(atob(process.env.QSTASH_TOKEN));
  const created = await fetch(`${service}/api/jobs`, {
    method: 'POST', headers: {authorization: `Bearer ${key}`, 'content-type': 'application/json'},
    body: JSON.stringify({url: `${target.url}/token`, auth: {oidc: {audience: 'https://api.example.com', email: 'jobs@example.com'}}}),
  });
  assert.equal(created.status, 201, await created.clone().text());
  const {data: job} = await created.json();
  const {headers} = await target.next('/token');
  target.close();
  const token = headers.authorization.replace(/^Bearer /, '');
  const keys = createRemoteJWKSet(new URL(`${service}/.well-known/jwks.json`));
  const options = {issuer: service, audience: 'https://api.example.com', algorithms: ['ES256'], requiredClaims: ['exp', 'iat']};
  const {payload, protectedHeader} = await jwtVerify(token, keys, options);
  assert.equal(protectedHeader.alg, 'ES256');
  assert.deepEqual([payload.sub, payload.jti, payload.job_id, payload.email], [`account:${account}`, headers['webhook-id'], job.job_id, 'jobs@example.com']);
  await assert.rejects(jwtVerify(token, keys, {...options, audience: 'https://other.example'}), errors.JWTClaimValidationFailed);
  await assert.rejects(jwtVerify(token.replace(/\.[^.]+\./, `.${btoa(JSON.stringify({...payload, sub: 'account:x'})).replace(/=+$/, '')}.`), keys, options),
    errors.JWSSignatureVerificationFailed);
});
