import {
  anyObject,
  array,
  boolean,
  conditions,
  defineKind,
  enumOf,
  integer,
  type KindOf,
  object,
  string,
} from '@capstan/kube';

export const SIDECAR_GROUP = 'sidecar.kroxylicious.io';

const DNS_LABEL = '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$';
const label = (description: string) => string({ pattern: DNS_LABEL, maxLength: 63, description });

const nodeIdRange = object(
  {
    startInclusive: integer({ default: 0, minimum: 0 }),
    endInclusive: integer({ default: 2, minimum: 0 }),
  },
  {
    optional: true,
    description: 'The ids of brokers that get a port each; 0 to 2 by default.',
  },
);

const targetClusterTls = object(
  {
    trustAnchorSecretRef: object(
      { name: string(), key: string() },
      { optional: true, description: 'A key of a Secret in the namespace of the pod: trusted certificates, in PEM.' },
    ),
  },
  { optional: true, description: 'How the sidecar connects to Kafka by TLS; without it the connection is plain.' },
);

const virtualCluster = object({
  name: label('The name of the cluster in the configuration of the proxy.'),
  targetBootstrapServers: string({ description: 'The Kafka cluster: host:port, several with commas.' }),
  bootstrapPort: integer({
    default: 9092,
    minimum: 1024,
    maximum: 65_535,
    description: 'Where the sidecar listens on localhost; the ports of brokers follow it.',
  }),
  nodeIdRange,
  targetClusterTls,
});

const plugin = object({
  name: label('The folder of its jars, below /opt/kroxylicious/classpath-plugins.'),
  image: object({
    reference: string({ description: 'An image with jars in its folder /plugins.' }),
    pullPolicy: enumOf(['Always', 'IfNotPresent', 'Never'], { default: 'IfNotPresent' }),
  }),
});

export const KroxyliciousSidecarConfig = defineKind({
  group: SIDECAR_GROUP,
  version: 'v1alpha1',
  scope: 'Namespaced',
  kind: 'KroxyliciousSidecarConfig',
  shortNames: ['ksc'],
  categories: ['kroxylicious'],
  description: 'The proxy that is put beside the containers of new pods of its namespace.',
  spec: object({
    virtualClusters: array(virtualCluster, {
      minItems: 1,
      maxItems: 1,
      description: 'What the sidecar serves; one cluster.',
    }),
    proxyImage: string({ optional: true, description: 'The image of the sidecar; that of the webhook by default.' }),
    managementPort: integer({
      default: 9082,
      minimum: 1024,
      maximum: 65_535,
      description: 'Where the sidecar serves /livez and /metrics, on every address of the pod.',
    }),
    resources: anyObject({ optional: true, description: 'Requests and limits of the sidecar container.' }),
    setBootstrapEnvVar: boolean({
      default: true,
      description: 'Whether containers of the pod get KAFKA_BOOTSTRAP_SERVERS with the address of the sidecar.',
    }),
    filterDefinitions: array(
      object({
        name: string({ pattern: '^[a-z0-9A-Z]([a-z0-9A-Z_.\\-]{0,251}[a-z0-9A-Z])?$' }),
        type: string({ description: 'Fully qualified class or short name of the filter factory.' }),
        config: anyObject({ optional: true }),
      }),
      { optional: true, description: 'Filters of all requests and responses, in this order.' },
    ),
    secretMounts: array(
      object({
        name: label('The folder of its keys, below /opt/kroxylicious/secrets.'),
        secretName: string({ description: 'A Secret in the namespace of the pod.' }),
      }),
      { optional: true, description: 'Secrets that filters read as files.' },
    ),
    plugins: array(plugin, { optional: true, description: 'Images with filters of others.' }),
  }),
  status: object({
    conditions: conditions(),
  }),
  rules: [
    {
      rule: 'self.metadata.name.size() <= 63 && self.metadata.name.matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")',
      message: 'metadata.name must be a DNS label of at most 63 characters',
    },
  ],
  printerColumns: [
    { name: 'Target', jsonPath: '.spec.virtualClusters[0].targetBootstrapServers' },
    { name: 'Ready', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  ],
});
export type KroxyliciousSidecarConfig = KindOf<typeof KroxyliciousSidecarConfig>;
export type SidecarSpec = KroxyliciousSidecarConfig['spec'];
