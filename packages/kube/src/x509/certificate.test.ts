import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CertificateAndKey, createCa, issueCertificate } from './certificate.ts';
import type { KeyType } from './keys.ts';
import { certificateValidity, renewalTime } from './validity.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 15);
const validity = { notBefore: NOW - DAY, notAfter: NOW + 89 * DAY };

async function pair(keyType: KeyType = 'ecdsa'): Promise<{ ca: CertificateAndKey; leaf: CertificateAndKey }> {
  const ca = await createCa({ commonName: 'test authority', ...validity, keyType });
  const leaf = await issueCertificate({
    ca,
    commonName: 'system:admin',
    organizations: ['system:masters', 'zebras'],
    dnsNames: ['localhost', '*.example.com'],
    ipAddresses: ['127.0.0.1', '::1', '2001:db8::a:1', 'fe80:1:2:3:4:5:6:7', '::ffff:10.0.0.1'],
    usages: ['server', 'client'],
    ...validity,
    keyType,
  });
  return { ca, leaf };
}

for (const keyType of ['ecdsa', 'rsa'] as const) {
  test(`an issued certificate (${keyType}) verifies against its authority and carries what was asked for`, async () => {
    const { ca, leaf } = await pair(keyType);
    const authority = new X509Certificate(ca.certificate);
    const certificate = new X509Certificate(leaf.certificate);
    assert.ok(authority.ca && authority.verify(authority.publicKey));
    assert.ok(!certificate.ca && certificate.verify(authority.publicKey) && certificate.checkIssued(authority));
    assert.ok(certificate.checkPrivateKey(createPrivateKey(leaf.key)));
    assert.equal(certificate.subject, 'O=system:masters\nO=zebras\nCN=system:admin');
    assert.equal(certificate.checkHost('localhost'), 'localhost');
    assert.equal(certificate.checkHost('a.example.com'), '*.example.com');
    for (const address of ['127.0.0.1', '::1', '2001:db8::a:1', 'fe80:1:2:3:4:5:6:7', '::ffff:10.0.0.1']) {
      assert.equal(certificate.checkIP(address), address);
    }
    assert.equal(certificate.checkIP('127.0.0.2'), undefined);
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  });
}

test('validity is kept to the second, beyond 2049 too, and renewal is due after two thirds of it', async () => {
  const far = { notBefore: Date.UTC(2049, 11, 31, 23, 59, 59), notAfter: Date.UTC(2050, 0, 31, 23, 59, 59) };
  const ca = await createCa({ commonName: 'far', ...far });
  const read = certificateValidity(ca.certificate);
  assert.deepEqual([read.notBefore.getTime(), read.notAfter.getTime()], [far.notBefore, far.notAfter]);
  const span = { notBefore: new Date(0), notAfter: new Date(90 * DAY) };
  assert.equal(renewalTime(span).getTime(), 60 * DAY);
});

test('an address that is none is refused', async () => {
  const ca = await createCa({ commonName: 'ca', ...validity });
  await assert.rejects(
    issueCertificate({ ca, commonName: 'x', ipAddresses: ['fe80::1%eth0'], usages: ['server'], ...validity }),
    /"fe80::1%eth0" into a certificate: it is not an IP address/,
  );
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

test('openssl accepts the chain strictly and reads the extensions', {
  skip: hasOpenssl ? false : 'openssl is not installed; install it to run this test',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'x509-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const { ca, leaf } = await pair();
  writeFileSync(join(folder, 'ca.pem'), ca.certificate);
  writeFileSync(join(folder, 'leaf.pem'), leaf.certificate);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, encoding: 'utf8' });
  const at = String(NOW / 1000);
  for (const purpose of ['sslserver', 'sslclient']) {
    const output = openssl(
      'verify',
      '-x509_strict',
      '-purpose',
      purpose,
      '-attime',
      at,
      '-CAfile',
      'ca.pem',
      'leaf.pem',
    );
    assert.match(output, /leaf\.pem: OK/);
  }
  assert.match(openssl('x509', '-in', 'ca.pem', '-noout', '-text'), /CA:TRUE, pathlen:0/);
  assert.match(openssl('x509', '-in', 'leaf.pem', '-noout', '-text'), /Authority Key Identifier/);
});
