// The combined driver on kernels with and without ESP, with a host that records the requested steps. test/cables runs it on real links.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { formatStep, type Host, INSTALLED_PROGRAMS } from '../host/index.ts';
import type { Cable } from './driver.ts';
import { definitionOf, type IpsecConnection } from './ipsec-connection.ts';
import type { IpsecDaemon } from './ipsec-daemon.ts';
import { createVxlanIpsecDriver } from './vxlan-ipsec.ts';

const LOCAL = '172.31.0.1';
const REMOTE = '172.31.0.2';

function setUp({ usesKernel, publicIP }: { usesKernel: boolean; publicIP?: string }) {
  const steps: string[] = [];
  const connections: IpsecConnection[] = [];
  const host = {
    programs: INSTALLED_PROGRAMS,
    apply: async (given) => void steps.push(...given.map(formatStep)),
    query: async () => [],
    // The other end answers.
    run: async () => ({ code: 0, stdout: '5 packets transmitted, 5 received', stderr: '' }),
  } as Partial<Host> as Host;
  const daemon = {
    device: usesKernel ? 'subm-xfrm' : 'ipsec0',
    usesKernel,
    start: async () => {},
    isAlive: async () => true,
    ensureAddresses: async () => {},
    establish: async (connection) => void connections.push(connection),
    terminate: async () => {},
    inspect: async () => new Map(),
  } as Partial<IpsecDaemon> as IpsecDaemon;
  const local = { privateIP: LOCAL, subnets: [], sourceIP: undefined, ...(publicIP !== undefined && { publicIP }) };
  const driver = createVxlanIpsecDriver({ host, daemon, local, clock: systemClock, release: async () => {} });
  return { driver, steps, connections };
}

const cableTo = (remoteConfig: Record<string, string>): Cable => ({
  name: 'submariner-cable-west-172-31-0-2',
  cluster: 'west',
  remoteIP: REMOTE,
  remotePrivateIP: REMOTE,
  remoteSubnets: ['10.12.0.0/16'],
  remoteConfig,
  options: {},
  usingNAT: false,
  role: 'either',
});

describe('vxlan+ipsec', () => {
  test('uses transport mode where the kernels of both ends encrypt', async () => {
    const { driver, steps, connections } = setUp({ usesKernel: true });
    assert.equal((await driver.start())['transport'], 'true');
    const cable = cableTo({ port: '4500', transport: 'true' });
    await driver.prepare(cable);
    const [connection] = connections;
    assert.ok(connection);
    const { children, encap } = definitionOf(connection, 4500, true);
    assert.equal(encap, 'no');
    assert.deepEqual(
      [children['net']?.mode, children['net']?.local_ts, children['net']?.remote_ts],
      ['transport', [`${LOCAL}/32[udp/4791]`], [`${REMOTE}/32[udp/4791]`]],
    );
    // Packets of the gateway itself are matched where they leave, so an interface id would match nothing.
    assert.equal('if_id_out' in (children['net'] ?? {}), false);
    const link = steps.find((step) => step.startsWith('ip link add'));
    assert.match(link ?? '', /^ip link add subm-vx-esp .* local 172.31.0.1 dstport 4791 .*srcport 4791 4792$/);
    assert.ok(steps.some((step) => /^bridge fdb replace .* dev subm-vx-esp dst 172.31.0.2 /.test(step)));
    assert.equal(driver.route(cable).device, 'subm-vx-esp');
  });

  test('vxlan+ipsec in transport mode drops packets that are not encrypted, from before the first packet to the end', async () => {
    const { driver, steps } = setUp({ usesKernel: true });
    await driver.start();
    for (const direction of ['in', 'out'])
      assert.ok(
        steps.some((step) =>
          step.startsWith(
            `ip xfrm policy update dir ${direction} src 0.0.0.0/0 dst 0.0.0.0/0 proto udp dport 4791 action block`,
          ),
        ),
      );
    await driver.cleanUp();
    const order = steps.map((step) =>
      step === 'ip link del subm-vx-esp' ? 'link' : /policy delete/.test(step) ? 'policy' : '',
    );
    assert.deepEqual(
      order.filter((each) => each !== ''),
      ['link', 'policy', 'policy'],
    );
  });

  const tunnels: readonly [string, { usesKernel: boolean; publicIP?: string }, Record<string, string>][] = [
    ['without kernel ESP here', { usesKernel: false }, { transport: 'true' }],
    ['without kernel ESP there', { usesKernel: true }, {}],
    ['behind NAT', { usesKernel: true, publicIP: '192.0.2.1' }, { transport: 'true' }],
  ];
  for (const [what, local, remote] of tunnels)
    test(`uses a tunnel between transit addresses ${what}`, async () => {
      const { driver, steps, connections } = setUp(local);
      const published = await driver.start();
      assert.equal(published['transport'], local.usesKernel && local.publicIP === undefined ? 'true' : undefined);
      const cable = cableTo(remote);
      await driver.prepare(cable);
      const [connection] = connections;
      assert.ok(connection);
      const child = definitionOf(connection, 4500, local.usesKernel).children['net'];
      assert.deepEqual(
        [child?.mode, child?.local_ts, child?.remote_ts],
        ['tunnel', ['244.31.0.1/32'], ['244.31.0.2/32']],
      );
      assert.equal('if_id_out' in (child ?? {}), local.usesKernel);
      assert.ok(
        steps.some((step) => /^ip link add subm-vx-ipsec .* local 244.31.0.1 dstport 4790 nolearning$/.test(step)),
      );
      assert.equal(driver.route(cable).device, 'subm-vx-ipsec');
    });
});
