import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, externalKind, type KubeObject } from '@capstan/kube';
import {
  APPLIED_ANNOTATION,
  CAUSE_ANNOTATION,
  HELD_ANNOTATION,
  INVENTORY_LABEL,
  MEMORY_ANNOTATION,
  OWNER_ANNOTATION,
  ROLLED_ANNOTATION,
  TEMPLATE_ANNOTATION,
  TEMPLATE_HISTORY_ANNOTATION,
} from '../marks.ts';
import { apply } from '../plan/index.ts';
import { bodyToSend, childBody, ownerReference, templateMark, withoutPaths } from './child-body.ts';
import { OWNED, ownershipOf } from './diff.test-support.ts';

const metadata = { name: 'a', namespace: 'default' };
const deployment = (image: string, replicas = 1) => ({
  metadata,
  spec: {
    replicas,
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'main', image }] } },
  },
});
const bodyOf = (image: string, options = {}) => childBody(apply(Deployment, deployment(image), options), OWNED);

describe('what is sent of a child', () => {
  test('carries whose it is, so that it is found wherever it lives', () => {
    const { body } = childBody(apply(ConfigMap, { metadata: { ...metadata, labels: { mine: 'x' } } }), OWNED);
    assert.deepEqual(body.metadata.labels, { mine: 'x', [INVENTORY_LABEL]: OWNED.inventory });
    assert.equal(body.metadata.annotations?.[OWNER_ANNOTATION], 'test.web ConfigMap default/owner');
  });

  test('has the owner reference where Kubernetes follows it', () => {
    const cluster = { ...OWNED.object, metadata: { name: 'c', uid: 'u' } };
    assert.equal(ownerReference(OWNED.object, 'default')?.uid, 'uid-owner');
    assert.equal(ownerReference(OWNED.object, 'elsewhere'), undefined);
    assert.equal(ownerReference(OWNED.object, undefined), undefined);
    assert.equal(ownerReference(cluster, 'default')?.controller, true);
    assert.equal(ownerReference(cluster, undefined)?.blockOwnerDeletion, true);
  });

  test('keeps the owner references that the plan gives', () => {
    const other = { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'other' };
    const { body } = childBody(apply(ConfigMap, { metadata: { ...metadata, ownerReferences: [other] } }), OWNED);
    assert.deepEqual(
      body.metadata.ownerReferences?.map(({ uid }) => uid),
      ['other', 'uid-owner'],
    );
  });

  test('says which object it was made for: another of its name is not overwritten', () => {
    const created = bodyOf('a:1');
    assert.equal(bodyToSend(created, undefined).metadata.uid, undefined);
    assert.equal(bodyToSend(created, { apiVersion: '', kind: '', metadata: { uid: 'u1' } }).metadata.uid, 'u1');
  });

  test('keeps what the pods were last rolled for while the template stays, and drops it when it changes', () => {
    const before = bodyToSend(bodyOf('a:1'), undefined);
    const written = (body: KubeObject, cause: string): KubeObject => ({
      ...body,
      metadata: { ...body.metadata, annotations: { ...body.metadata.annotations, [CAUSE_ANNOTATION]: cause } },
    });
    const rolledOf = (body: KubeObject) => body.metadata.annotations?.[ROLLED_ANNOTATION];
    assert.equal(rolledOf(before), undefined);
    const rolled = bodyToSend(bodyOf('a:2'), written(before, 'made'));
    assert.equal(rolledOf(rolled), undefined);
    const scaled = bodyToSend(bodyOf('a:2'), written(rolled, 'another image'));
    assert.equal(rolledOf(scaled), 'another image');
    assert.equal(rolledOf(bodyToSend(bodyOf('a:2'), written(scaled, 'scaled'))), 'another image');
    assert.equal(rolledOf(bodyToSend(bodyOf('a:3'), written(scaled, 'scaled'))), undefined);
  });

  test('carries what is to be remembered, the same for the same content', () => {
    const memory = (value: unknown) => childBody(apply(ConfigMap, { metadata }, { memory: value }), OWNED);
    assert.equal(memory({ b: 1, a: 2 }).body.metadata.annotations?.[MEMORY_ANNOTATION], '{"a":2,"b":1}');
    assert.equal(memory({ b: 1, a: 2 }).digest, memory({ a: 2, b: 1 }).digest);
    assert.notEqual(memory({ a: 1 }).digest, memory({ a: 2 }).digest);
  });
});

describe('the digest of a child', () => {
  test('changes with what is planned and with its owner, and with nothing else', () => {
    const before = bodyOf('a:1').digest;
    assert.equal(bodyOf('a:1').digest, before);
    assert.notEqual(bodyOf('a:2').digest, before);
    assert.notEqual(childBody(apply(Deployment, deployment('a:1')), ownershipOf('other')).digest, before);
  });

  test('is on what is sent, and does not count itself, the history or the cause', () => {
    const created = bodyOf('a:1');
    const sent = bodyToSend(created, undefined);
    assert.equal(sent.metadata.annotations?.[APPLIED_ANNOTATION], created.digest);
  });

  test('does not count yielded fields', () => {
    const of = (replicas: number) =>
      childBody(apply(Deployment, deployment('a:1', replicas), { yields: ['spec.replicas'] }), OWNED).digest;
    assert.equal(of(1), of(5));
  });
});

describe('a pod template', () => {
  test('is marked with its digest, which a rollback brings back', () => {
    const [one, two] = [bodyOf('a:1'), bodyOf('a:2')];
    assert.equal(templateMark(one.body), one.template);
    assert.notEqual(one.template, two.template);
    assert.equal(bodyOf('a:1').template, one.template);
  });

  test('is not rolled by what is outside it', () => {
    const labelled = { ...deployment('a:1', 7), metadata: { ...metadata, labels: { x: 'y' } } };
    assert.equal(childBody(apply(Deployment, labelled), ownershipOf('other')).template, bodyOf('a:1').template);
  });

  test('is remembered with its predecessors, newest first, as many as a Deployment keeps', () => {
    let live: KubeObject | undefined;
    const marks: string[] = [];
    for (let version = 0; version < 12; version++) {
      const created = bodyOf(`a:${version}`);
      marks.unshift(created.template ?? '');
      live = bodyToSend(created, live);
    }
    assert.deepEqual(live?.metadata.annotations?.[TEMPLATE_HISTORY_ANNOTATION]?.split(' '), marks.slice(0, 10));
    const again = bodyToSend(bodyOf('a:9'), live).metadata.annotations?.[TEMPLATE_HISTORY_ANNOTATION]?.split(' ');
    assert.equal(new Set(again).size, 10);
    assert.equal(again?.[0], marks[2]);
  });

  test('a pod template of other kinds is not ours', () => {
    assert.equal(childBody(apply(ConfigMap, { metadata }), OWNED).template, undefined);
    // The template of a Job cannot be changed once it is there, not even to mark it.
    const Job = externalKind<KubeObject & { spec: object }>({
      group: 'batch',
      version: 'v1',
      kind: 'Job',
      plural: 'jobs',
      scope: 'Namespaced',
    });
    const job = apply(Job, { metadata, spec: { template: {} } });
    assert.equal(childBody(job, OWNED).template, undefined);
  });

  test('a pod template that was held is released by the next apply, which takes the mark over to remove it', () => {
    const held = { apiVersion: '', kind: '', metadata: { annotations: { [HELD_ANNOTATION]: 'v1.x' } } };
    assert.equal(bodyToSend(bodyOf('a:1'), held).metadata.annotations?.[HELD_ANNOTATION], '');
    assert.equal(HELD_ANNOTATION in (bodyToSend(bodyOf('a:1'), undefined).metadata.annotations ?? {}), false);
  });

  test('has the mark among its own annotations', () => {
    const child = deployment('a:1');
    const annotated = {
      ...child,
      spec: { ...child.spec, template: { ...child.spec.template, metadata: { annotations: { x: 'y' } } } },
    };
    const { body, template } = childBody(apply(Deployment, annotated), OWNED);
    const { spec } = body as Deployment;
    assert.deepEqual(spec?.template.metadata?.annotations, { x: 'y', [TEMPLATE_ANNOTATION]: template });
  });
});

describe('an object without some paths', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'X',
    metadata: { labels: { 'app.kubernetes.io/name': 'x', app: 'y' } },
    spec: { replicas: 1, other: { deep: 1 } },
  };

  test('lacks just those, dots in names included', () => {
    assert.deepEqual(withoutPaths(object, ['spec.replicas', 'metadata.labels.app.kubernetes.io/name']), {
      apiVersion: 'v1',
      kind: 'X',
      metadata: { labels: { app: 'y' } },
      spec: { other: { deep: 1 } },
    });
  });

  test('is the same one when it has none of them', () => {
    assert.equal(withoutPaths(object, ['spec.none', 'none', 'spec.replicas.below', 'spec.other.deep.er']), object);
  });
});
