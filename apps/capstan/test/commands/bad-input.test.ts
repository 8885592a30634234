// Wrong connection settings: one sentence that names the file or address and the remedy, exit code 1, no stack. Every command that talks to
// a cluster shares this code; `why` stands for all of them.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { createCa, issueCertificate, systemClock } from '@capstan/kube';
import { runTest } from '../../src/cli/test-io.test-support.ts';

const kubeconfig = ({ server = 'https://127.0.0.1:1', user = '{token: x}', more = '' } = {}) => `
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "${server}"}}]
users: [{name: u, user: ${user}}]
contexts: [{name: here, context: {cluster: c, user: u}}, {name: there, context: {cluster: c, user: u}}]
${more}`;

const FILE = '/home/user/kube.yaml';
const why = (text: string | undefined, ...flags: string[]) =>
  runTest(['why', 'deployment/x', '--kubeconfig', FILE, ...flags], {
    files: text === undefined ? {} : { [FILE]: text },
  });

function assertOneSentence({ code, out, err }: Awaited<ReturnType<typeof runTest>>, expected: RegExp): void {
  assert.match(err, expected);
  assert.equal(err.trimEnd().split('\n').length, 1, err);
  assert.doesNotMatch(err, /^ +at /m);
  assert.equal(out, '');
  assert.equal(code, 1);
}

describe('bad input', () => {
  const cases: [what: string, text: string | undefined, flags: string[], expected: RegExp][] = [
    [
      'a kubeconfig that is not there',
      undefined,
      [],
      /^error: cannot read \/home\/user\/kube\.yaml: .*; check the path/,
    ],
    [
      'a kubeconfig that does not parse',
      'a: [b',
      [],
      /^error: the kubeconfig \/home\/user\/kube\.yaml, line 1, does not parse: .*; correct the file/,
    ],
    [
      'a kubeconfig of another form',
      'clusters: 5',
      [],
      /^error: the kubeconfig \/home\/user\/kube\.yaml, line 1, is not valid: clusters should be a list; /,
    ],
    [
      'a context that does not exist',
      kubeconfig(),
      ['--context', 'nowhere'],
      /^error: the kubeconfig \/home\/user\/kube\.yaml has no context "nowhere"; use one of here, there\n/,
    ],
    [
      'a server that is no address',
      kubeconfig({ server: 'ftp://x' }),
      [],
      /^error: the cluster "c" in \/home\/user\/kube\.yaml has the server .*; write it as https:/,
    ],
    [
      'a server that does not listen',
      kubeconfig({ server: 'http://127.0.0.1:1' }),
      [],
      /^error: .*127\.0\.0\.1:1: the connection was refused; check that the API server is running/,
    ],
  ];
  for (const [what, text, flags, expected] of cases) {
    test(`${what} is reported in one sentence`, async () => assertOneSentence(await why(text, ...flags), expected));
  }

  test('nothing configured at all is reported in one sentence', async () => {
    const ran = await runTest(['why', 'deployment/x']);
    assertOneSentence(
      ran,
      /^error: no cluster is configured: \/home\/user\/\.kube\/config does not exist; give --kubeconfig FILE/,
    );
  });

  test('KUBECONFIG is what is used when no flag is given', async () => {
    const ran = await runTest(['why', 'deployment/x'], { env: { KUBECONFIG: FILE }, files: { [FILE]: 'a: [b' } });
    assertOneSentence(ran, /the kubeconfig \/home\/user\/kube\.yaml, line 1, does not parse/);
  });

  test('a client certificate that has expired is reported in one sentence, with the day', async () => {
    const now = systemClock.now();
    const validity = { notBefore: now - 9 * DAY, notAfter: now - DAY };
    const ca = await createCa({ commonName: 'test', notBefore: validity.notBefore, notAfter: now + DAY });
    const { certificate, key } = await issueCertificate({ ca, commonName: 'me', usages: ['client'], ...validity });
    const data = (pem: string) => Buffer.from(pem).toString('base64');
    const user = `{client-certificate-data: ${data(certificate)}, client-key-data: ${data(key)}}`;
    const day = new Date(validity.notAfter).toISOString().slice(0, 10);
    const expected = new RegExp(`^error: the client certificate in ${FILE} expired on ${day}; get a new kubeconfig`);
    assertOneSentence(await why(kubeconfig({ user })), expected);
  });

  test('a server that refuses us is reported in one sentence, in its own words', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'user "u" cannot get path "/api"' }),
      );
    });
    await listening(server);
    const { port } = server.address() as AddressInfo;
    try {
      const ran = await why(kubeconfig({ server: `http://127.0.0.1:${port}` }));
      assertOneSentence(
        ran,
        /^error: GET \/apis? at .*: user "u" cannot get path "\/api" \(403 Forbidden\); grant this user/,
      );
    } finally {
      server.close();
    }
  });

  test('no token reaches the message', async () => {
    const secret = 'very-secret-token';
    const { err } = await why(kubeconfig({ server: 'http://127.0.0.1:1', user: `{token: ${secret}}` }), '-v');
    assert.doesNotMatch(err, new RegExp(secret));
  });
});

const DAY = 86_400_000;

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}
