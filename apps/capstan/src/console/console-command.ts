import { basename, resolve } from 'node:path';
import { type Clock, silentLogger, systemClock } from '@capstan/kube';
import { openRecording } from '@capstan/reconcile';
import { command, type Io, positiveDuration } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { localAddress } from '../cli/local-address.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { beginOf, parseMoment, untilOf } from '../replay/moment.ts';
import { recordedOperators } from '../replay/recorded-operators.ts';
import { readKey } from '../run/recording.ts';
import { type CodeSocket, requestCodes, serveCodes } from './code-socket.ts';
import type { OpenedReplay } from './open-replay.ts';
import type { OpenedSource } from './open-source.ts';
import type { AnywhereResult } from './served-anywhere.ts';

const CODE_MS = 2000;

export default command({
  usage:
    'console [--replay FILE [--until MOMENT]] [--listen HOST:PORT] [--listen-anywhere] [--allow-writes] [--code] [flags]',
  description:
    'Serves the web console for a cluster on this machine, until Ctrl-C: problems with their root causes, the graph of\n' +
    'dependence, plans while you type, and changes with their causes. It reads with your own rights and runs nothing in the\n' +
    'cluster. The address that it prints holds a code that is valid once, for five minutes. With --replay it shows a\n' +
    'recording: the time line has each of its waves, and objects are as they were at its end, or at --until.',
  examples: [
    'capstan console',
    'capstan console --context production --listen 127.0.0.1:8090',
    'capstan console --allow-writes',
    'capstan console --replay incident.capture --until 10:32:05',
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
    replay: { type: 'string', value: 'FILE', help: 'Show a recording, a file or a folder, instead of a cluster.' },
    until: { type: 'string', value: 'MOMENT', parse: parseMoment, help: 'With --replay: stop after this moment.' },
    key: { type: 'string', value: 'FILE', help: 'With --replay: the key, where the recording holds Secrets.' },
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
    if (flags.replay === undefined) {
      if (flags.until !== undefined || flags.key !== undefined) throw CliErrors.OnlyWithReplay();
      return withCluster(flags, io, ({ client, namespace, context }) => {
        const open = async () => {
          const operators = await requireOperators(args, io);
          const { openSource } = await import('./open-source.ts');
          const writes = flags['allow-writes'] ?? false;
          const common = { clock, random: Math.random, logger: silentLogger, signal, timeoutMs: flags.timeout };
          return openSource({ operators, client, context, namespace, writes, ...common });
        };
        return serve({ context, open, flags, io });
      });
    }
    if (flags['allow-writes']) throw CliErrors.ReadOnlyReplay();
    const path = flags.replay;
    const key = flags.key === undefined ? undefined : await readKey(flags.key, io.cwd);
    const recording = await openRecording(resolve(io.cwd, path), key);
    for (const note of recording.notes) io.stderr(`${note}\n`);
    const name = `recording ${basename(path)}`;
    const open = async () => {
      const operators = await recordedOperators(args, recording.header, io);
      const { openReplay } = await import('./open-replay.ts');
      const until = flags.until && untilOf(flags.until, beginOf(recording));
      return openReplay({ recording, name, operators, until, clock, timeoutMs: flags.timeout, signal });
    };
    return serve({ context: name, open, flags, io });
  },
});

interface Served {
  readonly context: string;
  readonly flags: AnywhereFlags & { readonly listen: { readonly host: string; readonly port: number } };
  readonly io: Io;
  open(): Promise<OpenedSource & Partial<Pick<OpenedReplay, 'play'>>>;
}

/** Serves until the signal. */
async function serve({ context, open, flags, io }: Served): Promise<number> {
  const { signal, clock = systemClock } = io;
  const { startConsole } = await import('@capstan/console');
  let opening: ReturnType<Served['open']> | undefined;
  const opened = () => {
    opening ??= open();
    // The page shows the reason; a console that cannot read its cluster ends below.
    opening.catch(() => undefined);
    return opening;
  };
  let played: Promise<void> | undefined;
  const source = async () => {
    const { source: found, play } = await opened();
    // The time line follows from the first wave on.
    played ??= play && clock.yield().then(play);
    return found;
  };
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
    await new Promise<void>((stopped) => {
      if (signal.aborted) stopped();
      else signal.addEventListener('abort', () => stopped(), { once: true });
    });
  } catch (error) {
    // An interruption while the caches fill is no error.
    if (!signal.aborted) throw error;
  } finally {
    await codes?.close();
    await server.close();
    await played;
    await opening?.then(
      ({ stop }) => stop(),
      () => undefined,
    );
  }
  return 0;
}

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
