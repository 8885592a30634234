import {
  anyValue,
  array,
  conditions,
  defineKind,
  integer,
  type KindOf,
  map,
  object,
  optional,
  string,
} from '@capstan/kube';
import { COMMON } from './group.ts';

const requirement = () =>
  object({ key: string(), operator: string(), values: array(string(), { optional: true }) }, { optional: true });
const selector = () =>
  object(
    { matchLabels: map(string(), { optional: true }), matchExpressions: array(requirement(), { optional: true }) },
    { optional: true },
  );

/**
 * The choice of cable drivers for pairs of clusters. A structural schema has no union of list and object, and the design has both for
 * `spec`. The server takes either, and problems are reported in the condition Accepted.
 */
export const CablePolicies = defineKind({
  ...COMMON,
  version: 'v1',
  kind: 'CablePolicies',
  plural: 'cablepolicies',
  singular: 'cablepolicy',
  listKind: 'CablePoliciesList',
  shortNames: ['cpol'],
  description: 'The cable driver for pairs of clusters, chosen by the labels of their Cluster objects.',
  spec: anyValue({
    optional: true,
    description:
      'One rule, or a list of rules: leftClusterSelector, rightClusterSelector (empty: any cluster), cableDriver.name, cableDriver.options, priority, onUnavailable.',
  }),
  status: object({
    conditions: conditions(),
    drivers: string({ optional: true, description: 'The drivers of its rules, with commas.' }),
    matchedPairs: integer({ optional: true, description: 'Pairs of known clusters that this policy decides.' }),
    effective: array(
      object({
        leftClusterSelector: selector(),
        rightClusterSelector: selector(),
        cableDriver: object({
          name: string(),
          options: optional(map(string(), { description: 'Without the content of a ConfigMap.' })),
        }),
        priority: integer({ optional: true }),
        onUnavailable: string({ optional: true }),
      }),
      { optional: true, description: 'The rules as they are understood.' },
    ),
  }),
  printerColumns: [
    { name: 'Accepted', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
    { name: 'Driver', jsonPath: '.status.drivers' },
    { name: 'Pairs', jsonPath: '.status.matchedPairs', type: 'integer' },
    { name: 'Origin', jsonPath: '.metadata.labels.submariner-io/clusterID', priority: 1 },
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type CablePolicies = KindOf<typeof CablePolicies>;
