// The parts of the machine that the command line needs, as an argument: tests run every command in their own process, against a server in
// memory, and read its output.
import { isUtf8 } from 'node:buffer';
import type { Clock, Connection, ConnectOptions } from '@capstan/kube/cluster';
import { CodedError } from '@capstan/kube/values';

export interface Io {
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths are relative to it. */
  readonly cwd: string;
  readonly files: FileAccess;
  /** Default: the system's, which commands load with everything else they need. */
  readonly clock?: Clock;
  /** Aborted when the user or the system asks us to stop. */
  readonly signal: AbortSignal;
  /** Throws ConfigError. */
  connect(options: ConnectOptions): Promise<Connection>;
  /** The exports of a module, by absolute path. */
  importModule(path: string): Promise<Readonly<Record<string, unknown>>>;
  /** To API servers; default `capstan`. */
  readonly userAgent?: string;
  /** Whether people read stdout: colours, and screens that are drawn again. Default false. */
  readonly isTerminal?: boolean;
  /** How wide that terminal is. */
  readonly columns?: number;
  /** The text at a URL. Throws when it cannot be read. */
  fetchText?(url: string): Promise<string>;
  /** Runs another program to its end; undefined when it is not installed. */
  execute?(program: string, args: readonly string[]): Promise<Executed | undefined>;
  /** Asks a person a question that is answered by yes or no; undefined where there is none to ask. */
  confirm?(question: string): Promise<boolean>;
  /** For lease holders and logs: unique to this process. */
  readonly identity: string;
}

export interface Executed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface FileAccess {
  /** Rejects bytes that are not UTF-8. */
  read(path: string): Promise<string>;
  /** The names in a folder, sorted; undefined when the path is not a folder. */
  list(path: string): Promise<readonly string[] | undefined>;
  /** Rejects bytes that are not UTF-8. */
  stdin(): Promise<string>;
}

/** Decodes UTF-8. Any other bytes are refused: decoded loosely, they would be applied or written back as other text. */
export function decodeText(bytes: Buffer, name: string): string {
  if (!isUtf8(bytes))
    throw new CodedError('text/NotUtf8', { message: `${name} is not UTF-8`, remedy: 'save it as UTF-8' });
  return bytes.toString('utf8');
}
