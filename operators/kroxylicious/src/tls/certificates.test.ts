import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCa } from '@capstan/kube';
import { certificateFault, storeTypeOf, trustFault } from './certificates.ts';

const validity = { notBefore: Date.parse('2026-01-01T00:00:00Z'), notAfter: Date.parse('2036-01-01T00:00:00Z') };

describe('certificates', () => {
  test('fit their own key and no other', async () => {
    const [one, two] = await Promise.all([
      createCa({ commonName: 'a', ...validity }),
      createCa({ commonName: 'b', ...validity }),
    ]);
    assert.equal(certificateFault(one.certificate, one.key), undefined);
    assert.match(certificateFault(one.certificate, two.key) ?? '', /not the key/);
    assert.match(certificateFault('junk', one.key) ?? '', /tls\.crt holds no PEM certificate/);
    assert.match(certificateFault(one.certificate, 'hunter2') ?? '', /tls\.key holds no PEM private key/);
    assert.doesNotMatch(certificateFault(one.certificate, 'hunter2') ?? '', /hunter2/);
  });

  test('of a trust store look like what they should be', async () => {
    const { certificate } = await createCa({ commonName: 'a', ...validity });
    assert.equal(trustFault(Buffer.from(certificate), 'PEM'), undefined);
    assert.equal(trustFault(Buffer.from(`# a comment\n${certificate}${certificate}`), 'PEM'), undefined);
    assert.match(trustFault(Buffer.from('junk'), 'PEM') ?? '', /no PEM/);
    assert.equal(trustFault(Buffer.from('feedfeed00000002', 'hex'), 'JKS'), undefined);
    assert.match(trustFault(Buffer.from('x'), 'JKS') ?? '', /Java key store/);
    assert.equal(trustFault(Buffer.from('3082', 'hex'), 'PKCS12'), undefined);
    assert.match(trustFault(Buffer.from(''), 'PKCS12') ?? '', /PKCS#12/);
  });

  test('have the store type that their key ends in', () => {
    assert.deepEqual(['a.pem', 'a.p12', 'a.jks', 'a.crt'].map(storeTypeOf), ['PEM', 'PKCS12', 'JKS', undefined]);
  });
});
