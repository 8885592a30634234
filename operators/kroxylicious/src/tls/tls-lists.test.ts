import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspectTlsLists } from './tls-lists.ts';

const protocols = (allow: string[] | undefined, deny: string[] = []) =>
  inspectTlsLists({ protocols: { ...(allow === undefined ? {} : { allow }), deny } }, 'tls');

describe('lists of TLS versions', () => {
  test('must leave at least one version', () => {
    for (const [allow, deny] of [
      [undefined, []],
      [[], []],
      [['TLSv1.3'], []],
      [['TLSv1.2', 'TLSv1.3'], ['TLSv1.2']],
      [undefined, ['TLSv1.2']],
      [['TLSv1.1'], []],
    ] as const)
      assert.deepEqual(protocols(allow && [...allow], [...deny]), { problems: [], warnings: [] });
    for (const [allow, deny] of [
      [['TLSv1.3'], ['TLSv1.3']],
      [undefined, ['TLSv1.2', 'TLSv1.3']],
      [['TLS1.3'], []],
    ] as const) {
      const [found] = protocols(allow && [...allow], [...deny]).problems;
      assert.equal(found?.path, 'tls.protocols');
      assert.match(found.message, /^no version of TLS is left of .*; allow TLSv1\.2 or TLSv1\.3$/);
    }
  });

  test('lists of TLS versions with names that the proxy ignores are reported, since it would not deny those versions', () => {
    const { problems, warnings } = protocols(undefined, ['TLS1.2', 'TLSv1.2']);
    assert.deepEqual(problems, []);
    assert.deepEqual(warnings, [
      {
        reason: 'TlsNameUnknown',
        path: 'tls.protocols.deny',
        message: 'the proxy does not know TLS1.2 and passes it over; write TLSv1.2 or TLSv1.3',
      },
    ]);
  });
});

test('cipher suites need the names of Java, not those of OpenSSL', () => {
  const lists = {
    allow: ['TLS_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    deny: ['SSL_RSA_WITH_RC4_128_MD5'],
  };
  const { problems, warnings } = inspectTlsLists({ cipherSuites: lists }, 'tls');
  assert.deepEqual(problems, []);
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['tls.cipherSuites.allow'],
  );
  assert.match(warnings[0]?.message ?? '', /ECDHE-RSA-AES128-GCM-SHA256 .*write TLS_AES_128/);
});
