// `sesame cli`: requests the resources that a running Sesame serves to Envoys, and prints them.
import { reasonOf } from '@capstan/kube/values';
import {
  command,
  type Flags,
  type FlagValues,
  formatReport,
  type Io,
  objectName,
  REPORT_OUTPUT,
  type ReportFormat,
  table,
  UsageErrors,
} from '@capstan/reconcile/command-line';
import type { ResourceType } from '../envoy/index.ts';
import { connectXds, type ReceivedResource, type XdsResponse } from '../xds/index.ts';
import { CommandErrors } from './errors.ts';
import { machineFiles } from './machine-files.ts';

const TYPES: readonly ResourceType[] = ['lds', 'rds', 'cds', 'eds', 'sds', 'rtds'];

const OPTIONS = {
  sesame: { type: 'string', value: 'HOST:PORT', default: '127.0.0.1:8001', help: 'Address of the xDS server.' },
  output: { ...REPORT_OUTPUT, default: 'json', help: 'How to print it; name prints TYPE/NAME only.' },
  watch: { type: 'boolean', help: 'Prints what changes until it is interrupted.' },
  delta: { type: 'boolean', help: 'Subscribes to differences.' },
  nack: { type: 'boolean', help: 'Refuses what it gets, to see how Sesame takes it.' },
  'node-id': { type: 'string', value: 'ID', default: 'SesameCLI', help: 'Name of this client.' },
  cafile: { type: 'string', value: 'FILE', env: 'CLI_CAFILE', help: 'CA of the server’s certificate.' },
  'cert-file': { type: 'string', value: 'FILE', env: 'CLI_CERT_FILE', help: 'Certificate of this client.' },
  'key-file': { type: 'string', value: 'FILE', env: 'CLI_KEY_FILE', help: 'Its private key.' },
} as const satisfies Flags;

export default command({
  usage: 'cli lds|rds|cds|eds|sds [NAME…] [--sesame HOST:PORT] [-o FORMAT]',
  description: 'Prints the resources of a type that Sesame serves, all or those named. Private keys are not shown.',
  examples: [
    'sesame cli rds ingress_http',
    'sesame cli cds -o name',
    'sesame cli eds --watch --cafile ca.crt --cert-file tls.crt --key-file tls.key',
  ],
  positionals: 10_000,
  options: OPTIONS,
  async run({ command: name, flags, positionals: [type, ...names] }, io) {
    if (type === undefined || !isType(type))
      throw UsageErrors.Missing(name, `a type (${TYPES.join(', ')})`, 'sesame cli rds');
    const isDelta = flags.delta === true;
    const { host, port } = addressOf(flags.sesame);
    const tls = await certificates(name, flags, io);
    const client = connectXds({ host, port, nodeId: flags['node-id'], ...(tls && { tls }) });
    const end = () => void client.close();
    io.signal.addEventListener('abort', end, { once: true });
    try {
      const stream = client.open({ type, isDelta });
      stream.request(isDelta ? { resource_names_subscribe: names } : { resource_names: names });
      do {
        const response = await stream.next();
        io.stdout(await print(type, response, flags.output));
        if (flags.nack) stream.nack(response, 'refused by sesame cli --nack', names);
        else stream.ack(response, names);
      } while (flags.watch);
      return 0;
    } catch (error) {
      if (io.signal.aborted) throw error;
      throw CommandErrors.NoXds(flags.sesame, reasonOf(error));
    } finally {
      io.signal.removeEventListener('abort', end);
      await client.close();
    }
  },
});

function isType(text: string): text is ResourceType {
  return (TYPES as readonly string[]).includes(text);
}

function addressOf(text: string): { host: string; port: number } {
  const [, host, port] = /^\[?(.+?)\]?:(\d+)$/.exec(text) ?? [];
  if (host === undefined || port === undefined) throw UsageErrors.BadValue('--sesame', text, 'write HOST:PORT');
  return { host, port: Number(port) };
}

async function certificates(command: string, flags: FlagValues<typeof OPTIONS>, io: Io) {
  const files = [flags.cafile, flags['cert-file'], flags['key-file']];
  if (files.every((file) => file === undefined)) return undefined;
  const [ca, cert, key] = await Promise.all(
    files.map(async (file) => {
      if (file === undefined)
        throw UsageErrors.Missing(command, 'all of --cafile, --cert-file and --key-file, or none', 'sesame cli lds');
      return Buffer.from(await machineFiles(io).read(file));
    }),
  );
  return ca && cert && key ? { ca, cert, key } : undefined;
}

async function print(type: ResourceType, response: XdsResponse, format: ReportFormat): Promise<string> {
  const { version, typeUrl, resources, removed } = response;
  const value = {
    ...(version !== '' && { version_info: version }),
    type_url: typeUrl,
    resources: [...resources.values()].map((resource) => shown(resource)),
    ...(removed.length > 0 && { removed_resources: removed }),
  };
  const rows = [
    ...[...resources].map(([name, resource]) => [name, 'served', JSON.stringify(shown(resource))]),
    ...removed.map((name) => [name, 'removed', '']),
  ];
  const text = (isWide: boolean) =>
    table(
      ['NAME', 'STATE', ...(isWide ? ['RESOURCE'] : [])],
      rows.map((row) => (isWide ? row : row.slice(0, 2))),
    );
  const printed = await formatReport(format, {
    value,
    text,
    names: () => [...resources.keys()].map((name) => objectName(type, name)),
  });
  return format === 'yaml' ? `---\n${printed}` : printed;
}

/** Bytes as base64, as protobuf's JSON has them, and no private key. */
function shown(value: unknown, name = ''): unknown {
  if (name === 'private_key' || name === 'generic_secret') return '(not shown)';
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map((each) => shown(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value as ReceivedResource).map(([key, part]) => [key, shown(part, key)]));
}
