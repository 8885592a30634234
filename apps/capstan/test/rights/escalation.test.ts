// Each operator's account tries to become more than it is, with its own token, on the embedded server and on the real one. Every
// attempt is a dry run: authorization and the check against escalation take part, and nothing changes. SECURITY.md names each attempt
// that succeeds by default, with its reason; a new one fails here.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { startCluster } from '@capstan/apiserver';
import * as kinds from '@capstan/kube';
import {
  type Client,
  ConfigMap,
  createClient,
  type Kind,
  type KubeObject,
  Lease,
  Namespace,
  Secret,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { type Operator, rbacManifests, writePolicies } from '@capstan/reconcile';
import { createRandom, findBinaries, startRealCluster } from '@capstan/testing';
import { BUILT_IN_OPERATORS } from '../../src/operators.ts';
import { explainRights, formatRights } from '../../src/rights/explain-rights.ts';
import { INHERENT_RIGHTS, inherentRightsOf } from '../../src/rights/inherent-rights.ts';
import {
  type Attempt,
  get,
  HELD_TO_GRANT,
  INHERENT,
  INHERENT_IN_CLUSTER,
  OTHER,
  REFUSED,
  SYSTEM,
  secrets,
} from './attempts.test-support.ts';

const OWN = 'team';

interface Server {
  readonly client: Client;
  readonly url: string;
  readonly ca: string;
  close(): Promise<void>;
}

async function embedded(): Promise<Server> {
  const cluster = await startCluster({ clock: systemClock, random: createRandom(1), port: 0 });
  const [first] = cluster.clusters;
  assert.ok(first);
  const client = createClient({ transport: first.server.transport({}), clock: systemClock, logger: silentLogger });
  return { client, url: first.url, ca: cluster.ca, close: () => cluster.close() };
}

const binaries = findBinaries();
const SERVERS: readonly (readonly [name: string, start: () => Promise<Server>, skip: string | false])[] = [
  ['the embedded server', embedded, false],
  [
    'the real API server',
    () => startRealCluster({ controllers: ['clusterrole-aggregation'] }),
    'missing' in binaries ? binaries.missing : false,
  ],
];

for (const [where, start, skip] of SERVERS)
  describe(`the account of an operator on ${where}`, { skip }, () => {
    let server: Server;
    let operators: readonly Operator[] = [];
    before(async () => {
      server = await start();
      operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
      for (const name of [SYSTEM, OWN]) await applied(object(Namespace, name));
      for (const operator of operators)
        for (const one of [
          ...rbacManifests(operator, { namespace: SYSTEM }),
          ...writePolicies([operator], { namespace: SYSTEM }),
        ])
          await applied(one);
      for (const kind of [Secret, ConfigMap, Lease])
        for (const namespace of [OTHER, SYSTEM])
          await applied({ ...object(kind, 'there'), metadata: { namespace, name: 'there' } });
      const crossplane = operators.find(({ name }) => name === 'crossplane');
      assert.ok(crossplane);
      // The rules of the bound are aggregated by a controller.
      await until(async () => (await statusOf('crossplane', get(secrets(OTHER)))) === 200);
      // The server takes a moment to read a new policy.
      for (const { name } of operators)
        await until(async () => (await statusOf(name, { method: 'DELETE', path: `${secrets(OTHER)}/there` })) === 403);
      const [first] = Object.values(HELD_TO_GRANT);
      await until(async () => first !== undefined && (await statusOf('crossplane', first())) === 403);
    });
    after(() => server?.close());

    test('cannot become more than it is', async () => {
      for (const { name } of operators)
        for (const [what, attempt] of Object.entries(REFUSED)) {
          const status = await statusOf(name, attempt(name));
          // The embedded server has no nodes to forward to.
          assert.ok(
            status === 403 || (status === 404 && what === 'reach a node'),
            `${name} tried to ${what}: ${status}`,
          );
        }
    });

    test('does not use the rights that it holds to grant them to packages', async () => {
      for (const [what, attempt] of Object.entries(HELD_TO_GRANT))
        assert.equal(await statusOf('crossplane', attempt()), 403, what);
    });

    test('changes and deletes a Secret that it created', async () => {
      for (const { name } of operators.filter((one) => one.name !== 'crossplane')) {
        const { body } = INHERENT['create Secrets of its own in any namespace']?.try(OWN, name) ?? {};
        const own = `own-${name}`;
        const { metadata } = body as KubeObject;
        await applied({ ...(body as KubeObject), metadata: { ...metadata, namespace: OWN, name: own } });
        assert.equal(await statusOf(name, { method: 'DELETE', path: `${secrets(OWN)}/${own}` }), 200, name);
      }
    });

    test('has the inherent rights of its operator, and no other', async () => {
      for (const { name } of operators) {
        const attempts = [
          ...Object.entries(INHERENT).map(
            ([what, one]) => [what, [...one.by, ...(one.impliedFor ?? [])], one.try(OTHER, name)] as const,
          ),
          ...Object.entries(INHERENT_IN_CLUSTER).map(([what, one]) => [what, one.by, one.try()] as const),
        ];
        for (const [what, by, attempt] of attempts) {
          const status = await statusOf(name, attempt);
          assert.equal(status < 300 ? 'done' : status, by.includes(name) ? 'done' : 403, `${name} tried to ${what}`);
        }
      }
    });

    test('has the far-reaching rights that capstan rbac --explain names', () => {
      const tried = Object.entries({ ...INHERENT, ...INHERENT_IN_CLUSTER });
      const bounded = 'grant rights to accounts of packages';
      for (const operator of operators)
        assert.deepEqual(
          inherentRightsOf(operator)
            .map(({ right }) => right)
            .filter((right) => right !== bounded)
            .toSorted(),
          tried.flatMap(([right, { by }]) => (by.includes(operator.name) ? [right] : [])).toSorted(),
          operator.name,
        );
      assert.deepEqual(
        operators.flatMap((one) => (inherentRightsOf(one).some(({ right }) => right === bounded) ? [one.name] : [])),
        ['crossplane'],
      );
    });

    test('has them in the namespaces alone that it watches, where these are named', async () => {
      for (const operator of operators) {
        const { name } = operator;
        const account = `narrow-${name}`;
        // A bound that holds no Secrets: the administrator decides.
        const options = { namespace: SYSTEM, name: account, watchNamespaces: [OWN], bounds: false };
        for (const one of rbacManifests(operator, options)) await applied(one);
        for (const [what, one] of Object.entries(INHERENT)) {
          assert.equal(await statusOf(name, one.try(OTHER, name), account), 403, `${name} tried to ${what}`);
        }
      }
      assert.equal(await statusOf('sesame', get(secrets(OWN)), 'narrow-sesame'), 200);
    });

    const tokens = new Map<string, string>();

    async function statusOf(operator: string, attempt: Attempt, account = `capstan-${operator}`): Promise<number> {
      const token = tokens.get(account) ?? (await tokenOf(account));
      tokens.set(account, token);
      return send(server, token, attempt);
    }

    async function tokenOf(account: string): Promise<string> {
      const { body } = await server.client.request({
        method: 'POST',
        path: `/api/v1/namespaces/${SYSTEM}/serviceaccounts/${account}/token`,
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
      });
      return (body as { status: { token: string } }).status.token;
    }

    async function applied(one: KubeObject): Promise<void> {
      const kind = (kinds as unknown as Readonly<Record<string, Kind>>)[one.kind];
      assert.ok(kind, one.kind);
      await server.client.apply(kind, one, { fieldManager: 'test', force: true });
    }
  });

test('SECURITY.md names every inherent right, with the operators that have it', async () => {
  const text = await readFile(new URL('../../../../SECURITY.md', import.meta.url), 'utf8');
  for (const [what, { by }] of Object.entries({ ...INHERENT, ...INHERENT_IN_CLUSTER })) {
    const line = text.split('\n').find((one) => one.toLowerCase().startsWith(`| ${what}`.toLowerCase()));
    assert.ok(line, `SECURITY.md has no line about the right to ${what}`);
    for (const name of by) assert.match(line, new RegExp(name, 'i'), what);
  }
  for (const { right } of INHERENT_RIGHTS) assert.ok(right in INHERENT || right in INHERENT_IN_CLUSTER, right);
});

test('docs/rights.md is the output of capstan rbac --explain; UPDATE_RIGHTS=1 writes it', async () => {
  const file = new URL('../../../../docs/rights.md', import.meta.url);
  const operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
  const all = operators.map((one) => explainRights(one, { role: undefined, watchNamespaces: undefined }));
  const page = `${RIGHTS_TITLE}\n\`\`\`text\n${formatRights(all)}\`\`\`\n`;
  if (process.env['UPDATE_RIGHTS'] !== undefined) await writeFile(file, page);
  assert.equal(await readFile(file, 'utf8'), page);
});

const RIGHTS_TITLE = `# Rights that reach further than declared

\`capstan rbac --explain\` prints this page; a test compares them. The first part of each operator names its far-reaching rights, as
[SECURITY.md](../SECURITY.md#inherent-rights) does. The second part lists every rule of its roles that permits more than its reconcilers
declare, with what RBAC cannot express; the legend is at the end. \`capstan rbac\` prints the roles themselves.
`;

function object(kind: Kind, name: string): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name } };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, 'the rules of the bound were never aggregated, or a policy does not hold');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Sends it as the account of the token; changes nothing. */
function send({ url, ca }: Server, token: string, { method, path, body, type, headers }: Attempt): Promise<number> {
  const base = new URL(url);
  const target = new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base);
  if (method !== 'GET') target.searchParams.set('dryRun', 'All');
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      target,
      {
        method,
        ca,
        headers: { authorization: `Bearer ${token}`, 'content-type': type ?? 'application/json', ...headers },
      },
      (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
