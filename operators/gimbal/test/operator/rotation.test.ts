// Credentials that change: verified before they count, at the time that was asked for, and never at the cost of those that work.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deployment, Secret } from '@capstan/kube';
import { DEPLOYMENT, ELSEWHERE, FIRST, played, ref, SECOND, THIRD, writesTo } from './fixtures.ts';

const ROTATE_NOW = 'gimbal.heptio.com/rotate-now';

describe('before there are credentials', () => {
  test('a missing Secret is reported, and noticed when it is created', () =>
    played({ secret: undefined }, async (stage) => {
      assert.deepEqual(await stage.conditions('CredentialsValid', 'DiscovererReady'), [
        'False SecretMissing',
        'False NoCredentials',
      ]);
      assert.deepEqual(await stage.errors(), ['SecretMissing']);
      assert.equal(await stage.deployment(), undefined);
      await stage.secret('east-kubecfg', FIRST);
      assert.equal(await stage.mounted(), FIRST);
      assert.deepEqual(await stage.errors(), []);
    }));

  test('a Secret without a kubeconfig is reported, with the keys that it may have', () =>
    played({ secret: undefined }, async (stage) => {
      await stage.client.create(Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: ref('east-kubecfg'),
        data: { other: 'eA==' },
      });
      await stage.settle();
      assert.deepEqual(await stage.errors(), ['SecretInvalid']);
      assert.match(await stage.message('CredentialsValid'), /config, kubeconfig, value/);
      assert.deepEqual(stage.remote.logins, [], 'there is nothing to try');
    }));

  test('an invalid kubeconfig is reported, and not retried continuously', () =>
    played({ secret: 'nonsense' }, async (stage) => {
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False SecretInvalid']);
      await stage.clock.advance(3_600_000);
      await stage.settle();
      assert.equal(stage.remote.logins.length, 1);
    }));

  test('a remote side that does not answer is tried again, with longer and longer waits', () =>
    played({ isDown: true }, async (stage) => {
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False Unreachable']);
      assert.deepEqual(await stage.errors(), ['Unreachable']);
      await stage.clock.advance(3_600_000);
      const { length } = stage.remote.logins;
      assert.ok(length > 10 && length < 25, `${length} logins in an hour`);
      stage.remote.isDown = false;
      await stage.clock.advance(300_000);
      await stage.settle();
      assert.equal(await stage.mounted(), FIRST);
      assert.deepEqual(await stage.errors(), []);
    }));

  test('credentials that are refused are reported', () =>
    played({ accepted: [] }, async (stage) => {
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False AuthFailed']);
      assert.equal(await stage.deployment(), undefined);
      stage.remote.accepted.add(SECOND);
      await stage.secret('east-kubecfg', SECOND);
      assert.equal(await stage.mounted(), SECOND, 'a changed Secret is tried at once');
    }));

  test('a window does not hold back the first', () =>
    played({ spec: { rotation: { window: '0 2 1 1 */1h' } } }, async (stage) =>
      assert.equal(await stage.mounted(), FIRST),
    ));
});

describe('a Secret that changes in place', () => {
  test('rolls the discoverer once, with a copy of its own; the copy before is kept', () =>
    played({}, async (stage) => {
      await stage.rollOut();
      await stage.report();
      const [before] = await stage.copies();
      stage.transport.clear();
      await stage.secret('east-kubecfg', SECOND);
      assert.deepEqual(stage.remote.logins, [FIRST, SECOND]);
      assert.equal(await stage.mounted(), SECOND);
      assert.equal(writesTo(stage, 'deployments').length, 1);
      const copies = await stage.copies();
      assert.equal(copies.length, 2);
      assert.ok(copies.includes(before ?? ''));
      assert.ok(stage.reported.includes('CredentialsRotated'));
      assert.deepEqual(await stage.conditions('RotationPending', 'DiscovererReady'), [
        'True CuttingOver',
        'True Updating',
      ]);
      await stage.rollOut();
      await stage.report();
      assert.deepEqual(await stage.conditions('RotationPending', 'DiscovererReady'), ['False Stable', 'True Running']);
      assert.equal((await stage.backend()).status?.credentials?.rotations, 1);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('again and again leaves two copies', () =>
    played({}, async (stage) => {
      for (const text of [SECOND, THIRD, FIRST, SECOND]) await stage.secret('east-kubecfg', text);
      assert.equal((await stage.copies()).length, 2);
      assert.equal(await stage.mounted(), SECOND);
    }));

  test('a Secret whose labels or other keys change in place changes nothing', () =>
    played({}, async (stage) => {
      stage.transport.clear();
      await stage.secret('east-kubecfg', FIRST, { note: 'by Ann' });
      await stage.client.patch(Secret, ref('east-kubecfg'), 'merge', { metadata: { labels: { a: 'b' } } });
      await stage.settle();
      assert.deepEqual(stage.transport.writes, []);
      assert.deepEqual(stage.remote.logins, [FIRST]);
    }));

  test('a burst of edits of a Secret is one change', () =>
    played({}, async (stage) => {
      stage.transport.clear();
      const { client, clock } = stage;
      for (const text of [SECOND, THIRD, SECOND, THIRD]) {
        const data = { config: Buffer.from(text).toString('base64') };
        await client.patch(Secret, ref('east-kubecfg'), 'merge', { data });
        await clock.advance(200);
      }
      await clock.advance(4000);
      await stage.settle();
      assert.equal(await stage.mounted(), THIRD);
      assert.equal(writesTo(stage, 'deployments').length, 1);
      assert.equal((await stage.copies()).length, 2);
    }));

  test('to credentials that are refused leaves the old ones in force, and says so', () =>
    played({}, async (stage) => {
      await stage.rollOut();
      stage.transport.clear();
      await stage.secret('east-kubecfg', 'A s3cr3t-wrong');
      assert.deepEqual(writesTo(stage, 'deployments'), []);
      assert.equal(await stage.mounted(), FIRST);
      assert.deepEqual(await stage.conditions('CredentialsValid', 'RotationPending', 'DiscovererReady'), [
        'False RotationFailed',
        'True Refused',
        'True Running',
      ]);
      assert.deepEqual(await stage.errors(), ['RotationFailed']);
      assert.ok(stage.reported.includes('RotationFailed'));
      assert.equal((await stage.backend()).status?.credentials?.failures, 1);
      assert.match(await stage.message('CredentialsValid'), /401.*continues with its current ones/);
      await stage.secret('east-kubecfg', FIRST);
      assert.deepEqual(await stage.conditions('CredentialsValid', 'RotationPending'), [
        'True Verified',
        'False Stable',
      ]);
      assert.deepEqual(writesTo(stage, 'deployments'), [], 'back to what was in force: nothing rolls');
    }));

  test('to what is no kubeconfig, or to none, leaves the old one in force', () =>
    played({}, async (stage) => {
      await stage.secret('east-kubecfg', 'nonsense');
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False RotationFailed']);
      await stage.client.patch(Secret, ref('east-kubecfg'), 'json', [{ op: 'remove', path: '/data/config' }]);
      await stage.settle();
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False SecretInvalid']);
      assert.equal(await stage.mounted(), FIRST);
    }));

  test('to those of another cluster is refused', () =>
    played({}, async (stage) => {
      stage.transport.clear();
      await stage.secret('east-kubecfg', ELSEWHERE);
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False WrongCluster']);
      assert.deepEqual(await stage.errors(), ['WrongCluster']);
      assert.match(await stage.message('CredentialsValid'), /uid-of-B.*uid-of-A/);
      assert.deepEqual(writesTo(stage, 'deployments'), []);
      assert.equal(await stage.mounted(), FIRST);
    }));

  test('while the remote side does not answer waits for it', () =>
    played({}, async (stage) => {
      stage.remote.isDown = true;
      await stage.secret('east-kubecfg', SECOND);
      assert.equal(await stage.mounted(), FIRST);
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False RotationFailed']);
      stage.remote.isDown = false;
      await stage.clock.advance(300_000);
      await stage.settle();
      assert.equal(await stage.mounted(), SECOND);
    }));
});

test('a Secret that is deleted leaves the discoverer running; the same again changes nothing', () =>
  played({}, async (stage) => {
    await stage.rollOut();
    stage.transport.clear();
    await stage.client.delete(Secret, ref('east-kubecfg'));
    await stage.settle();
    assert.deepEqual(await stage.conditions('CredentialsValid', 'DiscovererReady'), [
      'False SecretMissing',
      'True Running',
    ]);
    assert.deepEqual(await stage.errors(), ['SecretMissing']);
    assert.equal((await stage.copies()).length, 1);
    await stage.restart();
    assert.equal(await stage.mounted(), FIRST);
    await stage.secret('east-kubecfg', FIRST);
    assert.deepEqual(await stage.conditions('CredentialsValid'), ['True Verified']);
    assert.deepEqual(writesTo(stage, 'deployments'), []);
    assert.deepEqual(stage.remote.logins, [FIRST]);
  }));

test('a reference to another Secret is a change like any other; to an equal one it is none', () =>
  played({}, async (stage) => {
    await stage.secret('other', SECOND);
    await stage.edit({ secret: 'other' });
    assert.equal(await stage.mounted(), SECOND);
    assert.equal((await stage.backend()).status?.credentials?.source, 'other');
    await stage.secret('twin', SECOND);
    stage.transport.clear();
    await stage.edit({ secret: 'twin' });
    assert.deepEqual(writesTo(stage, 'deployments'), []);
    assert.equal((await stage.backend()).status?.credentials?.source, 'twin');
    await stage.edit({ secret: 'nowhere' });
    assert.deepEqual(await stage.conditions('CredentialsValid'), ['False SecretMissing']);
    assert.equal(await stage.mounted(), SECOND);
  }));

describe('a change that is scheduled', () => {
  const at = (ms: number, stage: { clock: { now(): number } }) => new Date(stage.clock.now() + ms).toISOString();
  const HOUR = 3_600_000;

  test('a change that is scheduled by notBefore is verified at once, and again when it comes into force', () =>
    played({}, async (stage) => {
      await stage.secret('next', SECOND);
      const notBefore = at(HOUR, stage);
      await stage.edit({ rotation: { secret: 'next', notBefore } });
      assert.deepEqual(await stage.conditions('CredentialsValid', 'RotationPending'), [
        'True Verified',
        'True Scheduled',
      ]);
      assert.match(await stage.message('RotationPending'), new RegExp(`at ${notBefore.slice(0, 16)}`));
      assert.equal(await stage.mounted(), FIRST);
      assert.deepEqual(stage.remote.logins, [FIRST, SECOND]);
      await stage.clock.advance(HOUR / 2);
      await stage.settle();
      assert.equal(await stage.mounted(), FIRST);
      await stage.clock.advance(HOUR / 2);
      await stage.settle();
      assert.equal(await stage.mounted(), SECOND);
      assert.deepEqual(stage.remote.logins, [FIRST, SECOND, SECOND]);
      assert.equal((await stage.backend()).status?.credentials?.source, 'next');
      stage.transport.clear();
      await stage.edit({ secret: 'next', rotation: null });
      assert.deepEqual(writesTo(stage, 'deployments'), [], 'naming it as the Secret makes no difference');
    }));

  test('fails early: invalid credentials are reported when they are named', () =>
    played({}, async (stage) => {
      await stage.secret('next', 'A s3cr3t-wrong');
      await stage.edit({ rotation: { secret: 'next', notBefore: at(10 * HOUR, stage) } });
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False RotationFailed']);
    }));

  test('is not carried out when the credentials have gone bad meanwhile', () =>
    played({}, async (stage) => {
      await stage.secret('next', SECOND);
      await stage.edit({ rotation: { secret: 'next', notBefore: at(HOUR / 2, stage) } });
      stage.remote.accepted.delete(SECOND);
      await stage.clock.advance(HOUR / 2);
      await stage.settle();
      assert.equal(await stage.mounted(), FIRST);
      assert.deepEqual(await stage.conditions('CredentialsValid'), ['False RotationFailed']);
    }));

  test('a change that is scheduled by a window waits for it, for a change in place too', () =>
    played({}, async (stage) => {
      const start = new Date(stage.clock.now() + HOUR / 2);
      await stage.edit({ rotation: { window: `${start.getUTCMinutes()} ${start.getUTCHours()} * * */1h` } });
      await stage.secret('east-kubecfg', SECOND);
      assert.deepEqual(await stage.conditions('RotationPending'), ['True Scheduled']);
      assert.equal(await stage.mounted(), FIRST);
      await stage.restart();
      assert.equal(await stage.mounted(), FIRST);
      await stage.clock.advance(HOUR / 2);
      await stage.settle();
      assert.equal(await stage.mounted(), SECOND);
      assert.deepEqual(await stage.conditions('RotationPending'), ['False Stable']);
    }));

  test('is brought forward by the annotation, once for each of its values', () =>
    played({ spec: { rotation: { window: '0 2 1 1 */1h' } } }, async (stage) => {
      await stage.secret('east-kubecfg', SECOND);
      assert.equal(await stage.mounted(), FIRST);
      await stage.annotate({ [ROTATE_NOW]: 'true' });
      assert.equal(await stage.mounted(), SECOND);
      await stage.secret('east-kubecfg', THIRD);
      assert.equal(await stage.mounted(), SECOND, 'that was for the change before');
      await stage.annotate({ [ROTATE_NOW]: 'again' });
      assert.equal(await stage.mounted(), THIRD);
    }));

  test('happens at once when the old credentials do not work any more', () =>
    played({ spec: { rotation: { window: '0 2 1 1 */1h' } } }, async (stage) => {
      await stage.rollOut();
      await stage.report();
      await stage.secret('east-kubecfg', SECOND);
      assert.equal(await stage.mounted(), FIRST);
      const error = { type: 'AuthFailed', message: '401; renew the kubeconfig', statusTime: '2026-01-01T00:00:00Z' };
      await stage.report({ synced: false, errors: [error] });
      assert.equal(await stage.mounted(), SECOND);
    }));

  for (const [what, rotation] of [
    ['a window that is none', { window: '0 2 * * 6' }],
    ['a zone that is none', { window: '0 2 * * 6/3h', timeZone: 'Europe/Atlantis' }],
    ['a zone without a window', { timeZone: 'Europe/Berlin' }],
    ['a window that never comes', { window: '0 0 31 2 */1h' }],
  ] as const)
    test(`is refused with ${what}, and what was in force stays`, () =>
      played({}, async (stage) => {
        await stage.edit({ rotation });
        assert.deepEqual(await stage.conditions('Accepted'), ['False InvalidSpec']);
        assert.match(await stage.message('Accepted'), /spec\.rotation\.(window|timeZone)/);
        assert.equal(await stage.mounted(), FIRST);
      }));
});

test('credentials that the remote side refuses while they are in force are reported', () =>
  played({}, async (stage) => {
    await stage.rollOut();
    const error = { type: 'AuthFailed', message: 'the token was revoked', statusTime: '2026-01-01T00:00:00Z' };
    await stage.report({ synced: false, errors: [error] });
    assert.deepEqual(await stage.conditions('CredentialsValid', 'Synced'), ['False AuthFailed', 'False AuthFailed']);
    assert.deepEqual(await stage.errors(), ['AuthFailed'], 'once, though both say so');
  }));

test('a discoverer that does not get ready with the new credentials is reported, and the old one goes on running', () =>
  played({}, async (stage) => {
    await stage.rollOut();
    await stage.secret('east-kubecfg', SECOND);
    const { generation } = (await stage.deployment())?.metadata ?? {};
    const stuck = {
      type: 'Progressing',
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: 'ReplicaSet has timed out progressing.',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      lastUpdateTime: '2026-01-01T00:00:00Z',
    };
    const status = {
      observedGeneration: generation,
      replicas: 2,
      updatedReplicas: 1,
      availableReplicas: 1,
      conditions: [stuck],
    };
    await stage.client.patch(Deployment, DEPLOYMENT, 'merge', { status }, { subresource: 'status' });
    await stage.settle();
    assert.deepEqual(await stage.errors(), ['RotationFailed']);
    assert.deepEqual(await stage.conditions('DiscovererReady'), ['True Updating']);
  }));

test('a Secret that says it is for another backend is noted, and used', () =>
  played({ secret: undefined }, async (stage) => {
    await stage.secret('east-kubecfg', FIRST, { 'backend-name': 'west\n' });
    assert.deepEqual(await stage.conditions('CredentialsValid'), ['True BackendNameMismatch']);
    assert.deepEqual(await stage.errors(), ['BackendNameMismatch']);
    assert.equal(await stage.mounted(), FIRST);
  }));
