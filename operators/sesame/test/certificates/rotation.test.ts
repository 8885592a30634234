import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import type { Secret } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createPkiMinter, type PkiInputs, type SideSecret, sideSecrets } from '../../src/certificates/rotation.ts';

const DAY = 86_400_000;
const INPUTS: PkiInputs = {
  namespace: 'edge',
  sesameService: 'sesame-a',
  envoyService: 'envoy-a',
  clusterDomain: 'cluster.local',
};
const decoded = (text: string) => Buffer.from(text, 'base64').toString('utf8');
const leafOf = (side: SideSecret) => new X509Certificate(decoded(side['tls.crt']));
const bundleOf = (side: SideSecret) =>
  (decoded(side['ca.crt']).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );
const CONTEXT = { clock: createVirtualClock(), signal: new AbortController().signal };
const trusts = (one: SideSecret, other: SideSecret) =>
  bundleOf(one).some((authority) => leafOf(other).verify(authority.publicKey));

test('both sides trust each other at every step of more than three years, whichever has the newer files', async () => {
  let now = Date.UTC(2026, 0, 1);
  const minter = createPkiMinter({ now: () => now });
  const reached = (instant: number | string) => Number(instant) <= now;
  let secret: Secret = await minter.make(INPUTS, undefined, CONTEXT);
  let steps = 0;
  const settled = async () => {
    // Each step leaves something that is valid, or due for the next.
    for (let round = 0; !minter.valid(secret, INPUTS, { reached }); round++) {
      assert.ok(round < 3, 'it comes to rest');
      secret = await minter.make(INPUTS, secret, CONTEXT);
      steps++;
    }
    const sides = sideSecrets(secret);
    assert.ok(sides);
    return sides;
  };
  let seen = await settled();
  assert.equal(steps, 0);
  const authorities = new Set<string>();
  for (let day = 0; day < 1300; day += 2) {
    now += 2 * DAY;
    const current = await settled();
    for (const [one, other] of [
      [seen.envoy, current.sesame],
      [current.envoy, seen.sesame],
      [seen.sesame, current.envoy],
      [current.sesame, seen.envoy],
    ] as const)
      assert.ok(trusts(one, other), `day ${day}`);
    assert.ok(leafOf(current.sesame).validToDate.getTime() - now > 100 * DAY, `day ${day}`);
    for (const { fingerprint256 } of bundleOf(current.sesame)) authorities.add(fingerprint256);
    seen = current;
  }
  assert.equal(authorities.size, 2);
  assert.equal(bundleOf(seen.sesame).length, 1, 'the authority of the first day has expired and is gone');
  assert.ok(steps >= 6 && steps < 12, String(steps));
});

test('another name of a Service renews the sides under the same authority', async () => {
  const now = Date.UTC(2026, 0, 1);
  const minter = createPkiMinter({ now: () => now });
  const secret = await minter.make(INPUTS, undefined, CONTEXT);
  const renamed = { ...INPUTS, clusterDomain: 'k8s.example' };
  const time = { reached: (instant: number | string) => Number(instant) <= now };
  assert.equal(minter.valid(secret, INPUTS, time), true);
  assert.equal(minter.valid(secret, renamed, time), false);
  const after = await minter.make(renamed, secret, CONTEXT);
  assert.equal(minter.valid(after, renamed, time), true);
  assert.deepEqual(sideSecrets(after)?.sesame['ca.crt'], sideSecrets(secret)?.sesame['ca.crt']);
});
