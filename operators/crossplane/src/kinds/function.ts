import { defineKind, type KindOf, object, string } from '@capstan/kube';
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

/** Named so because Function is a word of the language. */
export const FunctionPackage = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'Function',
  scope: 'Cluster',
  categories: PACKAGE_CATEGORIES,
  description: 'A package with a composition function that answers over gRPC.',
  versions: [{ name: 'v1beta1' }],
  spec: object({ ...packageFields(), ...runtimeFields() }),
  status: object(packageStatusFields()),
  memory: packageMemory(),
  printerColumns: PACKAGE_COLUMNS,
});
export type FunctionPackage = KindOf<typeof FunctionPackage>;

export const FunctionRevision = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'FunctionRevision',
  scope: 'Cluster',
  categories: REVISION_CATEGORIES,
  description: 'One version of a Function. Created for a Function, not by users.',
  versions: [{ name: 'v1beta1' }],
  spec: object({ ...revisionFields(), ...revisionRuntimeFields() }),
  status: object({
    ...revisionStatusFields(),
    ...revisionRuntimeStatusFields(),
    endpoint: string({ optional: true, description: 'Where the function answers, as gRPC writes addresses.' }),
  }),
  printerColumns: REVISION_COLUMNS,
});
export type FunctionRevision = KindOf<typeof FunctionRevision>;
