import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { type PolicyRule, rulesOf } from '@capstan/reconcile';
import { ruleLines } from '@capstan/testing';
import { CLIENT_RULES } from '../../src/deployment/broker-objects.ts';
import { GATEWAY_RULES } from '../../src/deployment/permissions.ts';
import type { CableEngine } from '../../src/gateway/cable-engine.ts';
import { createCell } from '../../src/gateway/cell.ts';
import { createGatewayOperator } from '../../src/gateway/gateway-operator.ts';
import type { EndpointSpec } from '../../src/kinds/index.ts';
import { BROKER_ROLE } from '../../src/reconcilers/sync-policies.ts';

const gateway = createGatewayOperator({
  gateway: {
    clusterID: 'east',
    namespace: 'submariner-operator',
    local: { privateIP: '192.0.2.1', subnets: [], sourceIP: undefined },
    preferredServer: false,
    options: createCell('options', {}).source,
  },
  brokerNamespace: 'submariner-k8s-broker',
  engine: {} as CableEngine,
  endpoint: createCell('endpoint', {} as EndpointSpec).source,
  logger: silentLogger,
  onOpen: () => {},
  onPlans: () => {},
});

/** Declared, and not needed: copies that are synced have neither an owner nor a finalizer of the gateway. */
const isOfCopies = (line: string) => /^update (brokers|cablepolicies|endpoints)\/finalizers\./.test(line);
const isOfBroker = (line: string) => /^update \w+\/finalizers\.|^patch brokers\./.test(line);

/** The program itself writes its Gateway and its Leases. */
const DIRECT: readonly PolicyRule[] = [
  { apiGroups: ['submariner.io'], resources: ['gateways'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'watch', 'create', 'update', 'patch', 'delete'],
  },
];
/** On the broker, its heartbeat. */
const DIRECT_ON_BROKER: readonly PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'patch', 'delete'] },
];

suite('the rights of a gateway', () => {
  test('are in its own cluster those that it declares, and those of its Gateway and its Leases', () => {
    const declared = ruleLines([...rulesOf(gateway).everywhere, ...DIRECT]).filter((line) => !isOfCopies(line));
    assert.deepEqual(ruleLines(GATEWAY_RULES), declared);
  });

  test('are on the broker those that it declares, and those of its heartbeat', () => {
    const { everywhere } = rulesOf(gateway, BROKER_ROLE);
    const declared = ruleLines([...everywhere, ...DIRECT_ON_BROKER]).filter((line) => !isOfBroker(line));
    assert.deepEqual(ruleLines(CLIENT_RULES), declared);
  });
});
