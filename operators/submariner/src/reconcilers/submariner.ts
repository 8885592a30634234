// A Submariner becomes the gateways of its cluster, with the least that they need, and the Cluster object that stands for it. Labels of
// the Cluster are applied field by field: those that users set stay.
import {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  DaemonSet,
  Node,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from '@capstan/kube';
import {
  apply,
  aside,
  type Child,
  conditionType,
  drop,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  released,
  writing,
} from '@capstan/reconcile';
import {
  BROKER_SECRET,
  type GatewayConfiguration,
  gatewayConfiguration,
  PSK_SECRET,
} from '../deployment/configuration.ts';
import { GATEWAY, gatewayDaemonSet } from '../deployment/gateway-daemon-set.ts';
import { GRANTED_TO_GATEWAYS, gatewayPermissions, NODE_RULES } from '../deployment/permissions.ts';
import { isCidr, overlaps } from '../drivers/addresses.ts';
import {
  Broker,
  CablePolicies,
  Cluster,
  Endpoint,
  Gateway,
  type GatewayStatus,
  OWNER_ANNOTATION,
  Submariner,
  type SubmarinerSpec,
} from '../kinds/index.ts';
import { brokerOf, departureOf, isSameMembership } from '../membership/broker-record.ts';
import type { Departures } from '../membership/departures.ts';
import { localCleanup } from '../membership/local-cleanup.ts';
import { LEAVE_FINALIZER } from '../membership/names.ts';
import { validateGatewayOptions } from '../policy/driver-options.ts';
import { optionsOfConfigMap } from '../policy/rule-options.ts';
import type { Settings } from '../settings.ts';
import { connections } from './connections.ts';
import { forgetDeparture, joinedSecret, LEFT, membership, movePlan, notLeft } from './membership.ts';

const deployed = conditionType<
  'Running' | 'Progressing' | 'InvalidConfiguration' | 'MissingSecret' | 'NoGatewayNode' | 'Leaving'
>('Deployed');
const configured = conditionType<'Accepted' | 'NotActedOn' | 'ConfigMapMissing' | 'ConfigMapInvalid'>('Configured');

export function createSubmarinerReconciler({ image }: Settings, departures: Departures): Reconciler {
  return reconciler<Submariner>({
    name: 'submariner',
    resource: Submariner,
    reads: [
      reading(DaemonSet, 'owned'),
      reading(Secret, 'referenced'),
      reading(ConfigMap, 'referenced'),
      reading(Gateway, 'everywhere'),
      reading(Cluster, 'everywhere'),
      reading(CablePolicies, 'everywhere'),
      reading(Endpoint, 'everywhere'),
      reading(Broker, 'everywhere'),
      reading(Node, 'everywhere', { fields: ['status.nodeInfo.kubeletVersion', 'spec.providerID'] }),
    ],
    writes: [
      writing(DaemonSet, 'apply', { podAccounts: `^${GATEWAY}$`, podPowers: ['privileges', 'hostPaths'] }),
      ServiceAccount,
      writing(Role, 'apply', { grants: { namespaced: GRANTED_TO_GATEWAYS } }),
      RoleBinding,
      writing(ClusterRole, 'apply', { grants: { cluster: NODE_RULES } }),
      ClusterRoleBinding,
      Secret,
      writing(Cluster, ['apply', 'patch', 'remove']),
      writing(CablePolicies, ['patch', 'remove']),
      writing(Endpoint, ['patch', 'remove']),
      writing(Broker, ['patch', 'remove']),
      writing(Gateway, ['patch', 'remove']),
      writing(Submariner, 'patch'),
    ],
    finalizer: LEAVE_FINALIZER,
    /** The cluster leaves its broker first; then the copies of the sync go. */
    release({ object, read }) {
      const { metadata, spec } = object;
      const { namespace = '', name = '' } = metadata;
      const isMember = departureOf(object, () => undefined) !== undefined;
      const report = isMember ? read.sink(departures).report(`${namespace}/${name}`) : LEFT;
      if (report === undefined || report.outcome === 'waiting') {
        const message =
          report?.message ?? `cluster "${spec.clusterID}": is leaving its broker ${spec.brokerK8sApiServer ?? ''}`;
        return plan({ held: true, prune: false, conditions: [deployed.isFalse('Leaving', message)] });
      }
      const groups = localCleanup(read, namespace);
      if (groups !== undefined) return plan({ held: true, prune: false, groups });
      return released(notLeft(report.message));
    },
    reconcile({ object, read }) {
      const { metadata, spec } = object;
      const namespace = metadata.namespace ?? '';
      const configuration = gatewayConfiguration(spec);
      const problems = [...configuration.problems, ...networkProblems(spec)];
      const { customConfig } = configuration;
      if (customConfig?.namespace !== undefined && customConfig.namespace !== namespace)
        problems.push(
          `spec.cableDriverCustomConfig.namespace: a ConfigMap of another namespace (${customConfig.namespace}) cannot be mounted; create it in ${namespace}`,
        );
      const status = {
        clusterID: spec.clusterID,
        clusterCIDR: spec.clusterCIDR,
        serviceCIDR: spec.serviceCIDR,
        globalCIDR: spec.globalCIDR,
        colorCodes: spec.colorCodes,
        natEnabled: spec.natEnabled,
        airGappedDeployment: spec.airGappedDeployment ?? false,
        version: spec.version ?? versionOf(image),
        deploymentInfo: deploymentInfo(read),
        warnings: configuration.warnings,
        gateways: gatewaysOf(read, namespace),
      };
      const config = configurationCondition(read, namespace, configuration);
      const joined = membership(read, namespace, spec, status.gateways);
      if (problems.length > 0)
        // The running gateways go on as they are.
        return plan({
          prune: false,
          status,
          conditions: [
            deployed.isFalse('InvalidConfiguration', problems.join('; ')),
            config,
            joined,
            connections(status.gateways, joined),
          ],
        });
      const rollout = read.get(DaemonSet, { namespace, name: GATEWAY }, rolloutOf);
      const [record, wanted] = [object.status?.broker, brokerOf(spec)];
      if (record !== undefined && !isSameMembership(record, wanted)) {
        const report = read.sink(departures).report(`${namespace}/${metadata.name ?? ''}`);
        return movePlan(read, object, record, report, { status, conditions: [deployment(rollout), config] });
      }
      const missing = missingSecret(read, namespace, configuration);
      const daemonSet = gatewayDaemonSet({ spec, namespace, configuration, image });
      return plan({
        groups: [
          {
            name: 'permissions',
            children: [
              ...gatewayPermissions(namespace, configuration.brokerSecret),
              ...inlineSecrets(spec, namespace, configuration),
              ...(wanted === undefined ? [] : joinedSecret(read, namespace, spec, wanted)),
            ],
            patches: forgetDeparture(object),
          },
          {
            name: 'cluster',
            children: [
              apply(Cluster, clusterOf(spec, namespace, metadata.uid), {
                adopts: true,
                yields: yieldedLabels(spec, read.get(Cluster, { namespace, name: spec.clusterID }, sentLabels)),
              }),
            ],
          },
          { name: 'gateways', children: [apply(DaemonSet, daemonSet)] },
        ],
        status: {
          ...status,
          broker: wanted ?? drop(),
          gatewayDaemonSetStatus: {
            desired: rollout?.desired ?? 0,
            ready: rollout?.ready ?? 0,
            mismatchedContainerImages: rollout !== undefined && !rollout.isCurrent,
            ...(rollout !== undefined && { status: rollout.status }),
          },
        },
        conditions: [missing ?? deployment(rollout), config, joined, connections(status.gateways, joined)],
      });
    },
  });
}

interface Rollout {
  readonly desired: number;
  readonly ready: number;
  readonly isCurrent: boolean;
  /** As the DaemonSet has it. */
  readonly status: Readonly<Record<string, number>>;
}

const rolloutOf = aside(({ metadata, status }: DaemonSet): Rollout => {
  const {
    desiredNumberScheduled: desired = 0,
    numberReady: ready = 0,
    updatedNumberScheduled: updated = 0,
  } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const counts = Object.entries(status ?? {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return {
    desired,
    ready,
    isCurrent: isSeen && updated >= desired && ready >= desired,
    status: Object.fromEntries(counts),
  };
});

function versionOf(image: string): string {
  return /:([^:/@]+)(?:@.*)?$/.exec(image)?.[1] ?? '';
}

/** The cluster as upstream describes it, from its nodes. */
function deploymentInfo(read: Reader) {
  // An operator that is restricted to namespaces sees no nodes.
  const found = read.access(Node) === 'served' ? read.list(Node, {}, nodeOf) : [];
  const nodes = found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const [first] = nodes;
  const provider = nodes
    .map(({ provider: id }) => /^([a-z0-9-]+):/.exec(id ?? '')?.[1])
    .find((each) => each !== undefined);
  return {
    kubernetesType: 'k8s',
    ...(first?.version !== undefined && { kubernetesVersion: first.version }),
    ...(provider !== undefined && { cloudProvider: provider }),
  };
}

const nodeOf = aside(({ metadata, spec, status }: Node) => ({
  name: metadata.name ?? '',
  version: status?.nodeInfo?.kubeletVersion,
  provider: spec?.providerID,
}));

function deployment(rollout: Rollout | undefined) {
  if (rollout === undefined) return deployed.isFalse('Progressing', 'gateways: the DaemonSet is being created');
  if (rollout.isCurrent && rollout.desired === 0)
    return deployed.isFalse('NoGatewayNode', 'gateways: no node has the label submariner.io/gateway=true; label one');
  if (rollout.isCurrent)
    return deployed.isTrue('Running', `gateways: ${rollout.ready} of ${rollout.desired} are ready`);
  return deployed.isFalse('Progressing', `gateways: ${rollout.ready} of ${rollout.desired} are ready`);
}

function missingSecret(
  read: Reader,
  namespace: string,
  { pskSecret, brokerSecret, drivers, inline }: GatewayConfiguration,
) {
  if (pskSecret === undefined && drivers.some((driver) => driver.includes('ipsec')))
    return deployed.isFalse('MissingSecret', 'ipsec: there is no pre-shared key; name a Secret in ceIPSecPSKSecret');
  const wanted = [
    [pskSecret, 'psk', inline.psk],
    [brokerSecret, 'token', inline.brokerToken],
  ] as const;
  for (const [name, key, given] of wanted) {
    if (name === undefined || given !== undefined) continue;
    const keys = read.get(Secret, { namespace, name }, keysOf);
    if (keys === undefined)
      return deployed.isFalse('MissingSecret', `Secret ${name}: does not exist; create it with the key ${key}`);
    if (!keys.includes(key)) return deployed.isFalse('MissingSecret', `Secret ${name}: has no key ${key}; add it`);
  }
  return undefined;
}

const keysOf = ({ data }: Secret) => Object.keys(data ?? {});
const dataOf = ({ data }: ConfigMap) => data ?? {};

function configurationCondition(read: Reader, namespace: string, { customConfig, warnings }: GatewayConfiguration) {
  if (customConfig !== undefined) {
    const ref = { namespace: customConfig.namespace ?? namespace, name: customConfig.name };
    const data = read.get(ConfigMap, ref, dataOf);
    if (data === undefined)
      return configured.isFalse(
        'ConfigMapMissing',
        `ConfigMap ${ref.namespace}/${ref.name}: does not exist; drivers use their defaults until it is created`,
      );
    const options = optionsOfConfigMap(data);
    const problem = options.problem ?? validateGatewayOptions(options.data)[0]?.message;
    if (problem !== undefined)
      return configured.isFalse('ConfigMapInvalid', `ConfigMap ${ref.namespace}/${ref.name}: ${problem}; correct it`);
  }
  return warnings.length === 0
    ? configured.isTrue('Accepted', '')
    : configured.isTrue('NotActedOn', warnings.join('; '));
}

/** Secrets that the resource carries in clear, as the original has them. */
function inlineSecrets(spec: SubmarinerSpec, namespace: string, { inline }: GatewayConfiguration): Child[] {
  const secret = (name: string, data: Record<string, string>) =>
    apply(Secret, { metadata: { namespace, name }, type: 'Opaque', data });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const children: Child[] = [];
  // The field holds the raw bytes in base64, as a Secret's data does.
  if (inline.psk !== undefined) children.push(secret(PSK_SECRET, { psk: inline.psk }));
  if (inline.brokerToken !== undefined)
    children.push(
      secret(BROKER_SECRET, {
        token: base64(inline.brokerToken),
        namespace: base64(spec.brokerK8sRemoteNamespace ?? ''),
        ...(spec.brokerK8sCA !== undefined && { 'ca.crt': spec.brokerK8sCA }),
      }),
    );
  return children;
}

function clusterOf(spec: SubmarinerSpec, namespace: string, owner: string | undefined) {
  const list = (text: string | undefined) =>
    (text ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  return {
    metadata: {
      namespace,
      name: spec.clusterID,
      labels: spec.clusterLabels ?? {},
      // Labels that users have taken over are theirs. The annotation shows that ours have changed.
      annotations: {
        [CLUSTER_LABELS_ANNOTATION]: JSON.stringify(spec.clusterLabels ?? {}),
        ...(owner !== undefined && { [OWNER_ANNOTATION]: owner }),
      },
    },
    spec: {
      cluster_id: spec.clusterID,
      color_codes: ['blue'],
      service_cidr: list(spec.serviceCIDR),
      cluster_cidr: list(spec.clusterCIDR),
      global_cidr: list(spec.globalCIDR),
    },
  };
}

const CLUSTER_LABELS_ANNOTATION = 'submariner.io/sync-cluster-labels';

/** The labels that were sent last, by the annotation that goes with them. */
const sentLabels = ({ metadata }: Cluster) => metadata.annotations?.[CLUSTER_LABELS_ANNOTATION];

/**
 * The labels that a user may have taken: `kubectl label cluster` is how people re-cable, and their value stays. A label that is
 * new or changed in clusterLabels since it was sent last is the newer decision, and is sent.
 */
function yieldedLabels({ clusterLabels = {} }: SubmarinerSpec, sent: string | undefined): string[] {
  let before: Record<string, unknown> = {};
  try {
    before = JSON.parse(sent ?? '{}') as Record<string, unknown>;
  } catch {
    // An annotation that cannot be read counts as none.
  }
  return Object.keys(clusterLabels).flatMap((key) =>
    before[key] === clusterLabels[key] ? [`metadata.labels.${key}`] : [],
  );
}

function networkProblems({ clusterCIDR, serviceCIDR }: SubmarinerSpec): string[] {
  const list = (text: string | undefined) =>
    (text ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  const [clusters, services] = [list(clusterCIDR), list(serviceCIDR)];
  const wrong = [
    ...clusters
      .filter((each) => !isCidr(each))
      .map((each) => `spec.clusterCIDR: "${each}" is not a subnet; write ADDRESS/LENGTH`),
    ...services
      .filter((each) => !isCidr(each))
      .map((each) => `spec.serviceCIDR: "${each}" is not a subnet; write ADDRESS/LENGTH`),
  ];
  if (wrong.length > 0) return wrong;
  const pair = clusters.flatMap((one) =>
    services.filter((other) => overlaps(one, other)).map((other) => [one, other]),
  )[0];
  return pair === undefined
    ? []
    : [`spec.serviceCIDR: ${pair[1]} overlaps spec.clusterCIDR ${pair[0]}; use networks that do not overlap`];
}

function gatewaysOf(read: Reader, namespace: string): GatewayStatus[] {
  return read.list(Gateway, { namespace }, statusOf).flatMap((status) => (status === undefined ? [] : [status]));
}

const statusOf = aside(({ status }: Gateway) => status);
