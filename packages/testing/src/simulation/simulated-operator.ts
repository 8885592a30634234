// The operator that the simulation runs: small, and using every part of a plan that can go wrong. A Site makes ConfigMaps,
// a Deployment that rolls with its hash, a ClusterRole that owner references cannot reach and a minted Secret; a Fleet
// aggregates the hashes of its Sites.
import {
  array,
  ClusterRole,
  ConfigMap,
  conditions,
  Deployment,
  defineKind,
  type KindOf,
  map,
  object,
  optional,
  Secret,
  string,
} from '@capstan/kube';
import {
  apply,
  conditionType,
  derivation,
  drop,
  index,
  type Minter,
  mint,
  operator,
  patch,
  plan,
  reading,
  reconciler,
  released,
  writing,
} from '@capstan/reconcile';

export const Site = defineKind({
  group: 'simulation.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({
    image: string(),
    secret: optional(string()),
    pages: map(string(), { default: {} }),
    /** A ConfigMap of another client that gets a field from us. */
    borrowed: optional(string()),
    roles: array(string(), { default: [] }),
  }),
  status: object({ conditions: conditions(), hash: optional(string()), lastImage: optional(string()) }),
  memory: object({ ports: map(string()) }),
});
export type Site = KindOf<typeof Site>;

export const Fleet = defineKind({
  group: 'simulation.capstan.dev',
  version: 'v1',
  kind: 'Fleet',
  scope: 'Namespaced',
  spec: object({ team: string() }),
  status: object({ conditions: conditions(), hash: optional(string()) }),
});
export type Fleet = KindOf<typeof Fleet>;

const ready = conditionType<'SecretMissing' | 'Deployed' | 'Summed'>('Ready');

const secretData = (secret: Secret) => secret.data;
const specOf = (site: Site) => site.spec;
const keyOfSite = (site: Site) => `${site.metadata.namespace}/${site.metadata.name}`;

/** The leaf hash: undefined while the Secret that it needs is missing. */
const siteHash = derivation<string | undefined>({
  name: 'site-hash',
  compute({ key, read, digest }) {
    const [namespace = '', name = ''] = key.split('/');
    const spec = read.get(Site, { namespace, name }, specOf);
    if (spec === undefined) return undefined;
    if (spec.secret === undefined) return digest(spec.image, spec.pages);
    const data = read.get(Secret, { namespace, name: spec.secret }, secretData);
    return data === undefined ? undefined : digest(spec.image, spec.pages, data);
  },
});

const key: Minter<{ bytes: number }, Secret> = {
  name: 'key',
  valid: (existing) => existing.data?.['key'] !== undefined,
  make: ({ bytes }) =>
    Promise.resolve({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {},
      data: { key: Buffer.alloc(bytes, 1).toString('base64') },
    }),
};

export const site = reconciler<Site, { ports: Record<string, string> }>({
  name: 'site',
  resource: Site,
  reads: [reading(Secret, 'referenced')],
  writes: [Deployment, ClusterRole, writing(Secret, 'mint'), writing(ConfigMap, ['apply', 'patch'])],
  reconcile({ object: owner, read, memory }) {
    const { name = '', namespace = '' } = owner.metadata;
    const { pages, roles, borrowed } = owner.spec;
    const hash = read.derived(siteHash, keyOfSite(owner));
    // Sticky: a page keeps the port that it got first.
    const ports: Record<string, string> = {};
    for (const page of Object.keys(pages).toSorted()) ports[page] = memory.own?.ports[page] ?? `port-of-${page}`;
    if (hash === undefined) {
      // Invalid input never destroys: existing children stay.
      return plan({
        conditions: [ready.isFalse('SecretMissing', `Secret ${owner.spec.secret} is missing: create it`)],
        memory: { ports },
        prune: false,
      });
    }
    return plan({
      groups: [
        {
          name: 'pages',
          children: [
            ...Object.entries(pages).map(([page, text]) =>
              apply(ConfigMap, {
                metadata: { name: `${name}-${page}`, namespace },
                data: { text, port: ports[page] ?? '' },
              }),
            ),
            ...roles.map((role) =>
              apply(ClusterRole, { metadata: { name: `${namespace}-${name}-${role}` }, rules: [] }),
            ),
            mint(Secret, { namespace, name: `${name}-key` }, key, { bytes: 8 }),
          ],
          patches:
            borrowed === undefined || read.get(ConfigMap, { namespace, name: borrowed }, exists) === undefined
              ? []
              : [patch(ConfigMap, { namespace, name: borrowed }, [{ path: '/data/lentTo', value: name }])],
        },
        {
          name: 'deployment',
          quietMs: 500,
          children: [apply(Deployment, deployment(namespace, name, owner.spec.image, hash))],
        },
      ],
      conditions: [ready.isTrue('Deployed', 'everything is there')],
      status: { hash, lastImage: owner.spec.image === 'none' ? drop() : owner.spec.image },
      memory: { ports },
      events: [{ reason: 'Deployed', note: `image ${owner.spec.image}` }],
    });
  },
  release: () => released(),
});

const exists = () => true;
const teamOf = index(Site, 'team', (found) => [`${found.metadata.namespace}/${found.metadata.labels?.['team'] ?? ''}`]);

export const fleet = reconciler<Fleet>({
  name: 'fleet',
  resource: Fleet,
  reads: [Site, reading(Secret, 'referenced')],
  writes: [ConfigMap],
  reconcile({ object: owner, read, digest }) {
    const { name = '', namespace = '' } = owner.metadata;
    const members = read.by(teamOf, `${namespace}/${owner.spec.team}`, keyOfSite);
    const hashes = members.map((member) => [member, read.derived(siteHash, member) ?? 'unknown']);
    const hash = digest(hashes);
    return plan({
      children: [
        apply(ConfigMap, {
          metadata: { name: `${name}-fleet`, namespace },
          data: { hash, members: members.join(' ') },
        }),
      ],
      conditions: [ready.isTrue('Summed', `${members.length} sites`)],
      status: { hash },
    });
  },
});

function deployment(namespace: string, name: string, image: string, hash: string) {
  const labels = { app: name };
  const template = { metadata: { labels, annotations: { hash } }, spec: { containers: [{ name: 'main', image }] } };
  return { metadata: { name, namespace }, spec: { replicas: 1, selector: { matchLabels: labels }, template } };
}

export const simulatedOperator = operator({ name: 'simulation', kinds: [Site, Fleet], reconcilers: [site, fleet] });
