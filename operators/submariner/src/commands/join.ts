// subctl join: creates an account on the broker, and the kinds, the Secrets and the Submariner resource on the member.
import {
  type Client,
  isForbidden,
  Node,
  reasonOf,
  ServiceAccount,
  validateLabelValue,
  validateQualifiedName,
} from '@capstan/kube';
import {
  allowSelfService,
  bind,
  CLIENT_ROLE,
  createOnce,
  ensureNamespace,
  ensureSecret,
  installCrds,
  type Steps,
  tokenOf,
} from '../deployment/broker-objects.ts';
import { driversOf } from '../deployment/configuration.ts';
import { GATEWAY_NODE_LABEL } from '../deployment/gateway-daemon-set.ts';
import { isCidr } from '../drivers/addresses.ts';
import { BROKER_ORIGIN, Cluster, MEMBER_NAMESPACE, Submariner } from '../kinds/index.ts';
import { connectToBroker } from '../membership/broker-access.ts';
import { brokerOf, isSameMembership } from '../membership/broker-record.ts';
import { clearMember } from '../membership/clear-member.ts';
import { type Departure, leaveBroker } from '../membership/leave-broker.ts';
import { accountOf, LEAVING_ANNOTATION, LEFT_ANNOTATION } from '../membership/names.ts';
import { type BrokerInfo, parseBrokerInfo } from './broker-info.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, type Flags, progress } from './io.ts';
import { leaveBrokersOf } from './leave.ts';

const BROKER_SECRET = 'submariner-broker-secret';
const PSK_SECRET = 'submariner-ipsec-psk';

export function checkJoin({ positionals: [file] }: Flags): void {
  if (file === undefined)
    throw CommandErrors.Usage('the broker information file is missing: subctl join broker-info.subm', 'join');
}

export async function join(context: CommandContext): Promise<number> {
  const { io, client, flags } = context;
  const say = progress(io);
  const [file = ''] = flags.positionals;
  const labels = labelsOf(flags);
  const clusterID = flags.text('clusterid') ?? context.context;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(clusterID) || clusterID === BROKER_ORIGIN)
    throw CommandErrors.Usage(
      `--clusterid: "${clusterID}" is not a cluster id (lower case letters, digits and hyphens)`,
      'join',
    );
  const drivers = {
    ...(flags.text('cable-driver') !== undefined && { cableDriver: flags.text('cable-driver') ?? '' }),
    ...(flags.list('cable-drivers').length > 0 && { cableDrivers: [...flags.list('cable-drivers')] }),
    ...(flags.list('combined-cable-drivers').length > 0 && {
      combinedCableDrivers: [...flags.list('combined-cable-drivers')],
    }),
  };
  const problems = flagProblems(flags);
  driversOf(drivers, problems);
  if (problems.length > 0) throw CommandErrors.Invalid('join', problems);
  const info = parseBrokerInfo(await readBrokerInfo(io, file), file);
  const namespace = flags.text('namespace') ?? MEMBER_NAMESPACE;
  const config = flags.text('cable-driver-config');
  const [configName, configNamespace] = config?.includes('/') ? config.split('/').toReversed() : [config, undefined];
  const port = flags.text('nattport');
  const spec = {
    ...(flags.text('broker-url') !== undefined && { brokerK8sApiServer: flags.text('broker-url') }),
    clusterID,
    ...(Object.keys(labels).length > 0 && { clusterLabels: labels }),
    ...(flags.text('clustercidr') !== undefined && { clusterCIDR: flags.text('clustercidr') }),
    ...(flags.text('servicecidr') !== undefined && { serviceCIDR: flags.text('servicecidr') }),
    natEnabled: !flags.isSet('no-natt') && flags.text('natt') !== 'false',
    // Use the driver of the broker's default policy, so that a cluster that names none can be connected.
    ...(Object.keys(drivers).length === 0 && info.cableDriver !== undefined && { cableDriver: info.cableDriver }),
    ...drivers,
    ...(configName !== undefined && {
      cableDriverCustomConfig: {
        configMapName: configName,
        ...(configNamespace !== undefined && { namespace: configNamespace }),
      },
    }),
    ...(port !== undefined && { ceIPSecNATTPort: Number(port) }),
    ...(flags.isSet('preferred-server') && { ceIPSecPreferredServer: true }),
    ...(flags.isSet('air-gapped') && { airGappedDeployment: true }),
    ...(flags.isSet('force-udp-encaps') && { ceIPSecForceUDPEncaps: true }),
    connectionHealthCheck: {
      enabled: flags.text('health-check') !== 'false',
      intervalSeconds: Number(flags.text('health-check-interval') ?? 1),
      maxPacketLossCount: Number(flags.text('health-check-max-packet-loss-count') ?? 5),
    },
  };
  const steps = { client, clock: io.clock, signal: io.signal };
  await joinCluster(
    steps,
    info,
    namespace,
    spec,
    () => say.done(`Created the account of cluster "${clusterID}" on the broker`),
    flags.isSet('force'),
  );
  if (flags.text('label-gateway') !== 'false') {
    const node = await labelGateway(steps);
    if (node !== undefined) say.done(`Labelled node "${node}" as gateway`);
  }
  say.done(`Joined cluster "${clusterID}" to the broker at ${info.brokerURL}`);
  return 0;
}

/** Returns the text of the broker information file. Its error explains how to get the file. */
async function readBrokerInfo({ files }: CommandContext['io'], file: string): Promise<string> {
  try {
    return await files.read(file);
  } catch (error) {
    const { code } = error as { code?: string };
    throw CommandErrors.NoBrokerInfo(file, code === 'ENOENT' ? 'it does not exist' : reasonOf(error));
  }
}

/** Returns the problems of the flags' values before anything is changed. */
function flagProblems(flags: Flags): string[] {
  const check = (names: readonly string[], isValid: (value: string) => boolean, wanted: string) =>
    names.flatMap((name) => {
      const value = flags.text(name);
      return value === undefined || isValid(value) ? [] : [`--${name}: "${value}" is not ${wanted}`];
    });
  const isNumber = (low: number, high: number) => (value: string) =>
    /^\d{1,9}$/.test(value) && Number(value) >= low && Number(value) <= high;
  const areSubnets = (value: string) => value.split(',').every((each) => isCidr(each.trim()));
  return [
    ...check(['nattport'], isNumber(1, 65_535), 'a port'),
    ...check(
      ['health-check-interval', 'health-check-max-packet-loss-count'],
      isNumber(1, 999_999_999),
      'a number from 1 on',
    ),
    ...check(['natt', 'label-gateway', 'health-check'], (value) => /^(true|false)$/.test(value), 'true or false'),
    ...check(['clustercidr', 'servicecidr'], areSubnets, 'a subnet (ADDRESS/LENGTH)'),
  ];
}

type MemberSpec = Omit<Partial<Submariner['spec']>, 'clusterID'> & { readonly clusterID: string };

/** Joins a cluster: creates its account on the broker, and the kinds, the Secrets and the Submariner resource here. */
export async function joinCluster(
  steps: Steps,
  info: BrokerInfo,
  namespace: string,
  given: MemberSpec,
  onAccount: () => void = () => {},
  isForced = false,
): Promise<void> {
  const here = await steps.client.find(Submariner, { namespace, name: 'submariner' }, { signal: steps.signal });
  if (here?.metadata.deletionTimestamp !== undefined) throw CommandErrors.StillLeaving(here.spec.clusterID);
  const next = { server: info.brokerURL, namespace: info.namespace, clusterID: given.clusterID };
  const memberships = here === undefined ? [] : [here.status?.broker, brokerOf(here.spec)].filter(isDefined);
  const isMove = memberships.some((each) => !isSameMembership(each, next));
  const existing = memberships.length > 0 && !isMove ? 'keep' : isForced ? 'replace' : 'refuse';
  const token = await accountOnBroker(steps, info, given.clusterID, existing, async () => {
    // End the old membership first: its token is lost afterwards.
    if (isMove && here !== undefined) await leaveOldBroker(steps, here);
  });
  onAccount();
  await installCrds(steps);
  await ensureNamespace(steps, namespace);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  await ensureSecret(steps, namespace, BROKER_SECRET, {
    token: base64(token),
    namespace: base64(info.namespace),
    ...(info.ca !== undefined && { 'ca.crt': base64(info.ca) }),
  });
  await ensureSecret(steps, namespace, PSK_SECRET, { psk: info.psk });
  const spec = {
    broker: 'k8s',
    brokerK8sApiServer: info.brokerURL,
    brokerK8sRemoteNamespace: info.namespace,
    brokerK8sSecret: BROKER_SECRET,
    ...(info.ca !== undefined && { brokerK8sCA: base64(info.ca) }),
    ceIPSecPSKSecret: PSK_SECRET,
    ...given,
  };
  const metadata = { namespace, name: 'submariner' };
  const object = { apiVersion: Submariner.apiVersion, kind: 'Submariner', metadata, spec };
  await steps.client.apply(Submariner, object, { fieldManager: 'subctl', force: true, signal: steps.signal });
  if (isMove) {
    const left = here?.status?.broker?.server;
    const annotations = { [LEAVING_ANNOTATION]: null, ...(left !== undefined && { [LEFT_ANNOTATION]: left }) };
    const ref = { namespace, name: 'submariner' };
    await steps.client.patch(Submariner, ref, 'merge', { metadata: { annotations } }, { signal: steps.signal });
  }
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** Leaves the old broker of a member that moves, and removes the objects that were synced with it. Its own policies move with it. */
async function leaveOldBroker({ client, signal }: Steps, member: Submariner): Promise<void> {
  const { namespace = MEMBER_NAMESPACE, name = '' } = member.metadata;
  const mark = (value: string | null) =>
    client.patch(
      Submariner,
      { namespace, name },
      'merge',
      { metadata: { annotations: { [LEAVING_ANNOTATION]: value } } },
      { signal },
    );
  await mark('true');
  const left = await leaveBrokersOf({ client, signal }, member);
  if (!left.hasLeft) {
    await mark(null);
    throw CommandErrors.OldBroker(member.spec.clusterID, left.message);
  }
  await clearMember({ client, namespace, signal });
}

/** Returns the labels of --label. They are checked before anything is changed. */
export function labelsOf(flags: Flags): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const given of flags.list('label')) {
    const at = given.indexOf('=');
    const [key, value] = at < 0 ? [given, ''] : [given.slice(0, at), given.slice(at + 1)];
    const [problem] = at < 0 ? ['it has no ='] : [...validateQualifiedName(key), ...validateLabelValue(value)];
    if (problem !== undefined) throw CommandErrors.BadLabel(given, problem);
    if (/^submariner[.-]io\//.test(key)) throw CommandErrors.BadLabel(given, 'its prefix is reserved');
    labels[key] = value;
  }
  return labels;
}

/** Creates the account cluster-ID with the members' role, as the broker's administrator. Returns its token. */
async function accountOnBroker(
  { signal }: Steps,
  info: BrokerInfo,
  clusterID: string,
  existing: 'keep' | 'refuse' | 'replace',
  onAccepted: () => Promise<void>,
): Promise<string> {
  const { namespace } = info;
  const client = await connectToBroker({ ...info, server: info.brokerURL });
  try {
    // Two clusters with one id would overwrite each other's announcements.
    const isKnown = await hasJoined(client, { namespace, name: clusterID }, signal);
    if (isKnown && existing === 'refuse') throw CommandErrors.ClusterExists(clusterID);
    await onAccepted();
    if (isKnown && existing === 'replace') await replaceMember({ client, namespace, clusterID, signal });
    const account = accountOf(clusterID);
    const object = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: account } };
    await createOnce(() => client.create(ServiceAccount, object, { signal }));
    const { metadata } = await client.get(ServiceAccount, { namespace, name: account }, { signal });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ServiceAccount', name: account, uid: metadata.uid ?? '' }];
    await bind({ client, signal }, namespace, account, CLIENT_ROLE, { ownerReferences });
    await allowSelfService({ client, signal }, namespace, account, ownerReferences);
    return await tokenOf({ client, signal }, namespace, account);
  } finally {
    await client.close();
  }
}

/** Removes the objects of an earlier installation of the cluster. A broker of an earlier version does not allow it. */
async function replaceMember(departure: Departure): Promise<void> {
  try {
    await leaveBroker(departure);
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
}

async function hasJoined(
  client: Client,
  ref: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await client.find(Cluster, ref, { signal })) !== undefined;
  } catch (error) {
    // A broker of an earlier version does not allow this read.
    if (isForbidden(error)) return false;
    throw error;
  }
}

/** Labels a node as gateway unless the user has chosen one. Returns the name of the labelled node. */
export async function labelGateway({ client, signal }: Steps): Promise<string | undefined> {
  const { items } = await client.list(Node, { signal });
  const [first] = items;
  if (first === undefined || items.some(({ metadata }) => metadata.labels?.[GATEWAY_NODE_LABEL] === 'true'))
    return undefined;
  const name = first.metadata.name ?? '';
  const labels = { [GATEWAY_NODE_LABEL]: 'true' };
  await client.patch(Node, { name }, 'merge', { metadata: { labels } }, { signal });
  return name;
}
