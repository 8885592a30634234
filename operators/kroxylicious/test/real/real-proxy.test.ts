// The real proxy takes what the operator writes: it starts with a generated configuration, answers on its management port,
// and shows the certificate that the virtual cluster names.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import {
  certificate,
  cluster,
  configMap,
  configurationOf,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from '../fixtures.ts';

const real = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'kroxylicious');
const java = join(real, 'java', 'bin', 'java');
const libs = join(real, 'libs');
const skip =
  existsSync(java) && existsSync(libs)
    ? false
    : `the real proxy is not installed: it needs ${libs} (io.kroxylicious:kroxylicious-runtime and what it depends on, from Maven Central) and a Java of 21 or newer as ${java}`;

test('the real proxy starts with a generated configuration', { skip, timeout: 60_000 }, async () => {
  const issued = await certificate();
  const folder = mkdtempSync(join(tmpdir(), 'kroxylicious-'));
  const objects = [
    proxy(),
    service({ bootstrapServers: 'localhost:19092', tls: { trustAnchorRef: { name: 'ca', key: 'ca.pem' } } }),
    tcpIngress(),
    tlsIngress(),
    configMap('ca', { 'ca.pem': issued.ca }),
    tlsSecret('server', issued),
    cluster('one'),
    cluster('two', { ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }] }),
  ];
  let text = '';
  await staged({ objects }, async ({ client }) => {
    text = await configurationOf(client);
  });
  // What a pod mounts, in a folder of this machine.
  const files = {
    'target-cluster/trusted-certs/ca/ca.pem': issued.ca,
    'virtual-cluster/server-certs/server/tls.crt': issued.certificate,
    'virtual-cluster/server-certs/server/tls.key': issued.key,
    'proxy-config.yaml': text.replaceAll('/opt/kroxylicious', folder),
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  execFileSync('javac', ['-d', folder, fileURLToPath(new URL('Launcher.java', import.meta.url))]);
  const program = spawn(java, ['-cp', `${folder}:${libs}/*`, 'Launcher', join(folder, 'proxy-config.yaml')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    const said: string[] = [];
    createInterface({ input: program.stderr }).on('line', (line) => said.push(line));
    const [line] = (await Promise.race([
      once(createInterface({ input: program.stdout }), 'line'),
      once(program, 'exit').then(() => [`ended: ${said.join('\n')}`]),
    ])) as [string];
    assert.equal(line, 'started');
    assert.equal((await fetch('http://127.0.0.1:9190/livez')).status, 200);
    const socket = connect({
      host: '127.0.0.1',
      port: 9291,
      servername: 'two-tls-bootstrap.default.svc.cluster.local',
      ca: issued.ca,
      checkServerIdentity: () => undefined,
    });
    await once(socket, 'secureConnect');
    assert.equal(socket.getPeerCertificate().subject.CN, 'proxy');
    socket.destroy();
    for (const port of [9292, 9295]) {
      const plain = connectTcp(port, '127.0.0.1');
      await once(plain, 'connect');
      plain.destroy();
    }
  } finally {
    program.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});
