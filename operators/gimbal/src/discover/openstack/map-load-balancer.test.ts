import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Finding } from '../mirror/mirror.ts';
import type { Listener, LoadBalancer, Member, Pool } from './cloud.ts';
import { mapLoadBalancer, WEIGHTS_ANNOTATION } from './map-load-balancer.ts';

const element = { isUp: true, provisioning: 'ACTIVE', operating: 'ONLINE', updatedAt: '' };
const balancer: LoadBalancer = { ...element, id: 'LB-1', name: 'web', projectId: 'p' };
const pool: Pool = { ...element, id: 'pool', balancerIds: ['LB-1'], memberIds: [] };

function listener(port: number, parts: Partial<Listener> = {}): Listener {
  return {
    ...element,
    id: `l${port}${parts.protocol ?? ''}`,
    protocol: 'HTTP',
    port,
    poolId: 'pool',
    balancerIds: ['LB-1'],
    ...parts,
  };
}

function member(address: string, parts: Partial<Member> = {}): Member {
  return { ...element, id: address, address, port: 8080, weight: 1, isBackup: false, ...parts };
}

interface Parts {
  balancer?: Partial<LoadBalancer>;
  listeners?: readonly Listener[];
  pool?: Partial<Pool>;
  members?: readonly Member[];
  project?: string;
}

function map({
  balancer: given,
  listeners = [listener(80)],
  pool: over,
  members = [],
  project = 'team',
}: Parts): Finding {
  const remote = {
    balancer: { ...balancer, ...given },
    project,
    listeners,
    pools: new Map([['pool', { ...pool, ...over }]]),
    members: new Map([['pool', members]]),
  };
  return mapLoadBalancer(remote, 'stack');
}

function present(parts: Parts) {
  const finding = map(parts);
  assert.equal(finding.state, 'present');
  const { service, slices } = finding.mirror;
  const shown = slices.flatMap(({ ports, endpoints = [] }) =>
    endpoints.map(({ addresses, conditions }) => ({ port: ports?.[0], address: addresses[0], ...conditions })),
  );
  return { finding, service, slices, shown };
}

const conditionsOf = (parts: Partial<Member>, others: readonly Member[] = []) => {
  const found = present({ members: [member('10.0.0.1', parts), ...others] }).shown.find(
    (one) => one.address === '10.0.0.1',
  );
  return found && { ready: found.ready, serving: found.serving, terminating: found.terminating };
};

describe('a load balancer', () => {
  it('has a port for each listener, and the members of a shared pool behind each', () => {
    const { service, shown } = present({
      listeners: [listener(443, { protocol: 'TERMINATED_HTTPS' }), listener(80)],
      members: [member('10.0.0.1'), member('10.0.0.2', { port: 9090 })],
    });
    assert.equal(service.metadata.name, 'stack-lb-1');
    assert.deepEqual(
      service.spec?.ports?.map(({ name, port, protocol }) => `${name} ${port} ${protocol}`),
      ['port-80 80 TCP', 'port-443 443 TCP'],
    );
    assert.deepEqual(shown.map(({ port, address }) => `${port?.name} ${address}:${port?.port}`).toSorted(), [
      'port-443 10.0.0.1:8080',
      'port-443 10.0.0.2:9090',
      'port-80 10.0.0.1:8080',
      'port-80 10.0.0.2:9090',
    ]);
  });

  it('distinguishes listeners of one port by their protocol', () => {
    const both = present({ listeners: [listener(53, { protocol: 'UDP' }), listener(53, { protocol: 'TCP' })] });
    assert.deepEqual(
      both.service.spec?.ports?.map(({ name, protocol }) => `${name} ${protocol}`),
      ['port-53 TCP', 'port-53-udp UDP'],
    );
    const one = present({ listeners: [listener(53, { protocol: 'UDP' })] });
    assert.deepEqual(
      one.service.spec?.ports?.map(({ name }) => name),
      ['port-53'],
    );
  });

  it('is there without endpoints when it has no pool, no members, or is switched off', () => {
    for (const parts of [
      { listeners: [listener(80, { poolId: undefined })] },
      { members: [] },
      { balancer: { isUp: false }, members: [member('10.0.0.1')] },
      { pool: { isUp: false }, members: [member('10.0.0.1')] },
      { members: [member('10.0.0.1', { isUp: false })] },
    ] satisfies Parts[]) {
      const { service, shown } = present(parts);
      assert.equal(service.spec?.ports?.length, 1);
      assert.deepEqual(shown, []);
    }
    assert.equal(present({ listeners: [listener(80), listener(81, { isUp: false })] }).service.spec?.ports?.length, 1);
  });

  it('says of each member whether it takes requests', () => {
    const no = { ready: false, serving: false, terminating: false };
    const leaving = { ready: false, serving: true, terminating: true };
    const yes = { ready: true, serving: true, terminating: false };
    assert.deepEqual(conditionsOf({}), yes);
    assert.deepEqual(conditionsOf({ operating: 'NO_MONITOR' }), yes);
    assert.deepEqual(conditionsOf({ operating: 'ERROR' }), no);
    assert.deepEqual(conditionsOf({ operating: 'OFFLINE' }), no);
    assert.deepEqual(conditionsOf({ weight: 0 }), leaving);
    assert.deepEqual(conditionsOf({ operating: 'DRAINING' }), leaving);
    assert.deepEqual(conditionsOf({ isBackup: true }, [member('10.0.0.2')]), { ...yes, ready: false });
    assert.deepEqual(conditionsOf({ isBackup: true }, [member('10.0.0.2', { operating: 'ERROR' })]), yes);
  });

  it('reports weights that differ', () => {
    const even = present({ members: [member('10.0.0.1', { weight: 5 }), member('10.0.0.2', { weight: 5 })] });
    assert.equal(even.service.metadata.annotations?.[WEIGHTS_ANNOTATION], undefined);
    const uneven = present({ members: [member('10.0.0.1', { weight: 5 }), member('10.0.0.2')] });
    assert.equal(uneven.service.metadata.annotations?.[WEIGHTS_ANNOTATION], '{"10.0.0.1:8080":5,"10.0.0.2:8080":1}');
  });

  it('leaves out members that are not addresses, and reports them', () => {
    const { finding, shown } = present({ members: [member('10.0.0.1'), member('db.example.com'), member('fd00::1')] });
    assert.deepEqual(shown.map(({ address }) => String(address)).toSorted(), ['10.0.0.1', 'fd00::1']);
    assert.deepEqual(
      finding.problems.map(({ type }) => type),
      ['EndpointInvalid'],
    );
    assert.equal(finding.invalidEndpoints, 1);
  });

  it('a load balancer in ERROR stays and is reported; one that is being deleted is gone', () => {
    const { finding } = present({ balancer: { provisioning: 'ERROR' }, members: [member('10.0.0.1')] });
    assert.deepEqual(
      finding.problems.map(({ type }) => type),
      ['RemoteError'],
    );
    for (const provisioning of ['PENDING_DELETE', 'DELETED']) {
      assert.equal(map({ balancer: { provisioning } }).state, 'absent');
    }
  });

  it('a load balancer with two listeners on one port is invalid', () => {
    assert.equal(map({ listeners: [listener(80), listener(80, { id: 'other' })] }).state, 'invalid');
  });
});
