// Connections to the containers of a pod: commands (exec), the output of its program (attach) and its ports (port-forward). The pod runner
// provides them; the server implements the protocols of the clients.
import type { Duplex, Readable, Writable } from 'node:stream';

export interface PodStreams {
  /** Finds the container; rejects where the command could not be run in it, with the reason. */
  exec(pod: PodPlace, options: ExecOptions): Promise<RunCommand>;
  /** The output of a container's program from now on, and its input; rejects where it has none. */
  attach(pod: PodPlace, options: { readonly stdin: boolean }): Promise<RunCommand>;
  /** Rejects where nothing of the pod could take a connection. */
  portForward(pod: PodPlace): Promise<OpenPort>;
}

export interface PodPlace {
  readonly namespace: string;
  readonly name: string;
  /** Undefined: the default one. */
  readonly container: string | undefined;
}

export interface ExecOptions {
  readonly command: readonly string[];
  /** With a terminal: stdout and stderr are one. */
  readonly tty: boolean;
}

export interface CommandStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** The sizes of the client's terminal, as it changes. */
  readonly sizes?: AsyncIterable<TerminalSize>;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Resolves with the exit code when the command has ended and its output is written; an abort ends it. */
export type RunCommand = (streams: CommandStreams, signal: AbortSignal) => Promise<number>;

/** Resolves with a connection to a port of the pod. */
export type OpenPort = (port: number) => Promise<Duplex>;
