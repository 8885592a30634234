// A backend under its one name, and under the two others that the seed's examples use. Reconcilers see DiscoveryBackends
// only; Discoverer and Discovery are there for their CustomResourceDefinitions, and for the one that is hidden behind another.
import { defineKind, type KindOf, object } from '@capstan/kube';
import { backendFields } from './backend-fields.ts';
import { backendStatus } from './backend-status.ts';
import { CONTOUR_GROUP, GROUP, VERSION } from './group.ts';

const condition = (name: string, type: string, priority = 0) => ({
  name,
  jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
  ...(priority === 0 ? {} : { priority }),
});

const COMMON = {
  version: VERSION,
  scope: 'Namespaced' as const,
  categories: ['gimbal'],
  rules: [
    {
      rule: 'has(self.cluster) || has(self.spec)',
      message: 'either cluster or spec is needed: type and secret of the backend are in it',
    },
    {
      rule: 'self.metadata.name.matches("^[a-z]([-a-z0-9]*[a-z0-9])?$") && self.metadata.name.size() <= 63',
      message:
        'the name of a backend has at most 63 lowercase letters, digits and hyphens, begins with a letter and does not end with a hyphen',
    },
  ],
  printerColumns: [
    { name: 'Type', jsonPath: '.status.effective.type' },
    { name: 'Status', jsonPath: '.status.effective.clusterStatus' },
    condition('Ready', 'DiscovererReady'),
    { name: 'Services', jsonPath: '.status.counts.replicatedServices', type: 'integer' as const },
    { name: 'Errors', jsonPath: '.status.errors[*].type' },
    condition('Drained', 'Drained'),
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' as const },
    condition('Accepted', 'Accepted', 1),
    condition('Synced', 'Synced', 1),
    { name: 'Phase', jsonPath: '.status.phase', priority: 1 },
  ],
};

const backend = () =>
  object({
    spec: object(backendFields(), { optional: true }),
    cluster: object(backendFields(), { optional: true, description: 'The same as spec.' }),
    status: backendStatus(),
  });

/** A view carries the kind under which its object was written. */
const writtenAs = (kind: string) => (written: Record<string, unknown>) => ({ ...written, writtenAs: kind });

export const DiscoveryBackend = defineKind({
  ...COMMON,
  group: GROUP,
  kind: 'DiscoveryBackend',
  shortNames: ['dbe'],
  description: 'A remote cluster whose services are brought here by a discoverer.',
  schema: backend(),
  aliases: [
    { kind: 'Discoverer', normalise: writtenAs('Discoverer') },
    { group: CONTOUR_GROUP, kind: 'Discovery', plural: 'discoveries', normalise: writtenAs('Discovery') },
  ],
});
export type DiscoveryBackend = KindOf<typeof DiscoveryBackend> & { writtenAs?: string };
export type BackendFields = NonNullable<DiscoveryBackend['spec']>;

export const Discoverer = defineKind({
  ...COMMON,
  group: GROUP,
  kind: 'Discoverer',
  description: 'The same as a DiscoveryBackend, under the name in the first example of the design.',
  schema: backend(),
});

export type Discoverer = KindOf<typeof Discoverer>;

export const Discovery = defineKind({
  ...COMMON,
  group: CONTOUR_GROUP,
  kind: 'Discovery',
  plural: 'discoveries',
  description: 'The same as a DiscoveryBackend, under the name in the second example of the design.',
  schema: backend(),
});
export type Discovery = KindOf<typeof Discovery>;
