// Moments of a recording, its console, a recording from outside, and another version that comes as a package.
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ConfigMap, Secret, systemClock } from '@capstan/kube';
import { openRecording } from '@capstan/reconcile';
import { testIo } from '../../src/cli/test-io.test-support.ts';
import { runCommandLine } from '../../src/cli.ts';
import { access, modules, OPERATOR, type RecordedSites, recordedSites, Site, siteOf } from './recorded-sites.ts';

const HOME = { namespace: 'default', name: 'home' };

describe('a recording of three texts', () => {
  let stage: RecordedSites;
  let file = '';
  /** The waves in which the plan of the site changed. */
  let waves: readonly { readonly wave: number; readonly at: string }[] = [];

  before(async () => {
    stage = await recordedSites();
    const { cluster, recorded, root, run, textIs } = stage;
    await cluster.client.create(Secret, access());
    const folder = join(root, 'record');
    await recorded(folder, [], async () => {
      await cluster.client.create(Site, siteOf('home', 'first'));
      await textIs('home', 'first');
      for (const text of ['second', 'third']) {
        await cluster.client.patch(Site, HOME, 'merge', { spec: { text } });
        await textIs('home', text);
      }
    });
    file = join(root, 'texts.capture');
    const { code, err } = await run(['capture', '--from', folder, '-o', file]);
    assert.equal(code, 0, err);
    const { out } = await run(['replay', file, ...OPERATOR, '--step']);
    waves = [...out.matchAll(/^wave (\d+) {2}(\S+) {2}sites\.site default\/home /gm)].map(([, wave, at = '']) => ({
      wave: Number(wave),
      at,
    }));
  });
  after(() => stage.end());

  test('is replayed up to a wave or a time', async () => {
    const { run } = stage;
    const whole = reportOf(await run(['replay', file, ...OPERATOR, '-o', 'json']));
    const [second] = waves.slice(-2);
    assert.ok(second !== undefined && waves.length >= 3, 'each text is a plan');
    const byWave = reportOf(await run(['replay', file, ...OPERATOR, '--until', String(second.wave), '-o', 'json']));
    assert.equal(byWave.to.wave, second.wave);
    assert.ok(byWave.compared < whole.compared);
    const byTime = reportOf(await run(['replay', file, ...OPERATOR, '--until', second.at, '-o', 'json']));
    assert.ok(byTime.to.wave >= second.wave && byTime.to.wave <= whole.to.wave);
  });

  test('prints each wave with the results that changed', async () => {
    assert.ok(waves.length >= 3, 'each text is a plan');
    const { out } = await stage.run(['replay', file, ...OPERATOR, '--step']);
    assert.match(out, /results compared: all are equal/);
  });

  test('plans a manifest for a moment, against the objects of that moment', async () => {
    const [, second] = waves.slice(-3);
    assert.ok(second);
    const manifest = JSON.stringify(siteOf('home', 'planned'));
    const { io, out, err } = testIo({ modules, files: { '/home/user/site.json': manifest } });
    const argv = ['replay', file, ...OPERATOR, '--at', String(second.wave), 'plan', '-f', 'site.json', ...OPERATOR];
    assert.equal(await runCommandLine(argv, io), 0, err());
    assert.match(out(), /spec\.text: "second" → "planned"/);
    assert.match(err(), /the content of Secrets is replaced in this recording/);
  });

  test('is the time line of a console, with the times of the recording and objects as they were at its end', async () => {
    const stopping = new AbortController();
    const { io, out, err } = testIo({ modules, signal: stopping.signal });
    const ended = runCommandLine(['console', '--replay', file, ...OPERATOR], io);
    let isOver = false;
    void ended.finally(() => (isOver = true)).catch(() => undefined);
    while (!out().includes('\n') && !isOver) await systemClock.yield();
    assert.match(out(), /^http:\/\/127\.0\.0\.1:\d+\/#code=/, err());
    const [url = '', code = ''] = out().trim().split('#code=');
    const ask = async (path: string, headers: Record<string, string>, body?: unknown) => {
      const response = await fetch(new URL(path, url), {
        headers: { ...headers, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      });
      return (await response.json()) as Record<string, unknown>;
    };
    try {
      const { token } = await ask('/api/login', {}, { code });
      const headers = { 'capstan-token': String(token) };
      const session = await ask('/api/session', headers);
      assert.deepEqual(
        [session['isRecording'], session['context'], session['writes']],
        [true, 'recording texts.capture', false],
      );
      const id = `-/${Site.kind}.${Site.group}/default/home`;
      const marksOf = async () => {
        const { lanes } = (await ask('/api/timeline', headers)) as { lanes: { id: string; marks: { at: string }[] }[] };
        return lanes.find((lane) => lane.id.includes('Site.'))?.marks ?? [];
      };
      while ((await marksOf()).length < 3) await systemClock.yield();
      const marks = await marksOf();
      // The time line has seconds.
      const first = waves[0]?.at.slice(0, 19) ?? '';
      const { to } = reportOf(await stage.run(['replay', file, ...OPERATOR, '-o', 'json']));
      const last = new Date(to.at).toISOString().slice(0, 19);
      for (const { at } of marks) assert.ok(at.slice(0, 19) >= first && at.slice(0, 19) <= last, at);
      const shown = JSON.stringify(await ask(`/api/object/${id}`, headers));
      assert.match(shown, /"text":"third"|text: third/);
    } finally {
      stopping.abort();
      assert.equal(await ended, 0, err());
    }
  });

  test('writes of a console are refused where it shows a recording', async () => {
    const { code, err } = await stage.run(['console', '--replay', file, '--allow-writes', ...OPERATOR]);
    assert.notEqual(code, 0);
    assert.match(err, /a recording cannot be written to; leave out --allow-writes/);
    const other = await stage.run(['console', '--until', '3', ...OPERATOR]);
    assert.notEqual(other.code, 0);
    assert.match(other.err, /--replay/);
  });

  test('is compared with a version that comes as a package', async () => {
    const tarball = join(stage.root, 'capstan-9.9.9.tgz');
    await writeFile(tarball, '');
    const folder = join(stage.root, 'checkout');
    await mkdir(join(folder, 'dist'), { recursive: true });
    await writeFile(join(folder, 'dist', 'main.js'), '');
    const { io, out } = testIo({ modules });
    const { io: other, out: printed } = testIo({ modules });
    assert.equal(await runCommandLine(['replay', file, ...OPERATOR, '--results'], other), 0);
    const lines = printed().split('\n');
    const asked: string[][] = [];
    const execute = async (program: string, args: readonly string[]) => {
      asked.push([program, ...args]);
      // The other version has one result that differs.
      const stdout = lines
        .map((line, at) => (at === 0 ? line.replace(/"digest":"[^"]*"/, '"digest":"another"') : line))
        .join('\n');
      return { code: 0, stdout, stderr: '' };
    };
    for (const path of [tarball, folder]) {
      const code = await runCommandLine(['replay', file, ...OPERATOR, '--version-of', path], { ...io, execute });
      assert.equal(code, 3);
    }
    assert.deepEqual(asked[0]?.slice(0, 5), ['npx', '--yes', tarball, 'replay', file]);
    assert.equal(asked[1]?.[1], join(folder, 'dist', 'main.js'));
    assert.match(out(), /capstan-9\.9\.9\.tgz: 1 of \d+ results differ:\n {2}wave \d+: .*: changed/);
    const none = await stage.run(['replay', file, ...OPERATOR, '--version-of', join(stage.root, 'record')]);
    assert.match(none.err, /it is neither a checkout nor a package of Capstan/);
  });
});

test('a recording from outside names the inputs that it cannot have, writes nothing, and is replayed', {
  timeout: 60_000,
}, async () => {
  const stage = await recordedSites();
  try {
    const { cluster, root, run, whileRunning, recorded, textIs } = stage;
    await cluster.client.create(Secret, access());
    await recorded(join(root, 'inside'), [], async () => {
      await cluster.client.create(Site, siteOf('home', 'first'));
      await textIs('home', 'first');
    });
    const before = await cluster.client.get(ConfigMap, HOME);
    const folder = join(root, 'outside');
    const { code, err } = await whileRunning(['record', folder], async () => {
      const holds = async (text: string) => {
        for (;;) {
          const names = await readdir(folder).catch(() => []);
          const lines =
            names.length === 0
              ? []
              : await openRecording(folder).then(
                  ({ lines: all }) => all,
                  () => [],
                );
          if (JSON.stringify(lines).includes(text)) return;
          await systemClock.yield();
        }
      };
      await holds('"first"');
      await cluster.client.patch(Site, HOME, 'merge', { spec: { text: 'unwritten' } });
      await holds('"unwritten"');
    });
    assert.equal(code, 0, err);
    const after = await cluster.client.get(ConfigMap, HOME);
    assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion, 'nothing was written');
    const shown = await run(['capture', 'inspect', folder]);
    for (const unseen of ['answers to writes', 'leases', 'facts', 'reports of sinks', 'digest keys'])
      assert.match(shown.out, new RegExp(`not in it: .*${unseen}`));
    const replayed = await run(['replay', folder, ...OPERATOR]);
    assert.equal(replayed.code, 0, replayed.out + replayed.err);
    assert.match(replayed.out, /the recording does not have answers to writes/);
    assert.match(replayed.out, /all are equal/);
  } finally {
    await stage.end();
  }
});

interface Report {
  readonly compared: number;
  readonly to: { readonly wave: number; readonly at: number };
}

function reportOf({ code, out, err }: { code: number; out: string; err: string }): Report {
  assert.equal(code, 0, err);
  return JSON.parse(out) as Report;
}
