// The proxy's own parser and model accept every form of configuration that the operator writes. No socket is needed.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import {
  type Client,
  ConfigMap,
  createCa,
  issueCertificate,
  type KubeObject,
  Secret,
  systemClock,
} from '@capstan/kube';
import {
  balancerIngress,
  cluster,
  configMap,
  configMapNameOf,
  configurationOf,
  filter,
  get,
  NAMESPACE,
  opaque,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from '../fixtures.ts';
import { java, realProxy, skip } from './programs.ts';

interface Variation {
  readonly what: string;
  readonly objects: readonly KubeObject[];
  /** The release of the proxy that introduced it. The operator's default image is newer than all of these. */
  readonly since?: string;
}

const bootstrapServers = 'localhost:9092';
const secure = (more: object = {}, ingress = 'tls') => ({
  ingresses: [{ ingressRef: { name: ingress }, tls: { certificateRef: { name: 'server' }, ...more } }],
});

/** Each variation is stored with a proxy, an ingress of every kind, a Secret `server` with a certificate, and a ConfigMap `ca`. */
const VARIATIONS: readonly Variation[] = [
  { what: 'a cluster by ports', objects: [proxy(), service({ bootstrapServers }), cluster('one')] },
  {
    what: 'ranges of node ids',
    objects: [
      proxy(),
      service({
        bootstrapServers: `${bootstrapServers}, localhost:9093`,
        nodeIdRanges: [
          { name: 'controllers', start: 0, end: 2 },
          { start: 10, end: 14 },
        ],
      }),
      cluster('one'),
      cluster('two'),
    ],
  },
  { what: 'a cluster by names', objects: [proxy(), service({ bootstrapServers }), cluster('one', secure())] },
  {
    what: 'clients that must show a certificate',
    objects: [
      proxy(),
      service({ bootstrapServers }),
      cluster('one', secure({ trustAnchorRef: { name: 'ca', key: 'ca.pem' } })),
      cluster('two', secure({ trustAnchorRef: { name: 'ca', key: 'ca.pem' }, tlsClientAuthentication: 'REQUESTED' })),
    ],
  },
  {
    what: 'protocols and cipher suites',
    objects: [
      proxy(),
      service({ bootstrapServers }),
      cluster(
        'one',
        secure({
          protocols: { allow: ['TLSv1.3', 'TLSv1.2'], deny: ['TLSv1.2'] },
          cipherSuites: { allow: ['TLS_AES_128_GCM_SHA256'], deny: [] },
        }),
      ),
    ],
  },
  {
    what: 'clusters behind a load balancer, by names and by ports at once',
    since: '0.14.0',
    objects: [
      proxy(),
      service({ bootstrapServers }),
      cluster('one', {
        ingresses: [{ ingressRef: { name: 'tcp' } }, ...secure().ingresses, ...secure({}, 'outside').ingresses],
      }),
      cluster('two', secure({}, 'outside')),
    ],
  },
  {
    what: 'TLS to the broker, with a certificate of its own',
    objects: [
      proxy(),
      service({
        bootstrapServers,
        tls: { certificateRef: { name: 'server' }, trustAnchorRef: { name: 'ca', key: 'ca.pem' } },
      }),
      cluster('one'),
    ],
  },
  {
    what: 'filters, one of them twice',
    objects: [
      proxy(),
      service({ bootstrapServers }),
      filter({ prefixResourceNameSeparator: '.' }, 'tenants', 'MultiTenant'),
      filter(
        { transformation: 'UpperCasing', transformationConfig: { charset: 'UTF-8' } },
        'upper-case',
        'ProduceRequestTransformation',
      ),
      cluster('one', { filterRefs: [{ name: 'upper-case' }, { name: 'tenants' }] }),
      cluster('two', { filterRefs: [{ name: 'tenants' }] }),
    ],
  },
  {
    what: 'a filter whose configuration names a Secret',
    objects: [
      proxy(),
      service({ bootstrapServers }),
      opaque('vault-token', { token: 'root' }),
      filter({
        kms: 'VaultKmsService',
        kmsConfig: {
          vaultTransitEngineUrl: 'https://vault.example:8200/v1/transit',
          vaultToken: { passwordFile: '${secret:vault-token:token}' },
        },
        selector: 'TemplateKekSelector',
        selectorConfig: { template: 'key-$(topicName)' },
      }),
      cluster('one', { filterRefs: [{ name: 'encryption' }] }),
    ],
  },
  {
    what: 'metrics',
    objects: [
      proxy({
        micrometer: [{ type: 'StandardBindersHook', config: { binderNames: ['JvmGcMetrics', 'UptimeMetrics'] } }],
      }),
      service({ bootstrapServers }),
      cluster('one'),
    ],
  },
  {
    what: 'network settings',
    since: '0.19.0',
    objects: [
      proxy({
        network: {
          proxy: { workerThreadCount: 2, shutdownTimeout: '1m30s', authenticatedIdleTimeout: '30s' },
          management: { workerThreadCount: 1, shutdownQuietPeriod: '200ms' },
        },
      }),
      service({ bootstrapServers }),
      cluster('one'),
    ],
  },
];

describe('the real proxy accepts', { skip }, () => {
  const answers = new Map<string, string>();

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-kroxylicious-'));
    try {
      const files: string[] = [];
      for (const [index, { objects }] of VARIATIONS.entries()) {
        files.push(await writeConfiguration(join(folder, String(index)), objects));
      }
      // An early release ignores unknown keys, but it refuses a file without a required key.
      const wrong = join(folder, 'wrong-key.yaml');
      writeFileSync(wrong, readFileSync(files[0] ?? '', 'utf8').replace('targetCluster:', 'noSuchKey:'));
      files.push(wrong);
      const program = java('proxy', [join(import.meta.dirname, 'Accept.java'), ...files]);
      assert.equal(await program.ended, 0, program.errors());
      const detail = program.lines.filter((line) => line.startsWith(ANSWER));
      for (const [index, what] of [...VARIATIONS.map((one) => one.what), WRONG].entries()) {
        answers.set(what, detail[index]?.slice(ANSWER.length) ?? 'no answer');
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  for (const { what, since = '0' } of VARIATIONS) {
    const isOlder = isBefore(realProxy?.version ?? since, since);
    const why = isOlder ? `it came with ${since}, and ${realProxy?.version} is here` : false;
    test(what, { skip: why }, () => assert.equal(answers.get(what), 'accepted'));
  }

  test('and refuses a file without a required key', () =>
    assert.match(answers.get(WRONG) ?? '', /noSuchKey|targetCluster/));
});

const ANSWER = 'answer: ';
const WRONG = 'a wrong key';

function isBefore(left: string, right: string): boolean {
  return left.localeCompare(right, 'en', { numeric: true }) < 0;
}

/** Writes the configuration and every file that it names as the proxy's pod would have them. */
async function writeConfiguration(folder: string, objects: readonly KubeObject[]): Promise<string> {
  const validity = { notBefore: systemClock.now() - 86_400_000, notAfter: systemClock.now() + 86_400_000 };
  const ca = await createCa({ commonName: 'test', ...validity });
  const issued = await issueCertificate({ ca, commonName: 'proxy', usages: ['server', 'client'], ...validity });
  const common = [
    tcpIngress(),
    tlsIngress(),
    balancerIngress(),
    tlsSecret('server', issued),
    configMap('ca', { 'ca.pem': ca.certificate }),
  ];
  let text = '';
  await staged({ objects: [...common, ...objects] }, async ({ client }) => {
    text = await configurationOf(client);
    await writeMounts(client, folder);
  });
  const file = join(folder, 'config.yaml');
  writeFileSync(file, text.replaceAll(ROOT, folder));
  return file;
}

const ROOT = '/opt/kroxylicious';

async function writeMounts(client: Client, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const deployment = await get.deployment(client);
  const { volumes = [], containers = [] } = deployment.spec?.template.spec ?? {};
  for (const { name, mountPath } of containers[0]?.volumeMounts ?? []) {
    const volume = volumes.find((one) => one.name === name);
    const { secretName } = volume?.secret ?? {};
    const map = volume?.configMap?.name;
    if (map === configMapNameOf(deployment)) continue;
    const at = mountPath.replace(ROOT, folder);
    mkdirSync(at, { recursive: true });
    if (secretName !== undefined) {
      const { data = {} } = await client.get(Secret, { namespace: NAMESPACE, name: secretName });
      for (const [key, value] of Object.entries(data)) writeFileSync(join(at, key), Buffer.from(value, 'base64'));
    }
    if (map !== undefined) {
      const { data = {} } = await client.get(ConfigMap, { namespace: NAMESPACE, name: map });
      for (const [key, value] of Object.entries(data)) writeFileSync(join(at, key), value);
    }
  }
}
