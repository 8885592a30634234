import { defineKind, type KindOf, object } from '@capstan/kube';
import { GROUP, PACKAGE_CATEGORIES, PACKAGE_COLUMNS, REVISION_CATEGORIES, REVISION_COLUMNS } from './group.ts';
import {
  packageFields,
  packageMemory,
  packageStatusFields,
  revisionFields,
  revisionRuntimeFields,
  revisionRuntimeStatusFields,
  revisionStatusFields,
  runtimeFields,
} from './package-fields.ts';

export const Provider = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'Provider',
  scope: 'Cluster',
  categories: PACKAGE_CATEGORIES,
  description: 'A package of custom resources with the controller that serves them.',
  spec: object({ ...packageFields(), ...runtimeFields() }),
  status: object(packageStatusFields()),
  memory: packageMemory(),
  printerColumns: PACKAGE_COLUMNS,
});
export type Provider = KindOf<typeof Provider>;

export const ProviderRevision = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'ProviderRevision',
  scope: 'Cluster',
  categories: REVISION_CATEGORIES,
  description: 'One version of a Provider. Created for a Provider, not by users.',
  spec: object({ ...revisionFields(), ...revisionRuntimeFields() }),
  status: object({ ...revisionStatusFields(), ...revisionRuntimeStatusFields() }),
  printerColumns: REVISION_COLUMNS,
});
export type ProviderRevision = KindOf<typeof ProviderRevision>;
