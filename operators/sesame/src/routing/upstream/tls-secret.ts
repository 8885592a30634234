// Secrets with certificates: checked here, so that Envoy never gets a certificate that it cannot load.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Certificate } from '../../model/certificate.ts';
import { accept, type Result, refuse } from '../../result.ts';
import type { SecretView } from '../lookup.ts';

export const TLS_CERT = 'tls.crt';
export const TLS_KEY = 'tls.key';
export const CA_CERT = 'ca.crt';
export const CRL = 'crl.pem';
/** The problem of a Secret that is not there. */
export const NO_SECRET = 'it does not exist; create it or correct the name';

// A Secret is checked by every route that uses it; the result depends on the view alone.
const problems = new WeakMap<SecretView, { readonly problem: string | undefined }>();
const certificates = new WeakMap<SecretView, Certificate>();
/** Parsed to find out when it expires, until the Secret is checked: parsing takes longer than all else about a Secret. */
const firstCertificates = new WeakMap<SecretView, { readonly text: string; readonly certificate: X509Certificate }>();

/** Returns the problem of the Secret as a server's or client's certificate, or undefined. */
export function tlsSecretProblem(secret: SecretView): string | undefined {
  let known = problems.get(secret);
  if (!known) {
    known = { problem: checkTlsSecret(secret) };
    problems.set(secret, known);
  }
  return known.problem;
}

function checkTlsSecret(secret: SecretView): string | undefined {
  const { type, data, expired } = secret;
  if (type !== 'kubernetes.io/tls' && type !== 'Opaque')
    return `its type is ${JSON.stringify(type)}; use kubernetes.io/tls or Opaque`;
  const certificate = data[TLS_CERT];
  const key = data[TLS_KEY];
  if (!certificate || certificate.length === 0)
    return `${TLS_CERT} is missing or empty; put the certificate there, in PEM`;
  if (!key || key.length === 0) return `${TLS_KEY} is missing or empty; put the private key there, in PEM`;
  const parsed = readCertificates(certificate, firstCertificates.get(secret));
  firstCertificates.delete(secret);
  if (!parsed.isOk) return `${TLS_CERT} ${parsed.problem}`;
  const [leaf] = parsed.value;
  if (!leaf) return `${TLS_CERT} has no certificate in PEM; put one there`;
  if (!/CN=./.test(leaf.subject ?? '') && !leaf.subjectAltName)
    return `the certificate in ${TLS_CERT} has neither a common name nor a subject alternative name; issue one with the host name`;
  const privateKey = readKey(key);
  if (!privateKey.isOk) return `${TLS_KEY} ${privateKey.problem}`;
  if (!leaf.checkPrivateKey(privateKey.value))
    return `${TLS_KEY} is not the key of the first certificate in ${TLS_CERT}; put the matching pair there, the host's certificate first`;
  const weak = weakness(leaf.publicKey);
  if (weak !== undefined) return weak;
  if (expired !== undefined) return `the certificate in ${TLS_CERT} expired at ${expired}; renew it`;
  return undefined;
}

/** Keys that Envoy refuses to load. */
function weakness({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): string | undefined {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'rsa' && modulusLength < 2048)
    return `the RSA key of the certificate in ${TLS_CERT} has ${modulusLength} bits; use 2048 or more`;
  if (asymmetricKeyType === 'ec' && !['prime256v1', 'secp384r1', 'secp521r1'].includes(namedCurve))
    return `the key of the certificate in ${TLS_CERT} is on the curve ${namedCurve}; use P-256, P-384 or P-521`;
  return undefined;
}

export function caSecretProblem({ type, data }: SecretView): string | undefined {
  const ca = data[CA_CERT];
  if (!ca || ca.length === 0)
    return type === 'kubernetes.io/tls' || type === 'Opaque'
      ? `${CA_CERT} is missing or empty; put the certificates of the authority there, in PEM`
      : `its type is ${JSON.stringify(type)}; use Opaque, with ${CA_CERT}`;
  const parsed = readCertificates(ca);
  if (!parsed.isOk) return `${CA_CERT} ${parsed.problem}`;
  return parsed.value.length > 0 ? undefined : `${CA_CERT} has no certificate in PEM; put one there`;
}

export function crlSecretProblem({ data }: SecretView): string | undefined {
  const crl = data[CRL];
  if (!crl || crl.length === 0) return `${CRL} is missing or empty; put the revocation list there, in PEM`;
  const lists = blocks(crl).filter(({ label }) => label === 'X509 CRL');
  if (lists.length === 0) return `${CRL} has no "X509 CRL" in PEM; put one there`;
  return lists.every(({ text }) => isDerSequence(text))
    ? undefined
    : `${CRL} has a list that cannot be parsed; issue it again`;
}

/** When the first certificate of the Secret ends to be valid, in milliseconds; undefined without one. */
export function expiryOf(secret: SecretView): number | undefined {
  const certificate = secret.data[TLS_CERT];
  const [first] = certificate ? blocks(certificate) : [];
  if (first?.label !== 'CERTIFICATE') return undefined;
  try {
    const parsed = new X509Certificate(first.text);
    firstCertificates.set(secret, { text: first.text, certificate: parsed });
    return parsed.validToDate.getTime();
  } catch {
    return undefined;
  }
}

/** Node has no parser for revocation lists: the outermost length shows whether a list is complete and DER. */
function isDerSequence(pem: string): boolean {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
  const [tag = 0, first = 0] = der;
  if (tag !== 0x30) return false;
  if (first < 0x80) return der.length === first + 2;
  const size = first & 0x7f;
  return size <= 4 && der.length > size + 2 && der.length === der.readUIntBE(2, size) + size + 2;
}

/** Its name is that of the Secret, so a renewal changes this certificate and nothing that refers to it. */
export function certificateOf(secret: SecretView): Certificate {
  let found = certificates.get(secret);
  if (!found) {
    const { namespace, name, data } = secret;
    found = {
      kind: 'certificate',
      name: secretName(secret),
      chain: data[TLS_CERT] ?? Buffer.alloc(0),
      key: data[TLS_KEY] ?? Buffer.alloc(0),
      origin: { kind: 'Secret', namespace, name, path: 'data' },
    };
    certificates.set(secret, found);
  }
  return found;
}

export function secretName({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}

function readCertificates(
  pem: Buffer,
  known?: { readonly text: string; readonly certificate: X509Certificate },
): Result<X509Certificate[]> {
  const found: X509Certificate[] = [];
  for (const { label, text } of blocks(pem)) {
    if (label !== 'CERTIFICATE')
      return refuse(`has a PEM block ${JSON.stringify(label)}; leave only certificates there`);
    try {
      found.push(text === known?.text ? known.certificate : new X509Certificate(text));
    } catch {
      return refuse('has a certificate that cannot be parsed; issue it again');
    }
  }
  return accept(found);
}

function readKey(pem: Buffer): Result<KeyObject> {
  const found = blocks(pem).filter(({ label }) => label !== 'EC PARAMETERS');
  const [first, second] = found;
  if (!first) return refuse('has no private key in PEM; put one there');
  if (second) return refuse('has more than one private key; leave one');
  if (!/^(RSA |EC )?PRIVATE KEY$/.test(first.label))
    return refuse(
      `has a PEM block ${JSON.stringify(first.label)}; put an unencrypted PKCS #8, PKCS #1 or EC key there`,
    );
  try {
    return accept(createPrivateKey(first.text));
  } catch {
    // The message of the error may quote the key.
    return refuse('has a key that cannot be parsed; put an unencrypted PKCS #8, PKCS #1 or EC key there');
  }
}

/** Text around the blocks is ignored. */
function blocks(pem: Buffer): { label: string; text: string }[] {
  const found = pem.toString('utf8').matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g);
  return [...found].map(([text, label = '']) => ({ label, text }));
}
