import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { createRegistryClient } from './client.ts';
import { proxyOf } from './proxy.ts';
import { parseReference } from './reference.ts';

describe('a proxy of the environment', () => {
  test('is named in upper or lower case, and never asked for this machine', () => {
    const proxy = 'http://proxy.example:3128';
    const own = 'localhost,127.0.0.1,[::1]';
    assert.deepEqual(proxyOf({ HTTPS_PROXY: proxy }), { httpProxy: '', httpsProxy: proxy, noProxy: own });
    assert.deepEqual(proxyOf({ http_proxy: proxy, no_proxy: '.corp.example' }), {
      httpProxy: proxy,
      httpsProxy: '',
      noProxy: `.corp.example,${own}`,
    });
  });

  test('is none when nothing is said, or everything is excepted', () => {
    assert.equal(proxyOf({}), undefined);
    assert.equal(proxyOf({ NO_PROXY: 'x.example', HTTP_PROXY: '' }), undefined);
    assert.equal(proxyOf({ HTTP_PROXY: 'http://proxy.example', NO_PROXY: ' * ' }), undefined);
  });

  test('is asked for a registry elsewhere, and not for one that is excepted', async () => {
    const tunnels: string[] = [];
    const proxy = createServer();
    proxy.on('connect', ({ url = '' }: IncomingMessage, socket) => {
      tunnels.push(url);
      socket.end('HTTP/1.1 502 no way\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const settings = proxyOf({ HTTPS_PROXY: address, HTTP_PROXY: address });
    const client = createRegistryClient({ retries: 0, ...(settings && { proxy: settings }) });
    try {
      await assert.rejects(client.resolve(parseReference('registry.invalid/team/p:v1')));
      assert.deepEqual([...new Set(tunnels)], ['registry.invalid:443']);
      await assert.rejects(client.resolve(parseReference('localhost:1/team/p:v1')));
      assert.deepEqual([...new Set(tunnels)], ['registry.invalid:443']);
    } finally {
      await client.close();
      proxy.close();
    }
  });
});
