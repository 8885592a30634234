// The key for digests of secret data: 32 random bytes in a Secret of the operator's namespace, created once. Without it a
// digest of a password could be guessed by trying; with it in the cluster, every replica and every restart computes the
// same digests. Its id is public and part of each digest, so that a new key is noticed and rolls nothing by itself.
import { randomBytes } from 'node:crypto';
import { type Client, isAlreadyExists, Secret } from '@capstan/kube/cluster';
import type { DigestKey } from '../digest.ts';
import { RuntimeErrors } from '../errors.ts';
import type { Operator } from '../operator.ts';
import { digestKeyName } from '../rbac/index.ts';

export interface DigestKeyOptions {
  /** The operator's own namespace. */
  namespace: string;
  /** The operator's name. */
  operator: string;
  signal?: AbortSignal;
}

const LENGTH = 32;
const ID_LENGTH = 4;

/** Returns the operator's key, created when there is none. If several replicas create one at a time, the first wins for all. */
export async function ensureDigestKey(
  client: Client,
  options: DigestKeyOptions & { /** Default: the system's cryptographic source. */ random?: (size: number) => Buffer },
): Promise<DigestKey> {
  const existing = await findDigestKey(client, options);
  if (existing !== undefined) return existing;
  const { namespace, operator, signal, random = randomBytes } = options;
  const secret: Secret = {
    apiVersion: Secret.apiVersion,
    kind: Secret.kind,
    metadata: { namespace, name: digestKeyName(operator) },
    type: 'Opaque',
    immutable: true,
    data: { id: encode(random(ID_LENGTH).toString('hex')), key: random(LENGTH).toString('base64') },
  };
  try {
    await client.create(Secret, secret, signal && { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // Read it back in either case: the stored key counts.
  const created = await findDigestKey(client, options);
  if (created === undefined) throw RuntimeErrors.DigestKeyGone(namespace, digestKeyName(operator));
  return created;
}

/** The operator's key, if there is one. Throws when the Secret does not hold one. */
export async function findDigestKey(client: Client, options: DigestKeyOptions): Promise<DigestKey | undefined> {
  const { namespace, operator, signal } = options;
  const ref = { namespace, name: digestKeyName(operator) };
  const secret = await client.find(Secret, ref, signal && { signal });
  if (secret === undefined) return undefined;
  const id = Buffer.from(secret.data?.['id'] ?? '', 'base64').toString('utf8');
  const bytes = Buffer.from(secret.data?.['key'] ?? '', 'base64');
  if (!/^[\w-]+$/.test(id) || bytes.length < LENGTH) throw RuntimeErrors.BadDigestKey(namespace, ref.name);
  return { id, bytes };
}

/** Whether the operator reads or writes kinds whose digests need a key. */
export function readsSensitive({ reconcilers, sinks = [] }: Operator): boolean {
  const kinds = [
    ...reconcilers.flatMap(({ resource, reads, writes }) => [
      resource,
      ...[...reads, ...writes].map(({ kind }) => kind),
    ]),
    ...sinks.flatMap(({ reads }) => reads.map(({ kind }) => kind)),
  ];
  return kinds.some(({ sensitive }) => sensitive);
}

function encode(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
