import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Secret, Service } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { type DigestKey, sameDigest } from '../digest.ts';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { type Context, reconciler } from '../reconciler.ts';
import { evaluate } from '../runtime/writer/evaluate.ts';
import { derivation } from './derivation.ts';
import { index } from './kind-index.ts';
import type { Reader } from './reader.ts';
import { at, owner, READS, secret, seen, service } from './world-reader.test-support.ts';

describe('a digest is keyed when it covers', () => {
  const passwordOf = (object: Secret) => object.data?.['password'];
  const decodedOf = (object: Secret) => ({ value: Buffer.from(object.data?.['password'] ?? '', 'base64').toString() });
  const bySelf = index(Secret, 'self', () => ['all']);
  const whole = derivation({ name: 'whole', compute: ({ read }) => read.get(Secret, at('s')) });
  const part = derivation({
    name: 'part',
    compute: ({ read }) => ({ line: `password=${read.get(Secret, at('s'), decodedOf)?.value}` }),
  });
  const lineOf = ({ line }: { line: string }) => line;
  const further = derivation({ name: 'further', compute: ({ read }) => read.derived(part, '', lineOf) });

  const cases: [what: string, value: (read: Reader) => unknown][] = [
    ['a Secret', (read) => read.get(Secret, at('s'))],
    ['a part of one', (read) => read.get(Secret, at('s'), passwordOf)],
    [
      'what was decoded from one',
      (read) => Buffer.from(read.get(Secret, at('s'), passwordOf) ?? '', 'base64').toString(),
    ],
    ['its bytes', (read) => Buffer.from(read.get(Secret, at('s'), passwordOf) ?? '', 'base64')],
    ['a text with one in it', (read) => `--password=${read.get(Secret, at('s'), decodedOf)?.value}`],
    ['one out of a list', (read) => read.list(Secret, {}, passwordOf)],
    ['one found by content', (read) => read.by(bySelf, 'all', passwordOf)],
    ['the value of a derivation that read one', (read) => read.derived(whole, '')],
    ['a projection of such a value', (read) => read.derived(part, '', lineOf)],
    ['the value of a derivation of derivations', (read) => read.derived(further, '')],
    ['one from another world', (read) => read.in('far')?.get(Secret, at('s'), passwordOf)],
  ];
  const withSecret = (password: string) => ({
    objects: [secret(password)],
    worlds: { far: { objects: [secret(password)] } },
  });
  for (const [what, value] of cases) {
    test(what, () => {
      const digestFor = (password: string) =>
        seen(({ read, digest }) => digest('x', value(read)), withSecret(password)) as string;
      const before = digestFor('hunter2');
      assert.match(before, /^v1\.[0-9a-f]{32}\.test_n\.[0-9a-f]{32}$/);
      assert.equal(digestFor('hunter2'), before);
      const after = digestFor('hunter3');
      assert.notEqual(after, before);
      assert.equal(after.split('.')[1], before.split('.')[1], 'the plain part says nothing about the secret');
    });
  }

  test('nothing secret: then it is not', () => {
    const objects = [secret('hunter2'), service('a')];
    const plain = /^v1\.[0-9a-f]{32}$/;
    assert.match(seen(({ read, digest }) => digest(read.get(Service, at('a'))), { objects }) as string, plain);
    assert.match(
      seen(
        ({ read, digest }) => {
          read.get(Secret, at('s'));
          return digest(read.get(Service, at('a')));
        },
        { objects },
      ) as string,
      plain,
    );
    const exists = derivation({
      name: 'exists',
      compute: ({ read }) => ({ exists: read.get(Secret, at('s')) !== undefined }),
    });
    assert.match(seen(({ read, digest }) => digest(read.derived(exists, '')), { objects }) as string, plain);
  });

  test('a secret, by its namespace too: equal secrets of two namespaces have unequal digests, and none under another key is said to differ', () => {
    const owners = ['one', 'two'].map((namespace) => ({
      ...owner,
      metadata: { ...at('owner', namespace), uid: namespace },
    }));
    const secrets = ['one', 'two'].map((namespace) => ({ ...secret('hunter2'), metadata: at('s', namespace) }));
    const dataOf = ({ data }: Secret) => data;
    const digests: string[] = [];
    const hashes = derivation<string>({
      name: 'hashes',
      compute({ key, read, digest }) {
        const [namespace = ''] = key.split('/');
        return digest(read.get(Secret, at('s', namespace), dataOf));
      },
    });
    const hashing = reconciler({
      name: 'hashing',
      resource: ConfigMap,
      reads: READS,
      reconcile({ object: { metadata }, read, digest }) {
        const { namespace = '' } = metadata;
        digests.push(digest(read.get(Secret, at('s', namespace), dataOf)), read.derived(hashes, `${namespace}/x`));
        return plan();
      },
    });
    evaluate({
      operator: operator({ name: 'test', kinds: [], reconcilers: [hashing] }),
      clock: createVirtualClock(),
      objects: [...owners, ...secrets],
    });
    const different = [...new Set(digests)];
    assert.equal(different.length, 2, 'one a namespace');
    const [one = '', two = ''] = different;
    assert.equal(one.split('.')[1], two.split('.')[1]);
    const earlier = one.replace('test_n', 'test').replace(/[0-9a-f]{32}$/, '0'.repeat(32));
    assert.ok(sameDigest(earlier, one), 'a hash of an earlier release rolls nothing');
  });

  test('a secret, by the key that the operator has', () => {
    const digestKey: DigestKey = { id: 'other', bytes: new Uint8Array(32).fill(1) };
    const check = ({ read, digest }: Context) => digest(read.get(Secret, at('s'), passwordOf));
    const [one, two] = [{}, { digestKey }].map((more) => seen(check, { ...withSecret('hunter2'), ...more }) as string);
    assert.match(two ?? '', /\.other_n\./);
    assert.notEqual(one?.split('.')[3], two?.split('.')[3]);
  });
});

test('a digest that is remembered for one list of values is not given for another', () => {
  const objects = [service('shared'), { ...owner, metadata: { ...at('second'), uid: 'v' } }];
  const found: string[] = [];
  const reads = reconciler<ConfigMap>({
    name: 'reads',
    resource: ConfigMap,
    reads: READS,
    reconcile({ object, read, digest }) {
      found.push(digest(read.get(Service, at('shared')), object.metadata.name));
      return plan();
    },
  });
  const created = operator({ name: 'test', kinds: [], reconcilers: [reads] });
  evaluate({ operator: created, clock: createVirtualClock(), objects: [owner, ...objects] });
  assert.equal(new Set(found).size, 2);
});
