// subctl show connections | endpoints | gateways | cables, and subctl diagnose cables.
import { objectName } from '@capstan/reconcile/command-line';
import { CablePolicies, Cluster, type Connection, Endpoint, Gateway } from '../kinds/index.ts';
import { createPairMatrix } from '../resolution/pair-matrix.ts';
import { rankRules } from '../resolution/ranking.ts';
import { decideFor } from '../resolution/resolver.ts';
import { acceptanceOf } from './cable-policy.ts';
import { type ClusterView, findPlace, readGateways, readView } from './cluster-view.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, progress } from './io.ts';
import { formatOf, formatTable, print } from './output.ts';
import { dotPicture, type Picture, svgPicture, textPicture } from './picture.ts';
import { protectionOf } from './protection.ts';

export async function showConnections(context: CommandContext): Promise<number> {
  const gateways = await gatewaysHere(context);
  const rows = gateways.flatMap(({ metadata, status }) =>
    (status?.connections ?? []).map((connection) => ({ gateway: metadata.name ?? '', ...connection })),
  );
  if (rows.length === 0) throw CommandErrors.NoConnections();
  const text = (isWide: boolean) =>
    formatTable(
      [
        'GATEWAY',
        'CLUSTER',
        'REMOTE IP',
        'NAT',
        'CABLE DRIVER',
        'POLICY',
        'SUBNETS',
        'STATUS',
        'RTT avg',
        ...(isWide ? ['MESSAGE'] : []),
      ],
      rows.map(({ gateway, endpoint, usingIP = '', usingNAT, usingCableDriver, usingPolicy = '', status, ...rest }) => [
        gateway,
        endpoint.cluster_id,
        usingIP,
        usingNAT ? 'yes' : 'no',
        usingCableDriver ?? '',
        usingPolicy,
        endpoint.subnets.join(', '),
        status,
        rest.latencyRTT?.average ?? '',
        ...(isWide ? [rest.statusMessage ?? ''] : []),
      ]),
      { limits: [30, 24, 40, 3, 14, 30, 40], isWide },
    );
  const names = () => rows.map(({ gateway }) => nameOf(Gateway, gateway));
  await print(context, { value: rows, text, names }, 'show connections');
  const { failed } = progress(context.io);
  for (const { endpoint, status, statusMessage = 'no reason is known' } of rows)
    if (status === 'error' || status === 'conflict') failed(withCluster(endpoint.cluster_id, statusMessage));
  noteSimulated(context, gateways);
  return 0;
}

export async function showEndpoints(context: CommandContext): Promise<number> {
  const view = await readView(context);
  const local = await localCluster(context, view);
  const rows = view.endpoints.map(({ spec }) => ({ ...spec, type: spec.cluster_id === local ? 'local' : 'remote' }));
  const text = (isWide: boolean) =>
    formatTable(
      [
        'CLUSTER',
        'ENDPOINT IP',
        'PUBLIC IP',
        'CABLE DRIVER',
        'TYPE',
        ...(isWide ? ['HOST NAME', 'CABLE NAME', 'SUBNETS'] : []),
      ],
      rows.map(
        ({ cluster_id: id, private_ip: privateIP, public_ip: publicIP, backend, backends = [], type, ...rest }) => [
          id,
          privateIP,
          publicIP,
          backends.length === 0 ? backend : backends.map(({ cable_driver: driver }) => driver.name).join(', '),
          type,
          ...(isWide ? [rest.hostname, rest.cable_name, rest.subnets.join(', ')] : []),
        ],
      ),
      { limits: [24], isWide },
    );
  const names = () => view.endpoints.map(({ metadata }) => nameOf(Endpoint, metadata.name ?? ''));
  await print(context, { value: rows, text, names }, 'show endpoints');
  return 0;
}

export async function showGateways(context: CommandContext): Promise<number> {
  const gateways = await gatewaysHere(context);
  const rows = gateways.map(({ metadata, status }) => ({
    node: metadata.name ?? '',
    haStatus: status?.haStatus ?? '',
    summary: summaryOf(status),
  }));
  const text = (isWide: boolean) =>
    formatTable(
      ['NODE', 'HA STATUS', 'SUMMARY'],
      rows.map(({ node, haStatus, summary }) => [node, haStatus, summary]),
      { limits: [30], isWide },
    );
  await print(
    context,
    { value: rows, text, names: () => rows.map(({ node }) => nameOf(Gateway, node)) },
    'show gateways',
  );
  noteSimulated(context, gateways);
  return 0;
}

async function gatewaysHere(context: CommandContext): Promise<readonly Gateway[]> {
  const { namespace, isBroker } = await findPlace(context);
  const gateways = await readGateways(context, namespace);
  if (gateways.length > 0) return gateways;
  throw isBroker ? CommandErrors.OnlyBroker() : CommandErrors.NoGateways();
}

/** Prints a note on stderr, so that stdout stays the same. */
function noteSimulated(context: CommandContext, gateways: readonly Gateway[]): void {
  const names = gateways.flatMap(({ metadata, status }) => (status?.simulated ? [metadata.name ?? ''] : []));
  if (names.length > 0)
    progress(context.io).warning(`The cables of gateway ${names.join(', ')} are simulated: no packet passes`);
}

function withCluster(id: string, message: string): string {
  return message.startsWith('cluster "') ? message : `cluster "${id}": ${message}`;
}

export async function showCables(context: CommandContext): Promise<number> {
  const format = context.flags.text('format') ?? 'text';
  const picture = await pictureOf(context);
  const draw = { text: textPicture, dot: dotPicture, svg: svgPicture }[format];
  if (draw === undefined)
    throw CommandErrors.Usage(`--format: "${format}" is not a format (svg, dot, text)`, 'show cables');
  const names = () => picture.clusters.map(({ id }) => nameOf(Cluster, id));
  await print(context, { value: picture, text: () => draw(picture), names }, 'show cables');
  return 0;
}

function nameOf({ kind, group }: { readonly kind: string; readonly group: string }, name: string): string {
  return objectName(`${kind}.${group}`, name);
}

/** Reports all problems of policies, pairs and connections. The exit code is 1 if there is one. */
export async function diagnoseCables(context: CommandContext): Promise<number> {
  // In the table format, progress is the output. Programs use the other formats and read stdout.
  const isTable = ['table', 'wide'].includes(formatOf(context.flags, 'diagnose cables'));
  const shown = progress(context.io);
  const view = await readView(context);
  const problems: string[] = [];
  const warnings: string[] = [];
  const concerned: string[] = [];
  const problem = (text: string, ...objects: string[]) => {
    if (isTable) shown.failed(text);
    problems.push(text);
    concerned.push(...objects);
  };
  const say: Say = {
    done: (text) => isTable && shown.done(text),
    warning(text) {
      if (isTable) shown.warning(text);
      warnings.push(text);
    },
  };
  for (const [index, policy] of view.all.entries())
    for (const wrong of acceptanceOf(policy, view.objects[index]).problems)
      problem(
        wrong.startsWith('policy "') ? wrong : `policy "${policy.name}": ${wrong}`,
        nameOf(CablePolicies, view.objects[index]?.metadata.name ?? policy.name),
      );
  if (problems.length === 0)
    say.done(`${view.all.length === 1 ? '1 cable policy is' : `${view.all.length} cable policies are`} valid`);
  const ranking = rankRules(view.policies, view.requiresEncryption);
  if (ranking.fallback === undefined)
    say.warning(
      'there is no policy "default"; create one: subctl cable-policy add --name default --cable-driver ipsec',
    );
  const matrix = createPairMatrix(ranking, view.clusters);
  for (const pair of matrix.ambiguousPairs())
    say.warning(`policies contradict each other for ${pair.join(' and ')}; give one a priority`);
  const counts = matrix.counts();
  for (const [index, { label }] of ranking.rules.entries())
    if (counts[index] === 0 && view.clusters.length > 1)
      say.warning(`policy "${label}": decides no pair of the clusters that are known`);
  for (const [index, cluster] of view.clusters.entries())
    for (const { left, right, driver, message } of decideFor(cluster, view.clusters.slice(index + 1), {
      ...view,
      ranking,
    }).values())
      if (driver === undefined) problem(message, nameOf(Cluster, left), nameOf(Cluster, right));
  for (const { metadata, status } of view.clusterObjects) {
    const accepted = status?.conditions?.find(({ type }) => type === 'Accepted');
    if (accepted?.status === 'False')
      problem(accepted.message || `cluster "${metadata.name}" is not accepted`, nameOf(Cluster, metadata.name ?? ''));
  }
  const gateways = await readGateways(context, view.namespace);
  for (const { metadata, status } of gateways) {
    if (status?.statusFailure !== undefined && status.statusFailure !== '')
      problem(`gateway ${metadata.name}: ${status.statusFailure}`, nameOf(Gateway, metadata.name ?? ''));
    for (const connection of status?.connections ?? []) diagnoseConnection(connection, say, problem, problems);
    const { unprotected, count } = protectionOf(metadata.name ?? '', status?.connections ?? []);
    for (const { cluster, message } of unprotected) problem(message, nameOf(Cluster, cluster));
    if (count > 0) say.done(`Packets of ${count} encrypted cables never leave gateway ${metadata.name} in clear`);
  }
  noteSimulated(context, gateways);
  const healthy = problems.length === 0;
  if (healthy) say.done('No problem with cables was found');
  const value = { healthy, problems, warnings };
  await print(context, { value, text: () => '', names: () => concerned }, 'diagnose cables');
  return healthy ? 0 : 1;
}

interface Say {
  done(text: string): void;
  warning(text: string): void;
}

function diagnoseConnection(
  { status, statusMessage, endpoint }: Connection,
  say: Say,
  problem: (text: string, ...objects: string[]) => void,
  reported: readonly string[],
): void {
  const id = endpoint.cluster_id;
  // The policies of both ends report the same message.
  if (statusMessage !== undefined && reported.includes(statusMessage)) return;
  if (status === 'connecting') say.warning(`Connection to cluster "${id}" is in progress`);
  if (status === 'error' || status === 'conflict')
    problem(
      `Connection to cluster "${id}" is not established: ${statusMessage ?? 'no reason is known'}`,
      nameOf(Cluster, id),
    );
}

function summaryOf(status: Gateway['status']): string {
  if (status?.statusFailure !== undefined && status.statusFailure !== '') return status.statusFailure;
  const connections = status?.connections ?? [];
  const connected = connections.filter((each) => each.status === 'connected').length;
  if (connections.length === 0) return 'There are no connections';
  return connected === connections.length
    ? `All connections (${connected}) are established`
    : `${connected} connections out of ${connections.length} are established`;
}

async function pictureOf(context: CommandContext): Promise<Picture> {
  const view = await readView(context);
  const ranking = rankRules(view.policies, view.requiresEncryption);
  const local = await localCluster(context, view);
  const states = new Map<string, Connection>();
  for (const { status } of await readGateways(context, view.namespace))
    for (const connection of status?.connections ?? []) states.set(connection.endpoint.cluster_id, connection);
  const cables = view.clusters.flatMap((cluster, index) =>
    [...decideFor(cluster, view.clusters.slice(index + 1), { ...view, ranking })].flatMap(([remote, decision]) => {
      const { driver, policy, options } = decision;
      if (driver === 'none') return [];
      const other = cluster.id === local ? remote : remote === local ? cluster.id : undefined;
      const known = other === undefined ? undefined : states.get(other);
      const state = known?.status ?? (driver === undefined ? ('error' as const) : ('planned' as const));
      return [{ left: cluster.id, right: remote, driver: driver ?? null, policy, options: { ...options }, state }];
    }),
  );
  const clusters = view.clusters.map(({ id, labels }) => ({
    id,
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => key !== 'submariner.io/cluster-id')),
  }));
  return { clusters, cables };
}

async function localCluster(context: CommandContext, { namespace }: ClusterView): Promise<string | undefined> {
  const [gateway] = await readGateways(context, namespace);
  return gateway?.status?.localEndpoint?.cluster_id;
}
