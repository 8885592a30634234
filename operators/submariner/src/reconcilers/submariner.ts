// A Submariner becomes the gateways of its cluster, with what they need and no more, and the Cluster object that stands for
// it. Labels of the Cluster are applied field by field: those that users set stay.
import {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  DaemonSet,
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
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import {
  BROKER_SECRET,
  type GatewayConfiguration,
  gatewayConfiguration,
  PSK_SECRET,
} from '../deployment/configuration.ts';
import { GATEWAY, gatewayDaemonSet } from '../deployment/gateway-daemon-set.ts';
import { gatewayPermissions } from '../deployment/permissions.ts';
import { isCidr, overlaps } from '../drivers/addresses.ts';
import { Cluster, Gateway, type GatewayStatus, Submariner, type SubmarinerSpec } from '../kinds/index.ts';
import { optionsOfConfigMap } from '../policy/rule-options.ts';
import type { Settings } from '../settings.ts';

const deployed = conditionType<'Running' | 'Progressing' | 'InvalidConfiguration' | 'MissingSecret' | 'NoGatewayNode'>(
  'Deployed',
);
const configured = conditionType<'Accepted' | 'NotActedOn' | 'ConfigMapMissing' | 'ConfigMapInvalid'>('Configured');

export function createSubmarinerReconciler({ image }: Settings): Reconciler {
  return reconciler<Submariner>({
    name: 'submariner',
    resource: Submariner,
    reads: [
      reading(DaemonSet, 'owned'),
      reading(Secret, 'referenced'),
      reading(ConfigMap, 'referenced'),
      reading(Gateway, 'everywhere'),
    ],
    writes: [
      DaemonSet,
      ServiceAccount,
      writing(Role, 'children', { extraVerbs: ['escalate', 'bind'] }),
      RoleBinding,
      writing(ClusterRole, 'children', { extraVerbs: ['escalate', 'bind'] }),
      ClusterRoleBinding,
      Secret,
      Cluster,
    ],
    reconcile({ object: { metadata, spec }, read }) {
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
        natEnabled: spec.natEnabled,
        warnings: configuration.warnings,
        gateways: gatewaysOf(read, namespace),
      };
      const config = configurationCondition(read, namespace, configuration);
      if (problems.length > 0)
        // What runs goes on as it is.
        return plan({
          prune: false,
          status,
          conditions: [deployed.isFalse('InvalidConfiguration', problems.join('; ')), config],
        });
      const missing = missingSecret(read, namespace, configuration);
      const daemonSet = gatewayDaemonSet({ spec, namespace, configuration, image });
      const rollout = read.get(DaemonSet, { namespace, name: GATEWAY }, rolloutOf);
      return plan({
        groups: [
          {
            name: 'permissions',
            children: [
              ...gatewayPermissions(namespace, configuration.brokerSecret),
              ...inlineSecrets(spec, namespace, configuration),
            ],
          },
          {
            name: 'cluster',
            children: [apply(Cluster, clusterOf(spec, namespace), { adopts: true, yields: labelPaths(spec) })],
          },
          { name: 'gateways', children: [apply(DaemonSet, daemonSet)] },
        ],
        status: { ...status, gatewayDaemonSetStatus: { desired: rollout?.desired ?? 0, ready: rollout?.ready ?? 0 } },
        conditions: [missing ?? deployment(rollout), config],
      });
    },
  });
}

interface Rollout {
  readonly desired: number;
  readonly ready: number;
  readonly isCurrent: boolean;
}

const rolloutOf = aside(({ metadata, status }: DaemonSet): Rollout => {
  const {
    desiredNumberScheduled: desired = 0,
    numberReady: ready = 0,
    updatedNumberScheduled: updated = 0,
  } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return { desired, ready, isCurrent: isSeen && updated >= desired && ready >= desired };
});

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
    const { problem } = optionsOfConfigMap(data);
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

function clusterOf(spec: SubmarinerSpec, namespace: string) {
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
      // Labels that users have taken are theirs; this says that ours have changed.
      annotations: { [CLUSTER_LABELS_ANNOTATION]: JSON.stringify(spec.clusterLabels ?? {}) },
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

/** A label that a user has set to another value stays so: `kubectl label cluster` is how people re-cable. */
function labelPaths({ clusterLabels = {} }: SubmarinerSpec): string[] {
  return Object.keys(clusterLabels).map((key) => `metadata.labels.${key}`);
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
