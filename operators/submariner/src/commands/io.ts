import type { Client, Clock, Connection, ConnectOptions } from '@capstan/kube';

/** The machine's functions that the commands use. */
export interface SubctlIo {
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly files: {
    read(path: string): Promise<string>;
    /** Writes a file with mode 0600. */
    write(path: string, text: string): Promise<void>;
    stdin(): Promise<string>;
  };
  readonly clock: Clock;
  readonly signal: AbortSignal;
  connect(options: ConnectOptions): Promise<Connection>;
  /** Asks the user. Absent without a terminal. */
  confirm?(question: string): Promise<boolean>;
}

/** The context of one command line in a cluster. */
export interface CommandContext {
  readonly io: SubctlIo;
  readonly client: Client;
  readonly context: string;
  readonly flags: Flags;
}

export interface Flags {
  text(name: string): string | undefined;
  list(name: string): readonly string[];
  isSet(name: string): boolean;
  readonly positionals: readonly string[];
}

/** Prints progress for users on stderr, as subctl does. */
export function progress({ stderr }: SubctlIo) {
  return {
    done: (text: string) => stderr(` ✓ ${text}\n`),
    failed: (text: string) => stderr(` ✗ ${text}\n`),
    warning: (text: string) => stderr(` ⚠ ${text}\n`),
    note: (text: string) => stderr(`   ${text}\n`),
  };
}
