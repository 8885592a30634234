import { array, conditions, defineKind, enumOf, integer, type KindOf, object, string } from '@capstan/kube';
import { GROUP } from './group.ts';
import { dependency } from './package-fields.ts';

/** The only Lock there is. */
export const LOCK_NAME = 'lock';

/** The installed packages and their dependencies, in one object. It has no spec, as upstream's has none. */
export const Lock = defineKind({
  group: GROUP,
  version: 'v1beta1',
  kind: 'Lock',
  scope: 'Cluster',
  categories: ['crossplane'],
  description: 'The packages that are installed, and their dependencies.',
  schema: object({
    packages: array(
      object({
        name: string({ description: 'The revision.' }),
        apiVersion: string({ optional: true }),
        kind: string({ optional: true, description: 'The kind of the package, not of the revision.' }),
        type: enumOf(['Configuration', 'Provider', 'Function'], {
          optional: true,
          description: 'Deprecated: see kind.',
        }),
        source: string({ description: 'The package’s image without tag and digest.' }),
        version: string({ description: 'Its tag or digest.' }),
        dependencies: array(dependency(), { default: [] }),
      }),
      { optional: true, listMapKeys: ['name'] },
    ),
    status: object(
      {
        conditions: conditions({ isMessageOptional: true }),
        observedGeneration: integer({ optional: true, format: 'int64', minimum: 0 }),
      },
      { optional: true },
    ),
  }),
  rules: [{ rule: `self.metadata.name == '${LOCK_NAME}'`, message: `there is one Lock, and its name is ${LOCK_NAME}` }],
  printerColumns: [{ name: 'Resolved', jsonPath: '.status.conditions[?(@.type=="Resolved")].status' }],
});
export type Lock = KindOf<typeof Lock>;
export type LockPackage = NonNullable<Lock['packages']>[number];
