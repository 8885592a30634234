import {
  array,
  boolean,
  conditions,
  defineKind,
  exactlyOneOf,
  integer,
  type KindOf,
  namespaceName,
  object,
  optional,
  string,
} from '@capstan/kube';
import { COMMON, RESOLVED_REFS_COLUMN } from './group.ts';
import { allowDeny, certificateRef, trustAnchorRef } from './tls.ts';

const name = () => string({ minLength: 1, maxLength: 253 });

const tls = () =>
  object(
    {
      certificateRef: certificateRef(),
      trustAnchorRef: trustAnchorRef(),
      protocols: allowDeny('TLS versions'),
      cipherSuites: allowDeny('Cipher suites'),
    },
    { optional: true, description: 'TLS towards the Kafka cluster; {} trusts what the platform trusts.' },
  );

export const KafkaService = defineKind({
  ...COMMON,
  kind: 'KafkaService',
  shortNames: ['ks'],
  description: 'A Kafka cluster that virtual clusters lead to.',
  spec: object(
    {
      bootstrapServers: string({
        optional: true,
        minLength: 1,
        pattern: '^[^,:\\s]+:[0-9]{1,5}(,\\s*[^,:\\s]+:[0-9]{1,5})*$|^\\[.+\\]:[0-9]{1,5}$',
        description: 'host:port, several with commas.',
      }),
      strimziKafkaRef: object(
        {
          group: string({ default: 'kafka.strimzi.io' }),
          kind: string({ default: 'Kafka' }),
          name: name(),
          namespace: optional(namespaceName()),
          listenerName: name(),
          trustStrimziCaCertificate: boolean({ optional: true }),
        },
        { optional: true, description: 'A Kafka of Strimzi and one of its listeners.' },
      ),
      tls: tls(),
      nodeIdRanges: array(
        object(
          {
            name: string({ optional: true, minLength: 1 }),
            start: integer({ minimum: 0, format: 'int32' }),
            end: integer({ minimum: 0, format: 'int32' }),
          },
          { rules: [{ rule: 'self.start <= self.end', message: 'start must not be above end' }] },
        ),
        { optional: true, minItems: 1, maxItems: 64, description: 'Ids of its brokers; 0 to 2 by default.' },
      ),
    },
    { oneOf: exactlyOneOf('strimziKafkaRef', 'bootstrapServers') },
  ),
  status: object({
    conditions: conditions(),
    configHash: string({
      optional: true,
      description: 'Hash of the addresses, the TLS settings and the mounted keys.',
    }),
    bootstrapServers: string({ optional: true }),
    tls: tls(),
  }),
  printerColumns: [
    { name: 'Bootstrap', jsonPath: '.status.bootstrapServers' },
    RESOLVED_REFS_COLUMN,
    { name: 'Hash', jsonPath: '.status.configHash', priority: 1 },
  ],
});
export type KafkaService = KindOf<typeof KafkaService>;
export type ServiceTls = NonNullable<KafkaService['spec']['tls']>;
export type NodeIdRange = NonNullable<KafkaService['spec']['nodeIdRanges']>[number];
