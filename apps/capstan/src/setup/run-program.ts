import { spawn } from 'node:child_process';

export interface Ran {
  /** 127 where the program is not installed. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunProgramOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a program to its end, without blocking this one: progress goes on meanwhile. */
export function runProgram(program: string, args: readonly string[], options: RunProgramOptions = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.once('error', (error) => resolve({ code: 127, stdout, stderr: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 128, stdout, stderr }));
  });
}
