import { spawn } from 'node:child_process';

/** Runs a command that starts `capstan up` until it reports that it is ready; the returned function ends it in order. */
export async function startClusterProcess(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  let output = '';
  const ready = new Promise<void>((resolve) => {
    const hear = (text: Buffer) => {
      output += text.toString();
      if (output.includes('Capstan is ready.')) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
  });
  const early = ended.then(() => {
    throw new Error(`the cluster ended before it was ready:\n${output}`);
  });
  await Promise.race([ready, early]);
  early.catch(() => undefined);
  return () => {
    child.kill('SIGTERM');
    return ended;
  };
}
