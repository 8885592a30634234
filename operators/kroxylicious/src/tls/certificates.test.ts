import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, test } from 'node:test';
import { createCa, issueCertificate } from '@capstan/kube';
import { inspectCertificate, seemsEmpty, storeTypeOf, trustFault } from './certificates.ts';

const certificateFault = (certificate: string, key: string) => {
  const found = inspectCertificate(certificate, key);
  return typeof found === 'string' ? found : undefined;
};
const validity = { notBefore: Date.parse('2026-01-01T00:00:00Z'), notAfter: Date.parse('2036-01-01T00:00:00Z') };

describe('certificates', () => {
  test('match their own key and no other', async () => {
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

  test('certificates of a chain start with the one of the key, and all of them are readable', async () => {
    const ca = await createCa({ commonName: 'ca', ...validity });
    const { certificate, key } = await issueCertificate({ ca, commonName: 'leaf', usages: ['server'], ...validity });
    assert.equal(certificateFault(`${certificate}${ca.certificate}`, key), undefined);
    assert.match(certificateFault(`${ca.certificate}${certificate}`, key) ?? '', /not the first one in tls\.crt/);
    const cut = ca.certificate.replace(/\n.{40}/, '\n');
    assert.match(certificateFault(`${certificate}${cut}`, key) ?? '', /cannot be read after the first/);
    for (const empty of ['', '\n', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'])
      assert.match(certificateFault(empty, key) ?? '', /tls\.crt holds no PEM certificate/);
    assert.match(certificateFault(certificate, '') ?? '', /tls\.key holds no PEM private key/);
  });

  test('need a PKCS #8 key, the form that the proxy reads', async () => {
    const { certificate, key } = await createCa({ commonName: 'a', ...validity });
    const older = createPrivateKey(key).export({ type: 'sec1', format: 'pem' });
    assert.match(older, /^-----BEGIN EC PRIVATE KEY-----/);
    assert.match(certificateFault(certificate, older) ?? '', /not in the PKCS#8 form.*openssl pkcs8/);
  });

  test('need a key of a type that the proxy supports', () => {
    const { certificate, key } = selfSignedEd25519();
    assert.match(
      certificateFault(certificate, key) ?? '',
      /type ed25519, and the proxy reads RSA and EC keys; renew .*privateKey\.algorithm/,
    );
  });

  test('certificates of a PKCS#12 store are found without a password if they are not encrypted and are marked as trusted', () => {
    const trusted = '060c6086480186f966adca7b0101';
    const encrypted = '06092a864886f70d010706';
    const store = (...parts: string[]) => Buffer.from(`308209d3020103${parts.join('00')}`, 'hex');
    assert.equal(seemsEmpty(store(trusted), 'PKCS12'), false);
    assert.equal(seemsEmpty(store(encrypted), 'PKCS12'), true);
    assert.equal(seemsEmpty(store(trusted, encrypted), 'PKCS12'), true);
    assert.equal(seemsEmpty(store(), 'PKCS12'), true);
    assert.equal(seemsEmpty(Buffer.from('feedfeed00000002', 'hex'), 'JKS'), false);
  });

  test('report the time in which they are valid', async () => {
    const { certificate, key } = await createCa({ commonName: 'a', ...validity });
    assert.deepEqual(inspectCertificate(certificate, key), { from: validity.notBefore, until: validity.notAfter });
  });

  test('certificates of a trust store must have the format of its type', async () => {
    const { certificate } = await createCa({ commonName: 'a', ...validity });
    assert.equal(trustFault(Buffer.from(certificate), 'PEM'), undefined);
    assert.equal(trustFault(Buffer.from(`# a comment\n${certificate}${certificate}`), 'PEM'), undefined);
    assert.match(trustFault(Buffer.from('junk'), 'PEM') ?? '', /no PEM/);
    assert.equal(trustFault(Buffer.from('feedfeed00000002', 'hex'), 'JKS'), undefined);
    assert.match(trustFault(Buffer.from('x'), 'JKS') ?? '', /Java key store/);
    const cut = certificate.replace(/\n.{40}/, '\n');
    assert.match(trustFault(Buffer.from(`${certificate}${cut}`), 'PEM') ?? '', /certificate 2 in it cannot be read/);
    for (const [head, isStore] of [
      ['308209d3020103', true],
      ['3080020103', true],
      ['30820002020101', false],
      ['3082', false],
      ['', false],
    ] as const)
      assert.equal(trustFault(Buffer.from(head, 'hex'), 'PKCS12') === undefined, isStore, head);
    assert.match(trustFault(Buffer.from(certificate), 'PKCS12') ?? '', /PKCS#12/);
  });

  test("have the store type of their key's suffix", () => {
    assert.deepEqual(['a.pem', 'a.p12', 'a.jks', 'a.crt'].map(storeTypeOf), ['PEM', 'PKCS12', 'JKS', undefined]);
  });
});

/** Returns a self-signed certificate and its key, for tests of their form. */
function selfSignedEd25519(): { certificate: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const der = (tag: number, ...parts: Buffer[]) => {
    const content = Buffer.concat(parts);
    return Buffer.concat([
      Buffer.from(content.length < 128 ? [tag, content.length] : [tag, 0x81, content.length]),
      content,
    ]);
  };
  const algorithm = der(0x30, Buffer.from('06032b6570', 'hex'));
  const name = der(0x30);
  const time = (text: string) => der(0x17, Buffer.from(text));
  const signed = der(
    0x30,
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(0x30, time('260101000000Z'), time('360101000000Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(0x03, Buffer.from([0]), sign(null, signed, privateKey));
  const base64 = der(0x30, signed, algorithm, signature).toString('base64');
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}
