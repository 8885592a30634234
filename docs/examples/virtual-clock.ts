// Time is a read: a Window stops a Deployment between two instants and gives it back its pods afterwards. Its test shows how
// everything that depends on time is tested without waiting.
import { conditions, Deployment, defineKind, object, string } from '@capstan/kube';
import { conditionType, operator, patch, plan, reconciler, writing } from '@capstan/reconcile';

export const Window = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Window',
  scope: 'Namespaced',
  spec: object(
    {
      deployment: string(),
      from: string({ format: 'date-time' }),
      until: string({ format: 'date-time' }),
    },
    { rules: [{ rule: 'self.from < self.until', message: 'until must be later than from', fieldPath: '.until' }] },
  ),
  status: object({ conditions: conditions() }),
});

const open = conditionType<'Stopped' | 'Waiting' | 'Over' | 'NoDeployment'>('Open');
const exists = () => true;

export const window = reconciler({
  name: 'window',
  resource: Window,
  reads: [Deployment],
  writes: [writing(Deployment, 'patch')],
  reconcile({ object: { metadata, spec }, read }) {
    const ref = { namespace: metadata.namespace ?? '', name: spec.deployment };
    if (!read.get(Deployment, ref, exists))
      return plan({ conditions: [open.isFalse('NoDeployment', `there is no Deployment ${ref.name}; create it`)] });
    // Each is false before its instant, and the run is repeated when that comes.
    if (!read.reached(spec.from)) return plan({ conditions: [open.isFalse('Waiting', `it opens at ${spec.from}`)] });
    // The plan no longer mentions the patch: the number of replicas before it is put back.
    if (read.reached(spec.until)) return plan({ conditions: [open.isFalse('Over', `it ended at ${spec.until}`)] });
    return plan({
      patches: [patch(Deployment, ref, [{ path: '/spec/replicas', value: 0 }])],
      conditions: [open.isTrue('Stopped', `Deployment ${ref.name} has no pods until ${spec.until}`)],
    });
  },
});

export default operator({ name: 'windows', kinds: [Window], reconcilers: [window] });
