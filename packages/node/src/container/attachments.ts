// Clients that are attached to the program of a container: they get its output from then on, and may write to its input.
import { PassThrough, type Writable } from 'node:stream';
import type { CommandStreams } from '@capstan/apiserver';
import { type Container, untilAborted } from '@capstan/kube';

/** Those of one run of a program. */
export interface Attachments {
  /** The input of the program; undefined where the container has no input. */
  readonly stdin: PassThrough | undefined;
  /** Passes on the output of the program; resolves when every client has taken it. */
  output(name: 'stdout' | 'stderr', chunk: Buffer): Promise<void>;
  /** Resolves when the program has ended, or with an abort. */
  attach(streams: CommandStreams, signal: AbortSignal): Promise<void>;
  /** The program has ended. */
  close(): void;
}

/** With `stdinOnce`, the input ends with that of the first client; else it stays open for the next one. */
export function createAttachments({ stdin = false, stdinOnce = false }: Container): Attachments {
  const input = stdin ? new PassThrough() : undefined;
  const clients = new Set<CommandStreams>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  return {
    stdin: input,
    async output(name, chunk) {
      const outputs = [...clients].map(({ stdout, stderr }) => (name === 'stderr' ? (stderr ?? stdout) : stdout));
      await Promise.all(outputs.map(async (out) => written(out, chunk)));
    },
    async attach(streams, signal) {
      clients.add(streams);
      streams.stdin?.on('error', () => {});
      if (input) streams.stdin?.pipe(input, { end: stdinOnce });
      await Promise.race([closed, untilAborted(signal)]);
      clients.delete(streams);
      if (input) streams.stdin?.unpipe(input);
      if (stdinOnce && streams.stdin) input?.end();
    },
    close,
  };
}

/** Resolves when there is room for more. Output that no client reads is dropped. */
export function written(out: Writable | undefined, chunk: Buffer): Promise<void> | undefined {
  if (out === undefined || out.destroyed || out.writableEnded) return undefined;
  return new Promise((resolve) => {
    out.once('close', resolve);
    out.write(chunk, () => {
      out.off('close', resolve);
      resolve();
    });
  });
}
