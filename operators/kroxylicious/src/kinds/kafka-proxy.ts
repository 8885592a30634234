import {
  anyObject,
  array,
  conditions,
  defineKind,
  enumOf,
  integer,
  type KindOf,
  map,
  object,
  optional,
  quantity,
  string,
} from '@capstan/kube';
import { COMMON } from './group.ts';
import { rolledMemory, rolloutStatus } from './rollout.ts';

/** Durations of the proxy: one or more whole numbers with units. ISO 8601 durations, hours and days are not allowed. */
const proxyDuration = () => string({ optional: true, pattern: '^([0-9]+(m|s|ms|us|μs|ns))+$' });

const threads = () =>
  integer({ optional: true, format: 'int32', minimum: 1, description: 'Twice the CPUs by default.' });
const resourceList = () =>
  object({ cpu: quantity({ optional: true }), memory: quantity({ optional: true }) }, { optional: true });

const network = object(
  {
    proxy: object(
      {
        workerThreadCount: threads(),
        shutdownQuietPeriod: proxyDuration(),
        shutdownTimeout: proxyDuration(),
        authenticatedIdleTimeout: proxyDuration(),
        unauthenticatedIdleTimeout: proxyDuration(),
      },
      { optional: true },
    ),
    management: object(
      { workerThreadCount: threads(), shutdownQuietPeriod: proxyDuration(), shutdownTimeout: proxyDuration() },
      { optional: true },
    ),
  },
  { optional: true, description: 'Network settings of the proxy process; a change rolls its pods.' },
);

const infrastructure = object(
  {
    proxyContainer: object(
      { resources: object({ limits: resourceList(), requests: resourceList() }, { optional: true }) },
      { optional: true },
    ),
    pod: object(
      {
        labels: map(string(), { optional: true }),
        annotations: map(string(), { optional: true }),
        serviceAccountName: string({ optional: true, minLength: 1, maxLength: 253 }),
        terminationGracePeriodSeconds: integer({ optional: true, minimum: 0, description: '30 by default.' }),
      },
      { optional: true, description: 'What the proxy pods carry besides the operator’s own.' },
    ),
  },
  { optional: true },
);

const rollout = object(
  {
    quietPeriod: string({
      optional: true,
      pattern: '^(0|([0-9]+(\\.[0-9]+)?(ms|s|m))+)$',
      description: 'A rollout waits until its inputs have not changed for so long; the operator’s own by default (2s).',
    }),
    minReadySeconds: integer({ optional: true, minimum: 0, format: 'int32' }),
    onStaleInput: enumOf(['Hold', 'Snapshot'], {
      optional: true,
      description:
        'While a Secret or ConfigMap of one virtual cluster is missing or unusable. Hold (the default): changes of the others wait. Snapshot: pods mount copies of the last good content, and changes of the others are rolled out.',
    }),
  },
  { optional: true },
);

export const KafkaProxy = defineKind({
  ...COMMON,
  kind: 'KafkaProxy',
  plural: 'kafkaproxies',
  shortNames: ['kp'],
  description: 'A Kroxylicious proxy: the process that VirtualKafkaClusters are served by.',
  spec: optional(
    object({
      replicas: integer({ default: 1, minimum: 0, format: 'int32' }),
      isolation: enumOf(['Proxy', 'VirtualCluster'], {
        default: 'Proxy',
        description:
          'Proxy: one Deployment serves all virtual clusters. VirtualCluster: each has one of its own, and a change of one restarts no other.',
      }),
      infrastructure,
      network,
      rollout,
      micrometer: array(object({ type: string({ minLength: 1 }), config: anyObject({ optional: true }) }), {
        optional: true,
        description: 'Micrometer configuration hooks of the proxy.',
      }),
    }),
  ),
  status: object({
    conditions: conditions(),
    replicas: integer({ optional: true, format: 'int32', description: 'Pods that are ready.' }),
    selector: string({ optional: true, description: 'Selects its pods, for autoscalers.' }),
    configHash: string({ optional: true, description: 'Hash of all inputs of the configuration.' }),
    clusters: array(object({ name: string(), configHash: string({ optional: true }), conditions: conditions() }), {
      optional: true,
      listMapKeys: ['name'],
      description: 'Virtual clusters that are not served as they ask; all is well with those that are not named.',
    }),
    rollout: rolloutStatus(),
  }),
  memory: object({
    ports: map(object({ bootstrap: integer(), nodes: integer(), count: integer() }), { default: {} }),
    nextPort: integer({ optional: true }),
    hash: object({ shown: string(), is: string() }, { optional: true }),
    rolled: rolledMemory(),
  }),
  rules: [
    {
      rule: 'self.metadata.name.size() <= 50 && self.metadata.name.matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")',
      message: 'metadata.name must be a DNS label of at most 50 characters',
    },
  ],
  subresources: {
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  printerColumns: [
    { name: 'Ready', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Replicas', jsonPath: '.status.replicas', type: 'integer', priority: 1 },
    { name: 'Hash', jsonPath: '.status.configHash', priority: 1 },
  ],
});
export type KafkaProxy = KindOf<typeof KafkaProxy>;
export type KafkaProxySpec = NonNullable<KafkaProxy['spec']>;
