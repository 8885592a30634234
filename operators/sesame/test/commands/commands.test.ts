import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { silentLogger, systemClock } from '@capstan/kube';
import { assertReport } from '@capstan/testing';
import { parse } from 'yaml';
import { issueXdsCertificates } from '../../src/certificates/issue.ts';
import { REPORT_SCHEMAS } from '../../src/commands/report-schemas.ts';
import { openConnections } from '../../src/shutdown/admin.ts';
import { SHUTDOWN_DEFAULTS, shutdownEnvoy } from '../../src/shutdown/shutdown.ts';
import { serveShutdownManager } from '../../src/shutdown/shutdown-manager.ts';
import { runCommand } from './command-io.ts';

describe('the program sesame', () => {
  const wrong: [line: string, message: RegExp][] = [
    ['bootstrap', /^error: sesame bootstrap needs a path; for example: /],
    ['bootstrap a b', /^error: sesame bootstrap does not know what to do with "b"; /],
    ['bootstrap - --xds-prt=1', /^error: sesame bootstrap has no flag --xds-prt; did you mean --xds-port\?/],
    ['bootstrap - --xds-port=x', /^error: --xds-port cannot be "x"; use a number from 1 to 65535/],
    ['bootstrap - --xds-port=70000', /^error: --xds-port cannot be "70000"; use a number from 1 to 65535/],
    ['certgen', /^error: sesame certgen needs one of --kube, --yaml and --pem; /],
    ['certgen --pem --certificate-lifetime=0', /^error: --certificate-lifetime cannot be "0"; /],
    ['migrate config', /^error: sesame migrate config needs a file; /],
    ['migrate config x --to=stone', /^error: --to cannot be "stone"; use one of resource, file/],
    ['envoy shutdown --check-interval=soon', /^error: --check-interval cannot be "soon"; use a duration/],
    ['config show -c x --sesame-config=y', /^error: --config-path and --sesame-config cannot be given together/],
  ];
  for (const [line, message] of wrong)
    test(`refuses ${line}`, async () => {
      const { code, err } = await runCommand(line, { x: '' });
      assert.equal(code, 2);
      assert.match(err, message);
    });
});

describe('sesame migrate config', () => {
  test('prints the resource on stdout and the report on stderr', async () => {
    const { code, out, err } = await runCommand('migrate config f', { f: 'incluster: true\ndebug: true\n' });
    assert.equal(code, 0);
    assert.equal((parse(out) as { kind: string }).kind, 'SesameConfiguration');
    assert.equal(err, 'note: incluster of the file stays a flag: --incluster=true\n');
  });

  test('ends with 1 for errors, with 2 for warnings if strict', async () => {
    const old = 'request-timeout: 5s\n';
    assert.equal((await runCommand('migrate config f', { f: old })).code, 0);
    assert.equal((await runCommand('migrate config f --strict', { f: old })).code, 2);
    const { code, out, err } = await runCommand('migrate config -', { '-': 'nope: 1\n' });
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /^standard input:1:1: error: nope: /);
    assert.match(
      (await runCommand('migrate config gone')).err,
      /^error: the file gone cannot be read: .*no such file.*; /,
    );
  });

  test('writes to a file', async () => {
    const { written, out } = await runCommand('migrate config -f f -o r.yaml', { f: '' });
    assert.equal(out, '');
    assert.match(written.get('r.yaml')?.text ?? '', /kind: SesameConfiguration/);
  });
});

describe('sesame config show', () => {
  test('prints each value with its origin', async () => {
    const { code, out } = await runCommand('config show -c f --xds-port=9001 --origin', { f: 'debug: true\n' });
    assert.equal(code, 0);
    assert.match(out, /^xdsServer\.port +flag --xds-port +9001$/m);
    assert.match(out, /^debug\.logLevel +file f +"debug"$/m);
    assert.match(out, /^health\.port +default +8000$/m);
  });

  test('prints every format, by the documented schema', async () => {
    const run = async (flags: string) =>
      (await runCommand(`config show -c f ${flags}`.trim(), { f: 'debug: true\n' })).out;
    const plain: unknown = JSON.parse(await run('-o json'));
    assertReport(REPORT_SCHEMAS['sesame config show'], plain);
    assert.deepEqual(parse(await run('')), plain, 'YAML is the default');
    const origins: unknown = JSON.parse(await run('--origin -o json'));
    assertReport(REPORT_SCHEMAS['sesame config show --origin'], origins);
    assert.deepEqual(parse(await run('--origin -o yaml')), origins);
    assert.match(await run('-o table'), /^debug\.logLevel +"debug"$/m);
    assert.match(await run('-o wide'), /^debug\.logLevel +file f +"debug"$/m);
    assert.equal(await run('-o name'), '', 'a file is no object');
  });

  test('reports errors and ends with 1', async () => {
    for (const text of ['debug: true\ndebug: true\n', 'debgu: true\n', 'tls:\n\tx: 1\n'])
      assert.equal((await runCommand('config show -c f', { f: text })).code, 1, text);
    const { code, err } = await runCommand('config show -c f', { f: 'accesslog-format: xml\n' });
    assert.equal(code, 1);
    assert.match(err, /^f:1:1: error: accesslog-format: must be envoy or json/);
  });
});

interface Cluster {
  name: string;
  type: string;
  alt_stat_name: string;
  transport_socket?: unknown;
}

describe('sesame bootstrap', () => {
  const shown = async (line: string, files = {}) => {
    const ran = await runCommand(`bootstrap - ${line}`.trim(), files);
    assert.equal(ran.code, 0, ran.err);
    return JSON.parse(ran.out) as {
      static_resources: { clusters: Cluster[] };
      dynamic_resources: { lds_config: object; ads_config?: object };
      overload_manager?: { resource_monitors: unknown[]; actions?: unknown[] };
    };
  };

  test('has one stream for each type from the cluster sesame', async () => {
    const config = await shown('--namespace=edge');
    const [xds, admin] = config.static_resources.clusters;
    assert.deepEqual(
      [xds?.name, xds?.type, xds?.alt_stat_name, xds?.transport_socket],
      ['sesame', 'STATIC', 'edge_sesame_8001', undefined],
    );
    assert.equal(admin?.alt_stat_name, 'edge_envoy-admin_9001');
    assert.deepEqual(config.dynamic_resources.lds_config, { ads: {}, resource_api_version: 'V3' });
    assert.ok(config.dynamic_resources.ads_config);
    const separate = await shown('--xds-mode=sotw');
    assert.equal(separate.dynamic_resources.ads_config, undefined);
    assert.deepEqual(separate.dynamic_resources.lds_config, {
      api_config_source: {
        api_type: 'GRPC',
        transport_api_version: 'V3',
        grpc_services: [{ envoy_grpc: { cluster_name: 'sesame', authority: 'sesame' } }],
      },
      resource_api_version: 'V3',
    });
    assert.equal((await shown('--xds-address=sesame.edge')).static_resources.clusters[0]?.type, 'STRICT_DNS');
  });

  test('has an overload manager on request', async () => {
    const config = await shown('--overload-max-heap=1000 --overload-downstream-max-conn=5');
    assert.deepEqual(
      [config.overload_manager?.resource_monitors.length, config.overload_manager?.actions?.length],
      [2, 2],
    );
  });

  test('names certificates in files that Envoy watches, when there is a folder for them', async () => {
    const { ca, envoy } = await issueXdsCertificates({
      namespace: 'x',
      sesameService: 'sesame',
      envoyService: 'envoy',
      now: Date.now(),
      lifeMs: 86_400_000,
    });
    const files = { 'certs/ca.crt': ca, 'certs/tls.crt': envoy.certificate, 'certs/tls.key': envoy.key };
    const flags = '--envoy-cafile=certs/ca.crt --envoy-cert-file=certs/tls.crt --envoy-key-file=certs/tls.key';
    const { written, code } = await runCommand(
      `bootstrap config/envoy.json ${flags} --resources-dir=config/resources`,
      files,
    );
    assert.equal(code, 0);
    assert.deepEqual([...written.keys()].toSorted(), [
      'config/envoy.json',
      'config/resources/sds/xds-tls-certificate.json',
      'config/resources/sds/xds-validation-context.json',
    ]);
    assert.match(written.get('config/resources/sds/xds-validation-context.json')?.text ?? '', /"exact": "sesame"/);
    const inline = await shown(flags, files);
    assert.match(JSON.stringify(inline.static_resources.clusters[0]?.transport_socket), /"filename":"certs\/tls\.key"/);
  });

  test('refuses files that are missing, empty, no certificate or expired, and an admin address of the network', async () => {
    const { ca, envoy } = await issueXdsCertificates({
      namespace: 'x',
      sesameService: 'sesame',
      envoyService: 'envoy',
      now: Date.now() - 10 * 86_400_000,
      lifeMs: 86_400_000,
    });
    const flags = 'bootstrap - --envoy-cafile=ca --envoy-cert-file=cert --envoy-key-file=key';
    const cases: [Record<string, string>, RegExp][] = [
      [{}, /ca of --envoy-cafile cannot be used: .*no such file.*; check that the certificate Secret is mounted/],
      [{ ca: '' }, /cannot be used: it is empty/],
      [{ ca: 'x' }, /cannot be used: it holds no certificate in PEM/],
      [{ ca, cert: envoy.certificate, key: envoy.key }, /cannot be used: it expired at 20/],
    ];
    for (const [files, message] of cases) assert.match((await runCommand(flags, files)).err, message);
    assert.match((await runCommand('bootstrap - --envoy-cafile=ca', { ca })).err, /missing: certFile, keyFile/);
    assert.match((await runCommand('bootstrap - --admin-address=127.0.0.1')).err, /cannot be a network address/);
    assert.match((await runCommand('bootstrap - --overload-max-heap=-1')).err, /cannot be negative/);
  });
});

describe('sesame certgen', () => {
  test('writes files, keys for the owner alone, and never over existing ones unasked', async () => {
    const { written, code, out } = await runCommand('certgen --pem --yaml out');
    assert.equal(code, 0);
    assert.equal(written.get('out/sesamekey.pem')?.mode, 0o600);
    assert.equal(written.get('out/cacert.pem')?.mode, 0o644);
    assert.ok(!out.includes('PRIVATE KEY'));
    const certificate = new X509Certificate(written.get('out/sesamecert.pem')?.text ?? '');
    assert.match(certificate.subjectAltName ?? '', /DNS:sesame, DNS:sesame\.projectsesame, .*svc\.cluster\.local/);
    assert.ok(certificate.verify(new X509Certificate(written.get('out/cacert.pem')?.text ?? '').publicKey));
    assert.match(
      (await runCommand('certgen --pem out', { 'out/cacert.pem': 'x' })).err,
      /exists already; give --overwrite/,
    );
    assert.equal((await runCommand('certgen --pem --overwrite out', { 'out/cacert.pem': 'x' })).code, 0);
  });

  test('has the legacy format with a Secret for the authority', async () => {
    const { written } = await runCommand('certgen --yaml --secrets-format=legacy --secrets-name-suffix=-v1 out');
    assert.deepEqual([...written.keys()].toSorted(), [
      'out/cacert-v1.yaml',
      'out/envoycert-v1.yaml',
      'out/sesamecert-v1.yaml',
    ]);
    const secret = parse(written.get('out/sesamecert-v1.yaml')?.text ?? '') as { type: string; data: object };
    assert.deepEqual([secret.type, Object.keys(secret.data)], ['kubernetes.io/tls', ['tls.crt', 'tls.key']]);
  });
});

const STATS = (open: number) => `# TYPE envoy_http_downstream_cx_active gauge
envoy_http_downstream_cx_active{envoy_http_conn_manager_prefix="ingress_http"} ${open}
envoy_http_downstream_cx_active{envoy_http_conn_manager_prefix="ingress_https"} 0
envoy_http_downstream_cx_active{envoy_http_conn_manager_prefix="stats-health"} 7
envoy_http_downstream_cx_active{envoy_http_conn_manager_prefix="admin"} 1
`;

describe('the shutdown of Envoy', () => {
  test('counts the connections of users only', () => {
    assert.equal(openConnections(STATS(3)), 3);
    assert.equal(openConnections('# nothing\n'), undefined);
  });

  test('fails health checks, waits for connections to close, and releases the pod', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sesame-'));
    const asked: string[] = [];
    const left = [2, 1, 0];
    const admin = createServer((request, response) => {
      asked.push(`${request.method ?? ''} ${request.url?.split('?')[0] ?? ''}`);
      response.end(request.method === 'GET' ? STATS(left.shift() ?? 0) : 'OK\n');
    });
    const stopping = new AbortController();
    try {
      const socket = join(folder, 'admin.sock');
      await new Promise<void>((resolve) => admin.listen(socket, resolve));
      const existing = new Set<string>([socket]);
      const files = {
        exists: (path: string) => Promise.resolve(existing.has(path)),
        remove: (path: string) => Promise.resolve(void existing.delete(path)),
      };
      // Left by an earlier run of the container: it must not end the pod.
      existing.add('/admin/ok');
      const common = { clock: systemClock, logger: silentLogger, signal: stopping.signal };
      const manager = await serveShutdownManager(
        { address: '127.0.0.1', port: 0, readyFile: '/admin/ok', adminAddress: socket },
        { ...common, ...files },
      );
      assert.deepEqual(asked.splice(0), ['POST /healthcheck/ok']);
      assert.equal(existing.has('/admin/ok'), false);
      const url = `http://127.0.0.1:${manager.port}`;
      assert.equal((await fetch(`${url}/healthz`)).status, 200);
      assert.equal((await fetch(`${url}/nope`)).status, 404);
      await shutdownEnvoy(
        { ...SHUTDOWN_DEFAULTS, adminAddress: socket, checkIntervalMs: 1 },
        { ...common, random: () => 0, createFile: (path) => Promise.resolve(void existing.add(path)) },
      );
      assert.deepEqual(asked, [
        'POST /healthcheck/fail',
        'GET /stats/prometheus',
        'GET /stats/prometheus',
        'GET /stats/prometheus',
      ]);
      assert.equal((await fetch(`${url}/shutdown`)).status, 200);
      stopping.abort(new Error('end of the test'));
      await manager.closed;
    } finally {
      stopping.abort(new Error('end of the test'));
      admin.closeAllConnections();
      await new Promise((resolve) => admin.close(resolve));
      await rm(folder, { recursive: true, force: true });
    }
  });
});
