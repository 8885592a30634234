// The token of this cluster on its broker. It is renewed when two thirds of its life are over: the broker issues another one to
// the same account, and the Secret that gateways mount takes it up. The old one stays valid until its end.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type Clock, isJsonObject, Secret } from '@capstan/kube';

export interface TokenRenewalOptions {
  /** The client of the broker, with the token in use. */
  readonly broker: Client;
  /** The client of this cluster. */
  readonly client: Client;
  /** The Secret that is mounted in the folder. */
  readonly secret: { readonly namespace: string; readonly name: string };
  readonly folder: string;
  readonly clock: Clock;
}

/** Renews the token where it is due; true when it was. */
export async function renewToken({ broker, client, secret, folder, clock }: TokenRenewalOptions): Promise<boolean> {
  const claims = claimsOf(readFileSync(join(folder, 'token'), 'utf8'));
  if (claims === undefined || !isDue(claims, clock.now())) return false;
  // The mounted file follows the Secret after a while: it may have been renewed already.
  const { data = {} } = await client.get(Secret, secret);
  const stored = claimsOf(Buffer.from(data['token'] ?? '', 'base64').toString('utf8'));
  if (stored !== undefined && !isDue(stored, clock.now())) return false;
  const token = await issueToken(broker, claims);
  await client.patch(Secret, secret, 'merge', { data: { token: Buffer.from(token).toString('base64') } });
  return true;
}

async function issueToken(broker: Client, { namespace, account, lifeSeconds }: Claims): Promise<string> {
  const { body } = await broker.request({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: { expirationSeconds: Math.max(600, lifeSeconds) },
    },
  });
  const { status } = (body ?? {}) as { status?: { token?: string } };
  if (status?.token === undefined) throw new Error(`account ${account}: the broker gave no token`);
  return status.token;
}

interface Claims {
  readonly namespace: string;
  readonly account: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly lifeSeconds: number;
}

/** Undefined for a token that does not expire, or is not one of a service account. */
export function claimsOf(token: string): Claims | undefined {
  const [, payload = ''] = token.trim().split('.');
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    if (!isJsonObject(claims)) return undefined;
    const { sub, iat, exp } = claims;
    const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(String(sub)) ?? [];
    if (namespace === undefined || account === undefined || typeof iat !== 'number' || typeof exp !== 'number')
      return undefined;
    return { namespace, account, issuedAt: iat * 1000, expiresAt: exp * 1000, lifeSeconds: exp - iat };
  } catch {
    return undefined;
  }
}

function isDue({ issuedAt, expiresAt }: Claims, now: number): boolean {
  return now >= issuedAt + ((expiresAt - issuedAt) * 2) / 3;
}
