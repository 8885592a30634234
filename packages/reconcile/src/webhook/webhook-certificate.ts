// The certificate of a webhook, created here: an authority of its own and the certificate that it issued, in one Secret. The pod mounts the
// certificate and its key; the key of the authority never leaves the Secret.
//
// A certificate is renewed by the same authority after two thirds of its life: the bundle that the server trusts stays as it
// is. An authority is renewed in two steps, so that no call fails meanwhile: the new one is added to the bundle, and issues
// once the server's configuration has it.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  type CertificateAndKey,
  certificatesIn,
  certificateValidity,
  createCa,
  issueCertificate,
  renewalTime,
  Secret,
} from '@capstan/kube/cluster';
import type { Minter } from '../plan/index.ts';

/** Plain data: no secrets. */
export interface WebhookCertificateInputs {
  /** Sorted. */
  readonly dnsNames: readonly string[];
  /** Fingerprints of the authorities that the server trusts by now; undefined before it calls the webhook at all. */
  readonly trusted?: readonly string[];
}

const DAY_MS = 24 * 60 * 60 * 1000;
const CA_LIFE_MS = 3650 * DAY_MS;
const LEAF_LIFE_MS = 365 * DAY_MS;
/** Clocks differ: certificates are valid a little before they were created. */
const SKEW_MS = 5 * 60 * 1000;

/** `name` is that of the authority, and of the certificate where no DNS name is given. */
export const createWebhookCertificate = (name: string): Minter<WebhookCertificateInputs, Secret> => ({
  name: `${name}-tls`,
  readOnly: true,
  valid(existing, inputs, { reached }) {
    const authority = pairIn(existing, 'ca.crt', 'ca.key');
    const own = pairIn(existing, 'tls.crt', 'tls.key');
    if (authority === undefined || own === undefined) return false;
    if (isDue(authority, reached) || isDue(own, reached) || !hasNames(own, inputs.dnsNames)) return false;
    return isIssuedBy(own, authority) || !isTrusted(authority, inputs);
  },
  async make(inputs, existing, { clock }) {
    const now = clock.now();
    const reached = (instant: number | string) => now >= new Date(instant).getTime();
    const validity = (life: number) => ({ notBefore: now - SKEW_MS, notAfter: now + life });
    const known = existing && pairIn(existing, 'ca.crt', 'ca.key');
    const authority =
      known !== undefined && !isDue(known, reached)
        ? known
        : await createCa({ commonName: name, ...validity(CA_LIFE_MS) });
    const own = existing && pairIn(existing, 'tls.crt', 'tls.key');
    const mayWait =
      own !== undefined && !isTrusted(authority, inputs) && !isDue(own, reached) && hasNames(own, inputs.dnsNames);
    const issued = mayWait
      ? own
      : await issueCertificate({
          ca: authority,
          commonName: inputs.dnsNames.at(0)?.slice(0, 64) ?? name,
          dnsNames: inputs.dnsNames,
          usages: ['server'],
          ...validity(LEAF_LIFE_MS),
        });
    return secretOf({
      'ca.crt': bundle(authority, existing, now),
      'ca.key': authority.key,
      'tls.crt': issued.certificate,
      'tls.key': issued.key,
    });
  },
});

/** The certificates that the server must trust, as `caBundle` wants them; undefined while there are none. */
export function caBundleOf(secret: Pick<Secret, 'data'> | undefined): string | undefined {
  const text = secret && textOf(secret, 'ca.crt');
  return text === undefined || certificatesIn(text).length === 0 ? undefined : Buffer.from(text).toString('base64');
}

/** Returns the fingerprints of the trusted certificates of a `caBundle`. */
export function fingerprintsIn(caBundle: string): string[] {
  return certificatesIn(Buffer.from(caBundle, 'base64').toString('utf8')).map(({ fingerprint256 }) => fingerprint256);
}

function isDue({ certificate }: CertificateAndKey, reached: (instant: number | string) => boolean): boolean {
  return reached(renewalTime(certificateValidity(certificate)).getTime());
}

function isTrusted({ certificate }: CertificateAndKey, { trusted }: WebhookCertificateInputs): boolean {
  return trusted === undefined || trusted.includes(new X509Certificate(certificate).fingerprint256);
}

function isIssuedBy(own: CertificateAndKey, authority: CertificateAndKey): boolean {
  const issuer = new X509Certificate(authority.certificate);
  const leaf = new X509Certificate(own.certificate);
  return leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey);
}

function hasNames({ certificate }: CertificateAndKey, dnsNames: readonly string[]): boolean {
  const names = (new X509Certificate(certificate).subjectAltName ?? '').split(', ');
  return names.length === dnsNames.length && dnsNames.every((name) => names.includes(`DNS:${name}`));
}

/** The authority first, and the one before it as long as it is valid. */
function bundle({ certificate }: CertificateAndKey, existing: Secret | undefined, now: number): string {
  const { fingerprint256 } = new X509Certificate(certificate);
  const before = certificatesIn(existing === undefined ? '' : textOf(existing, 'ca.crt')).find(
    (one) => one.fingerprint256 !== fingerprint256 && one.validToDate.getTime() > now,
  );
  return before === undefined ? certificate : `${certificate.trimEnd()}\n${before.toString()}`;
}

/** A certificate with its own key; undefined when they are not there, not readable or not of one another. */
function pairIn(secret: Pick<Secret, 'data'>, crt: string, key: string): CertificateAndKey | undefined {
  const [first] = certificatesIn(textOf(secret, crt));
  const privateKey = textOf(secret, key);
  if (first === undefined || privateKey === '') return undefined;
  try {
    return first.checkPrivateKey(createPrivateKey(privateKey))
      ? { certificate: first.toString(), key: privateKey }
      : undefined;
  } catch {
    return undefined;
  }
}

function textOf({ data }: Pick<Secret, 'data'>, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}

function secretOf(texts: Record<string, string>): Secret {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
  return { apiVersion: Secret.apiVersion, kind: Secret.kind, metadata: {}, type: 'Opaque', data };
}
