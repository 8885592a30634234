// subctl leave (uninstall) and subctl remove-member: removes a cluster and all its objects from its set.
import { type Client, isNotFound, reasonOf, Secret, sleep } from '@capstan/kube';
import { gatewayConfiguration } from '../deployment/configuration.ts';
import { Broker, Cluster, MEMBER_NAMESPACE, Submariner } from '../kinds/index.ts';
import { connectToBroker } from '../membership/broker-access.ts';
import { departureOf, JOINED_SECRET, type PendingDeparture, type SecretData } from '../membership/broker-record.ts';
import { clearMember } from '../membership/clear-member.ts';
import { type EndResult, endMembership } from '../membership/end-membership.ts';
import { leaveBroker } from '../membership/leave-broker.ts';
import { LEAVE_FINALIZER } from '../membership/names.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, type Flags, progress } from './io.ts';

/** The time that the operator gets to remove its finalizer before the command removes it. */
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
  const departure = await departureFrom({ client, signal }, member);
  // From now on the gateways of this cluster neither publish nor receive anything.
  await client.delete(Submariner, ref, { signal });
  const left = await endAll(departure, signal);
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

/** Removes a member that disappeared without leaving, for the administrator of the broker. */
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

/** Leaves the brokers of a member with the member's own tokens. */
export async function leaveBrokersOf(
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
  member: Submariner,
): Promise<EndResult> {
  return endAll(await departureFrom({ client, signal }, member), signal);
}

/** Returns the memberships that end with a Submariner, or undefined if it has none. */
async function departureFrom(
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
  member: Submariner,
): Promise<PendingDeparture | undefined> {
  const { brokerSecret } = gatewayConfiguration(member.spec);
  const secrets = new Map<string, SecretData>();
  for (const name of [brokerSecret, JOINED_SECRET]) {
    if (name === undefined) continue;
    const secret = { namespace: member.metadata.namespace ?? MEMBER_NAMESPACE, name };
    const { data } = (await client.find(Secret, secret, { signal })) ?? {};
    if (data !== undefined) secrets.set(name, data);
  }
  return departureOf(member, (name) => secrets.get(name), true);
}

/** Ends the memberships of a cluster. An unreachable broker is a result, not an error. */
async function endAll(departure: PendingDeparture | undefined, signal: AbortSignal): Promise<EndResult> {
  if (departure === undefined) return { hasLeft: true, message: '' };
  const { owner, ends } = departure;
  const messages: string[] = [];
  for (const membership of ends) {
    const { server, clusterID } = membership.record;
    const until = AbortSignal.any([signal, AbortSignal.timeout(BROKER_MS)]);
    try {
      const ended = await endMembership({ ...membership, owner, connect: connectToBroker, signal: until });
      if (!ended.hasLeft) messages.push(ended.message);
    } catch (error) {
      const remedy = `remove the member there: subctl remove-member ${clusterID} --context BROKER`;
      messages.push(`broker ${server}: cannot be reached (${reasonOf(error)}); ${remedy}`);
    }
  }
  return { hasLeft: messages.length === 0, message: messages.join('; ') };
}

/** Waits until the resource is gone. Without an operator it removes the finalizer itself. */
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

/** Returns the other value if a kind or an object does not exist. */
async function quietly<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if (isNotFound(error)) return otherwise;
    throw error;
  }
}
