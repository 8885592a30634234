import { createServer } from 'node:net';
import { reasonOf } from '@capstan/kube';

/** Why nothing can listen on this address here, or undefined: some systems know only one address of the loopback network. */
export function addressProblem(address: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => {
      resolve(
        `nothing can listen on ${address} on this machine (${reasonOf(error)}); on macOS, add it with: sudo ifconfig lo0 alias ${address}`,
      );
    });
    server.listen({ host: address, port: 0 }, () => server.close(() => resolve(undefined)));
  });
}
