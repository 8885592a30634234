// Answers of the server for the tests of pages, typed by the contract. `text` stands for every text that comes from a cluster.
import type {
  BackendAnswer,
  CablesAnswer,
  ChangeAnswer,
  ChangesAnswer,
  DiscoveryAnswer,
  ExplainAnswer,
  FindAnswer,
  GraphAnswer,
  IngressAnswer,
  KafkaAnswer,
  KafkaProxiesAnswer,
  ObjectAnswer,
  ObjectsAnswer,
  OverviewAnswer,
  PackageAnswer,
  PackagesAnswer,
  PlanAnswer,
  ReportsAnswer,
  Row,
  SchemaAnswer,
  SessionAnswer,
  TimelineAnswer,
  WaveDetailAnswer,
} from '../../src/api-types.ts';
import type { Answers } from './fixture-server.ts';

export const AT = '2026-01-01T10:00:00Z';
const PROXY = 'KafkaProxy.kroxylicious.io';

export interface FixtureOptions {
  /** How many objects there are. */
  readonly objects: number;
  readonly text?: string;
  readonly writes?: boolean;
}

function rowOf(at: number, text: string): Row {
  const state = at % 500 === 3 ? 'broken' : 'ready';
  const key = `default/${text === '' ? `proxy-${at}` : text}`;
  return {
    id: `${PROXY} ${key}`,
    world: '',
    kind: PROXY,
    key,
    state,
    operator: 'kroxylicious',
    reason: text,
    message: state === 'broken' ? text || 'it waits' : '',
    since: AT,
  };
}

export function answersOf({ objects, text = '', writes = false }: FixtureOptions): Answers {
  const name = text === '' ? 'p' : text;
  const place = { world: '', kind: PROXY, key: `default/${name}` };
  const id = `${PROXY} default/${name}`;
  const secret = { id: `Secret default/${name}`, world: '', kind: 'Secret', key: `default/${name}` };
  const rows = Array.from({ length: objects }, (_, at) => rowOf(at, text));
  const broken = rows.filter(({ state }) => state === 'broken');
  const changes: ChangeAnswer[] = rows.slice(0, 40).map((row, at) => ({
    ...place,
    key: row.key,
    sequence: 40 - at,
    wave: 40 - at,
    at: AT,
    verb: at % 9 === 0 ? 'deleted' : 'changed',
    paths: [`spec.${name}`],
    more: 0,
    ...(at % 2 === 0 && {
      cause: {
        by: name,
        for: name,
        at: AT,
        changes: [{ object: id, paths: [name], from: name, to: name, via: [name] }],
      },
    }),
    conditions: [{ type: 'Ready', before: 'True', after: 'False', reason: name, message: name }],
  }));
  const session: SessionAnswer = {
    context: name,
    version: '0.1.0',
    user: name,
    epoch: 'epoch',
    writes,
    worlds: [{ name: '' }],
    operators: ['kroxylicious', 'sesame', 'submariner', 'gimbal', 'crossplane'],
    kinds: [],
  };
  const overview: OverviewAnswer = {
    roots:
      objects === 0
        ? []
        : [
            {
              ...secret,
              state: 'absent',
              reason: 'NotFound',
              message: name,
              since: AT,
              affects: [id],
              affectsCount: 1,
              chain: [secret.id, id],
              chainLeft: 0,
            },
            ...broken.slice(0, 49).map((row) => ({
              ...row,
              state: 'broken' as const,
              affects: [],
              affectsCount: 0,
              chain: [row.id],
              chainLeft: 0,
            })),
          ],
    rootCount: objects === 0 ? 0 : broken.length + 1,
    progress: objects === 0 ? [] : [{ ...rowOf(1, text), state: 'progress', message: name }],
    progressCount: objects === 0 ? 0 : 1,
    operators: [{ name: 'kroxylicious', objects, ready: objects - broken.length, delivered: 3, leader: name }],
    sinks: [{ id: 'xds', keys: 3 }],
    heldCount: 0,
    filling: [],
    namespaces:
      objects === 0 ? [] : ['default', 'edge', name, 'shop'].map((one) => ({ name: one, objects, unready: 1 })),
  };
  const list: ObjectsAnswer = {
    rows: rows.slice(0, 1000),
    total: objects,
    facets:
      objects === 0
        ? { state: {}, kind: {}, operator: {}, namespace: {}, cluster: {} }
        : {
            state: { broken: broken.length, ready: objects - broken.length },
            kind: { [PROXY]: objects },
            operator: { kroxylicious: objects },
            namespace: { default: objects },
            cluster: { '-': objects, [name]: 0 },
          },
  };
  const object: ObjectAnswer = {
    id,
    object: {
      apiVersion: 'kroxylicious.io/v1alpha1',
      kind: 'KafkaProxy',
      metadata: { name, namespace: 'default', resourceVersion: '7', annotations: { note: name } },
      spec: { replicas: 2 },
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Waits', message: name }] },
    },
    owners: [
      { path: 'spec.replicas', manager: 'kubectl' },
      { path: 'status.conditions[{"type":"Ready"}].message', manager: name },
    ],
    health: { ...rowOf(3, text), message: name },
    cause: {
      by: name,
      for: name,
      at: AT,
      changes: [{ object: secret.id, paths: [name], from: name, to: name, via: [name] }],
    },
    history: [],
    changes,
    conditions: [{ type: 'Ready', status: 'False', reason: name, message: name, since: AT }],
    why: `It depends on ${name}.`,
    reads: [{ ...secret, presence: 'absent', projections: [name], via: [name], isListed: false }],
    readCount: 1,
    deliveries: [{ sink: name, key: name, state: 'rejected', message: name }],
    events: [{ type: 'Warning', reason: name, message: name, count: 2, at: AT }],
    pods: [
      {
        id: `Pod default/${name}`,
        world: '',
        kind: 'Pod',
        key: `default/${name}`,
        state: 'broken',
        message: name,
        owner: name,
        node: name,
        since: AT,
        isSimulated: true,
      },
    ],
  };
  const graph: GraphAnswer = {
    nodes: [
      { ...place, id, state: 'broken', distance: 0 },
      { ...secret, state: 'absent', distance: -1 },
      { id: 'Service default/s', world: '', kind: 'Service', key: 'default/s', state: 'none', distance: 1 },
    ],
    edges: [
      { from: id, to: secret.id, via: [] },
      { from: 'Service default/s', to: id, via: [] },
    ],
    left: [{ of: id, direction: 'readers', count: 412, worst: 'broken' }],
    writes: [],
  };
  return {
    '/api/session': session,
    '/api/overview': overview,
    '/api/reports': {
      reports: [
        {
          name: 'ingress/default/edge',
          operator: 'sesame',
          title: `Ingress ${name}`,
          path: '/api/ingress/default/edge',
        },
      ],
    } satisfies ReportsAnswer,
    '/api/objects': list,
    '/api/object/': object,
    '/api/graph/': graph,
    '/api/changes': { epoch: 'epoch', changes } satisfies ChangesAnswer,
    '/api/find': {
      objects: rows.slice(0, 5),
      absent: objects === 0 ? [] : [secret],
      total: objects,
    } satisfies FindAnswer,
    '/api/schema/': schema(),
    '/api/timeline': timeline(name, id, changes, objects),
    '/api/wave/': {
      wave: 40,
      at: AT,
      ms: 3,
      runs: 4,
      equal: 1,
      nodes: 96,
      changes: 1,
      list: changes.slice(0, 3),
    } satisfies WaveDetailAnswer,
    'POST /api/plan': plan(name),
    'POST /api/act': { done: [{ id, verb: 'applied' }] },
    ...operatorAnswers(name, id),
  };
}

function schema(): SchemaAnswer {
  return {
    kind: PROXY,
    apiVersion: 'kroxylicious.io/v1alpha1',
    schema: {
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { type: 'object' },
        spec: {
          type: 'object',
          properties: {
            replicas: { type: 'integer', description: 'The number of pods.' },
            isolation: { type: 'string', enum: ['Proxy', 'VirtualCluster'] },
          },
        },
      },
    },
  };
}

function plan(name: string): PlanAnswer {
  const write = {
    level: 1,
    by: 'kroxylicious.kafka-proxy',
    for: `KafkaProxy default/${name}`,
    paths: [],
    changes: [{ path: 'spec.a', before: name, after: 2 }],
  };
  return {
    planId: 'plan-1',
    text: `Plan of ${name}`,
    report: {
      given: [
        {
          verb: 'change',
          object: `KafkaProxy default/${name}`,
          tool: 'kubectl',
          paths: [],
          changes: [{ path: 'spec.replicas', before: 2, after: 3 }],
        },
      ],
      writes: [
        { ...write, verb: 'apply', object: 'Deployment default/p', disturbs: 'rolls pods' },
        { ...write, verb: 'status', object: `KafkaProxy default/${name}` },
      ],
      later: [],
      deliveries: [],
      problems: [{ by: name, object: name, message: name }],
      unknowns: [name],
      refusals: [name],
      notes: [name],
      mayFollow: [],
      undecided: [],
      due: [],
      levels: 1,
    },
  };
}

function timeline(name: string, id: string, changes: readonly ChangeAnswer[], objects: number): TimelineAnswer {
  const to = '2026-01-01T11:00:00Z';
  const lane = (at: number) => ({
    id: at === 0 ? id : `Service default/s${at}`,
    world: '',
    kind: at === 0 ? PROXY : 'Service',
    key: at === 0 ? `default/${name}` : `default/s${at}`,
    spans: [
      { from: AT, to: '2026-01-01T10:30:00Z', state: 'ready' as const, text: name },
      { from: '2026-01-01T10:30:00Z', state: 'broken' as const, text: name },
    ],
    marks: [{ at: '2026-01-01T10:30:00Z', sequence: 40 - at, verb: 'changed' as const, causes: at === 0 ? [] : [id] }],
  });
  const lanes = objects === 0 ? [] : [lane(0), lane(1), lane(2)];
  return {
    epoch: 'epoch',
    from: AT,
    to,
    lanes,
    laneCount: lanes.length,
    waves: changes.slice(0, 1).map(({ wave }) => ({ wave, at: AT, ms: 1, runs: 1, equal: 0, nodes: 9, changes: 1 })),
  };
}

function operatorAnswers(name: string, id: string): Answers {
  const route = {
    match: 'prefix /',
    from: `HTTPProxy default/${name}`,
    field: 'spec.routes[0]',
    services: [
      { cluster: 'default/s/80', service: `default/${name} port 80`, share: 100, endpoints: ['10.0.0.1:8080'] },
    ],
    isUnconditional: true,
  };
  const listener = { name: 'ingress_http', address: '0.0.0.0:8080', filters: [name], routes: [route] };
  const ingress: IngressAnswer = {
    instance: 'default/edge',
    listeners: [{ name: 'ingress_http', address: '0.0.0.0:8080', hosts: 2 }],
    hosts: [
      { host: 'store.test', isServed: true, from: [id], problems: [], routeCount: 1, listeners: [listener] },
      { host: name, isServed: false, from: [id], problems: [`${name} is missing`], routeCount: 0, listeners: [] },
    ],
    hostCount: 2,
    brokenCount: 1,
    envoys: [
      {
        node: name,
        version: '1.34',
        protocol: 'delta ADS',
        types: [
          { type: 'listeners', resources: 1, sent: '2', acknowledged: '2' },
          { type: 'routes', resources: 3, sent: '3', acknowledged: '2', rejected: { version: '3', message: name } },
        ],
      },
    ],
  };
  const explain: ExplainAnswer = {
    host: 'store.test',
    path: '/',
    servedAs: 'store.test',
    listeners: [{ ...listener, skipped: [{ match: 'prefix /other', from: name, field: name, reason: name }] }],
    problems: [],
  };
  const cluster = (cluster: string, location: string) => ({ id: cluster, labels: { location }, drivers: ['ipsec'] });
  const cables: CablesAnswer = {
    namespace: 'submariner-operator',
    clusterID: 'east',
    clusters: [cluster('east', 'cloud'), cluster('west', 'cloud'), cluster(name, 'edge')],
    groupBy: 'location',
    pairs: [
      { left: 'east', right: 'west', driver: 'vxlan', policy: 'default', state: 'up' },
      { left: 'east', right: name, driver: 'ipsec', policy: name, state: 'down', message: name, note: name },
      { left: 'west', right: name, driver: 'none', policy: name, state: 'none' },
    ],
    policies: [
      {
        name,
        isAccepted: false,
        message: name,
        pairs: 1,
        rules: [{ left: '', right: name, driver: 'ipsec', priority: 1 }],
      },
    ],
    problems: [],
  };
  const kafka: KafkaAnswer = {
    proxy: `default/${name}`,
    hash: 'aaaa',
    runningHash: 'bbbb',
    nodes: [
      {
        id: `Secret default/${name}`,
        world: '',
        kind: 'Secret',
        key: `default/${name}`,
        column: 0,
        covers: name,
        hash: '',
        problems: [name],
      },
      {
        id,
        world: '',
        kind: PROXY,
        key: `default/${name}`,
        column: 3,
        covers: 'spec.network',
        hash: 'aaaa',
        problems: [],
      },
    ],
    edges: [{ from: `Secret default/${name}`, to: id }],
    pods: [{ name, hash: 'bbbb', isCurrent: false, isReady: true }],
    questions: [{ id, field: name, rolls: true }],
    clusters: [{ name, bootstrap: [name], filters: [name], service: name, isServed: false, problems: [name] }],
    rollout: { type: 'Ready', status: 'False', reason: 'RollingOut', message: name, since: AT },
  };
  const discovery: DiscoveryAnswer = {
    backends: [
      {
        name: 'east',
        namespace: 'gimbal',
        type: 'kubernetes',
        wanted: 'Maintenance',
        state: name,
        services: 1,
        endpoints: 2,
        lastSync: AT,
        errors: [name],
      },
    ],
  };
  const backend: BackendAnswer = {
    name: 'east',
    wanted: 'Maintenance',
    state: name,
    drained: 0,
    blocked: 1,
    routes: [
      {
        id: `HTTPProxy.projectcontour.io shop/${name}`,
        world: '',
        kind: 'HTTPProxy.projectcontour.io',
        key: `shop/${name}`,
        rule: 'routes[0]',
        state: 'blocked',
        message: name,
        services: [{ service: name, backend: 'east', before: 100, now: 0, after: null }],
      },
    ],
    why: {
      cause: {
        by: name,
        for: name,
        at: AT,
        changes: [{ object: id, paths: [name], from: name, to: name, via: [name] }],
      },
      routes: [`HTTPProxy.projectcontour.io shop/${name}`],
    },
    credentials: { source: name, copy: name, since: AT, rotations: 1, refused: 1, window: name, problem: name },
  };
  const packages: PackagesAnswer = {
    packages: [{ kind: 'Provider', name: 'storage', package: name, revision: name, config: name }],
  };
  const detail: PackageAnswer = {
    kind: 'Provider',
    name: 'storage',
    package: name,
    revision: name,
    config: name,
    fields: [
      {
        object: 'Deployment',
        path: 'spec.replicas',
        layers: { default: 1, template: name },
        winner: 'template',
        value: name,
      },
    ],
    users: [name],
    warnings: [],
    steps: [{ world: '', kind: 'Provider.pkg.crossplane.io', key: 'storage', detail: name, state: 'ready' }],
    certificates: [{ usage: 'server', secret: name }],
  };
  return {
    '/api/ingress/': ingress,
    'POST /api/explain': explain,
    '/api/cables': cables,
    'POST /api/cables/what-if': {
      before: cables,
      after: { ...cables, pairs: cables.pairs.map((pair) => ({ ...pair, driver: 'wireguard' })) },
    },
    '/api/kafka': { proxies: [{ key: `default/${name}`, hash: 'aaaa', clusters: 1 }] } satisfies KafkaProxiesAnswer,
    '/api/kafka/': kafka,
    'POST /api/kafka/': { before: kafka, after: { ...kafka, hash: 'cccc' } },
    '/api/discovery': discovery,
    '/api/discovery/': backend,
    '/api/packages': packages,
    '/api/packages/': detail,
  };
}

/** The address of every page, with a heading that it has once its data is there. */
export const PAGES: readonly (readonly [path: string, heading: RegExp])[] = [
  ['/', /Root causes/],
  ['/explore', /Objects/],
  [`/o/-/${PROXY}/default/p`, /Conditions/],
  [`/o/-/${PROXY}/default/p?tab=reads`, /Recorded reads/],
  [`/o/-/${PROXY}/default/p?tab=deliveries`, /Deliveries/],
  [`/o/-/${PROXY}/default/p?tab=events`, /Events/],
  [`/plan?object=-%2F${PROXY}%2Fdefault%2Fp`, /Not known/],
  ['/ingress', /Delivered to Envoy/],
  ['/ingress?view=table', /Hosts/],
  ['/cables', /Policies/],
  ['/kafka', /Virtual clusters/],
  ['/discovery', /To get it done/],
  ['/packages', /Who decides/],
  ['/time?at=40', /This wave/],
];
