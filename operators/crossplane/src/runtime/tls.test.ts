import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { before, test } from 'node:test';
import { type CertificateAndKey, createCa, type Secret, systemClock } from '@capstan/kube';
import { tlsSecretNames } from './render/tls-secrets.ts';
import { authorityOf, createTlsMinters, fingerprintOf, type TlsInputs, tlsNeeds } from './tls.ts';

const DAY = 24 * 60 * 60 * 1000;
const START = Date.UTC(2026, 0, 1);
let now = START;
let ca: CertificateAndKey;
const { rootCa, leaf } = createTlsMinters({ now: () => now, loadCa: () => Promise.resolve(ca) });

/** These minters have a clock of their own. */
const context = { clock: systemClock, signal: new AbortController().signal };

const newCa = () => createCa({ commonName: 'Crossplane', notBefore: START - DAY, notAfter: START + 3650 * DAY });
const reachedAt = (time: number) => ({ reached: (instant: number | string) => Number(instant) <= time });
const text = ({ data }: Secret, key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString();
const inputsFor = (...serviceNames: string[]): TlsInputs => {
  const [need] = tlsNeeds({
    kind: 'Function',
    packageName: 'fn',
    serviceNames,
    namespace: 'ns',
    authority: fingerprintOf(ca.certificate),
  });
  assert.ok(need);
  return need.inputs;
};

before(async () => {
  ca = await newCa();
});

test('a Function needs a server certificate for its Service, a Provider a client certificate too', () => {
  const needs = (kind: 'Provider' | 'Function') =>
    tlsNeeds({ kind, packageName: 'p', serviceNames: ['svc'], namespace: 'ns', authority: 'a' });
  const [server, ...rest] = needs('Function');
  assert.deepEqual(rest, []);
  assert.equal(server?.secretName, 'p-tls-server');
  assert.deepEqual(server.inputs.dnsNames, ['svc', 'svc.ns', 'svc.ns.svc', 'svc.ns.svc.cluster.local']);
  assert.deepEqual(
    needs('Provider').map(({ secretName, inputs }) => [secretName, inputs.usage]),
    [
      ['p-tls-server', 'server'],
      ['p-tls-client', 'client'],
    ],
  );
});

test('while two revisions run, one certificate serves both of their Services', () => {
  const inputs = inputsFor('new', 'old', 'new');
  assert.equal(inputs.dnsNames.length, 8);
  assert.deepEqual(inputs, inputsFor('old', 'new'));
});

test('names of Secrets fit into a name', () => {
  const { server } = tlsSecretNames('Function', 'x'.repeat(253));
  assert.equal(server.length, 253);
  assert.ok(server.endsWith('-tls-server'));
});

test('a certificate is valid until two thirds of its life are over', async () => {
  const secret = await leaf.make(inputsFor('svc'), undefined, context);
  const certificate = new X509Certificate(text(secret, 'tls.crt'));
  assert.ok(certificate.verify(new X509Certificate(ca.certificate).publicKey));
  assert.equal(certificate.publicKey.asymmetricKeyType, 'ec');
  assert.equal(certificate.checkHost('svc.ns.svc'), 'svc.ns.svc');
  assert.ok(leaf.valid(secret, inputsFor('svc'), reachedAt(START + 243 * DAY)));
  assert.ok(!leaf.valid(secret, inputsFor('svc'), reachedAt(START + 244 * DAY)));
});

test('a renamed Service and a name that is no longer needed make a new certificate', async () => {
  const secret = await leaf.make(inputsFor('old', 'new'), undefined, context);
  assert.ok(leaf.valid(secret, inputsFor('old', 'new'), reachedAt(START)));
  assert.ok(!leaf.valid(secret, inputsFor('new'), reachedAt(START)));
  assert.ok(!leaf.valid(secret, inputsFor('other'), reachedAt(START)));
});

test('a new authority makes a new certificate, and the old one is trusted beside it for a while', async () => {
  const secret = await leaf.make(inputsFor('svc'), undefined, context);
  const old = ca;
  ca = await newCa();
  assert.ok(!leaf.valid(secret, inputsFor('svc'), reachedAt(START)));
  const renewed = await leaf.make(inputsFor('svc'), secret, context);
  assert.ok(leaf.valid(renewed, inputsFor('svc'), reachedAt(START)));
  const bundle = text(renewed, 'ca.crt');
  assert.ok(bundle.startsWith(ca.certificate.trimEnd()));
  assert.ok(bundle.includes(old.certificate.trimEnd()));
  // A plain renewal keeps both; the next authority pushes the oldest out.
  const again = await leaf.make(inputsFor('svc'), renewed, context);
  assert.equal(text(again, 'ca.crt').match(/BEGIN/g)?.length, 2);
  now = START + 4000 * DAY;
  const late = await leaf.make(inputsFor('svc'), again, context);
  now = START;
  assert.equal(text(late, 'ca.crt').match(/BEGIN/g)?.length, 1);
});

test('a Secret that is empty, broken or holds another’s key is not valid', async () => {
  const one = await leaf.make(inputsFor('svc'), undefined, context);
  const other = await leaf.make(inputsFor('svc'), undefined, context);
  for (const data of [
    {},
    { ...one.data, 'tls.crt': 'AAAA' },
    { ...one.data, 'tls.key': other.data?.['tls.key'] ?? '' },
    { ...one.data, 'ca.crt': '' },
  ]) {
    assert.ok(!leaf.valid({ ...one, data }, inputsFor('svc'), reachedAt(START)));
  }
});

test('the authority is made once, named by its fingerprint, and renewed in time', async () => {
  const secret = await rootCa.make({}, undefined, context);
  assert.ok(rootCa.valid(secret, {}, reachedAt(START + 2000 * DAY)));
  assert.ok(!rootCa.valid(secret, {}, reachedAt(START + 2500 * DAY)));
  assert.equal(authorityOf(secret), fingerprintOf(text(secret, 'tls.crt')));
  assert.equal(authorityOf(undefined), undefined);
  assert.equal(authorityOf({ data: { 'tls.crt': 'AAAA', 'tls.key': 'AAAA' } }), undefined);
});
