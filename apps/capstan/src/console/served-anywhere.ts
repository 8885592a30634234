// The certificate and the names of a console that other machines reach: given ones, or a certificate of this process for every address of the
// machine.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname, networkInterfaces } from 'node:os';
import type { ServedAnywhere } from '@capstan/console';
import { type Clock, createCa, issueCertificate, reasonOf } from '@capstan/kube';
import { CliErrors } from '../cli/errors.ts';

export interface AnywhereOptions {
  /** As in `--listen`. */
  readonly host: string;
  /** Files in PEM form; both or none. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly clock: Clock;
}

export interface AnywhereResult extends ServedAnywhere {
  /** The one of a certificate of this process: the user compares it with the one that the browser shows. */
  readonly fingerprint?: string;
}

const DAYS_MS = 7 * 86_400_000;
const WILDCARDS = new Set(['0.0.0.0', '::']);

export async function servedAnywhere(options: AnywhereOptions): Promise<AnywhereResult> {
  const { host, certificate, key, clock } = options;
  if ((certificate === undefined) !== (key === undefined)) throw CliErrors.HalfCertificate();
  if (certificate !== undefined && key !== undefined) {
    const text = await read(certificate);
    return { certificate: text, key: await read(key), names: [...new Set([...namesIn(text), ...namesOf(host)])] };
  }
  const names = namesOf(host);
  const addresses = names.filter((name) => /^[\d.]+$|^\[/.test(name)).map((name) => name.replace(/^\[|\]$/g, ''));
  const now = clock.now();
  const validity = { notBefore: now - 60_000, notAfter: now + DAYS_MS };
  const ca = await createCa({ commonName: 'capstan console', ...validity });
  const issued = await issueCertificate({
    ca,
    commonName: 'capstan console',
    dnsNames: names.filter((name) => !/^[\d.]+$|^\[/.test(name)),
    ipAddresses: addresses,
    usages: ['server'],
    ...validity,
  });
  const { fingerprint256: fingerprint } = new X509Certificate(issued.certificate);
  return { certificate: issued.certificate, key: issued.key, names, fingerprint };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw CliErrors.Unreadable(file, reasonOf(error));
  }
}

/** The names that a certificate is valid for, as a URL has them; names with a wildcard name no host. */
function namesIn(certificate: string): string[] {
  const { subjectAltName = '' } = new X509Certificate(certificate);
  return subjectAltName.split(', ').flatMap((part) => {
    const [, kind, name = ''] = /^(DNS|IP Address):(.+)$/.exec(part) ?? [];
    if (kind === undefined || name.includes('*')) return [];
    return [inUrl(name)];
  });
}

/** The names by which a machine is reached at an address. */
function namesOf(host: string): string[] {
  if (!WILDCARDS.has(host)) return [inUrl(host)];
  const addresses = Object.values(networkInterfaces())
    .flatMap((some) => some ?? [])
    // A link-local address needs a zone, which no URL has.
    .filter(({ address }) => !/^fe80:/i.test(address))
    .toSorted((a, b) => Number(a.internal) - Number(b.internal))
    .map(({ address }) => inUrl(address));
  return [...new Set([...addresses, hostname().toLowerCase(), 'localhost'])];
}

function inUrl(name: string): string {
  // A URL has the shortest form of an IPv6 address.
  return name.includes(':') ? new URL(`http://[${name}]`).hostname : name.toLowerCase();
}
