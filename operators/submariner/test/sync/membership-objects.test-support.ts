import { type Kind } from '@capstan/kube';
import { type Operator, operator } from '@capstan/reconcile';
import { type TestCluster } from '@capstan/testing';
import {
  BROKER_NAMESPACE,
  Broker,
  CablePolicies,
  Cluster,
  Endpoint,
  Gateway,
  MEMBER_NAMESPACE,
  Submariner,
} from '../../src/kinds/index.ts';
import { createBrokerSync } from '../../src/reconcilers/sync-broker.ts';
import { createOwnedSync } from '../../src/reconcilers/sync-owned.ts';
import { createPolicySync } from '../../src/reconcilers/sync-policies.ts';

export const KINDS = [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway];

export const kindsOnly = operator({ name: 'kinds', kinds: KINDS, reconcilers: [] });

export const DESCRIBING: readonly Kind[] = [Cluster, Endpoint];

export const SECRET = 'submariner-broker-secret';

export const here = (name: string) => ({ namespace: MEMBER_NAMESPACE, name });

export const there = (name: string) => ({ namespace: BROKER_NAMESPACE, name });

export interface Side {
  readonly name: string;
  readonly cluster: TestCluster;
}

export interface Member extends Side {
  broker: Side | undefined;
  /** Ends its program; undefined while none runs. */
  stop: (() => Promise<void>) | undefined;
  /** Ends its operator. */
  stopOperator: () => Promise<void>;
}

export function policy(ref: object): CablePolicies {
  return {
    apiVersion: CablePolicies.apiVersion,
    kind: 'CablePolicies',
    metadata: { ...ref },
    spec: [{ cableDriver: { name: 'ipsec' } }],
  };
}

export function endpointOf(id: string): Endpoint {
  return {
    apiVersion: Endpoint.apiVersion,
    kind: 'Endpoint',
    metadata: here(`${id}-cable`),
    spec: {
      cluster_id: id,
      cable_name: `cable-${id}`,
      hostname: id,
      subnets: [],
      private_ip: '192.0.2.1',
      public_ip: '',
      nat_enabled: false,
      backend: 'ipsec',
    },
  };
}

/** Returns the program of a member's gateway pods. */
export function gatewayProgram(clusterID: string, brokerServer: string): Operator {
  const places = {
    clusterID,
    namespace: MEMBER_NAMESPACE,
    brokerNamespace: BROKER_NAMESPACE,
    needsResource: true,
    brokerServer,
  };
  return operator({
    name: 'submariner-gateway',
    kinds: KINDS,
    reconcilers: [
      ...createPolicySync(places),
      ...createOwnedSync(Cluster, places),
      ...createOwnedSync(Endpoint, places),
      ...createBrokerSync(places),
    ],
  });
}
