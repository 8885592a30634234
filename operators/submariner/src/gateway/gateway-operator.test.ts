// The cables that a gateway gives to its engine, by the plan for each Endpoint.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import type { Sink, SinkBatch, SinkContext } from '@capstan/reconcile';
import type { EndpointSpec } from '../kinds/index.ts';
import type { DriverName } from '../policy/driver-names.ts';
import type { CableEngine, CableReport, WantedCable } from './cable-engine.ts';
import { createCell } from './cell.ts';
import { createGatewayOperator } from './gateway-operator.ts';
import type { EndpointPlan } from './wanted-cable.ts';

const WEST = 'submariner-cable-west-192-0-2-2';
const endpoint = { cluster_id: 'west', cable_name: WEST } as EndpointSpec;
const planned = (driver: DriverName): EndpointPlan => ({
  endpoint,
  wanted: { driver, policy: 'default', cable: { name: WEST, remoteSubnets: [] } as unknown as WantedCable['cable'] },
  decision: undefined,
  problem: undefined,
});
const refused = (keepsCable?: true | 'encrypted'): EndpointPlan => ({
  endpoint,
  wanted: undefined,
  decision: undefined,
  problem: { status: 'error', message: 'the ends differ', ...(keepsCable !== undefined && { keepsCable }) },
});

/** The driver that the engine has for the cable after these plans came one after the other. */
async function driverAfter(...plans: readonly EndpointPlan[]): Promise<DriverName | undefined> {
  let driver: DriverName | undefined;
  const take = (changes: ReadonlyMap<string, WantedCable | undefined>) => {
    if (changes.has(WEST)) driver = changes.get(WEST)?.driver;
    return Promise.resolve();
  };
  const engine = { adopt: take, apply: take, reports: () => new Map<string, CableReport>() } as unknown as CableEngine;
  const { sinks = [] } = createGatewayOperator({
    gateway: {
      clusterID: 'east',
      namespace: 'submariner-operator',
      local: { privateIP: '192.0.2.1', subnets: [], sourceIP: undefined },
      preferredServer: false,
      options: createCell('options', {}).source,
    },
    brokerNamespace: 'submariner-k8s-broker',
    engine,
    endpoint: createCell('endpoint', endpoint).source,
    logger: silentLogger,
    onOpen: () => {},
    onPlans: () => {},
  });
  const cables = sinks.find(({ name }) => name === 'cables') as Sink<EndpointPlan | undefined, CableReport> | undefined;
  assert.ok(cables);
  const context = { report: () => {}, mayAct: () => true } as unknown as SinkContext<
    EndpointPlan | undefined,
    CableReport
  >;
  const session = await cables.open(context);
  let before: EndpointPlan | undefined;
  for (const [index, after] of plans.entries()) {
    const change = { key: 'submariner-operator/west', before, after };
    await session.take({ changes: [change], snapshot: index === 0 } as unknown as SinkBatch<EndpointPlan | undefined>);
    before = after;
  }
  return driver;
}

describe('a cable that is up', () => {
  test('stays while both ends only have to agree on options', async () => {
    assert.equal(await driverAfter(planned('vxlan'), refused(true)), 'vxlan');
  });

  test('stays where the other end asks for encryption only if it encrypts', async () => {
    assert.equal(await driverAfter(planned('ipsec'), refused('encrypted')), 'ipsec');
    assert.equal(await driverAfter(planned('vxlan'), refused('encrypted')), undefined);
    assert.equal(await driverAfter(planned('vxlan'), refused(true), refused('encrypted')), undefined);
  });

  test('goes with any other problem', async () => {
    assert.equal(await driverAfter(planned('ipsec'), refused()), undefined);
  });
});
