// Completion as users have it: the scripts in the real shells, which ask the real program, which asks a running cluster.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startCluster } from '@capstan/apiserver';
import { ConfigMap, createClient, silentLogger, systemClock } from '@capstan/kube';
import { testIo } from '../cli/test-io.test-support.ts';
import { COMMANDS } from '../command-table.ts';
import { complete } from './complete.ts';

const run = promisify(execFile);
const MAIN = new URL('../main.ts', import.meta.url).pathname;
const SHELLS = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'shells', 'root');
const skip = existsSync(SHELLS) ? false : 'zsh and fish are not there: npm run setup:real -- shells';

describe('what can come next', () => {
  const cases: [typed: string[], values: string[], files?: boolean][] = [
    [['pl'], ['plan']],
    [['status', '--wa'], ['--watch']],
    [['status', '-o', 'j'], ['json']],
    [['status', '--output=w'], ['--output=wide']],
    [['status', '--output', '=', 'w'], ['wide']],
    [['run', '--operators', 'sesame,g'], ['sesame,gimbal']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['completion', 'bash', ''], []],
    [['plan', '-f', ''], [], true],
    [['up', '--data', 'x'], [], true],
    [['nonsense', ''], []],
  ];
  for (const [typed, values, files = false] of cases) {
    test(`capstan ${typed.join(' ')}`, async () => {
      const found = await complete(typed, COMMANDS, testIo().io);
      assert.deepEqual(
        found.candidates.map(({ value }) => value),
        values,
      );
      assert.equal(found.files, files);
    });
  }

  test('completion without a cluster leaves names out and does not fail', async () => {
    const found = await complete(['why', 'deployment/'], COMMANDS, testIo({ env: { KUBECONFIG: '/none' } }).io);
    assert.deepEqual(found, { candidates: [], files: false });
  });
});

describe('completion with live names', () => {
  let folder = '';
  let env: NodeJS.ProcessEnv = {};
  const ends: (() => Promise<unknown>)[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'capstan-completion-'));
    const cluster = await startCluster({
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      data: join(folder, 'data'),
      host: '127.0.0.1',
      port: 0,
      clusters: ['capstan'],
    });
    const [first] = cluster.clusters;
    assert.ok(first);
    const client = createClient({ transport: first.server.transport({ userAgent: 'test' }) });
    for (const name of ['settings', 'secrets-of-nobody']) {
      await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } });
    }
    ends.push(
      () => client.close(),
      () => cluster.close(),
    );
    await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig, { mode: 0o600 });
    const program = `#!/bin/sh\nexec "${process.execPath}" --disable-warning=ExperimentalWarning "${MAIN}" "$@"\n`;
    await writeFile(join(folder, 'capstan'), program);
    await chmod(join(folder, 'capstan'), 0o755);
    env = { ...process.env, PATH: `${folder}:${process.env['PATH']}`, KUBECONFIG: join(folder, 'kubeconfig') };
  });
  after(async () => {
    for (const end of ends) await end();
    await rm(folder, { recursive: true });
  });

  /** Returns the candidates of each shell after these words. */
  const shells: Record<string, (line: string) => Promise<string[]>> = {
    async bash(line) {
      const words = line.split(' ').map((word) => `'${word}'`);
      const script = `source <(capstan completion bash)
COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}
_capstan_complete
printf '%s\\n' "\${COMPREPLY[@]}"`;
      return lines((await run('bash', ['--norc', '-c', script], { env })).stdout);
    },
    async zsh(line) {
      const words = line.split(' ').map((word) => `'${word}'`);
      // Outside its editor zsh has no completion: the test prints the candidates of the script instead.
      const script = `module_path=(${SHELLS}/usr/lib/x86_64-linux-gnu)
source <(capstan completion zsh)
compadd() { print -l -- "\${(@P)argv[-1]}" }
_describe() { print -l -- "\${(@P)argv[-1]}" }
words=(${words.join(' ')}); CURRENT=${words.length}
_capstan`;
      const { stdout } = await run(join(SHELLS, 'bin/zsh'), ['-f', '-c', script], { env });
      return lines(stdout).map((text) => text.replace(/:[^:]*$/, ''));
    },
    async fish(line) {
      const script = `capstan completion fish | source; complete -C '${line}'`;
      const data = join(SHELLS, 'usr/share/fish');
      const own = {
        ...env,
        HOME: folder,
        LD_LIBRARY_PATH: join(SHELLS, 'usr/lib/x86_64-linux-gnu'),
        XDG_DATA_DIRS: data,
      };
      const functions = `set fish_function_path ${data}/functions; `;
      const { stdout } = await run(join(SHELLS, 'usr/bin/fish'), ['--no-config', '-c', functions + script], {
        env: own,
      });
      return lines(stdout).map((text) => text.split('\t')[0] ?? '');
    },
  };
  for (const [shell, offers] of Object.entries(shells)) {
    test(`completion offers live names in ${shell}`, { skip: shell === 'bash' ? false : skip }, async () => {
      assert.deepEqual(await offers('capstan stat'), ['status']);
      assert.deepEqual(await offers('capstan why configmap/se'), ['configmap/secrets-of-nobody', 'configmap/settings']);
      assert.deepEqual(await offers('capstan status -n kube-s'), ['kube-system']);
      assert.deepEqual(await offers('capstan why --context cap'), ['capstan']);
    });
  }
});

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
