// A preview and the edit itself, side by side: random edits of an owner whose children come, change and go. Each edit is previewed,
// then made, and the requests of the program, statuses apart, must be those of the preview. On a real server caches of quiet kinds are
// stale for the clock of the stage: prunes that wait for them are listed under `later` and not made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  array,
  ConfigMap,
  conditions,
  Deployment,
  defineKind,
  IngressClass,
  type KindOf,
  object,
  optional,
  PersistentVolumeClaim,
  Service,
  ServiceAccount,
  string,
} from '@capstan/kube';
import { createRandom, createStage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, type Child, conditionType, createOnly, plan } from '../plan/index.ts';
import { reconciler, writing } from '../reconciler.ts';
import { type PreviewWrite, preview } from './preview.ts';

const EDITS = 75;
const Owner = defineKind({
  group: 'agreement.capstan.dev',
  version: 'v1',
  kind: 'Owner',
  scope: 'Namespaced',
  spec: object({ children: array(string()), value: optional(string()) }),
  status: object({ conditions: conditions() }),
});
type Owner = KindOf<typeof Owner>;
const ready = conditionType<'Done'>('Ready');

const CHILDREN: Record<string, (name: string, value: string) => Child> = {
  config: (name, value) => apply(ConfigMap, { metadata: { name, namespace: 'default' }, data: { value } }),
  account: (name) => apply(ServiceAccount, { metadata: { name, namespace: 'default' } }),
  service: (name) =>
    apply(Service, {
      metadata: { name, namespace: 'default' },
      spec: { selector: { app: name }, ports: [{ port: 80 }] },
    }),
  claim: (name) =>
    apply(PersistentVolumeClaim, {
      metadata: { name, namespace: 'default' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }),
  // An owner in a namespace cannot own it: it needs the finalizer of the owner.
  class: (name) => apply(IngressClass, { metadata: { name }, spec: { controller: 'capstan.dev/none' } }),
  once: (name, value) => createOnly(ConfigMap, { metadata: { name, namespace: 'default' }, data: { value } }),
  deployment: (name, value) =>
    apply(Deployment, {
      metadata: { name, namespace: 'default' },
      spec: {
        replicas: value === 'c' ? 0 : 1,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: 'main', image: value }] },
        },
      },
    }),
};

const owners = reconciler<Owner>({
  name: 'owner',
  resource: Owner,
  writes: [
    writing(ConfigMap, ['apply', 'createOnly']),
    ServiceAccount,
    Service,
    PersistentVolumeClaim,
    Deployment,
    IngressClass,
  ],
  reconcile: ({ object: { metadata, spec } }) =>
    plan({
      children: spec.children.map((child) => {
        const make = CHILDREN[child];
        assert.ok(make);
        return make(`${metadata.name}-${child}`, spec.value ?? 'a');
      }),
      conditions: [ready.isTrue('Done', `children: ${spec.children.join(', ')}`)],
    }),
});

const PLURALS: Record<string, string> = {
  ConfigMap: 'configmaps',
  ServiceAccount: 'serviceaccounts',
  Service: 'services',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  Deployment: 'deployments',
  Owner: 'owners',
  IngressClass: 'ingressclasses',
};
const METHODS: Record<string, string> = {
  delete: 'DELETE',
  apply: 'PATCH',
  status: 'PATCH',
  finalizer: 'PATCH',
  create: 'POST',
};

test(`${EDITS} random edits write what their previews show`, async () => {
  const random = createRandom(24);
  const stage = await createStage({
    operators: [operator({ name: 'agreement', kinds: [Owner], reconcilers: [owners] })],
    given: async (client) => {
      for (const name of ['a', 'b'])
        await client.create(Owner, {
          apiVersion: Owner.apiVersion,
          kind: Owner.kind,
          metadata: { name, namespace: 'default' },
          spec: { children: [] },
        });
    },
  });
  try {
    for (let edit = 0; edit < EDITS; edit++) {
      const ref = { namespace: 'default', name: random.pick(['a', 'b']) };
      const spec = {
        children: Object.keys(CHILDREN).filter(() => random.chance(0.5)),
        value: random.pick(['a', 'b', 'c']),
      };
      const current = await stage.client.find(Owner, ref);
      const isDeletion = current !== undefined && random.chance(0.15);
      const changed = { ...(current ?? { ...Owner, metadata: ref }), spec };
      const change = isDeletion
        ? { kind: Owner, ref, gone: true as const }
        : { kind: Owner, object: { apiVersion: Owner.apiVersion, kind: Owner.kind, metadata: changed.metadata, spec } };
      const { writes } = await preview(stage.program.runtime, [change]);
      const expected = writes.filter(({ by, verb }) => by !== 'garbage collection' && verb !== 'status').map(requestOf);
      stage.transport.clear();
      if (isDeletion) await stage.client.delete(Owner, ref);
      else if (current !== undefined) await stage.client.patch(Owner, ref, 'merge', { spec });
      else await stage.client.create(Owner, { apiVersion: Owner.apiVersion, kind: Owner.kind, metadata: ref, spec });
      await stage.settle();
      const written = stage.transport.writes.filter((line) => !line.endsWith('/status'));
      const made = written.map((line) => line.replace(/ .*\/namespaces\/default\/| \/api.*\/v1\//, ' '));
      const what = `edit ${edit} of ${ref.name}: ${isDeletion ? 'deleted' : JSON.stringify(spec)}`;
      assert.deepEqual(made.toSorted(), expected.toSorted(), what);
    }
  } finally {
    await stage.end();
  }
});

function requestOf({ verb, object: written }: PreviewWrite): string {
  const [kind = '', key = ''] = written.split(' ');
  const name = key.split('/').at(-1);
  if (verb === 'create') return `POST ${PLURALS[kind]}`;
  return `${METHODS[verb] ?? verb} ${PLURALS[kind]}/${name}${verb === 'status' ? '/status' : ''}`;
}
