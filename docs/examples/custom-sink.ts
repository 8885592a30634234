// A sink of your own: programs connect by TCP and are sent their configuration, one JSON object a line; they answer with the
// version that they have taken, or with an error. Every replica serves. The status reports the acknowledged versions.
//   server: {"key":"default/a","version":"…","settings":{…}}   settings null: removed
//   client: {"key":"default/a","version":"…"}                  with "error":"…" if it refuses the version
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { conditions, defineKind, integer, map, object, string } from '@capstan/kube';
import { conditionType, derivation, type Operator, operator, plan, reconciler, sink } from '@capstan/reconcile';

export const Config = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Config',
  scope: 'Namespaced',
  spec: object({ settings: map(string()) }),
  status: object({ clients: integer({ optional: true }), conditions: conditions() }),
});

type Document = { readonly version: string; readonly settings: Readonly<Record<string, string>> };
/** The answer of a client about a key. */
type Answer = { readonly version: string; readonly error?: string };
/** The answers of all clients of this replica about the newest version. */
type Report = Answer & { readonly clients: number; readonly acknowledged: number };

/** The document to send, by `namespace/name`. An equal result is not sent again. */
const document = derivation<Document>({
  name: 'document',
  compute({ key, read, digest }) {
    const [namespace = '', name = ''] = key.split('/');
    const settings = read.get(Config, { namespace, name })?.spec.settings ?? {};
    return { version: digest(settings), settings };
  },
});

const applied = conditionType<'Applied' | 'Pushing' | 'Refused' | 'NotServed'>('Applied');

export function createConfigOperator(listen: { port: number; onListening?: (port: number) => void }): Operator {
  const push = sink<Document, Report>({
    name: 'push',
    of: document,
    keys: Config,
    reads: [Config],
    lease: 'none',
    version: ({ version }) => version,
    disturbs: ({ before, after }) => (before && after ? 'clients reload' : undefined),
    async open({ current, report }) {
      const clients = new Map<Socket, Map<string, Answer>>();
      const send = (socket: Socket, key: string, value: Document | undefined) =>
        socket.write(`${JSON.stringify({ key, settings: null, ...value })}\n`);
      const reportOn = (key: string) => {
        const newest = current().get(key);
        const answers = [...clients.values()].flatMap((all) => all.get(key) ?? []);
        const about = answers.filter(({ version }) => version === newest?.version);
        const [refusal] = about.filter(({ error }) => error !== undefined);
        const acknowledged = about.filter(({ error }) => error === undefined).length;
        const counts = { clients: clients.size, acknowledged };
        report(key, newest && { ...refusal, version: newest.version, ...counts });
      };
      const server = createServer((socket) => {
        clients.set(socket, new Map());
        const reportAll = () => [...current().keys()].forEach(reportOn);
        socket.on('error', () => socket.destroy()).on('close', () => clients.delete(socket) && reportAll());
        createInterface({ input: socket }).on('line', (line) => {
          try {
            const { key, version, error } = JSON.parse(line) as { key: string } & Answer;
            clients.get(socket)?.set(key, { version, ...(error && { error: error.slice(0, 200) }) });
            reportOn(key);
          } catch {
            socket.destroy();
          }
        });
        // A new client gets the present documents: nothing is evaluated.
        for (const [key, { value }] of current()) send(socket, key, value);
        reportAll();
      });
      // A port that is taken throws: it is tried again with back-off, and shown by read.sink(push).state(key).
      server.listen(listen.port, '127.0.0.1');
      await once(server, 'listening');
      listen.onListening?.((server.address() as AddressInfo).port);
      return {
        take({ changes }) {
          for (const { key, after } of changes) {
            for (const socket of clients.keys()) send(socket, key, after);
            reportOn(key);
          }
        },
        async close() {
          for (const socket of clients.keys()) socket.destroy();
          await new Promise((resolve) => server.close(resolve));
        },
      };
    },
  });
  const config = reconciler({
    name: 'config',
    resource: Config,
    reconcile({ object: { metadata }, read }) {
      const key = `${metadata.namespace}/${metadata.name}`;
      const { error } = read.sink(push).state(key);
      const seen = read.sink(push).report(key);
      const isNewest = seen?.version === read.derived(document, key).version;
      const { clients = 0, acknowledged = 0, error: refusal } = seen && isNewest ? seen : {};
      const counts = `${acknowledged} of ${clients} clients have taken it`;
      let condition = applied.isFalse('Pushing', counts);
      if (clients > 0 && acknowledged === clients) condition = applied.isTrue('Applied', counts);
      if (refusal) condition = applied.isFalse('Refused', `a client refuses it: ${refusal}; correct spec.settings`);
      if (error) condition = applied.isFalse('NotServed', `it is not served: ${error.message}`);
      return plan({ status: { clients }, conditions: [condition] });
    },
  });
  return operator({ name: 'config-push', kinds: [Config], reconcilers: [config], sinks: [push] });
}

export default createConfigOperator({ port: 8125 });
