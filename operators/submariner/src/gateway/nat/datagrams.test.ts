import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLogger, systemClock } from '@capstan/kube';
import { createHost, type Host } from '../../host/index.ts';
import { openDatagrams, openHere } from './datagrams.ts';

test('a relay that dies is restarted on the same port, and datagrams pass in both directions again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const relays: ChildProcess[] = [];
  // A relay as in another namespace, in that of this process: it needs no rights.
  const host: Host = {
    ...createHost({ runDir: folder }),
    isOtherNamespace: true,
    start([program = '', ...args]) {
      const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
      relays.push(child);
      return child;
    },
  };
  t.after(() => {
    for (const relay of relays) relay.kill('SIGKILL');
  });
  const taken: string[] = [];
  const relayed = await openDatagrams({ host, port: 0, clock: systemClock, logger: silentLogger }, (data) => {
    taken.push(data.toString('utf8'));
  });
  t.after(() => relayed.close());
  const answers: string[] = [];
  const peer = await openHere(0, (data, { port }) => answers.push(`${data.toString('utf8')} from ${port}`));
  t.after(() => peer.close());
  /** Sends in both directions until both arrive: UDP may lose datagrams that are sent while no relay is there. */
  const exchange = async (text: string) => {
    for (const end = performance.now() + 20_000; ; ) {
      peer.send(Buffer.from(text), { ip: '127.0.0.1', port: relayed.port });
      relayed.send(Buffer.from(text), { ip: '127.0.0.1', port: peer.port });
      if (taken.includes(text) && answers.includes(`${text} from ${relayed.port}`)) return;
      assert.ok(performance.now() < end, `${text}: not passed on (${taken.join()}; ${answers.join()})`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await exchange('before');
  assert.equal(relays.length, 1);
  const [first] = relays;
  assert.ok(first);
  const ended = once(first, 'exit');
  first.kill('SIGKILL');
  await ended;
  await exchange('after');
  assert.equal(relays.length, 2);
});

test('a relay is not restarted after it was closed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const started: ChildProcess[] = [];
  const host: Host = {
    ...createHost({ runDir: folder }),
    isOtherNamespace: true,
    start([program = '', ...args]) {
      const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
      started.push(child);
      return child;
    },
  };
  const relayed = await openDatagrams({ host, port: 0, clock: systemClock, logger: silentLogger }, () => {});
  const [relay] = started;
  assert.ok(relay);
  const ended = once(relay, 'exit');
  relayed.close();
  await ended;
  // Longer than the pause before the first restart.
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.equal(started.length, 1);
});
