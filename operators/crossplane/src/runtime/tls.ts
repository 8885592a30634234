// Certificates of package runtimes. Which Secrets a package needs, and for which names, is decided here without touching a
// key; making them is a Minter for the runtime of reconcilers, which asks it again whenever an input or the time changes.
//
// A certificate is recreated when two thirds of its life are over, when it lacks a name (a Service was renamed), and when
// the authority has changed. `ca.crt` then holds the new authority first and the one before it second, until that expires:
// the two ends of a connection do not change at the same moment, and each must accept the other meanwhile.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  type CertificateAndKey,
  certificatesIn,
  certificateValidity,
  createCa,
  issueCertificate,
  renewalTime,
  Secret,
} from '@capstan/kube';
import type { Minter } from '@capstan/reconcile';
import type { RuntimeKind } from './render/labels.ts';
import { tlsSecretNames } from './render/tls-secrets.ts';

export const ROOT_CA_SECRET = 'crossplane-root-ca';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Ten years, as upstream's. */
const CA_LIFE_MS = 3650 * DAY_MS;
const LEAF_LIFE_MS = 365 * DAY_MS;
/** Clocks differ: certificates are valid a little before they were created. */
const SKEW_MS = 5 * 60 * 1000;

/** The inputs of a certificate Secret. They hold no secrets: they are compared and may be shown. */
export interface TlsInputs {
  readonly usage: 'server' | 'client';
  readonly commonName: string;
  /** Sorted. */
  readonly dnsNames: readonly string[];
  /** SHA-256 of the authority's certificate (fingerprintOf). */
  readonly authority: string;
}

export interface TlsNeed {
  readonly secretName: string;
  readonly inputs: TlsInputs;
}

export interface TlsNeedsInput {
  readonly kind: RuntimeKind;
  readonly packageName: string;
  /** Every Service that leads to pods with this Secret: the current revision's and, while it still runs, the one before. */
  readonly serviceNames: readonly string[];
  readonly namespace: string;
  readonly authority: string;
  /** Default cluster.local. */
  readonly clusterDomain?: string;
}

/** The certificate Secrets of a package: one to be called with, and for Providers one to call with. */
export function tlsNeeds(input: TlsNeedsInput): TlsNeed[] {
  const { kind, packageName, authority } = input;
  const names = tlsSecretNames(kind, packageName);
  const server: TlsNeed = {
    secretName: names.server,
    inputs: { usage: 'server', commonName: commonName(packageName), dnsNames: serviceDnsNames(input), authority },
  };
  if (names.client === undefined) return [server];
  const client: TlsNeed = {
    secretName: names.client,
    inputs: { usage: 'client', commonName: commonName(packageName), dnsNames: [packageName], authority },
  };
  return [server, client];
}

function serviceDnsNames({ serviceNames, namespace, clusterDomain = 'cluster.local' }: TlsNeedsInput): string[] {
  const ends = ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.${clusterDomain}`];
  return [...new Set(serviceNames.flatMap((name) => ends.map((end) => name + end)))].toSorted();
}

/** X.520 allows 64 characters. Clients check the alternative names. */
function commonName(packageName: string): string {
  return packageName.slice(0, 64);
}

/** Names the authority without showing it: part of the inputs, so that a new authority is noticed. */
export function fingerprintOf(caCertificate: string): string {
  return new X509Certificate(caCertificate).fingerprint256;
}

/** The fingerprint of the authority in its Secret; undefined while there is none that can be used. */
export function authorityOf(secret: Pick<Secret, 'data'> | undefined): string | undefined {
  const ca = secret && pairIn(secret);
  return ca === undefined ? undefined : fingerprintOf(ca.certificate);
}

export interface TlsMinters {
  /** Makes the authority's Secret (ROOT_CA_SECRET). */
  readonly rootCa: Minter<Record<string, never>, Secret>;
  /** Makes a Secret of tlsNeeds(). */
  readonly leaf: Minter<TlsInputs, Secret>;
}

export interface TlsMintersOptions {
  /** Milliseconds since the epoch. */
  now(): number;
  /** The authority as it is now, from its Secret: keys are no part of a plan. Rejects while there is none. */
  loadCa(): Promise<CertificateAndKey>;
}

/** The minters of an operator: created once, so that plans compare equal. */
export function createTlsMinters({ now, loadCa }: TlsMintersOptions): TlsMinters {
  return {
    rootCa: {
      name: 'crossplane-root-ca',
      readOnly: true,
      valid: (existing, _inputs, { reached }) => {
        const pair = pairIn(existing);
        return pair !== undefined && !reached(renewalTime(certificateValidity(pair.certificate)).getTime());
      },
      async make() {
        const notBefore = now() - SKEW_MS;
        const { certificate, key } = await createCa({
          commonName: 'Crossplane',
          notBefore,
          notAfter: now() + CA_LIFE_MS,
        });
        return secretOf({ 'tls.crt': certificate, 'tls.key': key });
      },
    },
    leaf: {
      name: 'crossplane-tls',
      readOnly: true,
      valid: isValidLeaf,
      async make(inputs, existing) {
        const ca = await loadCa();
        const { certificate, key } = await issueCertificate({
          ca,
          commonName: inputs.commonName,
          dnsNames: inputs.dnsNames,
          usages: [inputs.usage],
          notBefore: now() - SKEW_MS,
          notAfter: now() + LEAF_LIFE_MS,
        });
        return secretOf({ 'tls.crt': certificate, 'tls.key': key, 'ca.crt': bundle(ca.certificate, existing, now()) });
      },
    },
  };
}

/** Whether a Secret serves the inputs still; `reached` wakes when its renewal is due. */
export function isValidLeaf(
  existing: Pick<Secret, 'data'>,
  inputs: TlsInputs,
  { reached }: { reached(instant: number | string): boolean },
): boolean {
  const pair = pairIn(existing);
  const [authority] = certificatesIn(textOf(existing, 'ca.crt'));
  if (pair === undefined || authority === undefined || authority.fingerprint256 !== inputs.authority) return false;
  const leaf = new X509Certificate(pair.certificate);
  if (!leaf.checkIssued(authority) || !leaf.verify(authority.publicKey)) return false;
  const names = new Set(dnsNamesOf(leaf));
  if (inputs.dnsNames.length !== names.size || !inputs.dnsNames.every((name) => names.has(name))) return false;
  return !reached(renewalTime(certificateValidity(pair.certificate)).getTime());
}

function dnsNamesOf({ subjectAltName }: X509Certificate): string[] {
  return (subjectAltName ?? '').split(', ').flatMap((name) => (name.startsWith('DNS:') ? [name.slice(4)] : []));
}

/** A certificate with its own key; undefined when they are not there, not readable or not of one another. */
function pairIn(secret: Pick<Secret, 'data'>): CertificateAndKey | undefined {
  const certificate = textOf(secret, 'tls.crt');
  const key = textOf(secret, 'tls.key');
  if (certificate === '' || key === '') return undefined;
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)) ? { certificate, key } : undefined;
  } catch {
    return undefined;
  }
}

/** The authority, and the one before it as long as it is valid. */
function bundle(authority: string, existing: Pick<Secret, 'data'> | undefined, now: number): string {
  const known = new X509Certificate(authority).fingerprint256;
  const before = certificatesIn(existing === undefined ? '' : textOf(existing, 'ca.crt')).find(
    ({ fingerprint256, validToDate }) => fingerprint256 !== known && validToDate.getTime() > now,
  );
  return before === undefined ? authority : `${authority.trimEnd()}\n${before.toString()}`;
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
