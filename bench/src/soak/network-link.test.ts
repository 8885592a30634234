import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type NetworkLink, startNetworkLink } from './network-link.ts';

describe('a network link', () => {
  const echo = createServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  let link: NetworkLink;
  before(async () => {
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const address = echo.address();
    link = await startNetworkLink(typeof address === 'object' && address !== null ? address.port : 0);
  });
  after(async () => {
    await link.close();
    echo.close();
  });

  async function open(): Promise<Socket> {
    const socket = connect(link.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  test('forwards all bytes in order, also while it is slow', async () => {
    const socket = await open();
    link.slow(5);
    const sent = Array.from({ length: 200 }, (_, index) => `part ${index};`).join('');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    for (let at = 0; at < sent.length; at += 100) socket.write(sent.slice(at, at + 100));
    while (received.length < sent.length) await once(socket, 'data');
    link.heal();
    assert.equal(received, sent);
    socket.destroy();
  });

  test('delivers the bytes of a stop after it is healed', async () => {
    const socket = await open();
    link.stop();
    socket.write('late');
    const early = await Promise.race([
      once(socket, 'data').then(() => true),
      new Promise<boolean>((resolve) => {
        setTimeout(() => resolve(false), 50);
      }),
    ]);
    assert.equal(early, false);
    const arrived = once(socket, 'data');
    link.heal();
    const [text] = (await arrived) as [Buffer];
    assert.equal(text.toString(), 'late');
    socket.destroy();
  });

  test('ends its connections when it is cut, and refuses new ones until it is healed', async () => {
    const socket = await open();
    link.cut();
    await once(socket, 'close');
    const refused = connect(link.port, '127.0.0.1');
    refused.on('error', () => {});
    await once(refused, 'close');
    link.heal();
    const next = await open();
    next.write('again');
    const [text] = (await once(next, 'data')) as [Buffer];
    assert.equal(text.toString(), 'again');
    next.destroy();
  });
});
