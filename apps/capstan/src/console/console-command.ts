import { type Clock, silentLogger, systemClock } from '@capstan/kube';
import { command, type Io, positiveDuration } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { localAddress } from '../cli/local-address.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { type CodeSocket, requestCodes, serveCodes } from './code-socket.ts';
import type { OpenedSource } from './open-source.ts';
import type { AnywhereResult } from './served-anywhere.ts';

const CODE_MS = 2000;

export default command({
  usage: 'console [--listen HOST:PORT] [--listen-anywhere] [--allow-writes] [--code] [flags]',
  description:
    'Serves the web console for a cluster on this machine, until Ctrl-C: problems with their root causes, the graph of\n' +
    'dependence, plans while you type, and changes with their causes. It reads with your own rights and runs nothing in the\n' +
    'cluster. The address that it prints holds a code that is valid once, for five minutes.',
  examples: [
    'capstan console',
    'capstan console --context production --listen 127.0.0.1:8090',
    'capstan console --allow-writes',
    'capstan console --listen 0.0.0.0:8443 --listen-anywhere',
    'capstan console --code',
  ],
  options: {
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      default: '127.0.0.1:0',
      parse: localAddress,
      help: 'Where the console listens, on this machine only; port 0 takes any that is free. See --listen-anywhere.',
    },
    'listen-anywhere': {
      type: 'boolean',
      help: 'Let --listen name an address that other machines reach. The console serves TLS then.',
    },
    'tls-certificate': {
      type: 'string',
      value: 'FILE',
      help: 'With --listen-anywhere: the certificate, in PEM; default one that this process creates, whose fingerprint is printed.',
    },
    'tls-key': { type: 'string', value: 'FILE', help: 'The key of --tls-certificate, in PEM.' },
    code: {
      type: 'boolean',
      help: 'Print the address of each console that runs for you (of --context alone, where given) with a new code, and end.',
    },
    'allow-writes': { type: 'boolean', help: 'Let the page apply plans, with your own rights.' },
    timeout: {
      type: 'string',
      value: 'DURATION',
      default: '30s',
      parse: positiveDuration,
      help: 'How long a plan waits until the caches are full.',
    },
    ...CLUSTER_OPTIONS,
    ...OPERATOR_OPTIONS,
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const { signal, clock = systemClock } = io;
    if (flags.code) return printCodes(flags.context, io);
    const { startConsole } = await import('@capstan/console');
    return withCluster(flags, io, async ({ client, namespace, context }) => {
      let opening: Promise<OpenedSource> | undefined;
      const open = async () => {
        const operators = await requireOperators(args, io);
        const { openSource } = await import('./open-source.ts');
        return openSource({
          operators,
          client,
          context,
          namespace,
          clock,
          random: Math.random,
          logger: silentLogger,
          signal,
          timeoutMs: flags.timeout,
          writes: flags['allow-writes'] ?? false,
        });
      };
      const opened = () => {
        opening ??= open();
        // The page shows the reason; a console that cannot read its cluster ends below.
        opening.catch(() => undefined);
        return opening;
      };
      const source = async () => (await opened()).source;
      const anywhere = await anywhereOf(flags, clock);
      const server = await startConsole({
        source,
        clock,
        logger: silentLogger,
        ...flags.listen,
        ...(anywhere && { anywhere }),
      });
      // The browser loads the page while the operators load and the first answers come.
      server.prepare();
      const address = () => `${server.url}#code=${server.createCode()}`;
      let codes: CodeSocket | undefined;
      try {
        codes = await serveCodes(io.env, server.port, () => ({ context, address: address() }));
        io.stdout(`${address()}\n`);
        io.stderr(`The console of ${context} is at this address; Ctrl-C stops it.\n`);
        if (anywhere?.fingerprint !== undefined)
          io.stderr(`Its certificate is one of this process, with the SHA-256 fingerprint ${anywhere.fingerprint}.\n`);
        await opened();
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener('abort', () => resolve(), { once: true });
        });
      } catch (error) {
        // An interruption while the caches fill is no error.
        if (!signal.aborted) throw error;
      } finally {
        await codes?.close();
        await server.close();
        await opening?.then(
          ({ stop }) => stop(),
          () => undefined,
        );
      }
      return 0;
    });
  },
});

interface AnywhereFlags {
  readonly listen: { readonly host: string };
  readonly 'listen-anywhere'?: boolean | undefined;
  readonly 'tls-certificate'?: string | undefined;
  readonly 'tls-key'?: string | undefined;
}

async function anywhereOf(flags: AnywhereFlags, clock: Clock): Promise<AnywhereResult | undefined> {
  const { 'tls-certificate': certificate, 'tls-key': key } = flags;
  if (!flags['listen-anywhere']) {
    if (certificate !== undefined || key !== undefined) throw CliErrors.CertificateOnLoopback();
    return undefined;
  }
  const { servedAnywhere } = await import('./served-anywhere.ts');
  return servedAnywhere({ host: flags.listen.host, certificate, key, clock });
}

/** Prints one address for each console; those of the user alone can be asked. */
async function printCodes(context: string | undefined, io: Io): Promise<number> {
  const all = await requestCodes(io.env, CODE_MS);
  const wanted = all.filter((one) => context === undefined || one.context === context);
  if (wanted.length === 0) throw CliErrors.NoConsole(context);
  for (const { address } of wanted) io.stdout(`${address}\n`);
  return 0;
}
