// A real control plane, built from Go modules: scripts/real/kubernetes/go.mod pins the versions, go.sum their content.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Peer } from '@capstan/cli/setup';
import { BUILD_RECORD, type BuildRecord, buildRecord, givenFolder, PROGRAMS } from '@capstan/testing/binaries';

const pins = join(import.meta.dirname, '..', 'real', 'kubernetes');
const goMod = readFileSync(join(pins, 'go.mod'), 'utf8');
const kubernetes = pinned('k8s.io/kubernetes');

const PACKAGES: Record<(typeof PROGRAMS)[number], string> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
};

export const realKubernetes: Peer = {
  what: 'a real control plane (kube-apiserver, etcd, controllers, kubectl), beside which the embedded one is tested',
  size: 330,
  version: `kubernetes ${kubernetes}, etcd ${pinned('go.etcd.io/etcd/server/v3')}`,
  elsewhere: () => givenFolder(process.env),
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl), or let KUBEBUILDER_ASSETS name a folder with kube-apiserver and etcd, and run this again',
  async fetch(folder) {
    const record: BuildRecord = {};
    for (const [index, program] of PROGRAMS.entries()) {
      const label = `kubernetes: ${program} (${index + 1} of ${PROGRAMS.length})`;
      const path = join(folder, program);
      if (!(await build(PACKAGES[program], path, label))) return false;
      record[program] = { bytes: statSync(path).size, sha256: await digestOf(path) };
    }
    writeFileSync(join(folder, BUILD_RECORD), `${JSON.stringify(record, null, 2)}\n`);
    return true;
  },
  async isWhole(folder) {
    const record = buildRecord(folder);
    if (record === undefined) return false;
    for (const program of PROGRAMS) {
      if ((await digestOf(join(folder, program))) !== record[program]?.sha256) return false;
    }
    return true;
  },
};

async function build(source: string, path: string, label: string): Promise<boolean> {
  console.log(`${label}: building, which takes minutes the first time ...`);
  const args = ['build', '-v', '-trimpath', '-buildvcs=false', '-ldflags', linkerFlags(), '-o', path, source];
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  const go = spawn('go', args, { cwd: pins, env, stdio: ['ignore', 'inherit', 'pipe'] });
  let compiled = 0;
  // With -v Go names each package that it compiles; its other output is an error or a download.
  for await (const line of createInterface(go.stderr)) {
    if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) {
      compiled++;
      if (compiled % 100 === 0) console.log(`${label}: ${compiled} packages compiled`);
    } else if (!line.startsWith('go: downloading')) console.error(line);
  }
  if (go.exitCode === null) await once(go, 'exit');
  return go.exitCode === 0;
}

// The flags of a release's own build, so that /version and the user agent are true.
function linkerFlags(): string {
  const [major = '', minor = ''] = kubernetes.slice(1).split('.');
  const values = { gitVersion: kubernetes, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const sets = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((place) =>
    Object.entries(values).map(([name, value]) => `-X ${place}.${name}=${value}`),
  );
  return ['-s', '-w', ...sets].join(' ');
}

function pinned(module: string): string {
  const requirements = goMod.split('\n').map((line) => line.trim().split(' '));
  return requirements.find(([name, version]) => name === module && version?.startsWith('v'))?.[1] ?? 'unknown';
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch {
    return 'unreadable';
  }
  return hash.digest('hex');
}
