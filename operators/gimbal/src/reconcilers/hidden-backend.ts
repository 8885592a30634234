// A backend under one of its kinds that an older one of the same namespace and name, under another kind, comes before.
import type { KubeObject } from '@capstan/kube';
import { plan, type Reconciler, reading, reconciler } from '@capstan/reconcile';
import { BACKENDS_AS_WRITTEN, DiscoveryBackend } from '../kinds/index.ts';
import { composeErrors } from '../status/errors.ts';
import { accepted } from './acceptance.ts';

export const hiddenBackends: readonly Reconciler[] = BACKENDS_AS_WRITTEN.map(({ name, kind }) =>
  reconciler<KubeObject>({
    name,
    resource: kind,
    reads: [reading(kind, 'everywhere', { optional: true }), DiscoveryBackend],
    primary: false,
    reconcile({ object: backend, read }) {
      const { namespace = '', name: own = '', uid, creationTimestamp = '' } = backend.metadata;
      const shown = read.get(DiscoveryBackend, { namespace, name: own }, shownOf);
      // An object that the view shows is reconciled under its own kind.
      if (shown === undefined || shown.uid === uid) return plan();
      const message = `the name belongs to ${shown.kind} ${namespace}/${own}, which is older; names of backends are unique over all their kinds`;
      return plan({
        conditions: [accepted.isFalse('DuplicateName', message)],
        // It was so from its beginning.
        status: {
          phase: 'Rejected',
          errors: composeErrors([{ type: 'DuplicateName', message, at: creationTimestamp }], [], creationTimestamp),
        },
      });
    },
  }),
);

const shownOf = ({ metadata, writtenAs }: DiscoveryBackend) => ({
  uid: metadata.uid,
  kind: writtenAs ?? DiscoveryBackend.kind,
});
