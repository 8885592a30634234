// The mounted files of a gateway: options of its drivers and pre-shared keys. A kubelet replaces them while the gateway runs.
// Problems of new content are reported, and the last good content stays in force.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Clock, reasonOf, sleep } from '@capstan/kube';
import { type PreSharedKey, preSharedKey } from '../drivers/pre-shared-keys.ts';
import { validateGatewayOptions } from '../policy/driver-options.ts';
import { optionsOfConfigMap } from '../policy/rule-options.ts';
import { GatewayErrors } from './configuration.ts';

export interface GatewayFiles {
  /** Options of all drivers; the last good ones. */
  options(): Readonly<Record<string, string>>;
  /** Newest first. Throws when there is no usable key and there never was. */
  keys(): Promise<readonly PreSharedKey[]>;
  /** The present problems of the files. */
  problems(): readonly string[];
  /** Reads them about once a second; `changed` is called after options or keys have changed. */
  watch(signal: AbortSignal, changed: () => Promise<void>): Promise<void>;
}

export interface GatewayFilesOptions {
  readonly optionsFolder: string | undefined;
  readonly pskFile: string | undefined;
  /** Options besides those of the folder, which win. */
  readonly options: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** How long the key before the last change is still accepted. */
const GRACE_MS = 3_600_000;
const READ_MS = 1000;
/** Beside psk: the key that was used before, for gateways that start during a rotation. */
const PREVIOUS_FILE = 'psk-previous';

export function createGatewayFiles(given: GatewayFilesOptions): GatewayFiles {
  const { optionsFolder, pskFile, clock } = given;
  let options = given.options;
  let optionsProblem: string | undefined;
  let keyProblem: string | undefined;
  let current: Buffer | undefined;
  let previous: { readonly bytes: Buffer; readonly until: number } | undefined;
  const named = new Map<string, Promise<PreSharedKey>>();

  const readOptions = () => {
    const { data, problem } = readOptionsFolder(optionsFolder);
    const problems = problem === undefined ? validateGatewayOptions(data).map(({ message }) => message) : [problem];
    optionsProblem =
      problems.length === 0
        ? undefined
        : `driver options (${optionsFolder}): ${problems.join('; ')}; the last good options stay in force`;
    if (problems.length === 0) options = { ...given.options, ...data };
  };
  const readKeys = () => {
    try {
      const next = readPreSharedKey(pskFile);
      keyProblem = undefined;
      if (next === undefined) return;
      if (current !== undefined && !current.equals(next)) previous = { bytes: current, until: clock.now() + GRACE_MS };
      current = next;
    } catch (error) {
      keyProblem = reasonOf(error);
    }
    if (previous !== undefined && previous.until < clock.now()) previous = undefined;
  };
  const bytes = (): Buffer[] => {
    const beside = pskFile === undefined ? undefined : join(dirname(pskFile), PREVIOUS_FILE);
    const older = beside !== undefined && existsSync(beside) ? readFileSync(beside) : previous?.bytes;
    const known = [current, older].filter((each) => each !== undefined && each.length >= MINIMUM_BYTES);
    return known.filter((each, index): each is Buffer => each !== undefined && !(index > 0 && current?.equals(each)));
  };
  const nameOf = (key: Buffer) => {
    const digest = createHash('sha256').update(key).digest('hex');
    const known = named.get(digest) ?? preSharedKey(key);
    named.set(digest, known);
    return known;
  };
  const fingerprint = () => {
    const hash = createHash('sha256').update(JSON.stringify(options));
    for (const key of bytes()) hash.update('\0').update(key);
    return hash.digest('hex');
  };

  readOptions();
  readKeys();
  return {
    options: () => options,
    keys() {
      if (current === undefined && keyProblem !== undefined) return Promise.reject(new Error(keyProblem));
      return Promise.all(bytes().map(nameOf));
    },
    problems: () => [optionsProblem, keyProblem].filter((each) => each !== undefined),
    async watch(signal, changed) {
      let seen = fingerprint();
      while (!signal.aborted) {
        await sleep(clock, READ_MS, signal).catch(() => {});
        readOptions();
        readKeys();
        const now = fingerprint();
        if (now === seen || signal.aborted) continue;
        seen = now;
        await changed();
      }
    },
  };
}

/** The options in a mounted ConfigMap, one file a key; none where the ConfigMap is not there. */
function readOptionsFolder(folder: string | undefined): { data: Record<string, string>; problem?: string } {
  if (folder === undefined || !existsSync(folder)) return { data: {} };
  const data: Record<string, string> = {};
  try {
    for (const name of readdirSync(folder))
      if (!name.startsWith('..')) data[name] = readFileSync(join(folder, name), 'utf8').trim();
  } catch (error) {
    // Files that are replaced in this moment: they are read again.
    return { data, problem: reasonOf(error) };
  }
  return optionsOfConfigMap(data);
}

const MINIMUM_BYTES = 16;

/** The raw bytes of the pre-shared key; refused when it protects nothing. */
export function readPreSharedKey(file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw GatewayErrors.BadKey(file, 'does not exist');
  const key = readFileSync(file);
  if (key.toString('utf8').trim() === 'default psk') throw GatewayErrors.BadKey(file, 'is the well-known default');
  if (key.length < MINIMUM_BYTES) throw GatewayErrors.BadKey(file, `has ${key.length} bytes`);
  return key;
}
