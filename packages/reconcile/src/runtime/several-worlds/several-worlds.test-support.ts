import {
  ConfigMap,
  conditions,
  defineKind,
  externalKind,
  type KindOf,
  object,
  optional,
  Secret,
  string,
} from '@capstan/kube';
import { operator } from '../../operator.ts';
import { apply, plan } from '../../plan/index.ts';
import { reading, reconciler } from '../../reconciler.ts';

export const Copy = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Copy',
  scope: 'Namespaced',
  spec: object({ from: optional(string()), secret: optional(string()) }),
  status: object({ conditions: conditions(), text: optional(string()) }),
  aliases: [
    {
      kind: 'Duplicate',
      normalise: ({ spec, ...rest }) => ({ ...rest, spec: { from: (spec as { source?: string }).source } }),
    },
  ],
});

export type Copy = KindOf<typeof Copy>;

export const Duplicate = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Duplicate',
  scope: 'Namespaced',
  spec: object({ source: optional(string()) }),
  status: object({ conditions: conditions(), text: optional(string()) }),
});

export const Absent = externalKind({
  group: 'nowhere.dev',
  version: 'v1',
  kind: 'Absent',
  plural: 'absents',
  scope: 'Namespaced',
});

export const copy = reconciler<Copy>({
  name: 'copy',
  resource: Copy,
  reads: [reading(ConfigMap, 'everywhere'), Secret, reading(Absent, 'everywhere', { optional: true })],
  writes: [ConfigMap],
  reconcile({ object: { metadata, spec }, read }) {
    const { name = '', namespace = '' } = metadata;
    if (spec.secret !== undefined) {
      const found = read.get(Secret, { namespace, name: spec.secret }, (secret) => secret.data?.['text'] !== undefined);
      return plan({ status: { text: found === undefined ? 'absent' : 'present' } });
    }
    if (spec.from === 'access') return plan({ status: { text: read.access(Absent) } });
    const other = spec.from === undefined ? undefined : read.in(spec.from);
    if (other === undefined) return plan({ status: { text: `worlds: ${read.worlds().join(' ')}` } });
    const text = other.get(ConfigMap, { namespace, name: 'source' })?.data?.['text'] ?? 'none';
    return plan({
      children: [apply(ConfigMap, { metadata: { name: `${name}-copy`, namespace }, data: { text } })],
      status: { text },
    });
  },
});

export const operators = [operator({ name: 'test', kinds: [Copy, Duplicate], reconcilers: [copy] })];

export const ref = (name: string) => ({ namespace: 'default', name });

export const source = (text: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref('source'),
  data: { text },
});
