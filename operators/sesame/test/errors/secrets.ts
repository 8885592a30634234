// Secrets with certificates in every state, under fixed names, so that fixtures hold no keys.
import { generateKeyPairSync } from 'node:crypto';
import { type CertificateAndKey, createCa, issueCertificate, type Secret } from '@capstan/kube';

/** The time of all fixtures. */
export const NOW = Date.parse('2026-03-01T00:00:00Z');
const DAY_MS = 86_400_000;
const VALIDITY = { notBefore: NOW - DAY_MS, notAfter: NOW + 90 * DAY_MS };
const EXPIRED = { notBefore: NOW - 90 * DAY_MS, notAfter: NOW - DAY_MS };

/** In the namespace `default`, and `tls`, `ca` and `jwks` in `other` too. */
export async function createSecrets(): Promise<Secret[]> {
  const ca = await createCa({ commonName: 'test', ...VALIDITY });
  const issue = (name: string, validity = VALIDITY) =>
    issueCertificate({ ca, commonName: name, dnsNames: [name], usages: ['server'], ...validity });
  const [own, foreign, expired] = [await issue('own.test'), await issue('foreign.test'), await issue('old', EXPIRED)];
  const nameless = await issueCertificate({ ca, commonName: '', dnsNames: [], usages: ['server'], ...VALIDITY });
  const pair = ({ certificate, key }: CertificateAndKey) => ({ 'tls.crt': certificate, 'tls.key': key });
  const encrypted = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'fixture' },
  }).privateKey;
  const broken = '-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n';
  const brokenKey = own.key.replace(/\n[^-][^\n]*\n/, '\nbm8ga2V5\n');
  return [
    secret('tls', pair(own)),
    secret('tls-opaque', pair(own), 'Opaque'),
    secret('tls-of-another-type', pair(own), 'example.com/certificate'),
    secret('tls-mismatch', { 'tls.crt': own.certificate, 'tls.key': foreign.key }),
    secret('tls-chain-reversed', { 'tls.crt': ca.certificate + own.certificate, 'tls.key': own.key }),
    secret('tls-expired', pair(expired)),
    secret('tls-nameless', pair(nameless)),
    secret('tls-without-certificate', { 'tls.crt': '', 'tls.key': own.key }, 'Opaque'),
    secret('tls-without-key', { 'tls.crt': own.certificate }, 'Opaque'),
    secret('tls-no-pem', { 'tls.crt': 'no certificate', 'tls.key': own.key }),
    secret('tls-broken', { 'tls.crt': broken, 'tls.key': own.key }),
    secret('tls-key-in-certificate', { 'tls.crt': own.certificate + own.key, 'tls.key': own.key }),
    secret('tls-key-no-pem', { 'tls.crt': own.certificate, 'tls.key': 'no key' }),
    secret('tls-key-broken', { 'tls.crt': own.certificate, 'tls.key': brokenKey }),
    secret('tls-key-encrypted', { 'tls.crt': own.certificate, 'tls.key': encrypted }),
    secret('tls-two-keys', { 'tls.crt': own.certificate, 'tls.key': own.key + foreign.key }),
    secret('tls', pair(own), 'kubernetes.io/tls', 'other'),
    secret('ca', { 'ca.crt': ca.certificate }, 'Opaque'),
    secret('ca', { 'ca.crt': ca.certificate }, 'Opaque', 'other'),
    secret('ca-empty', {}, 'Opaque'),
    secret('ca-of-another-type', {}, 'example.com/certificate'),
    secret('ca-no-pem', { 'ca.crt': 'no certificate' }, 'Opaque'),
    secret('ca-broken', { 'ca.crt': broken }, 'Opaque'),
    secret('ca-with-key', { 'ca.crt': ca.certificate + ca.key }, 'Opaque'),
    secret('crl-empty', {}, 'Opaque'),
    secret('crl-broken', { 'crl.pem': broken.replaceAll('CERTIFICATE', 'X509 CRL') }, 'Opaque'),
    secret('crl-no-pem', { 'crl.pem': 'no list' }, 'Opaque'),
    secret('jwks', { jwks: '{"keys": []}', broken: '{"keys"', list: '[]' }, 'Opaque'),
    secret('jwks', { jwks: '{"keys": []}' }, 'Opaque', 'other'),
    secret('login', { 'client-secret': 'a', 'hmac-secret': '0123456789abcdef0123456789abcdef' }, 'Opaque'),
    secret('login-without-key', { 'client-secret': 'a' }, 'Opaque'),
    secret('login-short', { 'client-secret': 'a', 'hmac-secret': 'short' }, 'Opaque'),
    secret('login', { 'client-secret': 'a', 'hmac-secret': '0123456789abcdef0123456789abcdef' }, 'Opaque', 'other'),
  ];
}

function secret(name: string, data: Record<string, string>, type = 'kubernetes.io/tls', namespace = 'default'): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    type,
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}
