// The commands of the program `sesame`: its own, and Capstan's.
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type CommandIo, runSesameCommand, sesameHelp, sesameRequest } from '@capstan/sesame/commands';
import type { Io } from '../cli/io.ts';

/** Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export async function runSesame(argv: readonly string[], io: Io, stdin: AsyncIterable<unknown>): Promise<number> {
  const request = sesameRequest(argv);
  switch (request.what) {
    case 'help':
      io.stdout(sesameHelp());
      return request.code;
    case 'command':
      return runSesameCommand(request.name, request.argv, await commandIo(io, stdin));
    case 'capstan': {
      const { runCommandLine } = await import('../cli/cli.ts');
      const stderr: Io['stderr'] = (text) => io.stderr(text.replaceAll('see capstan --help', 'see sesame --help'));
      return runCommandLine(request.argv, { ...io, stderr });
    }
  }
}

/** What the commands need from the machine. */
async function commandIo(io: Io, stdin: AsyncIterable<unknown>): Promise<CommandIo> {
  const at = (path: string) => resolve(io.cwd, path);
  const { systemClock } = await import('@capstan/kube/cluster');
  return {
    stdout: io.stdout,
    stderr: io.stderr,
    env: io.env,
    clock: io.clock ?? systemClock,
    signal: io.signal,
    identity: io.identity,
    files: {
      read: (path) => readFile(at(path)),
      async stdin() {
        const parts: Buffer[] = [];
        for await (const part of stdin) parts.push(Buffer.from(part as Uint8Array));
        return Buffer.concat(parts);
      },
      async write(path, text, mode = 0o644) {
        await mkdir(dirname(at(path)), { recursive: true });
        await writeFile(at(path), text, { mode });
        // An existing file keeps its mode otherwise.
        await chmod(at(path), mode);
      },
      exists: (path) =>
        stat(at(path)).then(
          () => true,
          () => false,
        ),
      remove: (path) => rm(at(path), { force: true }),
    },
    async openCluster(options) {
      const { openCluster } = await import('../cluster/open-cluster.ts');
      const { kubeconfig, context, namespace } = options;
      return openCluster({ kubeconfig, context, namespace }, io);
    },
  };
}
