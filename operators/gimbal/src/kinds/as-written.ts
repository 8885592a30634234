// The same objects once more, each under the kind that it was written as. Reconcilers see one view of all names of a backend,
// and in that view an object that has the namespace and name of an older one under another name is hidden. A user has to
// tell its owner.
import { externalKind, type Kind } from '@capstan/kube';
import { Discoverer, Discovery, DiscoveryBackend } from './discovery-backend.ts';

export const BACKENDS_AS_WRITTEN: readonly { readonly name: string; readonly kind: Kind }[] = [
  DiscoveryBackend,
  Discoverer,
  Discovery,
].map(({ group, version, kind, plural, scope }) => ({
  name: `hidden-${kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}`,
  // The kind has a name of its own, so that it is not taken for the view. The API addresses it by group and plural.
  kind: externalKind({ group, version, kind: `${kind}AsWritten`, plural, scope, hasStatus: true }),
}));
