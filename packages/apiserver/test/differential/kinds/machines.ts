import { type GeneratedKind, maybe, subset } from './kind.ts';

/** A real server gives this taint to every new node. */
export const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const TAINTS = [
  { key: 'a', value: 'b', effect: 'NoSchedule' },
  { key: 'a', effect: 'NoExecute' },
  { key: 'a', effect: 'NoSchedule' },
  { key: 'not a key', effect: 'Sometimes' },
];

export const nodes: GeneratedKind = {
  collection: '/api/v1/nodes',
  apiVersion: 'v1',
  kind: 'Node',
  names: ['{ns}-a', '{ns}-b'],
  content: (random) => ({
    // A real server taints a new node, and nothing here would remove the taint.
    ...maybe(random, 1, () => ({
      spec: {
        ...maybe(random, 0.3, () => ({ unschedulable: true })),
        ...maybe(random, 0.3, () => ({ podCIDR: random.pick(['10.1.0.0/24', 'x']) })),
        taints: [NOT_READY, ...subset(random, random.chance(0.3) ? TAINTS : [])],
        ...maybe(random, 0.3, () => ({ providerID: random.pick(['a://1', 'a://2']) })),
      },
    })),
    ...maybe(random, 0.5, () => ({
      status: {
        capacity: random.pick<unknown>([{ cpu: '4', memory: '8Gi', pods: 110 }, { cpu: -1 }, { cpu: 'much' }]),
        ...maybe(random, 0.5, () => ({ addresses: [{ type: 'InternalIP', address: '192.0.2.4' }] })),
        ...maybe(random, 0.5, () => ({ conditions: [{ type: 'Ready', status: 'True' }] })),
      },
    })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { unschedulable: random.pick<unknown>([true, null]) } },
      { spec: { taints: [random.pick(TAINTS)] } },
      { spec: { taints: null } },
      { spec: { podCIDR: '10.2.0.0/24' } },
      { spec: { providerID: 'a://3' } },
      { status: { capacity: { cpu: '8' } } },
      { metadata: { labels: { 'node-role.kubernetes.io/worker': '' } } },
    ]),
  operations: () => [{ op: 'add', path: '/spec/unschedulable', value: true }],
  applied: (random) => ({ spec: { taints: [NOT_READY], ...maybe(random, 0.5, () => ({ unschedulable: true })) } }),
  status: (random) => ({
    ...maybe(random, 0.6, () => ({ capacity: { cpu: random.pick<unknown>(['4', '0.5', 'x']) } })),
    ...maybe(random, 0.6, () => ({ conditions: [{ type: random.pick(['Ready', 'DiskPressure']), status: 'False' }] })),
    ...maybe(random, 0.4, () => ({
      addresses: subset(random, [
        { type: 'InternalIP', address: '192.0.2.4' },
        { type: 'Hostname', address: 'n' },
        { type: 'InternalIP', address: '192.0.2.4' },
      ]),
    })),
    ...maybe(random, 0.2, () => ({ phase: 'Running' })),
  }),
  fieldSelectors: ['metadata.name={ns}-a', 'spec.unschedulable=true'],
};

const INVOLVED = [
  { kind: 'Pod', name: 'a', namespace: '{ns}', apiVersion: 'v1' },
  { kind: 'Pod', name: 'a' },
  { kind: 'Node', name: 'n' },
  { kind: 'Pod', name: 'a', namespace: 'other' },
  {},
];

export const events: GeneratedKind = {
  collection: '/api/v1/namespaces/{ns}/events',
  apiVersion: 'v1',
  kind: 'Event',
  names: ['a', 'b'],
  content: (random) => ({
    ...maybe(random, 0.95, () => ({ involvedObject: random.pick<object>(INVOLVED) })),
    ...maybe(random, 0.8, () => ({ reason: 'Started', message: random.pick(['it began', '']) })),
    ...maybe(random, 0.7, () => ({ type: random.pick(['Normal', 'Warning', 'Other']) })),
    ...maybe(random, 0.5, () => ({ source: { component: 'c', host: 'h' } })),
    ...maybe(random, 0.5, () => ({
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: random.pick(['2026-01-01T00:01:00Z', 'x']),
      count: random.pick<unknown>([1, 5, 'x']),
    })),
    ...maybe(random, 0.3, () => ({
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingComponent: random.pick(['example.com/c', 'Not Valid']),
      reportingInstance: 'i',
      action: 'Do',
    })),
    ...maybe(random, 0.2, () => ({ series: { count: 2, lastObservedTime: '2026-01-01T00:02:00.000000Z' } })),
    ...maybe(random, 0.2, () => ({ related: { kind: 'Node', name: 'n' } })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { count: 2 },
      { message: 'again' },
      { involvedObject: { name: 'b' } },
      { series: { count: 3, lastObservedTime: '2026-01-01T00:03:00.000000Z' } },
      { type: 'Warning' },
      { lastTimestamp: '2026-01-01T00:05:00Z' },
    ]),
  operations: () => [{ op: 'replace', path: '/message', value: 'm' }],
  applied: (random) => ({
    involvedObject: INVOLVED[0],
    message: random.pick(['x', 'y']),
    type: 'Normal',
    reason: 'R',
  }),
  fieldSelectors: ['metadata.name=a', 'involvedObject.kind=Pod', 'reason=Started', 'type!=Normal', 'source=c'],
};

export const newEvents: GeneratedKind = {
  ...events,
  collection: '/apis/events.k8s.io/v1/namespaces/{ns}/events',
  apiVersion: 'events.k8s.io/v1',
  content: (random) => ({
    ...maybe(random, 0.9, () => ({ eventTime: random.pick(['2026-01-01T00:00:00.000000Z', 'x', null]) })),
    ...maybe(random, 0.9, () => ({ regarding: random.pick<object>(INVOLVED) })),
    ...maybe(random, 0.9, () => ({ reason: random.pick(['Started', '', 'x'.repeat(129)]), action: 'Start' })),
    ...maybe(random, 0.9, () => ({ type: random.pick(['Normal', 'Warning', 'Other']) })),
    ...maybe(random, 0.9, () => ({
      reportingController: random.pick(['example.com/c', 'Not Valid']),
      reportingInstance: 'i',
    })),
    ...maybe(random, 0.5, () => ({ note: 'a note' })),
    ...maybe(random, 0.2, () => ({ series: { count: 2, lastObservedTime: '2026-01-01T00:02:00.000000Z' } })),
    ...maybe(random, 0.1, () => ({ deprecatedCount: 3 })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { note: 'again' },
      { series: { count: 3, lastObservedTime: '2026-01-01T00:03:00.000000Z' } },
      { type: 'Warning' },
      { regarding: { name: 'b' } },
      { deprecatedCount: 4 },
    ]),
  operations: () => [{ op: 'replace', path: '/note', value: 'm' }],
  applied: (random) => ({
    eventTime: '2026-01-01T00:00:00.000000Z',
    regarding: INVOLVED[0],
    note: random.pick(['x', 'y']),
    type: 'Normal',
    reason: 'R',
    action: 'A',
    reportingController: 'example.com/c',
    reportingInstance: 'i',
  }),
  fieldSelectors: ['metadata.name=a', 'regarding.kind=Pod', 'reason=Started', 'type!=Normal'],
};

const SUBSETS = [
  { addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] },
  {
    addresses: [{ ip: '192.0.2.2', nodeName: 'n', targetRef: { kind: 'Pod', name: 'a' } }],
    ports: [{ port: 80, name: 'http' }],
  },
  { notReadyAddresses: [{ ip: '192.0.2.3', hostname: 'h' }], ports: [{ port: 1, protocol: 'UDP' }] },
  {
    addresses: [{ ip: '192.0.2.1' }],
    ports: [
      { port: 80, name: 'a' },
      { port: 81, name: 'b' },
    ],
  },
  { addresses: [{ ip: '127.0.0.1' }], ports: [{ port: 0 }] },
  { addresses: [{ ip: 'x' }], ports: [{ port: 80 }, { port: 81 }] },
  { ports: [{ port: 80 }] },
  {},
];

export const endpoints: GeneratedKind = {
  collection: '/api/v1/namespaces/{ns}/endpoints',
  apiVersion: 'v1',
  kind: 'Endpoints',
  names: ['a', 'b'],
  content: (random) => ({
    ...maybe(random, 0.9, () => ({
      subsets: random.chance(0.6) ? [random.pick(SUBSETS.slice(0, 4))] : subset(random, SUBSETS),
    })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { subsets: [random.pick(SUBSETS)] },
      { subsets: null },
      { subsets: subset(random, SUBSETS.slice(0, 4)) },
    ]),
  operations: () => [{ op: 'add', path: '/subsets/0/addresses/-', value: { ip: '192.0.2.9' } }],
  applied: (random) => ({ subsets: [random.pick(SUBSETS.slice(0, 4))] }),
  fieldSelectors: ['metadata.name=a'],
};

export const controllerRevisions: GeneratedKind = {
  collection: '/apis/apps/v1/namespaces/{ns}/controllerrevisions',
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  names: ['a', 'b'],
  content: (random) => ({
    ...maybe(random, 0.9, () => ({ revision: random.pick<unknown>([1, 2, -1, 'x']) })),
    ...maybe(random, 0.9, () => ({ data: random.pick<unknown>([{ spec: { a: 1 } }, 'text', [1], null, 5]) })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([{ revision: 3 }, { data: { spec: { a: 2 } } }, { data: null }]),
  operations: () => [{ op: 'replace', path: '/revision', value: 9 }],
  applied: (random) => ({ revision: random.pick([1, 2]), data: { spec: { a: 1 } } }),
  fieldSelectors: ['metadata.name=a'],
};
