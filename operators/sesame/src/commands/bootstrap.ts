import { X509Certificate } from 'node:crypto';
import { reasonOf, systemClock } from '@capstan/kube/values';
import { command, type Refusal, refuse, UsageErrors, wholeNumber } from '@capstan/reconcile/command-line';
import { BOOTSTRAP_DEFAULTS, bootstrapOf } from '../bootstrap/bootstrap.ts';
import { BootstrapErrors } from '../bootstrap/errors.ts';
import { socketPath } from '../shutdown/socket-path.ts';
import { BIND_VARIABLE } from '../xds/listener-place.ts';
import { type MachineFiles, machineFiles } from './machine-files.ts';
import { sesameNamespace } from './namespace.ts';

const PORT = { type: 'string', value: 'PORT', parse: wholeNumber(1, 65_535) } as const;
const NUMBER = { type: 'string', value: 'NUMBER', parse: integer } as const;

export default command({
  usage: 'bootstrap PATH|-',
  description: 'Writes Envoy’s bootstrap configuration to a file, or to stdout with -.',
  examples: ['sesame bootstrap /config/envoy.json --xds-address=sesame --resources-dir=/config/resources'],
  positionals: 1,
  options: {
    'admin-address': {
      type: 'string',
      value: 'PATH',
      default: BOOTSTRAP_DEFAULTS.adminAddress,
      help: 'Unix socket of the admin interface.',
    },
    'admin-port': { ...NUMBER, default: '9001', help: 'Deprecated: names a statistic only.' },
    'dns-lookup-family': {
      type: 'string',
      oneOf: ['auto', 'v4', 'v6', 'all'],
      default: 'auto',
      help: 'For the xDS server.',
    },
    'envoy-cafile': { type: 'string', value: 'FILE', env: 'ENVOY_CAFILE', help: 'CA bundle of the xDS server.' },
    'envoy-cert-file': { type: 'string', value: 'FILE', env: 'ENVOY_CERT_FILE', help: 'Certificate of Envoy.' },
    'envoy-key-file': { type: 'string', value: 'FILE', env: 'ENVOY_KEY_FILE', help: 'Key of Envoy.' },
    namespace: {
      type: 'string',
      value: 'NAME',
      help: 'The namespace of Envoy; default $SESAME_NAMESPACE, else projectsesame.',
    },
    'http-port': { ...PORT, help: 'Port that Envoy keeps for HTTP; default: as configured.' },
    'https-port': { ...PORT, help: 'Port that Envoy keeps for HTTPS; default: as configured.' },
    'health-port': { ...PORT, help: 'Port that Envoy keeps for readiness; default: as configured.' },
    'stats-port': { ...PORT, help: 'Port that Envoy keeps for statistics; default: as configured.' },
    'overload-max-heap': {
      ...NUMBER,
      default: '0',
      help: 'Heap in bytes above which Envoy sheds load; 0 is no limit.',
    },
    'overload-downstream-max-conn': {
      ...NUMBER,
      default: '0',
      help: 'Connections above which none is accepted; 0 is no limit.',
    },
    'resources-dir': { type: 'string', value: 'FOLDER', help: 'Where files for the rotation of certificates go.' },
    'xds-address': { type: 'string', value: 'ADDRESS', default: '127.0.0.1', help: 'Address of the xDS server.' },
    'xds-port': { ...PORT, default: '8001', help: 'Port of the xDS server.' },
    'xds-resource-version': { type: 'string', oneOf: ['v3'], default: 'v3', help: 'Version of xDS.' },
    'xds-mode': {
      type: 'string',
      oneOf: ['delta-ads', 'sotw'],
      default: 'delta-ads',
      help: 'One stream of differences, or streams of whole states.',
    },
  },
  async run({ command: name, flags, positionals: [path] }, io) {
    if (path === undefined) throw UsageErrors.Missing(name, 'a path', 'sesame bootstrap /config/envoy.json');
    const certificates = ['envoy-cafile', 'envoy-cert-file', 'envoy-key-file'] as const;
    const { config, files: resources } = bootstrapOf({
      adminAddress: socketPath(flags['admin-address'], io.cwd),
      adminPort: flags['admin-port'],
      dnsLookupFamily: flags['dns-lookup-family'],
      caFile: flags['envoy-cafile'],
      certFile: flags['envoy-cert-file'],
      keyFile: flags['envoy-key-file'],
      namespace: sesameNamespace(flags.namespace, io.env),
      overloadMaxHeap: flags['overload-max-heap'],
      overloadMaxDownstreamConnections: flags['overload-downstream-max-conn'],
      resourcesDir: flags['resources-dir'],
      bindAddress: io.env[BIND_VARIABLE],
      ports: {
        http: flags['http-port'],
        https: flags['https-port'],
        health: flags['health-port'],
        metrics: flags['stats-port'],
      },
      xdsAddress: flags['xds-address'],
      xdsPort: flags['xds-port'],
      xdsMode: flags['xds-mode'],
    });
    const files = machineFiles(io);
    for (const flag of certificates) {
      const file = flags[flag];
      if (file !== undefined) await checkFile(`--${flag}`, file, files, (io.clock ?? systemClock).now());
    }
    const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;
    for (const [file, content] of resources) await files.write(file, json(content));
    if (path === '-') io.stdout(json(config));
    else await files.write(path, json(config));
    return 0;
  },
});

function integer(text: string): number | Refusal {
  return /^-?[0-9]+$/.test(text) ? Number(text) : refuse('use a whole number');
}

/** Envoy would start without the file and never connect, so the problem is reported here instead. */
async function checkFile(flag: string, path: string, files: MachineFiles, now: number): Promise<void> {
  let bytes: Uint8Array;
  try {
    bytes = await files.read(path);
  } catch (error) {
    throw BootstrapErrors.UnreadableFile(flag, path, reasonOf(error));
  }
  if (bytes.length === 0) throw BootstrapErrors.UnreadableFile(flag, path, 'it is empty');
  if (flag === '--envoy-key-file') return;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(bytes);
  } catch {
    throw BootstrapErrors.UnreadableFile(flag, path, 'it holds no certificate in PEM');
  }
  if (certificate.validToDate.getTime() < now)
    throw BootstrapErrors.UnreadableFile(flag, path, `it expired at ${certificate.validToDate.toISOString()}`);
}
