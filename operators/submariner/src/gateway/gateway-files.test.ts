import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createVirtualClock, type VirtualClock } from '@capstan/testing';
import { commonKey } from '../drivers/pre-shared-keys.ts';
import { createGatewayFiles, type GatewayFiles } from './gateway-files.ts';

const [FIRST, SECOND] = ['the first key of this test', 'the second key of this test'];

describe('the files of a gateway', () => {
  let folder: string;
  let clock: VirtualClock;
  let stopping: AbortController;
  let changes: number;
  const options = (data: Record<string, string>) => {
    rmSync(join(folder, 'options'), { recursive: true, force: true });
    mkdirSync(join(folder, 'options'));
    for (const [name, text] of Object.entries(data)) writeFileSync(join(folder, 'options', name), text);
  };
  const psk = (text: string) => writeFileSync(join(folder, 'psk'), text);
  const open = (): GatewayFiles => {
    const files = createGatewayFiles({
      optionsFolder: join(folder, 'options'),
      pskFile: join(folder, 'psk'),
      options: { 'ipsec.port': '4500' },
      clock,
    });
    void files.watch(stopping.signal, () => {
      changes++;
      return Promise.resolve();
    });
    return files;
  };
  const texts = async (files: GatewayFiles) =>
    (await files.keys()).map(({ bytes }) => Buffer.from(bytes).toString('utf8'));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'submariner-files-'));
    clock = createVirtualClock();
    stopping = new AbortController();
    changes = 0;
  });
  afterEach(() => {
    stopping.abort();
    rmSync(folder, { recursive: true, force: true });
  });

  test('are taken up when they change, and only then', async () => {
    psk(FIRST);
    const files = open();
    assert.deepEqual(files.options(), { 'ipsec.port': '4500' });
    options({ CableCustomConfig: 'vxlanID: 100', 'wireguard.port': '4600' });
    await clock.advance(3000);
    assert.deepEqual(files.options(), { 'ipsec.port': '4500', vxlanID: '100', 'wireguard.port': '4600' });
    assert.equal(changes, 1);
    await clock.advance(10_000);
    assert.equal(changes, 1);
  });

  test('the files of a gateway with a wrong option leave the last good options in force, and name it', async () => {
    psk(FIRST);
    options({ vxlanID: '100' });
    const files = open();
    options({ vxlanID: '100', mtu: 'big' });
    await clock.advance(2000);
    assert.deepEqual(files.options()['vxlanID'], '100');
    assert.match(files.problems().join(), /mtu: Invalid value: "big".*last good options stay in force/);
    options({ vxlanId: '7' });
    await clock.advance(2000);
    assert.match(files.problems().join(), /vxlanId: Unsupported value/);
    options({ vxlanID: '7' });
    await clock.advance(2000);
    assert.deepEqual([files.options()['vxlanID'], files.problems()], ['7', []]);
    assert.equal(changes, 1);
  });

  test('keep the key before for an hour after a rotation', async () => {
    psk(FIRST);
    const files = open();
    psk(SECOND);
    await clock.advance(2000);
    assert.deepEqual(await texts(files), [SECOND, FIRST]);
    await clock.advance(3_700_000);
    assert.deepEqual(await texts(files), [SECOND]);
    assert.equal(changes, 2);
  });

  test('hold the key before for a gateway that starts during a rotation', async () => {
    psk(SECOND);
    writeFileSync(join(folder, 'psk-previous'), FIRST);
    assert.deepEqual(await texts(open()), [SECOND, FIRST]);
  });

  test('the files of a gateway without a usable key are a problem; a key that goes away stays in use', async () => {
    const files = open();
    await assert.rejects(files.keys(), /psk: does not exist/);
    psk('short');
    await clock.advance(2000);
    assert.match(files.problems().join(), /has 5 bytes/);
    psk(FIRST);
    await clock.advance(2000);
    rmSync(join(folder, 'psk'));
    await clock.advance(2000);
    assert.deepEqual(await texts(files), [FIRST]);
    assert.match(files.problems().join(), /does not exist/);
  });
});

test('two ends use the newest key that both know, and agree on it', () => {
  const key = (id: string) => ({ id, bytes: Buffer.from(id) });
  const cases: [string[], string[], string | undefined][] = [
    [['b', 'a'], ['a'], 'a'],
    [['b', 'a'], ['b', 'a'], 'b'],
    [['a'], ['b', 'a'], 'a'],
    [['a', 'b'], ['b', 'a'], 'a'],
    [['a'], ['b'], undefined],
  ];
  for (const [own, theirs, wanted] of cases) {
    assert.equal(commonKey(own.map(key), theirs.join())?.id, wanted);
    assert.equal(commonKey(theirs.map(key), own.join())?.id, wanted);
  }
  assert.equal(commonKey([key('a')], undefined)?.id, 'a', 'a gateway of the original');
});
