import { anyObject, conditions, defineKind, type KindOf, object, string } from '@capstan/kube';
import { COMMON, RESOLVED_REFS_COLUMN } from './group.ts';

export const KafkaProtocolFilter = defineKind({
  ...COMMON,
  kind: 'KafkaProtocolFilter',
  shortNames: ['kpf'],
  description: 'A filter that VirtualKafkaClusters put on the way of requests and responses.',
  spec: object({
    type: string({ minLength: 1, description: 'Fully qualified class or short name of the filter factory.' }),
    configTemplate: anyObject({
      description:
        'Configuration of the filter; ${secret:NAME:KEY} and ${configmap:NAME:KEY}, as whole values, become the paths of files with that content.',
    }),
  }),
  status: object({
    conditions: conditions(),
    configHash: string({ optional: true, description: 'Hash of the configuration and of every key that it names.' }),
  }),
  rules: [
    {
      rule: 'self.metadata.name.size() <= 63 && self.metadata.name.matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")',
      message: 'metadata.name must be a DNS label of at most 63 characters',
    },
  ],
  printerColumns: [
    { name: 'Type', jsonPath: '.spec.type' },
    RESOLVED_REFS_COLUMN,
    { name: 'Hash', jsonPath: '.status.configHash', priority: 1 },
  ],
});
export type KafkaProtocolFilter = KindOf<typeof KafkaProtocolFilter>;
