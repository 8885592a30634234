// The machine that a gateway runs on, or one network namespace of it. Everything that changes the network passes through
// here. Other modules decide about the changes.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, reasonOf } from '@capstan/kube';
import { HostErrors } from './errors.ts';
import { formatStep, type Step } from './step.ts';

export interface Host {
  /** Folder for sockets, configuration and logs of daemons; of this gateway alone. */
  readonly runDir: string;
  readonly programs: Programs;
  /** Takes the steps in their order; stops at the first that fails, with an error that names it. */
  apply(steps: readonly Step[]): Promise<void>;
  /** Returns the answer of `ip -j …` or `bridge -j …`; an empty list if the object does not exist. */
  query(tool: 'ip' | 'bridge', ...args: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  run(command: readonly string[], input?: string): Promise<Output>;
  /** Whether it is another network namespace than that of this process. */
  readonly isOtherNamespace: boolean;
  /** A process that ends with this one; its input is empty unless asked for. */
  start(command: readonly string[], input?: 'pipe' | 'ignore'): ChildProcess;
  /** A process that goes on when this one ends: a restarted gateway finds its cables up. */
  startDaemon(name: string, command: readonly string[], env?: Readonly<Record<string, string>>): Promise<Daemon>;
}

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Daemon {
  readonly pid: number;
  readonly log: string;
  hasEnded(): boolean;
}

/** How programs are called: a command each, so that tests can bring their own. */
export interface Programs {
  readonly ip: readonly string[];
  readonly bridge: readonly string[];
  readonly wg: readonly string[];
  readonly wireguardGo: readonly string[];
  readonly charon: readonly string[];
  readonly ping: readonly string[];
}

export const INSTALLED_PROGRAMS: Programs = {
  ip: ['ip'],
  bridge: ['bridge'],
  wg: ['wg'],
  wireguardGo: ['wireguard-go'],
  charon: ['charon-systemd'],
  ping: ['ping'],
};

export interface HostOptions {
  /** A named network namespace; by default that of this process. */
  readonly namespace?: string;
  readonly runDir?: string;
  readonly programs?: Partial<Programs>;
}

export function createHost({ namespace, runDir = '/run/submariner', programs: given }: HostOptions = {}): Host {
  const programs = { ...INSTALLED_PROGRAMS, ...given };
  const enter = namespace === undefined ? [] : ['nsenter', `--net=/run/netns/${namespace}`, '--'];
  const run = (command: readonly string[], input?: string) => runCommand([...enter, ...command], input);
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  return {
    runDir,
    programs,
    run,
    async apply(steps) {
      for (const batch of batches(steps))
        if (namespace === undefined && batch[0]?.tool === 'sysctl') setHere(batch);
        else await applyBatch(batch, programs, run);
    },
    async query(tool, ...args) {
      const { code, stdout } = await run([...programs[tool], '-j', ...args]);
      if (code !== 0 || stdout.trim() === '') return [];
      const parsed: unknown = JSON.parse(stdout);
      const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
      // An object that was filtered out is an empty one in the answer.
      return list.filter(isJsonObject).filter((each) => Object.keys(each).length > 0);
    },
    isOtherNamespace: namespace !== undefined,
    start(command, input = 'ignore') {
      const [program = '', ...args] = [...enter, ...command];
      return spawn(program, args, { stdio: [input, 'pipe', 'ignore'] });
    },
    async startDaemon(name, command, env = {}) {
      const log = join(runDir, `${name}.log`);
      const file = openSync(log, 'a', 0o600);
      try {
        const [program = '', ...args] = [...enter, ...command];
        const child = spawn(program, args, {
          detached: true,
          stdio: ['ignore', file, file],
          env: { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin', ...env },
        });
        await new Promise<void>((resolve, reject) => {
          child.once('spawn', () => resolve());
          child.once('error', reject);
        });
        child.unref();
        return { pid: child.pid ?? 0, log, hasEnded: () => child.exitCode !== null || child.signalCode !== null };
      } finally {
        closeSync(file);
      }
    },
  };
}

/** Writes kernel settings of this process's own network: the image of gateways has no shell. */
function setHere(steps: readonly Step[]): void {
  for (const step of steps) {
    if (step.tool !== 'sysctl') continue;
    try {
      writeFileSync(join('/proc/sys', ...step.key), step.value);
    } catch (error) {
      throw HostErrors.StepFailed(formatStep(step), reasonOf(error));
    }
  }
}

/** Groups consecutive steps of one tool into one process: starting processes takes most of the time. */
function batches(steps: readonly Step[]): Step[][] {
  const result: Step[][] = [];
  for (const step of steps) {
    const last = result.at(-1);
    const first = last?.[0];
    if (last !== undefined && first !== undefined && canJoin(first, step)) last.push(step);
    else result.push([step]);
  }
  return result;
}

function canJoin(first: Step, step: Step): boolean {
  if (first.tool !== step.tool) return false;
  if (first.tool === 'sysctl' || step.tool === 'sysctl') return true;
  return (first.lenient ?? false) === (step.lenient ?? false);
}

async function applyBatch(
  steps: readonly Step[],
  programs: Programs,
  run: (command: readonly string[], input?: string) => Promise<Output>,
): Promise<void> {
  const [first] = steps;
  if (first === undefined) return;
  if (first.tool === 'sysctl') {
    const lines = steps.flatMap((step) =>
      step.tool === 'sysctl' ? [`echo ${step.value} > '/proc/sys/${step.key.join('/')}'`] : [],
    );
    const { code, stderr } = await run(['sh', '-e'], `${lines.join('\n')}\n`);
    if (code !== 0) throw HostErrors.StepFailed(steps.map(formatStep).join('; '), oneLine(stderr));
    return;
  }
  const lines = steps.map((step) => (step.tool === 'sysctl' ? '' : step.args.join(' ')));
  const isLenient = first.lenient ?? false;
  const command = [...programs[first.tool], ...(isLenient ? ['-force'] : []), '-batch', '-'];
  const { code, stderr } = await run(command, `${lines.join('\n')}\n`);
  if (code === 0 || isLenient) return;
  const failed = Number(/Command failed -:(\d+)/.exec(stderr)?.[1] ?? '1');
  const step = steps[failed - 1] ?? first;
  throw HostErrors.StepFailed(formatStep(step), oneLine(stderr.replace(/Command failed.*/s, '')));
}

function runCommand([program = '', ...args]: readonly string[], input = ''): Promise<Output> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    // A program may end before it has read everything: its exit code counts.
    child.stdin.on('error', () => {});
    child.once('error', (error) => resolve({ code: 127, stdout, stderr: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 128, stdout, stderr }));
    child.stdin.end(input);
  });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
