import { defineKind, type KindOf, object } from '@capstan/kube';
import { GROUP, PACKAGE_CATEGORIES, PACKAGE_COLUMNS, REVISION_CATEGORIES, REVISION_COLUMNS } from './group.ts';
import {
  packageFields,
  packageMemory,
  packageStatusFields,
  revisionFields,
  revisionStatusFields,
} from './package-fields.ts';

export const Configuration = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'Configuration',
  scope: 'Cluster',
  categories: PACKAGE_CATEGORIES,
  description: 'A package of composite resources and compositions. It has no runtime.',
  spec: object(packageFields()),
  status: object(packageStatusFields()),
  memory: packageMemory(),
  printerColumns: PACKAGE_COLUMNS,
});
export type Configuration = KindOf<typeof Configuration>;

export const ConfigurationRevision = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'ConfigurationRevision',
  scope: 'Cluster',
  categories: REVISION_CATEGORIES,
  description: 'One version of a Configuration. Created for a Configuration, not by users.',
  spec: object(revisionFields()),
  status: object(revisionStatusFields()),
  printerColumns: REVISION_COLUMNS.filter(({ name }) => name !== 'Runtime'),
});
export type ConfigurationRevision = KindOf<typeof ConfigurationRevision>;
