// Random edits of a Submariner, of policies and of the clusters of a set: each is previewed, made and compared.
// On the embedded server only: minutes pass at once there.
import { test } from 'node:test';
import { ConfigMap, type Kind, type KubeObject, Namespace, refOf, Secret } from '@capstan/kube';
import {
  assertForetold,
  createRandom,
  createStage,
  foretoldRuns,
  type RandomEdit,
  type SeededRandom,
  toRest,
} from '@capstan/testing';
import { Broker, CablePolicies, Cluster, Submariner } from '../../src/kinds/index.ts';
import { createSubmariner } from '../../src/operator.ts';

const MEMBER = 'submariner-operator';
const BROKER = 'submariner-k8s-broker';
const DRIVERS = ['ipsec', 'vxlan', 'wireguard'];
const PSK = Buffer.from('a pre-shared key of a test, 32 b').toString('base64');

const object = (kind: Kind, namespace: string, name: string, fields: object, labels?: Record<string, string>) =>
  ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { namespace, name, ...(labels && { labels }) },
    ...fields,
  }) as KubeObject;

const some = (random: SeededRandom, fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.3)));

type Make = (random: SeededRandom) => readonly [Kind, KubeObject];
const submariner: Make = (random) => [
  Submariner,
  object(Submariner, MEMBER, 'submariner', {
    spec: {
      clusterID: random.chance(0.9) ? 'east' : 'west',
      clusterCIDR: '10.11.0.0/16',
      serviceCIDR: '10.101.0.0/16',
      ...some(random, {
        cableDriver: random.pick([...DRIVERS, 'unknown']),
        cableDrivers: DRIVERS.filter(() => random.chance(0.5)),
        cableDriverCustomConfig: 'options',
        ceIPSecPSKSecret: 'psk',
        ceIPSecPSK: PSK,
        clusterLabels: { location: random.pick(['cloud', 'on-premise']) },
        natEnabled: true,
        debug: true,
        nodeSelector: { role: random.pick(['edge', 'gateway']) },
      }),
    },
  }),
];
const policy =
  (name: string): Make =>
  (random) => [
    CablePolicies,
    object(CablePolicies, BROKER, name, {
      spec: [
        {
          cableDriver: { name: random.pick([...DRIVERS, 'unknown']) },
          ...some(random, {
            leftClusterSelector: { matchLabels: { location: random.pick(['cloud', '!cloud']) } },
            priority: random.integer(0, 3),
          }),
        },
      ],
    }),
  ];
const cluster =
  (id: string): Make =>
  (random) => [
    Cluster,
    object(
      Cluster,
      BROKER,
      id,
      { spec: { cluster_id: id, service_cidr: [], cluster_cidr: [], global_cidr: [] } },
      { location: random.pick(['cloud', 'on-premise']) },
    ),
  ];
const broker: Make = (random) => [
  Broker,
  object(Broker, BROKER, 'submariner-broker', {
    spec: some(random, {
      defaultCableDriver: random.pick(DRIVERS),
      initialPolicies: [{ name: 'first', spec: { name: 'ipsec' } }],
      minimumSecurity: 'encrypted',
      onConflict: 'refuse',
      allowMemberPolicies: false,
    }),
  }),
];
const secret: Make = (random) => [
  Secret,
  object(Secret, MEMBER, 'psk', { data: random.chance(0.8) ? { psk: PSK } : { other: PSK } }),
];
const options: Make = (random) => [
  ConfigMap,
  object(ConfigMap, MEMBER, 'options', { data: { vxlanID: random.pick(['100', '200', 'x']) } }),
];
const OBJECTS: readonly Make[] = [
  submariner,
  submariner,
  submariner,
  broker,
  ...['default', 'first', 'second'].map(policy),
  ...['c1', 'c2', 'c3'].map(cluster),
  secret,
  options,
];

// Changes of labels alone raised the generation in previews.
const KEPT = [
  { seed: 6, edits: 32 },
  { seed: 7, edits: 1 },
];

for (const { seed, edits, variety } of foretoldRuns(20, KEPT))
  test(`${edits} random edits of a Submariner and of policies do what their previews show (seed ${seed})`, async (t) => {
    const random = createRandom(seed);
    const next = (): RandomEdit => {
      const [kind, one] = random.pick(OBJECTS)(random);
      return random.chance(0.15) ? { kind, gone: refOf(one) } : { kind, object: one };
    };
    const stage = await createStage({
      // Members write their objects on the broker themselves.
      ruled: '0034: a member that was not heard of',
      operators: [createSubmariner()],
      async given(client) {
        for (const name of [MEMBER, BROKER])
          await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
        for (const [kind, one] of [secret, submariner, broker, ...['c1', 'c2'].map(cluster)].map((make) =>
          make(random),
        ))
          await client.create(kind, one);
      },
    });
    try {
      await stage.settle();
      await toRest(stage);
      await assertForetold({ stage, edits, next, variety, report: (line) => t.diagnostic(line) });
    } finally {
      await stage.end();
    }
  });
