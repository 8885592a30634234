import { systemClock } from '@capstan/kube';
import type { CommandIo } from '../../src/commands/command-io.ts';
import { runSesameCommand, sesameRequest } from '../../src/commands/program.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly written: ReadonlyMap<string, { text: string; mode: number | undefined }>;
}

/** Runs a command on files in memory, without a cluster. */
export async function runCommand(
  line: string | readonly string[],
  files: Record<string, string | Uint8Array> = {},
  more: Partial<CommandIo> = {},
): Promise<Ran> {
  const argv = typeof line === 'string' ? line.split(' ') : line;
  const written = new Map<string, { text: string; mode: number | undefined }>();
  let out = '';
  let err = '';
  const bytesOf = (content: string | Uint8Array) =>
    typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const io: CommandIo = {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    env: {},
    clock: systemClock,
    identity: 'test',
    signal: new AbortController().signal,
    files: {
      read: (path) => {
        const content = files[path];
        return content === undefined ? Promise.reject(new Error('no such file')) : Promise.resolve(bytesOf(content));
      },
      stdin: () => Promise.resolve(bytesOf(files['-'] ?? '')),
      write: (path, text, mode) => Promise.resolve(void written.set(path, { text, mode })),
      exists: (path) => Promise.resolve(path in files || written.has(path)),
      remove: (path) => Promise.resolve(void written.delete(path)),
    },
    openCluster: () => Promise.reject(new Error('there is no cluster here')),
    ...more,
  };
  const request = sesameRequest(argv);
  const code = request.what === 'command' ? await runSesameCommand(request.name, request.argv, io) : -1;
  return { code, out, err, written };
}
