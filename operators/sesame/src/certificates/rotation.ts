// Certificates of an instance, rotated so that no handshake fails.
//
// One Secret holds all keys (`sesamepki-N`, for the operator alone): an authority and a certificate for each side. Sides are renewed at
// two thirds of their life under the same authority, so trust does not change. The authority is replaced in two steps: the next one is
// published in both bundles first, and signs only after every pod has had the time to see it; the one before stays in the bundles
// until it expires. All that is decided from the content of the Secret and the time, so a restart changes nothing.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  type CertificateAndKey,
  certificateValidity,
  createCa,
  issueCertificate,
  renewalTime,
  Secret,
} from '@capstan/kube';
import type { Minter } from '@capstan/reconcile';
import { XDS_CLUSTER } from '../bootstrap/bootstrap.ts';
import { DAY_MS, serviceNames } from './issue.ts';

export const AUTHORITY_LIFE_MS = 3 * 365 * DAY_MS;
export const CERTIFICATE_LIFE_MS = 365 * DAY_MS;
/** The next authority is in the bundles for so long before it signs. */
export const OVERLAP_MS = DAY_MS;

/** The inputs of the Secret; nothing secret. */
export interface PkiInputs {
  readonly namespace: string;
  readonly sesameService: string;
  readonly envoyService: string;
  readonly clusterDomain: string;
}

/** The content of the Secret. */
interface Pki {
  readonly authority: CertificateAndKey;
  readonly next: CertificateAndKey | undefined;
  /** Certificate alone. */
  readonly previous: string | undefined;
  readonly sesame: CertificateAndKey;
  readonly envoy: CertificateAndKey;
}

export type PkiMinter = Minter<PkiInputs, Secret>;

type Time = { reached(instant: number | string): boolean };

/** Created once, so that plans compare equal. */
export function createPkiMinter({ now }: { now(): number }): PkiMinter {
  // Asked at every plan: keys are parsed once for each content.
  const parsed = new WeakMap<object, Pki | undefined>();
  const known = (secret: Secret): Pki | undefined => {
    const { data } = secret;
    if (data === undefined) return undefined;
    if (!parsed.has(data)) parsed.set(data, pkiIn(secret));
    return parsed.get(data);
  };
  return {
    name: 'sesame-pki',
    readOnly: true,
    valid: (existing, inputs, time) => {
      const pki = known(existing);
      return pki !== undefined && step(pki, inputs, time) === 'none';
    },
    async make(inputs, existing) {
      const pki = existing && pkiIn(existing);
      return secretOf(await advanced(pki, inputs, now()));
    },
  };
}

type Step = 'none' | 'publish next' | 'promote next' | 'drop previous' | 'renew sides';

/** Returns the step that is due. The order matters: a promotion renews the sides as well. */
function step(pki: Pki, inputs: PkiInputs, { reached }: Time): Step {
  if (pki.next === undefined) {
    if (reached(renewalTime(certificateValidity(pki.authority.certificate)).getTime())) return 'publish next';
  } else if (reached(publishedAt(pki.next) + OVERLAP_MS)) return 'promote next';
  if (!isFor(pki.sesame, namesOf('sesame', inputs), pki) || !isFor(pki.envoy, namesOf('envoy', inputs), pki))
    return 'renew sides';
  for (const side of [pki.sesame, pki.envoy])
    if (reached(renewalTime(certificateValidity(side.certificate)).getTime())) return 'renew sides';
  if (pki.previous !== undefined && reached(certificateValidity(pki.previous).notAfter.getTime()))
    return 'drop previous';
  return 'none';
}

/** Certificates are valid from a day before they were created. */
function publishedAt({ certificate }: CertificateAndKey): number {
  return certificateValidity(certificate).notBefore.getTime() + DAY_MS;
}

async function advanced(pki: Pki | undefined, inputs: PkiInputs, now: number): Promise<Pki> {
  if (pki === undefined) {
    const authority = await newAuthority(now);
    return { authority, next: undefined, previous: undefined, ...(await newSides(authority, inputs, now)) };
  }
  const due = step(pki, inputs, { reached: (instant) => Number(instant) <= now });
  switch (due) {
    case 'publish next':
      return { ...pki, next: await newAuthority(now) };
    case 'promote next': {
      const authority = pki.next ?? pki.authority;
      const sides = await newSides(authority, inputs, now);
      return { authority, next: undefined, previous: pki.authority.certificate, ...sides };
    }
    case 'drop previous':
      return { ...pki, previous: undefined };
    case 'renew sides':
    case 'none':
      return { ...pki, ...(await newSides(pki.authority, inputs, now)) };
  }
}

function newAuthority(now: number): Promise<CertificateAndKey> {
  return createCa({ commonName: 'Project Sesame', notBefore: now - DAY_MS, notAfter: now + AUTHORITY_LIFE_MS });
}

async function newSides(
  ca: CertificateAndKey,
  inputs: PkiInputs,
  now: number,
): Promise<{ sesame: CertificateAndKey; envoy: CertificateAndKey }> {
  // No certificate outlives its authority.
  const end = certificateValidity(ca.certificate).notAfter.getTime();
  const validity = { notBefore: now - DAY_MS, notAfter: Math.min(now + CERTIFICATE_LIFE_MS, end) };
  const side = (name: 'sesame' | 'envoy') =>
    issueCertificate({
      ca,
      commonName: name === 'sesame' ? XDS_CLUSTER : 'envoy',
      dnsNames: namesOf(name, inputs),
      usages: ['server', 'client'],
      ...validity,
    });
  const [sesame, envoy] = await Promise.all([side('sesame'), side('envoy')]);
  return { sesame, envoy };
}

function namesOf(side: 'sesame' | 'envoy', inputs: PkiInputs): string[] {
  return side === 'sesame'
    ? serviceNames(XDS_CLUSTER, inputs.sesameService, inputs)
    : serviceNames('envoy', inputs.envoyService, inputs);
}

/** Whether a certificate has these names and is signed by the authority, or by the one before it. */
function isFor({ certificate }: CertificateAndKey, dnsNames: readonly string[], pki: Pki): boolean {
  const leaf = new X509Certificate(certificate);
  const found = new Set(
    (leaf.subjectAltName ?? '').split(', ').flatMap((name) => (name.startsWith('DNS:') ? [name.slice(4)] : [])),
  );
  if (found.size !== dnsNames.length || !dnsNames.every((name) => found.has(name))) return false;
  return leaf.verify(new X509Certificate(pki.authority.certificate).publicKey);
}

export interface SideSecret {
  readonly 'ca.crt': string;
  readonly 'tls.crt': string;
  readonly 'tls.key': string;
}

/** Returns the content of each side's Secret, in base64: its pair, and every authority that may have signed the other side. */
export function sideSecrets(secret: Pick<Secret, 'data'>): { sesame: SideSecret; envoy: SideSecret } | undefined {
  const pki = pkiIn(secret);
  if (pki === undefined) return undefined;
  const authorities = [pki.authority.certificate, pki.next?.certificate, pki.previous];
  const bundle = encode(
    authorities
      .flatMap((one) => (one === undefined ? [] : [one.trimEnd()]))
      .join('\n')
      .concat('\n'),
  );
  const of = ({ certificate, key }: CertificateAndKey): SideSecret => ({
    'ca.crt': bundle,
    'tls.crt': encode(certificate),
    'tls.key': encode(key),
  });
  return { sesame: of(pki.sesame), envoy: of(pki.envoy) };
}

/** The content of the Secret; undefined when a part is missing, unreadable or not of the others. */
function pkiIn({ data }: Pick<Secret, 'data'>): Pki | undefined {
  const text = (key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
  const pair = (name: string): CertificateAndKey | undefined => {
    const [certificate, key] = [text(`${name}.crt`), text(`${name}.key`)];
    if (certificate === '' || key === '') return undefined;
    try {
      return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)) ? { certificate, key } : undefined;
    } catch {
      return undefined;
    }
  };
  const [authority, sesame, envoy] = [pair('authority'), pair('sesame'), pair('envoy')];
  if (authority === undefined || sesame === undefined || envoy === undefined) return undefined;
  const previous = text('previous.crt');
  return { authority, next: pair('next'), previous: isCertificate(previous) ? previous : undefined, sesame, envoy };
}

function isCertificate(text: string): boolean {
  try {
    return text !== '' && new X509Certificate(text).ca;
  } catch {
    return false;
  }
}

function secretOf({ authority, next, previous, sesame, envoy }: Pki): Secret {
  const pairs = { authority, next, sesame, envoy };
  const texts = Object.entries(pairs).flatMap(([name, pair]) =>
    pair === undefined ? [] : [[`${name}.crt`, pair.certificate] as const, [`${name}.key`, pair.key] as const],
  );
  const all = [...texts, ...(previous === undefined ? [] : [['previous.crt', previous] as const])];
  return {
    apiVersion: Secret.apiVersion,
    kind: Secret.kind,
    metadata: {},
    type: 'Opaque',
    data: Object.fromEntries(all.map(([name, content]) => [name, encode(content)])),
  };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}
