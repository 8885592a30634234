// Whether a backend is accepted, and which of its fields are in force. The first reconciler of the kind: it shows the generation that the
// status was built from. A backend whose name belongs to an older one has nothing in force.
import { keyOfObject } from '@capstan/kube';
import { conditionType, drop, plan, reconciler } from '@capstan/reconcile';
import { acceptance, backendFields } from '../backend/backend.ts';
import { nameWarning } from '../backend/names.ts';
import { DiscoveryBackend } from '../kinds/index.ts';

export const accepted = conditionType<'Accepted' | 'PrefixOverlap' | 'DuplicateName' | 'InvalidName' | 'InvalidSpec'>(
  'Accepted',
);

export const backendAcceptance = reconciler<DiscoveryBackend>({
  name: 'acceptance',
  resource: DiscoveryBackend,
  primary: true,
  reconcile({ object: backend, read }) {
    const key = keyOfObject(backend);
    const verdict = read.derived(acceptance, key);
    const { effective } = read.derived(backendFields, key);
    if (!verdict.isAccepted) {
      const isLoser = verdict.reason === 'DuplicateName';
      const kept = !isLoser && effective !== undefined ? '; what was in force before stays so' : '';
      return plan({
        conditions: [accepted.isFalse(verdict.reason, `${verdict.message}${kept}`)],
        status: { effective: isLoser ? drop() : (effective ?? drop()) },
      });
    }
    const warning = nameWarning(backend.metadata.name ?? '');
    const condition =
      verdict.overlaps.length === 0
        ? accepted.isTrue('Accepted', warning ?? '')
        : accepted.isTrue(
            'PrefixOverlap',
            `names of services here and of ${verdict.overlaps.join(', ')} may come out the same: one of the names begins with the other`,
          );
    return plan({ conditions: [condition], status: { effective } });
  },
});
