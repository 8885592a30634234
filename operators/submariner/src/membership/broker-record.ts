// The membership of a cluster: the broker that it has joined, as its Submariner records it, and the credentials for that broker. A
// user who edits the resource, or the Secret that it names, must not take away the means to leave the recorded broker.
import { isJsonObject, withoutTrailing } from '@capstan/kube';
import { gatewayConfiguration } from '../deployment/configuration.ts';
import { BROKER_NAMESPACE, type Submariner, type SubmarinerSpec } from '../kinds/index.ts';
import { LEAVING_ANNOTATION, LEFT_ANNOTATION } from './names.ts';

export type BrokerRecord = NonNullable<NonNullable<Submariner['status']>['broker']>;
/** The data of a Secret: base64. */
export type SecretData = Readonly<Record<string, string>>;

/** The Secret with the credentials for the recorded broker. */
export const JOINED_SECRET = 'submariner-joined-broker';

/** The broker that a spec names; undefined where it names none. */
export function brokerOf(spec: SubmarinerSpec): BrokerRecord | undefined {
  const { brokerK8sApiServer: server, brokerK8sRemoteNamespace, brokerK8sInsecure, clusterID } = spec;
  if (!server || gatewayConfiguration(spec).brokerSecret === undefined) return undefined;
  return {
    server,
    namespace: brokerK8sRemoteNamespace || BROKER_NAMESPACE,
    clusterID,
    ...(brokerK8sInsecure === true && { insecure: true }),
  };
}

/** Whether two records are one membership; `https://` and a slash at the end make no difference. */
export function isSameMembership(one: BrokerRecord | undefined, other: BrokerRecord | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return identityOf(one) === identityOf(other);
}

export function identityOf({ clusterID, server, namespace }: BrokerRecord): string {
  return `${clusterID}@${withoutTrailing(server.replace(/^https:\/\//, ''), '/')}/${namespace}`;
}

export interface Credentials {
  readonly token: string;
  /** PEM. */
  readonly ca: string | undefined;
}

/** The credentials that the resource names; undefined while its Secret has no token. */
export function namedCredentials(
  spec: SubmarinerSpec,
  secretOf: (name: string) => SecretData | undefined,
): Credentials | undefined {
  const { brokerSecret, inline } = gatewayConfiguration(spec);
  const data = (brokerSecret === undefined ? undefined : secretOf(brokerSecret)) ?? {};
  const token = inline.brokerToken ?? textOf(data['token']);
  if (token === undefined || token === '') return undefined;
  return { token, ca: textOf(data['ca.crt'] ?? spec.brokerK8sCA) };
}

/**
 * The next content of the Secret of the recorded broker. It follows the credentials that the resource names, and keeps those before: a
 * user may write the token of another broker first, and the address of that broker later.
 */
export function keptCredentials(kept: SecretData | undefined, record: BrokerRecord, named: Credentials): SecretData {
  const identity = base64(identityOf(record));
  const token = base64(named.token);
  const next = { broker: identity, token, ...(named.ca !== undefined && { 'ca.crt': base64(named.ca) }) };
  if (kept === undefined || kept['broker'] !== identity) return next;
  const [before, authority] =
    kept['token'] === token ? [kept['previous-token'], kept['previous-ca.crt']] : [kept['token'], kept['ca.crt']];
  return {
    ...next,
    ...(before !== undefined && { 'previous-token': before }),
    ...(authority !== undefined && { 'previous-ca.crt': authority }),
  };
}

/**
 * Whether the Secret of the recorded broker is that of a membership. It is written just before the record: if it is that of the broker
 * that comes next, the recorded one has been left.
 */
export function isKeptFor(kept: SecretData | undefined, record: BrokerRecord | undefined): boolean {
  return kept !== undefined && record !== undefined && textOf(kept['broker']) === identityOf(record);
}

/** The credentials to leave a recorded broker with, in the order in which they are tried. */
function leavingCredentials(kept: SecretData | undefined, record: BrokerRecord): Credentials[] {
  if (kept === undefined || !isKeptFor(kept, record)) return [];
  const credentials = (prefix: string): Credentials[] => {
    const token = textOf(kept[`${prefix}token`]);
    return token === undefined ? [] : [{ token, ca: textOf(kept[`${prefix}ca.crt`]) }];
  };
  const [before] = credentials('previous-');
  // A token that another key signed may be one of another broker, and is not shown to this one.
  const now = credentials('').filter(({ token }) => before === undefined || isSameSigner(token, before.token));
  return before === undefined ? now : [before, ...now];
}

export interface Membership {
  readonly record: BrokerRecord;
  readonly credentials: readonly Credentials[];
}

export interface PendingDeparture {
  readonly owner: string;
  /** The memberships that end. */
  readonly ends: readonly Membership[];
  /** The membership that comes after them; undefined where the resource is deleted or names no broker any more. */
  readonly next: { readonly record: BrokerRecord; readonly credentials: Credentials | undefined } | undefined;
  /** Whether the Submariner is deleted: then an unreachable broker does not hold it for ever. */
  readonly isFinal: boolean;
}

/** The departure that a Submariner asks for by its deletion, or by naming another broker than it recorded; undefined: none. */
export function departureOf(
  { metadata, spec, status }: Pick<Submariner, 'metadata' | 'spec' | 'status'>,
  secretOf: (name: string) => SecretData | undefined,
  isFinal = metadata.deletionTimestamp !== undefined,
): PendingDeparture | undefined {
  const owner = metadata.uid ?? '';
  const wanted = brokerOf(spec);
  const record = status?.broker ?? wanted;
  if (record === undefined) return undefined;
  const isSame = isSameMembership(record, wanted);
  const named = namedCredentials(spec, secretOf);
  const kept = secretOf(JOINED_SECRET);
  const known = leavingCredentials(kept, record);
  // A resource of an earlier version has no Secret of its own for the broker that it joined.
  const credentials = known.length > 0 ? known : isSame && named !== undefined ? [named] : [];
  const recorded = { record, credentials };
  const isLeft = hasLeft(metadata, record) || (!isSame && isKeptFor(kept, wanted));
  if (isFinal) {
    const other =
      isSame || wanted === undefined ? [] : [{ record: wanted, credentials: named === undefined ? [] : [named] }];
    return { owner, ends: isLeft ? other : [recorded, ...other], next: undefined, isFinal };
  }
  const isWaiting = metadata.annotations?.[LEAVING_ANNOTATION] !== undefined;
  if (isSame || isLeft || isWaiting || gatewayConfiguration(spec).problems.length > 0) return undefined;
  return { owner, ends: [recorded], next: wanted && { record: wanted, credentials: named }, isFinal };
}

/** Whether the user, or subctl, declared that nothing of this cluster is left to remove from the recorded broker. */
export function hasLeft({ annotations }: Submariner['metadata'], { server }: BrokerRecord): boolean {
  return annotations?.[LEFT_ANNOTATION] === server;
}

export interface TokenAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The account that a token belongs to; undefined for a token that is not one of a service account. */
export function accountOfToken(token: string): TokenAccount | undefined {
  const bound = partOf(token, 1)?.['kubernetes.io'];
  if (!isJsonObject(bound) || !isJsonObject(bound['serviceaccount'])) return undefined;
  const { name, uid } = bound['serviceaccount'];
  const { namespace } = bound;
  if (typeof name !== 'string' || typeof uid !== 'string' || typeof namespace !== 'string') return undefined;
  return { uid, namespace, name };
}

function partOf(token: string, index: 0 | 1) {
  try {
    const text = Buffer.from(token.trim().split('.')[index] ?? '', 'base64url').toString('utf8');
    const part: unknown = JSON.parse(text);
    return isJsonObject(part) ? part : undefined;
  } catch {
    return undefined;
  }
}

function isSameSigner(one: string, other: string): boolean {
  const [a, b] = [partOf(one, 0)?.['kid'], partOf(other, 0)?.['kid']];
  return a === undefined || b === undefined ? one === other : a === b;
}

/** Whether two tokens belong to one account, and so to one broker: the uid of an account is unique. */
export function isSameAccount(one: string, other: string): boolean {
  const [a, b] = [accountOfToken(one), accountOfToken(other)];
  return a === undefined || b === undefined ? one === other : a.uid === b.uid;
}

function textOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
