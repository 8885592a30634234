// What the commands of `sesame` need from the machine, as an argument, so that tests run them in their own process.
import type { Client, Clock } from '@capstan/kube/cluster';

export interface CommandIo {
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborted when the user or the system asks to stop. */
  readonly signal: AbortSignal;
  /** Unique to this process: for lease holders and logs. */
  readonly identity: string;
  readonly files: CommandFiles;
  /** The cluster that the flags or the environment name; closed with its client. */
  openCluster(options: ClusterOptions): Promise<{ readonly client: Client; readonly namespace: string }>;
}

export interface ClusterOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface CommandFiles {
  read(path: string): Promise<Uint8Array>;
  stdin(): Promise<Uint8Array>;
  /** Creates parent folders; `mode` is that of the file. */
  write(path: string, text: string, mode?: number): Promise<void>;
  exists(path: string): Promise<boolean>;
  remove(path: string): Promise<void>;
}

/** One command of the program. */
export interface SesameCommand {
  readonly usage: string;
  readonly description: string;
  readonly examples: readonly string[];
  readonly options: CommandOptions;
  /** How many arguments without a flag it takes; 0 by default. */
  readonly positionals?: number;
  run(args: CommandArguments, io: CommandIo): Promise<number>;
}

export interface CommandOption {
  readonly type: 'string' | 'boolean' | 'integer';
  readonly short?: string;
  readonly aliases?: readonly string[];
  readonly value?: string;
  readonly isRepeated?: boolean;
  readonly oneOf?: readonly string[];
  readonly variable?: string;
  readonly help: string;
}

export type CommandOptions = Readonly<Record<string, CommandOption>>;

export interface CommandArguments {
  readonly positionals: readonly string[];
  text(name: string): string | undefined;
  texts(name: string): readonly string[];
  isSet(name: string): boolean;
  integer(name: string): number | undefined;
}
