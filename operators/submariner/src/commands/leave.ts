// subctl leave (uninstall) and subctl remove-member: a cluster goes from its set, and leaves nothing behind.
import { type Client, isForbidden, isNotFound, isUnauthorized, reasonOf, Secret, sleep } from '@capstan/kube';
import { gatewayConfiguration } from '../deployment/configuration.ts';
import { BROKER_NAMESPACE, Broker, Cluster, MEMBER_NAMESPACE, Submariner } from '../kinds/index.ts';
import { connectToBroker } from '../membership/broker-access.ts';
import { clearMember } from '../membership/clear-member.ts';
import { leaveBroker } from '../membership/leave-broker.ts';
import { LEAVE_FINALIZER } from '../membership/names.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, type Flags, progress } from './io.ts';

/** How long the operator may take to let the resource go before the command does it. */
const OPERATOR_MS = 10_000;
const BROKER_MS = 20_000;

export async function leave({ io, client, flags }: CommandContext): Promise<number> {
  const { signal } = io;
  const say = progress(io);
  const namespace = flags.text('namespace') ?? MEMBER_NAMESPACE;
  const ref = { namespace, name: 'submariner' };
  const member = await find(client, ref, signal);
  if (member === undefined) {
    const touched = await quietly(clearMember({ client, namespace, signal }), 0);
    if (touched === 0) throw CommandErrors.NotInstalled();
    say.done(`Removed ${touched} leftover object(s) of an earlier membership`);
    return 0;
  }
  const { clusterID } = member.spec;
  const access = await accessOf({ client, signal }, member);
  // From now on the gateways of this cluster neither publish nor take anything.
  await client.delete(Submariner, ref, { signal });
  const left = await leaveWith(access, member, signal);
  if (left.hasLeft) say.done(`Removed cluster "${clusterID}" from the broker`);
  else say.warning(left.message);
  const touched = await clearMember({ client, namespace, signal });
  say.done(`Removed ${touched} copies and marks of the sync`);
  await letGo({ client, io, flags, context: '' }, ref);
  for (const name of ['submariner-broker-secret', 'submariner-ipsec-psk'])
    await quietly(client.delete(Secret, { namespace, name }, { signal }), undefined);
  // A gateway that ended meanwhile may have written once more.
  await clearMember({ client, namespace, signal });
  say.done(`Cluster "${clusterID}" has left the set`);
  return left.hasLeft ? 0 : 1;
}

export function checkRemoved({ positionals }: Flags): void {
  if (positionals.length !== 1) throw CommandErrors.Usage('the id of one cluster must be given', 'remove-member');
}

/** For the administrator of the broker: a member that vanished without leaving. */
export async function removeMember({ io, client, flags }: CommandContext): Promise<number> {
  const { signal } = io;
  const [clusterID = ''] = flags.positionals;
  const brokers = (await quietly(client.list(Broker, { signal }), undefined))?.items ?? [];
  const own = brokers.find(({ metadata }) => metadata.labels?.['submariner-io/clusterID'] === undefined);
  const namespace = flags.text('namespace') ?? own?.metadata.namespace;
  if (namespace === undefined) throw CommandErrors.NotTheBroker();
  const { items } = await client.list(Cluster, { namespace, signal });
  const removed = await leaveBroker({ client, namespace, clusterID, signal });
  if (removed.length === 0)
    throw CommandErrors.UnknownCluster(
      clusterID,
      items.map(({ spec }) => spec.cluster_id),
    );
  progress(io).done(`Removed cluster "${clusterID}" from the broker: ${removed.join(', ')}`);
  return 0;
}

export interface LeaveResult {
  readonly hasLeft: boolean;
  readonly message: string;
}

/** Leaves the broker of a member with the member's own token. */
export async function leaveBrokerOf(
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
  member: Submariner,
): Promise<LeaveResult> {
  return leaveWith(await accessOf({ client, signal }, member), member, signal);
}

interface Access {
  readonly server: string;
  readonly namespace: string;
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly token: string | undefined;
}

/** Undefined where no broker is configured. */
async function accessOf(
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
  { metadata, spec }: Submariner,
): Promise<Access | undefined> {
  const { brokerSecret, inline } = gatewayConfiguration(spec);
  const server = spec.brokerK8sApiServer;
  if (server === undefined || brokerSecret === undefined) return undefined;
  const secret = { namespace: metadata.namespace ?? MEMBER_NAMESPACE, name: brokerSecret };
  const { data = {} } = (await client.find(Secret, secret, { signal })) ?? {};
  const text = (value: string | undefined) =>
    value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
  return {
    server,
    namespace: spec.brokerK8sRemoteNamespace ?? BROKER_NAMESPACE,
    ca: text(data['ca.crt'] ?? spec.brokerK8sCA),
    insecure: spec.brokerK8sInsecure ?? false,
    token: inline.brokerToken ?? text(data['token']),
  };
}

async function leaveWith(
  access: Access | undefined,
  { metadata, spec }: Submariner,
  signal: AbortSignal,
): Promise<LeaveResult> {
  const { clusterID } = spec;
  const remedy = `remove the member there: subctl remove-member ${clusterID} --context BROKER`;
  if (access === undefined) return { hasLeft: true, message: '' };
  if (access.token === undefined)
    return { hasLeft: false, message: `cluster "${clusterID}": the token for the broker is gone; ${remedy}` };
  const broker = await connectToBroker({ ...access, token: access.token });
  try {
    await leaveBroker({
      client: broker,
      namespace: access.namespace,
      clusterID,
      ...(metadata.uid !== undefined && { owner: metadata.uid }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(BROKER_MS)]),
    });
    return { hasLeft: true, message: '' };
  } catch (error) {
    const isRefused = isUnauthorized(error) || isForbidden(error);
    const problem = isRefused ? 'refuses the token of this cluster' : `cannot be reached (${reasonOf(error)})`;
    return { hasLeft: false, message: `broker ${access.server}: ${problem}; ${remedy}` };
  } finally {
    await broker.close();
  }
}

/** Waits until the resource is gone; where no operator runs, its finalizer is removed here. */
async function letGo({ client, io }: CommandContext, ref: { namespace: string; name: string }): Promise<void> {
  const { clock, signal } = io;
  const until = clock.now() + OPERATOR_MS;
  for (;;) {
    const found = await find(client, ref, signal);
    if (found === undefined || found.metadata.deletionTimestamp === undefined) return;
    if (clock.now() >= until) {
      const finalizers = (found.metadata.finalizers ?? []).filter((each) => each !== LEAVE_FINALIZER);
      await quietly(client.patch(Submariner, ref, 'merge', { metadata: { finalizers } }, { signal }), undefined);
      return;
    }
    await sleep(clock, 200, signal);
  }
}

async function find(client: Client, ref: { namespace: string; name: string }, signal: AbortSignal) {
  return quietly(client.find(Submariner, ref, { signal }), undefined);
}

/** Where a kind or an object is not there, the other value. */
async function quietly<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if (isNotFound(error)) return otherwise;
    throw error;
  }
}
