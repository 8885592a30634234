// The Gateway API's conformance suite with its backend and its CRDs, from the Go modules that scripts/real/gateway-conformance pins.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const source = join(import.meta.dirname, '..', 'real', 'gateway-conformance');
const BACKEND = 'sigs.k8s.io/gateway-api/conformance/echo-basic';
const API = 'sigs.k8s.io/gateway-api';
const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };

export const gatewayConformance: Peer = {
  what: "the Gateway API's conformance suite, its backend echo-basic and its CRDs, which npm run conformance -- gateway uses",
  size: 110,
  version: `gateway-conformance ${digestOf('suite_test.go', 'tools.go', 'go.mod', 'go.sum')}`,
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl) and run this again',
  fetch(folder) {
    console.log('gateway-conformance: building, which takes minutes the first time ...');
    return (
      copyCrds(folder) &&
      go('test', '-c', ...SMALL, '-o', join(folder, 'gateway-conformance'), '.') &&
      buildBackend(folder, join(folder, 'echo-basic'))
    );
  },
};

const SMALL = ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w'];

/** The CRDs of both channels, as the module carries them: crds/standard and crds/experimental. */
function copyCrds(folder: string): boolean {
  // Before it is downloaded, a module has no folder.
  const module = go('mod', 'download', API) ? ask('list', '-m', '-f', '{{.Dir}}', API) : undefined;
  if (module === undefined) return false;
  cpSync(join(module, 'config', 'crd'), join(folder, 'crds'), { recursive: true });
  return spawnSync('chmod', ['-R', 'u+w', join(folder, 'crds')]).status === 0;
}

/**
 * The backend listens on every address of its machine. A pod of the embedded node has one address of the loopback network, so it is
 * built with a package net whose listeners take the address in POD_IP where the program names none.
 */
function buildBackend(folder: string, path: string): boolean {
  const root = ask('env', 'GOROOT');
  if (root === undefined) return false;
  const original = join(root, 'src', 'net', 'dial.go');
  const listen =
    /func \(lc \*ListenConfig\) Listen\(ctx context\.Context, network, address string\) \(Listener, error\) \{\n/;
  const text = readFileSync(original, 'utf8');
  if (!listen.test(text)) {
    console.error(`${original}: the function that listens was not found; use the version of Go that go.mod names`);
    return false;
  }
  const work = join(folder, 'work');
  mkdirSync(work);
  const changed = join(work, 'dial.go');
  writeFileSync(changed, `${text.replace(listen, (line) => `${line}\taddress = podAddress(address)\n`)}${POD_ADDRESS}`);
  const overlay = join(work, 'overlay.json');
  writeFileSync(overlay, JSON.stringify({ Replace: { [original]: changed } }));
  const built = go('build', ...SMALL, '-overlay', overlay, '-o', path, BACKEND);
  rmSync(work, { recursive: true });
  return built;
}

const POD_ADDRESS = `
func podAddress(address string) string {
	host, port, err := SplitHostPort(address)
	pod, found := syscall.Getenv("POD_IP")
	if err != nil || !found || (host != "" && host != "0.0.0.0") {
		return address
	}
	return JoinHostPort(pod, port)
}
`;

function go(...args: string[]): boolean {
  return spawnSync('go', args, { cwd: source, env, stdio: 'inherit' }).status === 0;
}

function ask(...args: string[]): string | undefined {
  const answer = spawnSync('go', args, { cwd: source, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return answer.status === 0 ? answer.stdout.trim() : undefined;
}

function digestOf(...names: string[]): string {
  const hash = createHash('sha256');
  for (const name of names) hash.update(readFileSync(join(source, name)));
  return hash.digest('hex').slice(0, 12);
}
