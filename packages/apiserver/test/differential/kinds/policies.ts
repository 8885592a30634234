import { type GeneratedKind, maybe, subset } from './kind.ts';

const PEERS = [
  { podSelector: { matchLabels: { app: 'x' } } },
  { namespaceSelector: {} },
  { ipBlock: { cidr: '10.0.0.0/8' } },
  { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } },
  { ipBlock: { cidr: '10.0.0.0/8', except: ['192.168.0.0/16'] } },
  { ipBlock: { cidr: 'nowhere' } },
  { ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} },
  {},
];

const PORTS = [
  { port: 80 },
  { port: 'http', protocol: 'TCP' },
  { port: 8000, endPort: 9000 },
  { port: 9000, endPort: 8000 },
  { port: 'http', endPort: 9000 },
  { port: 0, protocol: 'Other' },
  { endPort: 80 },
];

export const networkPolicies: GeneratedKind = {
  collection: '/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies',
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.9, () => ({
        podSelector: random.pick<object>([{}, { matchLabels: { app: 'x' } }, { matchLabels: { 'a b': 'c' } }]),
      })),
      ...maybe(random, 0.6, () => ({
        ingress: random.pick<unknown[]>([
          [],
          [{}],
          [{ from: [random.pick(PEERS.slice(0, 4))] }],
          [{ from: subset(random, PEERS), ports: subset(random, PORTS) }],
          [{ ports: [random.pick(PORTS.slice(0, 3))] }],
        ]),
      })),
      ...maybe(random, 0.4, () => ({
        egress: random.pick<unknown[]>([
          [],
          [{ to: [random.pick(PEERS)], ports: [random.pick(PORTS)] }],
          [{ to: [random.pick(PEERS.slice(0, 4))] }],
        ]),
      })),
      ...maybe(random, 0.4, () => ({
        policyTypes: random.pick([['Ingress'], ['Ingress', 'Egress'], ['Egress'], ['Other'], ['a', 'b', 'c'], []]),
      })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { podSelector: { matchLabels: { app: 'y' } } } },
      { spec: { ingress: null } },
      { spec: { ingress: [{ from: [random.pick(PEERS)] }] } },
      { spec: { policyTypes: ['Egress'] } },
      { spec: { policyTypes: null } },
    ]),
  operations: () => [{ op: 'add', path: '/spec/ingress', value: [{}] }],
  applied: (random) => ({
    spec: {
      podSelector: {},
      ...maybe(random, 0.5, () => ({ ingress: [{ from: [random.pick(PEERS.slice(0, 4))] }] })),
      ...maybe(random, 0.3, () => ({ policyTypes: ['Ingress'] })),
    },
  }),
  fieldSelectors: ['metadata.name=a'],
};

export const ingressClasses: GeneratedKind = {
  collection: '/apis/networking.k8s.io/v1/ingressclasses',
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  names: ['{ns}-a', '{ns}-b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.9, () => ({
        controller: random.pick(['example.com/own', 'own', 'Not/A/Name', 'x'.repeat(251)]),
      })),
      ...maybe(random, 0.5, () => ({
        parameters: random.pick<object>([
          { kind: 'Config', name: 'a' },
          { apiGroup: 'example.com', kind: 'Config', name: 'a', scope: 'Cluster' },
          { apiGroup: 'example.com', kind: 'Config', name: 'a', scope: 'Namespace', namespace: 'x' },
          { kind: 'Config', name: 'a', scope: 'Namespace' },
          { kind: 'Config', name: 'a', scope: 'Cluster', namespace: 'x' },
          { apiGroup: 'Bad Group', kind: 'a/b', name: '', scope: 'Other' },
          {},
        ]),
      })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { controller: 'example.com/other' } },
      { spec: { parameters: null } },
      { spec: { parameters: { kind: 'Config', name: 'b' } } },
    ]),
  operations: () => [{ op: 'remove', path: '/spec/parameters' }],
  applied: (random) => ({ spec: { controller: random.pick(['example.com/own', 'example.com/two']) } }),
  fieldSelectors: ['metadata.name={ns}-a'],
};

export const priorityClasses: GeneratedKind = {
  collection: '/apis/scheduling.k8s.io/v1/priorityclasses',
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  names: ['{ns}-a', '{ns}-b'],
  // Never a global default: it would count for the pods of other sequences.
  content: (random) => ({
    ...maybe(random, 0.95, () => ({ value: random.pick<unknown>([1, 100, -5, 1_000_000_001, 'x', 1.5]) })),
    ...maybe(random, 0.3, () => ({ globalDefault: false })),
    ...maybe(random, 0.3, () => ({ description: 'of some importance' })),
    ...maybe(random, 0.3, () => ({ preemptionPolicy: random.pick(['Never', 'PreemptLowerPriority', 'Other']) })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { value: 1 },
      { value: 7 },
      { description: 'other' },
      { preemptionPolicy: 'Never' },
      { preemptionPolicy: null },
    ]),
  operations: () => [{ op: 'replace', path: '/description', value: 'new' }],
  applied: (random) => ({ value: 100, ...maybe(random, 0.5, () => ({ description: random.pick(['x', 'y']) })) }),
  fieldSelectors: ['metadata.name={ns}-a'],
};

const HOOK = {
  name: 'a.example.com',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  clientConfig: { url: 'https://127.0.0.1:9/x' },
  // The group is not served: a configuration affects every sequence.
  rules: [{ apiGroups: ['none.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] }],
};

const HOOKS = [
  HOOK,
  { ...HOOK, name: 'b.example.com', failurePolicy: 'Ignore', timeoutSeconds: 3, matchPolicy: 'Exact' },
  { ...HOOK, clientConfig: { service: { name: 'a', namespace: 'b', path: '/x' } } },
  { ...HOOK, name: 'short', sideEffects: 'Some', timeoutSeconds: 31 },
  { ...HOOK, clientConfig: { url: 'http://127.0.0.1/x' }, failurePolicy: 'Other' },
  { ...HOOK, clientConfig: {}, matchPolicy: 'Other', admissionReviewVersions: ['v9'] },
  { ...HOOK, clientConfig: { url: 'https://a', service: { name: 'a', namespace: 'b' } } },
  { ...HOOK, rules: [{ ...HOOK.rules[0], operations: ['BAKE'], scope: 'Some' }] },
  { ...HOOK, rules: [{ ...HOOK.rules[0], resources: [], apiGroups: [] }] },
  { ...HOOK, rules: [{ ...HOOK.rules[0], resources: ['*', 'nothings'], operations: ['*', 'CREATE'] }] },
  { ...HOOK, admissionReviewVersions: [], sideEffects: undefined },
  { name: 'c.example.com' },
];

export const webhookConfigurations: GeneratedKind = {
  collection: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  names: ['{ns}-a', '{ns}-b'],
  content: (random) => ({
    ...maybe(random, 0.95, () => ({
      webhooks: random.chance(0.6) ? [random.pick(HOOKS.slice(0, 3))] : subset(random, HOOKS),
    })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { webhooks: [random.pick(HOOKS)] },
      { webhooks: null },
      { webhooks: [{ name: 'a.example.com', failurePolicy: 'Ignore' }] },
    ]),
  operations: () => [{ op: 'add', path: '/webhooks/0/timeoutSeconds', value: 5 }],
  applied: (random) => ({ webhooks: [random.pick(HOOKS.slice(0, 3))] }),
  fieldSelectors: ['metadata.name={ns}-a'],
};

export const mutatingConfigurations: GeneratedKind = {
  ...webhookConfigurations,
  collection: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
  content: (random) => ({
    webhooks: [
      {
        ...random.pick(HOOKS),
        ...maybe(random, 0.4, () => ({ reinvocationPolicy: random.pick(['IfNeeded', 'Never', 'Other']) })),
      },
    ],
  }),
};
