import { type Kind, type KubeObject, Namespace, Secret } from '@capstan/kube';
import { testKeptCaptures } from '@capstan/testing';
import { Broker, CablePolicies, Cluster, Submariner } from '../../src/kinds/index.ts';
import { createSubmariner } from '../../src/operator.ts';

const MEMBER = 'submariner-operator';
const BROKER = 'submariner-k8s-broker';
const PSK = Buffer.from('a pre-shared key of a test, 32 b').toString('base64');

const object = (kind: Kind, namespace: string, name: string, fields: object) =>
  ({ apiVersion: kind.apiVersion, kind: kind.kind, metadata: { namespace, name }, ...fields }) as KubeObject;
const cluster = (name: string) =>
  object(Cluster, BROKER, name, { spec: { cluster_id: name, service_cidr: [], cluster_cidr: [], global_cidr: [] } });

testKeptCaptures({
  folder: new URL('.', import.meta.url),
  operators: () => [createSubmariner()],
  captures: {
    'another-driver': {
      async given(client) {
        for (const name of [MEMBER, BROKER])
          await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
        const spec = {
          clusterID: 'east',
          clusterCIDR: '10.11.0.0/16',
          serviceCIDR: '10.101.0.0/16',
          ceIPSecPSKSecret: 'psk',
        };
        const objects: readonly [Kind, KubeObject][] = [
          [Secret, object(Secret, MEMBER, 'psk', { data: { psk: PSK } })],
          [Submariner, object(Submariner, MEMBER, 'submariner', { spec })],
          [Broker, object(Broker, BROKER, 'submariner-broker', { spec: {} })],
          ...['c1', 'c2'].map((name): [Kind, KubeObject] => [Cluster, cluster(name)]),
        ];
        for (const [kind, one] of objects) await client.create(kind, one);
      },
      async act({ client }) {
        const policy = object(CablePolicies, BROKER, 'first', { spec: [{ cableDriver: { name: 'vxlan' } }] });
        await client.create(CablePolicies, policy);
      },
    },
  },
});
