import { X509Certificate } from 'node:crypto';
import { reasonOf } from '@capstan/kube/cluster';
import { BOOTSTRAP_DEFAULTS, bootstrapOf } from '../bootstrap/bootstrap.ts';
import { BootstrapErrors } from '../bootstrap/errors.ts';
import type { CommandIo, SesameCommand } from './command-io.ts';
import { CommandErrors, UsageErrors } from './errors.ts';
import { sesameNamespace } from './namespace.ts';

export const bootstrap: SesameCommand = {
  usage: 'bootstrap PATH|-',
  description: 'Writes Envoy’s bootstrap configuration to a file, or to stdout with -.',
  examples: ['sesame bootstrap /config/envoy.json --xds-address=sesame --resources-dir=/config/resources'],
  positionals: 1,
  options: {
    'admin-address': {
      type: 'string',
      value: 'PATH',
      help: 'Unix socket of the admin interface; default /admin/admin.sock.',
    },
    'admin-port': { type: 'integer', help: 'Deprecated: names a statistic only; default 9001.' },
    'dns-lookup-family': {
      type: 'string',
      oneOf: ['auto', 'v4', 'v6', 'all'],
      help: 'For the xDS server; default auto.',
    },
    'envoy-cafile': { type: 'string', value: 'FILE', variable: 'ENVOY_CAFILE', help: 'CA bundle of the xDS server.' },
    'envoy-cert-file': { type: 'string', value: 'FILE', variable: 'ENVOY_CERT_FILE', help: 'Certificate of Envoy.' },
    'envoy-key-file': { type: 'string', value: 'FILE', variable: 'ENVOY_KEY_FILE', help: 'Key of Envoy.' },
    namespace: {
      type: 'string',
      value: 'NAME',
      help: 'The namespace of Envoy; default $SESAME_NAMESPACE, else projectsesame.',
    },
    'overload-max-heap': { type: 'integer', help: 'Heap in bytes above which Envoy sheds load; default 0, no limit.' },
    'overload-downstream-max-conn': {
      type: 'integer',
      help: 'Connections above which none is accepted; default 0, no limit.',
    },
    'resources-dir': { type: 'string', value: 'FOLDER', help: 'Where files for the rotation of certificates go.' },
    'xds-address': { type: 'string', value: 'ADDRESS', help: 'Address of the xDS server; default 127.0.0.1.' },
    'xds-port': { type: 'integer', help: 'Port of the xDS server; default 8001.' },
    'xds-resource-version': { type: 'string', oneOf: ['v3'], help: 'Version of xDS; default v3.' },
    'xds-mode': {
      type: 'string',
      oneOf: ['sotw', 'delta-ads'],
      help: 'Streams of whole states, or one of differences; default sotw.',
    },
  },
  async run(args, io) {
    const [path] = args.positionals;
    if (path === undefined) throw UsageErrors.Missing('bootstrap', 'a path', 'sesame bootstrap /config/envoy.json');
    const port = args.integer('xds-port') ?? BOOTSTRAP_DEFAULTS.xdsPort;
    if (port < 1 || port > 65_535) throw UsageErrors.BadValue('--xds-port', String(port), 'use a port from 1 to 65535');
    const files = {
      'envoy-cafile': args.text('envoy-cafile'),
      'envoy-cert-file': args.text('envoy-cert-file'),
      'envoy-key-file': args.text('envoy-key-file'),
    };
    const { config, files: resources } = bootstrapOf({
      adminAddress: args.text('admin-address') ?? BOOTSTRAP_DEFAULTS.adminAddress,
      adminPort: args.integer('admin-port') ?? BOOTSTRAP_DEFAULTS.adminPort,
      dnsLookupFamily: (args.text('dns-lookup-family') ?? 'auto') as 'auto',
      caFile: files['envoy-cafile'],
      certFile: files['envoy-cert-file'],
      keyFile: files['envoy-key-file'],
      namespace: sesameNamespace(args.text('namespace'), io.env),
      overloadMaxHeap: args.integer('overload-max-heap') ?? 0,
      overloadMaxDownstreamConnections: args.integer('overload-downstream-max-conn') ?? 0,
      resourcesDir: args.text('resources-dir'),
      xdsAddress: args.text('xds-address') ?? BOOTSTRAP_DEFAULTS.xdsAddress,
      xdsPort: port,
      xdsMode: args.text('xds-mode') === 'delta-ads' ? 'delta-ads' : 'sotw',
    });
    for (const [flag, file] of Object.entries(files)) if (file !== undefined) await checkFile(`--${flag}`, file, io);
    const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;
    for (const [file, content] of resources) await write(io, file, json(content));
    if (path === '-') io.stdout(json(config));
    else await write(io, path, json(config));
    return 0;
  },
};

/** Envoy would start without the file and never connect: what is wrong is reported here instead. */
async function checkFile(flag: string, path: string, io: CommandIo): Promise<void> {
  let bytes: Uint8Array;
  try {
    bytes = await io.files.read(path);
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
  if (certificate.validToDate.getTime() < io.clock.now())
    throw BootstrapErrors.UnreadableFile(flag, path, `it expired at ${certificate.validToDate.toISOString()}`);
}

async function write(io: CommandIo, path: string, text: string): Promise<void> {
  try {
    await io.files.write(path, text);
  } catch (error) {
    throw CommandErrors.CannotWrite(path, reasonOf(error));
  }
}
