// Parts of a gateway that need no host: who opens a connection, settings on its Node, tokens, figures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRegistry } from '@capstan/reconcile';
import type { Connection, EndpointSpec } from '../kinds/index.ts';
import { claimsOf } from './broker/broker-token.ts';
import { readConfiguration } from './configuration.ts';
import { registerGatewayMetrics } from './gateway-metrics.ts';
import { applySettings } from './node-settings.ts';
import { roleOf } from './wanted-cable.ts';

test('a preferred server waits for the others; of two, the one with the greater cable name does', () => {
  const cases = [
    [false, false, false, 'either'],
    [true, false, false, 'server'],
    [false, true, true, 'client'],
    [true, true, true, 'server'],
    [true, true, false, 'client'],
  ] as const;
  for (const [own, other, isLater, wanted] of cases) assert.equal(roleOf(own, other, isLater), wanted);
});

test('settings of a gateway on its Node win over the environment', () => {
  const configuration = readConfiguration({ SUBMARINER_CLUSTERID: 'east', NODE_NAME: 'n1', CE_IPSEC_NATTPORT: '4501' });
  const mark = (name: string) => `gateway.submariner.io/${name}`;
  const { configuration: result, problems } = applySettings(configuration, {
    [mark('udp-port')]: '4600',
    [mark('natt-discovery-port')]: '0',
    [mark('preferred-server')]: 'true',
    [mark('public-ip')]: 'ipv4:203.0.113.7',
    [mark('colour')]: 'blue',
    'kubernetes.io/hostname': 'n1',
  });
  assert.deepEqual(
    [result.options['ipsec.port'], result.discoveryPort, result.preferredServer, result.publicIP],
    ['4600', 0, true, '203.0.113.7'],
  );
  assert.deepEqual(problems, ['Node n1: gateway.submariner.io/colour is not a setting of a gateway; remove it']);
  assert.match(
    applySettings(configuration, { [mark('udp-port')]: 'x' }).problems.join(),
    /udp-port must be a port \(x\)/,
  );
});

test('a secret in the environment is refused', () => {
  for (const variable of ['CE_IPSEC_PSK', 'BROKER_K8S_APISERVERTOKEN'])
    assert.throws(() => readConfiguration({ SUBMARINER_CLUSTERID: 'east', [variable]: 'x' }), /holds a secret/);
});

test('a token that does not end, or of no account, is not renewed', () => {
  const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  const sub = 'system:serviceaccount:broker:cluster-east';
  assert.equal(claimsOf(token({ sub })), undefined);
  assert.equal(claimsOf(token({ sub: 'admin', iat: 1, exp: 2 })), undefined);
  assert.equal(claimsOf('no token'), undefined);
  assert.equal(claimsOf(token({ sub, iat: 100, exp: 1000 }))?.account, 'cluster-east');
});

test('figures have the original’s names and labels', () => {
  const registry = createRegistry();
  const endpoint = (id: string): EndpointSpec => ({
    cluster_id: id,
    cable_name: `cable-${id}`,
    hostname: `host-${id}`,
    subnets: [],
    private_ip: '10.0.0.1',
    public_ip: '',
    nat_enabled: false,
    backend: 'vxlan',
  });
  const connection: Connection = {
    status: 'connected',
    endpoint: endpoint('west'),
    usingCableDriver: 'ipsec',
    usingPolicy: 'p',
  };
  const broken: Connection = { status: 'error', endpoint: endpoint('north') };
  const { sync } = registerGatewayMetrics(registry, () => ({
    local: endpoint('east'),
    connections: [connection, broken],
    cables: new Map([
      [
        'cable-west',
        {
          status: 'connected',
          message: undefined,
          driver: 'ipsec',
          policy: 'p',
          usingIP: '',
          usingNAT: false,
          bytesIn: 5,
          bytesOut: 6,
          connectedAt: 7000,
        },
      ],
    ]),
    health: new Map([
      ['cable-west', { status: 'ok', latency: { last: 2e6, min: 1e6, average: 2e6, max: 3e6, stdDev: 0 } }],
    ]),
  }));
  sync();
  const text = registry.expose().body;
  const labels =
    'cable_driver="ipsec",local_cluster="east",local_hostname="host-east",local_endpoint_ip="10.0.0.1",remote_cluster="west",remote_hostname="host-west",remote_endpoint_ip="10.0.0.1",policy="p"';
  for (const line of [
    `submariner_gateway_rx_bytes{${labels}} 5`,
    `submariner_gateway_tx_bytes{${labels}} 6`,
    `submariner_connection_established_timestamp{${labels}} 7`,
    `submariner_connection_latency_seconds{${labels}} 0.002`,
    `submariner_connections{${labels},status="connected"} 1`,
    'submariner_connections_short{cable_driver="none",status="error"} 1',
    'submariner_gateway_sync_iterations 1',
  ])
    assert.ok(text.includes(`${line}\n`), `${line}\n\n${text}`);
});
