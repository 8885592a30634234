import {
  anyValue,
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
import { COMMON } from './group.ts';

export const Broker = defineKind({
  ...COMMON,
  version: 'v1alpha1',
  kind: 'Broker',
  description:
    'The meeting point of the clusters of a set: their Clusters, Endpoints and CablePolicies pass through it.',
  spec: object({
    components: array(string(), { optional: true }),
    defaultCustomDomains: array(string(), { optional: true, description: 'Not acted on.' }),
    globalnetEnabled: boolean({ optional: true, description: 'Not acted on.' }),
    globalnetCIDRRange: string({ optional: true, description: 'Not acted on.' }),
    defaultGlobalnetClusterSize: integer({ optional: true, description: 'Not acted on.' }),
    clustersetIPEnabled: boolean({ optional: true, description: 'Not acted on.' }),
    clustersetIPCIDRRange: string({ optional: true, description: 'Not acted on.' }),
    defaultCableDriver: string({ optional: true, description: 'The driver of the default policy; default ipsec.' }),
    initialPolicies: array(
      object({
        name: string({ minLength: 1, maxLength: 63 }),
        spec: anyValue({ description: 'As in CablePolicies.' }),
      }),
      { optional: true, listMapKeys: ['name'], description: 'Created once on the broker, and then left to users.' },
    ),
    allowMemberPolicies: boolean({ default: true, description: 'Whether policies that members create are taken.' }),
    minimumSecurity: enumOf(['any', 'encrypted'], {
      default: 'any',
      description: 'encrypted: policies without encryption are not accepted.',
    }),
    memberTimeout: string({
      optional: true,
      description: 'A duration such as 72h: members that were not heard of for so long are removed. Never by default.',
    }),
    onConflict: enumOf(['pick', 'refuse'], {
      default: 'pick',
      description: 'Of several policies of the same rank: pick the oldest, or refuse to connect the pair.',
    }),
  }),
  status: object({
    conditions: conditions(),
    defaultPolicy: anyValue({
      optional: true,
      description: 'The spec of the policy "default" as it last was valid; a deleted one is restored to it.',
    }),
    policyRecord: array(string(), {
      optional: true,
      description:
        'The uids of the policies that the broker has and of the last 500 that were deleted. Members distinguish by it a deletion from a restored broker.',
    }),
    clusters: array(object({ id: string(), lastSeen: string({ optional: true }) }), {
      optional: true,
      listMapKeys: ['id'],
    }),
  }),
  printerColumns: [
    { name: 'Ready', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type Broker = KindOf<typeof Broker>;
