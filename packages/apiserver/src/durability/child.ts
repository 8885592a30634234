// The process that is killed: a server with durable storage on a free port. It waits for the word before it opens its file,
// so that the next one can load its modules while the present one is still at work.
import { systemClock } from '@capstan/kube';
import { ADMIN } from '../core.ts';
import { startHttpServer } from '../http/http-server.ts';
import { createApiServer } from '../server.ts';
import { sqliteStorage } from '../storage-sqlite/sqlite-storage.ts';

/** Small, so that compaction is at work in every round. */
const RETAIN = 300;

process.once('message', (message) => {
  void serve(message as { path: string; token: string });
});
process.send?.('loaded');

async function serve({ path, token }: { path: string; token: string }): Promise<void> {
  const server = createApiServer({
    clock: systemClock,
    random: Math.random,
    storage: sqliteStorage({ path, retain: RETAIN }),
    staticTokens: [{ token, user: ADMIN }],
  });
  const clusters = [{ name: 'capstan', server }];
  const { port } = await startHttpServer({ clusters, clock: systemClock, port: 0 });
  process.send?.({ port });
}
