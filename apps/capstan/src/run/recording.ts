// The recording that the flags of a program ask for.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Clock, type Logger, reasonOf } from '@capstan/kube';
import { CaptureErrors, type Operator, parseKey, type Recording, startRecording } from '@capstan/reconcile';
import { type OperatorFlags, UsageErrors } from '@capstan/reconcile/command-line';
import { VERSION } from '../version.ts';

/** Flags of both `run --record` and `record`. */
export interface RecordFlags {
  readonly record?: string | undefined;
  readonly 'with-secrets'?: boolean | undefined;
  readonly key?: string | undefined;
}

/** Undefined without --record. */
export async function recordingOf(given: {
  operators: readonly Operator[];
  flags: RecordFlags & Readonly<Record<string, unknown>>;
  operatorFlags: OperatorFlags;
  clock: Clock;
  logger: Logger;
  cwd: string;
  whole?: boolean;
  unseen?: readonly string[];
}): Promise<Recording | undefined> {
  const { flags, cwd } = given;
  const { record, key: keyFile, 'with-secrets': withSecrets = false } = flags;
  if (withSecrets && keyFile === undefined)
    throw UsageErrors.Missing('--with-secrets', 'the key file', '--with-secrets --key FILE');
  if (record === undefined) return undefined;
  const key = withSecrets && keyFile !== undefined ? await readKey(keyFile, cwd) : undefined;
  return startRecording({
    ...given,
    folder: resolve(cwd, record),
    version: VERSION,
    flags: shownFlags(flags),
    ...(key && { key }),
  });
}

/** Throws where the file holds no key. */
export async function readKey(file: string, cwd: string): Promise<Uint8Array> {
  try {
    return parseKey(await readFile(resolve(cwd, file)), file);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') throw CaptureErrors.Unreadable(file, reasonOf(error));
    throw error;
  }
}

/** Flags that change the results of the program. */
const SHOWN = ['watch-namespaces', 'namespaced', 'leader-elect', 'namespace'];

function shownFlags(flags: Readonly<Record<string, unknown>>): string[] {
  return SHOWN.flatMap((name) => {
    const value = flags[name];
    const text = Array.isArray(value) ? value.join(',') : value;
    return typeof text === 'string' || typeof text === 'boolean' ? [`--${name}=${text}`] : [];
  });
}
