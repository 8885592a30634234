// New one-time codes of a running console, through a socket file that only its user can open. Its folder is the user's runtime folder,
// so that `capstan console --code` finds every console of the user.
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '@capstan/kube/cluster';
import { CliErrors } from '../cli/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface CodeSocket {
  readonly path: string;
  close(): Promise<void>;
}

/** A console that answered. */
export interface OfferedCode {
  readonly context: string;
  /** With the code in its fragment. */
  readonly address: string;
}

/** Answers each connection with an address with a new code. */
export async function serveCodes(env: Environment, port: number, offer: () => OfferedCode): Promise<CodeSocket> {
  const folder = socketFolder(env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  checkFolder(folder);
  const path = join(folder, `console-${port}.sock`);
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(`${JSON.stringify(offer())}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
  return {
    path,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Asks every console of this user for a code. Files of consoles that ended without closing are removed. */
export async function requestCodes(env: Environment, timeoutMs: number): Promise<readonly OfferedCode[]> {
  const folder = socketFolder(env);
  const names = namesIn(folder).filter((name) => /^console-\d+\.sock$/.test(name));
  if (names.length > 0) checkFolder(folder);
  const answers = await Promise.all(names.map((name) => requestCode(join(folder, name), timeoutMs)));
  return answers.filter((answer) => answer !== undefined);
}

function requestCode(path: string, timeoutMs: number): Promise<OfferedCode | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path);
    socket.setEncoding('utf8');
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') rmSync(path, { force: true });
    });
    socket.on('close', () => resolve(parsed(text)));
  });
}

function parsed(text: string): OfferedCode | undefined {
  try {
    const answer = JSON.parse(text) as Partial<OfferedCode> | null;
    if (typeof answer?.context !== 'string' || typeof answer.address !== 'string') return undefined;
    return { context: answer.context, address: answer.address };
  } catch {
    return undefined;
  }
}

function socketFolder(env: Environment): string {
  const runtime = env['XDG_RUNTIME_DIR'];
  return runtime ? join(runtime, 'capstan') : join(tmpdir(), `capstan-${userInfo().uid}`);
}

/** Another user could have created the folder, where it is in the one for temporary files, to offer an address of their own. */
function checkFolder(folder: string): void {
  const { uid, mode } = lstatSync(folder);
  if (uid !== userInfo().uid || (mode & 0o170_077) !== 0o040_000) throw CliErrors.OpenCodeFolder(folder);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw CliErrors.Unreadable(folder, reasonOf(error));
  }
}
