// Tokens of service accounts: JSON Web Tokens (RFC 7519) signed with ES256 by the cluster's own key, with Kubernetes' claims. A token is
// valid while its account exists, and the object that it is bound to (a pod, a secret, a node).
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { UnknownObject } from '@capstan/kube';
import { type Core, newUid, type UserInfo } from '../core.ts';
import { isObject, textAt, valueAt } from '../json/copy.ts';
import { serviceAccountName, serviceAccountUser } from './rbac.ts';

export const SERVICE_ACCOUNTS = '/serviceaccounts';
/** Who issues tokens, and whom they are for unless they say otherwise. */
export const DEFAULT_ISSUER = 'https://kubernetes.default.svc.cluster.local';

export interface IssueTokenOptions {
  account: UnknownObject;
  audiences: readonly string[];
  expirationSeconds: number;
  /** Further objects that must exist for the token to be valid. */
  bound?: BoundObjects;
}

export interface BoundObjects {
  pod?: ObjectRef;
  secret?: ObjectRef;
  node?: ObjectRef;
}

export interface ObjectRef {
  name: string;
  uid?: string;
}

export interface ServiceAccountTokens {
  readonly audiences: readonly string[];
  issue(options: IssueTokenOptions): string;
  /** The user and the audiences that both sides accept; undefined when the token is not good (now, or for them). */
  verify(token: string, audiences: readonly string[]): { user: UserInfo; audiences: readonly string[] } | undefined;
}

export function createServiceAccountTokens(core: Core, key: KeyObject, issuer = DEFAULT_ISSUER): ServiceAccountTokens {
  const publicKey = createPublicKey(key);
  const kid = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');

  return {
    audiences: [issuer],
    issue({ account, audiences, expirationSeconds, bound = {} }) {
      const now = Math.floor(core.clock.now() / 1000);
      const { namespace = '', name = '', uid = '' } = account.metadata;
      const claims = {
        aud: audiences,
        exp: now + expirationSeconds,
        iat: now,
        iss: issuer,
        jti: newUid(core.random),
        'kubernetes.io': { namespace, ...bound, serviceaccount: { name, uid } },
        nbf: now,
        sub: serviceAccountName(namespace, name),
      };
      const text = `${encode({ alg: 'ES256', kid })}.${encode(claims)}`;
      return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
    },
    verify(token, audiences) {
      const [header = '', payload = '', signature = '', ...more] = token.split('.');
      if (more.length > 0 || decode(header)?.['alg'] !== 'ES256') return undefined;
      const isGenuine = verify(
        'sha256',
        Buffer.from(`${header}.${payload}`),
        { key: publicKey, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      );
      const claims = isGenuine ? decode(payload) : undefined;
      if (!claims || claims['iss'] !== issuer) return undefined;
      const now = core.clock.now() / 1000;
      if (!(Number(claims['exp']) > now) || Number(claims['nbf']) > now + CLOCK_LEEWAY_SECONDS) return undefined;
      const granted = Array.isArray(claims['aud']) ? claims['aud'].map(String) : [String(claims['aud'])];
      const common = audiences.filter((one) => granted.includes(one));
      const user = common.length === 0 ? undefined : holderOf(core, claims);
      return user && { user, audiences: common };
    },
  };
}

const CLOCK_LEEWAY_SECONDS = 10;

/** The account that the claims name, if it and everything that the token is bound to are still there. */
function holderOf(core: Core, claims: Record<string, unknown>): UserInfo | undefined {
  const namespace = textAt(claims, ['kubernetes.io', 'namespace']);
  const name = textAt(claims, ['kubernetes.io', 'serviceaccount', 'name']);
  const account = core.store.get(SERVICE_ACCOUNTS, `${namespace}/${name}`);
  const { uid } = account?.metadata ?? {};
  if (uid === undefined || uid !== textAt(claims, ['kubernetes.io', 'serviceaccount', 'uid'])) return undefined;
  const extra: Record<string, string[]> = {
    'authentication.kubernetes.io/credential-id': [`JTI=${textAt(claims, ['jti'])}`],
  };
  for (const [kind, storageKey] of BINDABLE) {
    const bound = valueAt(claims, ['kubernetes.io', kind]);
    if (!isObject(bound)) continue;
    const boundName = textAt(bound, ['name']);
    const object = core.store.get(storageKey, kind === 'node' ? boundName : `${namespace}/${boundName}`);
    // A pod's token names its node too, for information: the node may be gone.
    const isInformation = kind === 'node' && valueAt(claims, ['kubernetes.io', 'pod']) !== undefined;
    if (!isInformation && (!object || object.metadata.uid !== bound['uid'])) return undefined;
    if (kind === 'secret') continue;
    extra[`authentication.kubernetes.io/${kind}-name`] = [boundName];
    if (typeof bound['uid'] === 'string') extra[`authentication.kubernetes.io/${kind}-uid`] = [bound['uid']];
  }
  return { ...serviceAccountUser(namespace, name), uid, extra };
}

const BINDABLE = [
  ['pod', '/pods'],
  ['secret', '/secrets'],
  ['node', '/nodes'],
] as const;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function decode(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
