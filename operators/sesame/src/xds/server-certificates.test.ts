import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { connect } from 'node:tls';
import { type CertificateAndKey, createCa, issueCertificate, silentLogger } from '@capstan/kube';
import { createCertificateWatch } from './grpc/server-certificates.ts';
import { createResourceStore } from './resource-store.ts';
import { cluster, put } from './xds.test-support.ts';
import { connectXds } from './xds-client.ts';
import { startXdsServer } from './xds-server.ts';

suite('mutual TLS', () => {
  test('clients need a certificate of the CA, and a renewed server certificate is used without a restart', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'sesame-xds-'));
    context.after(() => rmSync(folder, { recursive: true }));
    const ca = await createCa({ commonName: 'xds', ...validity() });
    const issue = (name: string) =>
      issueCertificate({ ca, commonName: name, dnsNames: [name], usages: ['server', 'client'], ...validity() });
    const files = writeFiles(folder, ca, await issue('sesame'));
    const now = { value: 0 };
    const clock = { now: () => now.value, after: () => ({ cancel() {} }), yield: () => Promise.resolve() };
    const store = createResourceStore();
    put(store, cluster('a'));
    const server = await startXdsServer({ store, address: '127.0.0.1', port: 0, tls: files, clock });
    context.after(() => server.close());

    const envoy = await issue('envoy');
    const client = connectXds({
      host: '127.0.0.1',
      port: server.port,
      nodeId: 'n',
      tls: { ca: ca.certificate, cert: envoy.certificate, key: envoy.key },
    });
    context.after(() => client.close());
    const stream = client.open({ type: 'cds', isDelta: false });
    stream.request({});
    assert.deepEqual([...(await stream.next()).resources.keys()], ['a']);

    const other = await createCa({ commonName: 'other', ...validity() });
    const stranger = await issueCertificate({ ca: other, commonName: 'envoy', usages: ['client'], ...validity() });
    const refused = connectXds({
      host: '127.0.0.1',
      port: server.port,
      nodeId: 'n',
      tls: { ca: ca.certificate, cert: stranger.certificate, key: stranger.key },
    });
    context.after(() => refused.close());
    const refusedStream = refused.open({ type: 'cds', isDelta: false });
    refusedStream.request({});
    await assert.rejects(refusedStream.next());

    const before = await serialOf(server.port, ca, envoy);
    writeFiles(folder, ca, await issue('sesame'));
    now.value += 10_000;
    assert.notEqual(await serialOf(server.port, ca, envoy), before);
  });

  test('files that do not fit together leave the last certificate in force', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'sesame-xds-'));
    context.after(() => rmSync(folder, { recursive: true }));
    const ca = await createCa({ commonName: 'xds', ...validity() });
    const files = writeFiles(
      folder,
      ca,
      await issueCertificate({ ca, commonName: 'a', usages: ['server'], ...validity() }),
    );
    const now = { value: 0 };
    const clock = { now: () => now.value, after: () => ({ cancel() {} }), yield: () => Promise.resolve() };
    const watch = createCertificateWatch(files, clock, silentLogger);
    const before = watch.current();
    writeFileSync(
      files.keyFile,
      (await issueCertificate({ ca, commonName: 'b', usages: ['server'], ...validity() })).key,
    );
    now.value += 10_000;
    assert.equal(watch.renewed(), undefined);
    assert.equal(watch.current(), before);
  });
});

function validity() {
  return { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
}

function writeFiles(folder: string, ca: CertificateAndKey, issued: CertificateAndKey) {
  const files = { caFile: join(folder, 'ca.crt'), certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
  writeFileSync(files.caFile, ca.certificate);
  writeFileSync(files.certFile, issued.certificate);
  writeFileSync(files.keyFile, issued.key);
  return files;
}

function serialOf(port: number, ca: CertificateAndKey, client: CertificateAndKey): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        host: '127.0.0.1',
        port,
        ca: ca.certificate,
        cert: client.certificate,
        key: client.key,
        servername: 'sesame',
        ALPNProtocols: ['h2'],
      },
      () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });
}
