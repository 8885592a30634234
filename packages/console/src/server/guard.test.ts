// Host × Origin × method × token, and the codes that give tokens.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAccess } from './access.ts';
import { answerHeaders, LOOPBACK_NAMES, refusalOf } from './guard.ts';

const SERVED = { scheme: 'http', port: 4711, names: LOOPBACK_NAMES } as const;
const HOSTS: readonly [host: string | undefined, isOurs: boolean][] = [
  ['127.0.0.1:4711', true],
  ['localhost:4711', true],
  ['[::1]:4711', true],
  ['127.0.0.1', false],
  ['127.0.0.1:4712', false],
  ['rebound.example:4711', false],
  ['127.0.0.1:4711.rebound.example', false],
  ['localhost:4711:4711', false],
  ['', false],
  [undefined, false],
];
const ORIGINS: readonly [origin: (host: string) => string | undefined, isOurs: boolean][] = [
  [() => undefined, true],
  [(host) => `http://${host}`, true],
  [(host) => `https://${host}`, false],
  [() => 'http://127.0.0.1:8080', false],
  [() => 'http://other.example', false],
  [() => 'null', false],
];
const SITES: readonly [site: string | undefined, isOurs: boolean][] = [
  [undefined, true],
  ['same-origin', true],
  ['none', true],
  ['same-site', false],
  ['cross-site', false],
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

describe('the guard of the console', () => {
  it('answers only requests of its own page, for every host, origin, site, method, type and token', () => {
    let passed = 0;
    for (const [host, isOurHost] of HOSTS)
      for (const [originOf, isOurOrigin] of ORIGINS)
        for (const [site, isOurSite] of SITES)
          for (const method of METHODS)
            for (const type of [undefined, 'application/json', 'text/plain'])
              for (const given of [undefined, '', 'wrong', 'valid']) {
                // A new access each time, so that wrong tokens do not block the others.
                const { access, token } = grantedAccess();
                const sent = given === 'valid' ? token : given;
                const origin = originOf(host ?? '');
                const headers = {
                  ...(host !== undefined && { host }),
                  ...(origin !== undefined && { origin }),
                  ...(site !== undefined && { 'sec-fetch-site': site }),
                  ...(type !== undefined && { 'content-type': type }),
                  ...(sent !== undefined && { 'capstan-token': sent }),
                };
                const refusal = refusalOf({ method, path: '/api/overview', headers }, SERVED, access);
                const isFine =
                  isOurHost &&
                  isOurOrigin &&
                  isOurSite &&
                  (method === 'GET' || (method === 'POST' && type === 'application/json')) &&
                  given === 'valid';
                assert.equal(refusal === undefined, isFine, JSON.stringify({ method, headers, refusal }));
                if (!isOurHost) assert.equal(refusal?.status, 421);
                if (isFine) passed++;
              }
    assert.equal(passed, 3 * 2 * 3 * (3 + 1));
  });

  it('serves the page itself without a token, by GET only, and never for another host', () => {
    const { access } = grantedAccess();
    const at = (method: string, host: string) =>
      refusalOf({ method, path: '/', headers: { host } }, SERVED, access)?.status;
    assert.equal(at('GET', '127.0.0.1:4711'), undefined);
    assert.equal(at('POST', '127.0.0.1:4711'), 405);
    assert.equal(at('GET', 'rebound.example:4711'), 421);
  });

  it('answers over TLS for the names of the machine, and for no other', () => {
    const { access } = grantedAccess();
    const served = { scheme: 'https', port: 443, names: ['box.example', '[2001:db8::1]'] } as const;
    const at = (host: string, origin: string) =>
      refusalOf({ method: 'GET', path: '/', headers: { host, origin } }, served, access)?.status;
    assert.equal(at('box.example', 'https://box.example'), undefined);
    assert.equal(at('[2001:db8::1]:443', 'https://[2001:db8::1]:443'), undefined);
    assert.equal(at('box.example', 'http://box.example'), 403);
    assert.equal(at('localhost:443', 'https://localhost:443'), 421);
    assert.equal(at('rebound.example', 'https://rebound.example'), 421);
  });

  it('sends a strict policy and no permission for other origins', () => {
    const headers = answerHeaders(true, 'n');
    assert.match(
      headers['content-security-policy'] ?? '',
      /default-src 'none'; script-src 'self'; .*require-trusted-types-for 'script'/,
    );
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith('access-control')),
      [],
    );
  });
});

describe('a code', () => {
  it('is valid once', () => {
    const access = createAccess(() => 0);
    const code = access.createCode();
    assert.ok(code.length >= 22);
    const token = access.redeem(code);
    assert.ok(token !== undefined && access.isValid(token));
    assert.equal(access.redeem(code), undefined);
  });

  it('expires after five minutes', () => {
    let now = 0;
    const access = createAccess(() => now);
    const [early, late] = [access.createCode(), access.createCode()];
    now = 5 * 60_000 - 1;
    assert.ok(access.redeem(early));
    now++;
    assert.equal(access.redeem(late), undefined);
  });

  it('gives a token of this process only', () => {
    const one = createAccess(() => 0);
    const token = one.redeem(one.createCode()) ?? '';
    assert.ok(one.isValid(token));
    assert.ok(!createAccess(() => 0).isValid(token));
  });

  it('cannot be guessed more than ten times a minute, and works again afterwards', () => {
    let now = 0;
    const access = createAccess(() => now);
    const code = access.createCode();
    for (let attempt = 0; attempt < 10; attempt++) assert.equal(access.redeem(`wrong-${attempt}`), undefined);
    assert.ok(access.isBlocked);
    assert.equal(access.redeem(code), undefined);
    now = 60_000;
    assert.ok(!access.isBlocked);
    assert.ok(access.redeem(code));
  });
});

/** An access with a valid token. */
function grantedAccess() {
  const access = createAccess(() => 0);
  const token = access.redeem(access.createCode()) ?? '';
  return { access, token };
}
