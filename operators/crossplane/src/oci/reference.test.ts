import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  allowsPlainHttp,
  fullNameOf,
  identifierOf,
  parseReference,
  type ReferenceOptions,
  sourceOf,
  withDigest,
} from './reference.ts';

const D = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('a reference', () => {
  const xpkg = { defaultRegistry: 'xpkg.crossplane.io' };
  const cases: [text: string, full: string, source: string, options?: ReferenceOptions][] = [
    ['ubuntu', 'index.docker.io/library/ubuntu:latest', 'ubuntu'],
    ['crossplane/provider-aws:v1', 'index.docker.io/crossplane/provider-aws:v1', 'crossplane/provider-aws'],
    ['crossplane/provider-aws:v1', 'xpkg.crossplane.io/crossplane/provider-aws:v1', 'crossplane/provider-aws', xpkg],
    ['provider:v1', 'xpkg.crossplane.io/provider:v1', 'provider', xpkg],
    ['docker.io/x:v1', 'index.docker.io/library/x:v1', 'docker.io/x'],
    ['docker.io/a/x', 'index.docker.io/a/x:latest', 'docker.io/a/x', xpkg],
    ['index.docker.io/a/x', 'index.docker.io/a/x:latest', 'index.docker.io/a/x'],
    ['localhost/x', 'localhost/x:latest', 'localhost/x'],
    ['localhost:5000/x', 'localhost:5000/x:latest', 'localhost:5000/x'],
    ['localhost:5000/x/y:v1.2.3-rc.1', 'localhost:5000/x/y:v1.2.3-rc.1', 'localhost:5000/x/y'],
    ['127.0.0.1:5055/demo/p:v1', '127.0.0.1:5055/demo/p:v1', '127.0.0.1:5055/demo/p'],
    ['[::1]:5000/p:v1', '[::1]:5000/p:v1', '[::1]:5000/p'],
    ['registry.default.svc:5000/p:v1', 'registry.default.svc:5000/p:v1', 'registry.default.svc:5000/p'],
    [`ghcr.io/a/b@${D}`, `ghcr.io/a/b@${D}`, 'ghcr.io/a/b'],
    [`ghcr.io/a/b:v1@${D}`, `ghcr.io/a/b@${D}`, 'ghcr.io/a/b'],
    [`localhost:5000/b:v1@${D}`, `localhost:5000/b@${D}`, 'localhost:5000/b'],
    [`a/b@${D}`, `xpkg.crossplane.io/a/b@${D}`, 'a/b', xpkg],
    ['x/y/z', 'index.docker.io/x/y/z:latest', 'x/y/z'],
    ['gcr.io/under_score/a.b-c:T_a.g-1', 'gcr.io/under_score/a.b-c:T_a.g-1', 'gcr.io/under_score/a.b-c'],
  ];
  for (const [text, full, source, options] of cases)
    test(`${text} is ${full}`, () => {
      assert.equal(fullNameOf(parseReference(text, options)), full);
      assert.equal(sourceOf(text), source);
    });

  for (const text of [
    '',
    ':v1',
    'a:',
    'a/b:',
    'A/b:v1',
    'UPPER',
    'gcr.io/',
    'gcr.io/:v1',
    'a/b:v 1',
    `a/b:${'t'.repeat(129)}`,
    'r'.repeat(256),
    'a/b@sha256:abc',
    'a/b@sha512:0000',
    `a/b@${D.toUpperCase()}`,
    `a@b@${D}`,
    'a//b',
    'a/../b',
    'gcr.io/./b',
    'user:password@gcr.io/b',
    'host:99999/b',
    'ho st:50/b',
    'https://gcr.io/b',
    'gcr.io/b?x=1:v1',
    'gcr.io/b#x',
    'gcr.io/%2e%2e/x',
    'a\n.b/c',
  ])
    test(`${JSON.stringify(text.slice(0, 40))} is refused with what is wrong about it`, () => {
      assert.throws(() => parseReference(text), /does not name an image: .+; write it as/);
    });

  test('a reference without a tag gets the default tag, and with a digest none', () => {
    assert.equal(identifierOf(parseReference('a/b', { defaultTag: 'v9' })), 'v9');
    const byDigest = withDigest(parseReference('gcr.io/a/b:v1'), D);
    assert.equal(identifierOf(byDigest), D);
    assert.equal(byDigest.original, `gcr.io/a/b@${D}`);
  });

  test('survives being printed in full and read again, whatever its default registry', () => {
    const segment = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,8}$/);
    const host = fc.constantFrom('gcr.io', 'localhost:5000', '10.0.0.1:80', 'docker.io', '[::1]:5000', '');
    const tag = fc.option(fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/), { nil: undefined });
    fc.assert(
      fc.property(host, fc.array(segment, { minLength: 1, maxLength: 4 }), tag, fc.boolean(), (h, path, t, d) => {
        const source = [h, ...path].filter((part) => part !== '').join('/');
        const text = `${source}${t === undefined ? '' : `:${t}`}${d ? `@${D}` : ''}`;
        const once = parseReference(text, { defaultRegistry: 'xpkg.example.org' });
        const again = parseReference(fullNameOf(once));
        assert.deepEqual({ ...again, original: '' }, { ...once, original: '' });
        assert.equal(sourceOf(text), source);
      }),
    );
  });

  test('a reference of any text is a reference or an error that says so, never anything else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          const { registry, repository } = parseReference(text);
          const url = new URL(`https://${registry}/v2/${repository}/manifests/x`);
          assert.equal(url.pathname, `/v2/${repository}/manifests/x`);
        } catch (error) {
          assert.match(String(error), /does not name an image/);
        }
      }),
    );
  });
});

describe('plain HTTP', () => {
  for (const registry of [
    'localhost',
    'localhost:5000',
    'LOCALHOST:80',
    'a.localhost',
    'a.localhost:80',
    '127.0.0.1',
    '127.0.0.1:5000',
    '[::1]:5000',
    '10.1.2.3',
    '172.16.0.1:80',
    '172.31.255.255',
    '192.168.0.1:5000',
  ])
    test(`may be spoken with ${registry}`, () => assert.ok(allowsPlainHttp(registry)));
  for (const registry of [
    'gcr.io',
    'localhost.example.org',
    'notlocalhost',
    '127.0.0.1.example.org',
    '172.32.0.1',
    '172.15.0.1',
    '192.169.0.1',
    '11.0.0.1',
    '10.0.0.999',
    'registry.local',
    '[::2]:5000',
  ])
    test(`may not be spoken with ${registry}`, () => assert.ok(!allowsPlainHttp(registry)));
});
