// Secrets with certificates: checked here, so that Envoy never gets what it cannot load.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createResource, type Resource } from '../../xds/index.ts';
import type { SecretView } from '../lookup.ts';

export const TLS_CERT = 'tls.crt';
export const TLS_KEY = 'tls.key';
export const CA_CERT = 'ca.crt';
export const CRL = 'crl.pem';

// A Secret is looked at by every route that uses it; what comes out depends on nothing but the view.
const problems = new WeakMap<SecretView, { readonly problem: string | undefined }>();
const resources = new WeakMap<SecretView, Resource>();

/** What is wrong with the Secret as a server's or client's certificate; undefined when nothing is. */
export function tlsSecretProblem(secret: SecretView): string | undefined {
  let known = problems.get(secret);
  if (!known) {
    known = { problem: checkTlsSecret(secret) };
    problems.set(secret, known);
  }
  return known.problem;
}

function checkTlsSecret({ type, data }: SecretView): string | undefined {
  if (type !== 'kubernetes.io/tls' && type !== 'Opaque')
    return `Secret type is not "kubernetes.io/tls" or "Opaque" (${JSON.stringify(type)})`;
  const certificate = data[TLS_CERT];
  const key = data[TLS_KEY];
  if (!certificate || certificate.length === 0) return `missing TLS certificate (${TLS_CERT})`;
  if (!key || key.length === 0) return `missing TLS private key (${TLS_KEY})`;
  const parsed = readCertificates(certificate);
  if ('problem' in parsed) return `invalid TLS certificate: ${parsed.problem}`;
  const [leaf] = parsed.certificates;
  if (!leaf) return 'invalid TLS certificate: failed to locate certificate';
  if (!/CN=./.test(leaf.subject ?? '') && !leaf.subjectAltName)
    return 'invalid TLS certificate: certificate has no common name or subject alt name';
  const privateKey = readKey(key);
  if ('problem' in privateKey) return `invalid TLS private key: ${privateKey.problem}`;
  if (!leaf.checkPrivateKey(privateKey.key)) return 'invalid TLS private key: it is not the key of the certificate';
  return undefined;
}

export function caSecretProblem({ type, data }: SecretView): string | undefined {
  const ca = data[CA_CERT];
  if (!ca || ca.length === 0)
    return type === 'kubernetes.io/tls' || type === 'Opaque'
      ? `empty ${JSON.stringify(CA_CERT)} key`
      : `Secret type is not "kubernetes.io/tls" or "Opaque" (${JSON.stringify(type)})`;
  const parsed = readCertificates(ca);
  if ('problem' in parsed) return `invalid CA certificate bundle: ${parsed.problem}`;
  return parsed.certificates.length > 0 ? undefined : 'invalid CA certificate bundle: failed to locate certificate';
}

export function crlSecretProblem({ data }: SecretView): string | undefined {
  const crl = data[CRL];
  if (!crl || crl.length === 0) return `empty ${JSON.stringify(CRL)} key`;
  return blocks(crl).some(({ label }) => label === 'X509 CRL') ? undefined : 'failed to locate CRL';
}

/** Its name is that of the Secret, so a renewal changes this resource and nothing that refers to it. */
export function secretResource(secret: SecretView): Resource {
  let resource = resources.get(secret);
  if (!resource) {
    resource = encodeSecret(secret);
    resources.set(secret, resource);
  }
  return resource;
}

function encodeSecret(secret: SecretView): Resource {
  const name = secretName(secret);
  return createResource({
    type: 'sds',
    name,
    value: {
      name,
      tls_certificate: {
        certificate_chain: { inline_bytes: secret.data[TLS_CERT] ?? Buffer.alloc(0) },
        private_key: { inline_bytes: secret.data[TLS_KEY] ?? Buffer.alloc(0) },
      },
    },
    origins: [`Secret ${secret.namespace}/${secret.name}`],
  });
}

export function secretName({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}

function readCertificates(pem: Buffer): { certificates: X509Certificate[] } | { problem: string } {
  const certificates: X509Certificate[] = [];
  for (const { label, text } of blocks(pem)) {
    if (label !== 'CERTIFICATE') return { problem: `unexpected PEM block ${JSON.stringify(label)}` };
    try {
      certificates.push(new X509Certificate(text));
    } catch (error) {
      return { problem: `failed to parse certificate: ${(error as Error).message}` };
    }
  }
  return { certificates };
}

function readKey(pem: Buffer): { key: KeyObject } | { problem: string } {
  const found = blocks(pem).filter(({ label }) => label !== 'EC PARAMETERS');
  const [first, second] = found;
  if (!first) return { problem: 'failed to locate private key' };
  if (second) return { problem: 'multiple private keys' };
  if (!/^(RSA |EC )?PRIVATE KEY$/.test(first.label))
    return { problem: `unexpected PEM block ${JSON.stringify(first.label)}` };
  try {
    return { key: createPrivateKey(first.text) };
  } catch {
    // The message of the error may quote the key.
    return { problem: 'failed to parse key' };
  }
}

/** Text around the blocks is ignored. */
function blocks(pem: Buffer): { label: string; text: string }[] {
  const found = pem.toString('utf8').matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g);
  return [...found].map(([text, label = '']) => ({ label, text }));
}
