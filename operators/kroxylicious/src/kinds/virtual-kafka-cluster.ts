import {
  anyObject,
  array,
  conditions,
  defineKind,
  enumOf,
  type KindOf,
  map,
  object,
  optional,
  string,
} from '@capstan/kube';
import { ACCEPTED_COLUMN, COMMON, GROUP, RESOLVED_REFS_COLUMN } from './group.ts';
import { rolledMemory, rolloutStatus } from './rollout.ts';
import { allowDeny, certificateRef, trustAnchorRef } from './tls.ts';

const name = () => string({ minLength: 1, maxLength: 253 });
export const CLIENT_AUTHENTICATION = ['REQUIRED', 'REQUESTED', 'NONE'] as const;
export type ClientAuthentication = (typeof CLIENT_AUTHENTICATION)[number];

/** Leaves room for the longest suffix in a Service's name of 63 characters. */
export const MAX_CLUSTER_AND_INGRESS = 51;

const tls = object(
  {
    certificateRef: certificateRef(),
    trustAnchorRef: trustAnchorRef(),
    protocols: allowDeny('TLS versions'),
    cipherSuites: allowDeny('Cipher suites'),
    tlsClientAuthentication: enumOf(CLIENT_AUTHENTICATION, {
      optional: true,
      description: 'REQUIRED by default when there is a trust anchor.',
    }),
  },
  { required: ['certificateRef'], optional: true, description: 'For ingresses with protocol TLS, and only for those.' },
);

export const VirtualKafkaCluster = defineKind({
  ...COMMON,
  kind: 'VirtualKafkaCluster',
  shortNames: ['vkc'],
  description: 'A Kafka cluster as clients see it: a target, filters on the way to it, and ways in.',
  spec: object({
    proxyRef: object({ name: name() }),
    targetKafkaServiceRef: object({
      group: optional(enumOf([GROUP])),
      kind: optional(enumOf(['KafkaService'])),
      name: name(),
    }),
    ingresses: array(object({ ingressRef: object({ name: name() }), tls }), { minItems: 1, maxItems: 64 }),
    filterRefs: array(
      object({ group: optional(enumOf([GROUP])), kind: optional(enumOf(['KafkaProtocolFilter'])), name: name() }),
      { optional: true, maxItems: 256, description: 'In the order in which requests pass them.' },
    ),
  }),
  status: object({
    conditions: conditions(),
    configHash: string({ optional: true, description: 'Hash of all inputs of its configuration.' }),
    deployment: string({ optional: true, description: 'The Deployment that its Services lead to.' }),
    rollout: rolloutStatus(),
    ingresses: array(
      object({
        name: string(),
        bootstrapServer: string({ optional: true }),
        protocol: enumOf(['TCP', 'TLS'], { optional: true }),
        loadBalancerIngressPoints: array(
          object({ hostname: string({ optional: true }), ip: string({ optional: true }) }),
          { optional: true },
        ),
      }),
      { optional: true, listMapKeys: ['name'] },
    ),
  }),
  memory: object({
    lastGood: anyObject({
      optional: true,
      description: 'The configuration that is kept in force while the present one is not valid.',
    }),
    previousGood: anyObject({
      optional: true,
      description: 'The one before: it is still in force where the last one was not rolled out yet.',
    }),
    snapshots: array(string(), {
      optional: true,
      description: 'Secrets with copies of mounted content that are there.',
    }),
    versions: map(string(), {
      optional: true,
      description: 'resourceVersions of the Secrets that the last good configuration uses.',
    }),
    doubt: object(
      { hash: string(), secrets: array(string()) },
      {
        optional: true,
        description: 'Secrets that were written while the digest key was lost, and the hash under the new key.',
      },
    ),
    deployment: string({ optional: true }),
    rolled: rolledMemory(),
    hash: object({ shown: string(), is: string() }, { optional: true }),
  }),
  rules: [
    {
      rule: `self.spec.ingresses.all(i, self.metadata.name.size() + i.ingressRef.name.size() <= ${MAX_CLUSTER_AND_INGRESS})`,
      message: `the names of the cluster and of each of its ingresses together may have at most ${MAX_CLUSTER_AND_INGRESS} characters`,
    },
  ],
  printerColumns: [
    { name: 'Proxy', jsonPath: '.spec.proxyRef.name' },
    { name: 'KafkaService', jsonPath: '.spec.targetKafkaServiceRef.name' },
    RESOLVED_REFS_COLUMN,
    ACCEPTED_COLUMN,
    { name: 'Hash', jsonPath: '.status.configHash', priority: 1 },
  ],
});
export type VirtualKafkaCluster = KindOf<typeof VirtualKafkaCluster>;
export type ClusterIngress = VirtualKafkaCluster['spec']['ingresses'][number];
export type IngressTls = NonNullable<ClusterIngress['tls']>;
