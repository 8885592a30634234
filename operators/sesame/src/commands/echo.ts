// `sesame echo`: a backend for demonstrations. It answers every request with a text of its own and a description of the request.
import { createServer } from 'node:http';
import { untilAborted } from '@capstan/kube';
import { command, wholeNumber } from '@capstan/reconcile/command-line';
import { SocketErrors } from '../xds/index.ts';

export default command({
  usage: 'echo',
  description: 'Answers HTTP requests with a text, the method and the path: a backend to try routes with.',
  examples: ['sesame echo --text=shop --port=8080'],
  options: {
    text: { type: 'string', value: 'TEXT', default: 'echo', help: 'Stands first in every answer.' },
    address: {
      type: 'string',
      value: 'ADDRESS',
      default: '0.0.0.0',
      // On the local node every pod has an address of its own and no interface.
      env: 'SESAME_BIND_ADDRESS',
      help: 'Where it listens.',
    },
    port: {
      type: 'string',
      value: 'PORT',
      default: '8080',
      parse: wholeNumber(0, 65_535),
      help: 'Where it listens; 0 for any that is free.',
    },
  },
  async run({ flags: { text, address, port } }, io) {
    const server = createServer((request, response) => {
      response.setHeader('content-type', 'text/plain');
      response.end(`${text}: ${request.method ?? ''} ${request.url ?? ''}\n`);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(SocketErrors.CannotListen(address, port, error)));
      server.listen(port, address, resolve);
    });
    io.stderr(`Listening on ${address}:${(server.address() as { port: number }).port}\n`);
    await untilAborted(io.signal);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    return 0;
  },
});
