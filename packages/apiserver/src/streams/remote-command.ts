// exec and attach: a command's streams over the channels of a WebSocket, or over the streams of a SPDY connection.
import { PassThrough, type Readable, Writable } from 'node:stream';
import { reasonOf } from '@capstan/kube';
import type { RunCommand, TerminalSize } from './pod-streams.ts';
import type { SpdyStream } from './spdy-connection.ts';
import type { WebSocket } from './web-socket.ts';

/** Which streams the client asked for. */
export interface WantedStreams {
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
  tty: boolean;
}

/** From v4 on the outcome is a Status; v5 can close stdin alone. */
export const CHANNEL_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'channel.k8s.io'] as const;
/** The protocols of SPDY connections. */
export const COMMAND_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** Runs the command on the channels of a WebSocket; resolves when the client has got everything. */
export async function serveChannels(
  web: WebSocket,
  wanted: WantedStreams,
  protocol: string,
  run: RunCommand,
  signal: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  const stdin = new PassThrough();
  const resize = new PassThrough();
  const write = (channel: number) =>
    new Writable({
      write(chunk: Buffer, _, written) {
        web.send(Buffer.from([channel]), chunk).then(() => written(), written);
      },
    });
  const reading = (async () => {
    for await (const message of web.messages) {
      const [channel] = message;
      const data = message.subarray(1);
      if (channel === CHANNEL.stdin && !stdin.writableEnded && data.length > 0) await take(stdin, data, gone.signal);
      else if (channel === CHANNEL.resize && wanted.tty) await take(resize, data, gone.signal);
      else if (channel === CHANNEL.close && data[0] === CHANNEL.stdin) stdin.end();
    }
  })();
  // A client that goes ends the command; one that has nothing more to say has closed the channel before.
  void reading.catch(() => {}).then(() => gone.abort());
  const end = AbortSignal.any([signal, gone.signal]);
  // Clients wait for a first message to know that the command has its streams.
  await web.send(Buffer.from([wanted.stdout ? CHANNEL.stdout : wanted.stderr ? CHANNEL.stderr : CHANNEL.error]));
  const outcome = await outcomeOf(() =>
    run(
      {
        ...(wanted.stdin && { stdin }),
        ...(wanted.stdout && { stdout: write(CHANNEL.stdout) }),
        ...(wanted.stderr && !wanted.tty && { stderr: write(CHANNEL.stderr) }),
        ...(wanted.tty && { sizes: sizesOf(resize) }),
      },
      end,
    ),
  );
  resize.end();
  stdin.destroy();
  const isPlain = protocol === '' || protocol === 'channel.k8s.io';
  if (!isPlain) await web.send(Buffer.from([CHANNEL.error]), Buffer.from(JSON.stringify(outcome)));
  else if (outcome.status !== 'Success')
    await web.send(Buffer.from([CHANNEL.error]), Buffer.from(outcome.message ?? ''));
  web.close();
}

/** How many streams a client opens before the command may begin. */
export function countOf({ stdin, stdout, stderr, tty }: WantedStreams): number {
  return 1 + Number(stdin) + Number(stdout) + Number(stderr && !tty) + Number(tty);
}

/** Runs the command on the streams of a SPDY connection, by their names. */
export async function serveNamedStreams(
  streams: ReadonlyMap<string, SpdyStream>,
  run: RunCommand,
  signal: AbortSignal,
): Promise<void> {
  const [stdin, stdout, stderr] = [streams.get('stdin'), streams.get('stdout'), streams.get('stderr')];
  const resize = streams.get('resize');
  const error = streams.get('error');
  const outcome = await outcomeOf(() =>
    run(
      {
        ...(stdin && { stdin }),
        ...(stdout && { stdout }),
        ...(stderr && { stderr }),
        ...(resize && { sizes: sizesOf(resize) }),
      },
      signal,
    ),
  );
  for (const stream of [stdout, stderr]) await ended(stream);
  error?.write(JSON.stringify(outcome));
  await ended(error);
}

function ended(stream: SpdyStream | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.end(resolve);
  });
}

interface Outcome {
  metadata: object;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  code?: number;
  details?: { causes: { reason: string; message: string }[] };
}

async function outcomeOf(run: () => Promise<number>): Promise<Outcome> {
  try {
    const code = await run();
    if (code === 0) return { metadata: {}, status: 'Success' };
    return {
      metadata: {},
      status: 'Failure',
      message: `command terminated with non-zero exit code: exit status ${code}`,
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
    };
  } catch (error) {
    return { metadata: {}, status: 'Failure', message: reasonOf(error), reason: 'InternalError', code: 500 };
  }
}

/** A command that reads nothing must not hold back the news that its client has gone. */
function take(stdin: PassThrough, data: Buffer, gone: AbortSignal): Promise<void> {
  if (stdin.destroyed || stdin.write(data)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stdin.off('drain', done);
      stdin.off('close', done);
      gone.removeEventListener('abort', done);
      resolve();
    };
    stdin.once('drain', done);
    stdin.once('close', done);
    gone.addEventListener('abort', done, { once: true });
  });
}

/** A size takes some tens of characters. */
const MAX_SIZE_TEXT = 1_000;

/** Reads one JSON document for each size, one after the other; invalid ones are left out. */
async function* sizesOf(source: Readable): AsyncGenerator<TerminalSize> {
  let text = '';
  for await (const chunk of source as AsyncIterable<Buffer>) {
    text += chunk.toString();
    const documents = text.split('}');
    text = (documents.pop() ?? '').slice(0, MAX_SIZE_TEXT);
    for (const document of documents) {
      const size = sizeOf(`${document}}`);
      if (size !== undefined) yield size;
    }
  }
}

function sizeOf(text: string): TerminalSize | undefined {
  try {
    const { Width, Height } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    if (!Number.isInteger(Width) || !Number.isInteger(Height)) return undefined;
    return { columns: Width as number, rows: Height as number };
  } catch {
    return undefined;
  }
}
