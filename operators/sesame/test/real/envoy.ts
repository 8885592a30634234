// A real Envoy as a child process, with a bootstrap that connects it to an xDS server.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/** `grpc` and `delta` are streams of their own for each type and name; the others the aggregated stream. */
export type EnvoyMode = 'grpc' | 'delta' | 'ads' | 'delta-ads';

export interface EnvoyOptions {
  readonly xdsPort: number;
  readonly mode: EnvoyMode;
  /** Static resources, in the place of those from the xDS server. */
  readonly resources?: object;
  readonly nodeId?: string;
  /** How long listeners that were replaced may finish; 1 by default. */
  readonly drainSeconds?: number;
}

export interface RunningEnvoy {
  /** The text of a page of the admin interface. */
  admin(path: string): Promise<string>;
  /** Lines of its log of level warning and above. */
  warnings(): string[];
  log(): string;
  /** Takes the processor from it. */
  halt(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** Why tests with Envoy are left out, in one line; false when it is there. */
export function missingEnvoy(): string | false {
  return existsSync(envoyBinary())
    ? false
    : 'Envoy is not there: npm run setup:real -- envoy brings it, and the tests with it run';
}

function envoyBinary(): string {
  return join(realFolder(), 'envoy', 'envoy');
}

/** The folder of the peers that `npm run setup:real` fetches. */
export function realFolder(): string {
  return process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
}

export async function startEnvoy({
  xdsPort,
  mode,
  resources,
  nodeId = 'envoy-real',
  drainSeconds = 1,
}: EnvoyOptions): Promise<RunningEnvoy> {
  const folder = mkdtempSync(join(tmpdir(), 'sesame-envoy-'));
  const adminSocket = join(folder, 'admin.sock');
  const logFile = join(folder, 'log');
  writeFileSync(
    join(folder, 'bootstrap.json'),
    JSON.stringify(resources ? staticBootstrap(resources, adminSocket) : bootstrap(xdsPort, mode, adminSocket)),
  );
  const child: ChildProcess = spawn(
    envoyBinary(),
    [
      '-c',
      join(folder, 'bootstrap.json'),
      '--service-node',
      nodeId,
      '--service-cluster',
      'test',
      '--use-dynamic-base-id',
      '--concurrency',
      '1',
      '--log-path',
      logFile,
      '--drain-time-s',
      String(drainSeconds),
      '--parent-shutdown-time-s',
      String(drainSeconds + 1),
    ],
    { stdio: 'ignore' },
  );
  let exited: number | null | undefined;
  const exit = new Promise<void>((resolve) =>
    child.on('exit', (code) => {
      exited = code;
      resolve();
    }),
  );
  const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '');
  await waitFor(() => existsSync(adminSocket) || exited !== undefined, 'Envoy to start');
  if (exited !== undefined) throw new Error(`Envoy ended with ${exited}: ${log().slice(-2_000)}`);
  return {
    admin: (path) => read(adminSocket, path),
    log,
    warnings: () =>
      log()
        .split('\n')
        .filter((line) => /\]\[(warning|error|critical)\]/.test(line)),
    halt: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async stop() {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await exit;
      clearTimeout(force);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function read(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Looks until it holds, for at most 20 seconds. */
export async function waitFor(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited 20 s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function staticBootstrap(resources: object, adminSocket: string): object {
  return { static_resources: resources, admin: { address: { pipe: { path: adminSocket, mode: 0o600 } } } };
}

function bootstrap(xdsPort: number, mode: EnvoyMode, adminSocket: string): object {
  const grpc = { envoy_grpc: { cluster_name: 'sesame', authority: 'sesame' } };
  const isAggregated = mode === 'ads' || mode === 'delta-ads';
  const api = {
    api_type: mode === 'delta' ? 'DELTA_GRPC' : 'GRPC',
    transport_api_version: 'V3',
    grpc_services: [grpc],
  };
  const source = { resource_api_version: 'V3', ...(isAggregated ? { ads: {} } : { api_config_source: api }) };
  const ads = { ...api, api_type: mode === 'delta-ads' ? 'DELTA_GRPC' : 'GRPC' };
  return {
    dynamic_resources: { lds_config: source, cds_config: source, ...(isAggregated && { ads_config: ads }) },
    layered_runtime: {
      layers: [
        { name: 'dynamic', rtds_layer: { name: 'dynamic', rtds_config: source } },
        { name: 'admin', admin_layer: {} },
      ],
    },
    static_resources: {
      clusters: [
        {
          name: 'envoy-admin',
          type: 'STATIC',
          connect_timeout: '1s',
          load_assignment: {
            cluster_name: 'envoy-admin',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: adminSocket } } } }] }],
          },
        },
        {
          name: 'sesame',
          type: 'STATIC',
          connect_timeout: '5s',
          // As sesame bootstrap has it: on separate streams there is one for each cluster, and 1,024 are the default.
          circuit_breakers: { thresholds: [{ max_requests: 60_000_000, max_pending_requests: 100_000 }] },
          typed_extension_protocol_options: {
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
              '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          load_assignment: {
            cluster_name: 'sesame',
            endpoints: [
              {
                lb_endpoints: [
                  { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: xdsPort } } } },
                ],
              },
            ],
          },
        },
      ],
    },
    admin: { address: { pipe: { path: adminSocket, mode: 0o600 } } },
  };
}
