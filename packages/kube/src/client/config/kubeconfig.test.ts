import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { isConfigError } from '../../errors.ts';
import { mergeKubeconfigs, parseKubeconfig, selectContext } from './kubeconfig.ts';

const FILE = '/home/u/.kube/config';

const full = `
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: prod
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: ../pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: x}
users:
- name: admin
  user:
    client-certificate: pki/admin.crt
    client-key: /etc/pki/admin.key
    as: jane
    as-groups: [ops]
    as-user-extra: {reason: [drill]}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [token]
      env: [{name: REGION, value: eu}]
      installHint: Install it with pip.
      provideClusterInfo: true
      interactiveMode: Never
contexts:
- name: prod
  context: {cluster: prod, user: admin, namespace: shop}
- name: anonymous
  context: {cluster: prod}
`;

test('an alias without an anchor is refused with its place, and nothing of the file is shown', () => {
  const text = 'users:\n- name: u\n  user: { token: *secret-token }\n';
  assert.throws(
    () => parseKubeconfig(text, FILE),
    (error: unknown) => isConfigError(error) && /alias/.test(error.message) && !error.message.includes('secret-token'),
  );
});

test('relative paths in a kubeconfig become absolute', () => {
  const config = parseKubeconfig(full, FILE);
  assert.deepEqual(selectContext(config, undefined), {
    context: 'prod',
    namespace: 'shop',
    clusterName: 'prod',
    cluster: {
      file: FILE,
      server: 'https://10.0.0.1:6443',
      caData: undefined,
      caFile: '/home/u/pki/ca.crt',
      insecure: undefined,
      tlsServerName: 'kubernetes',
      proxyUrl: 'http://proxy:3128',
      execConfig: { audience: 'x' },
    },
    userName: 'admin',
    user: {
      file: FILE,
      token: undefined,
      tokenFile: undefined,
      username: undefined,
      password: undefined,
      certData: undefined,
      certFile: '/home/u/.kube/pki/admin.crt',
      keyData: undefined,
      keyFile: '/etc/pki/admin.key',
      exec: undefined,
      authProvider: undefined,
      impersonate: { user: 'jane', uid: undefined, groups: ['ops'], extra: { reason: ['drill'] } },
    },
  });
  assert.deepEqual(config.users.get('plugin')?.exec, {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: join('/home/u/.kube', 'bin/login'),
    args: ['token'],
    env: { REGION: 'eu' },
    installHint: 'Install it with pip.',
    provideClusterInfo: true,
    interactiveMode: 'Never',
  });
  assert.deepEqual(selectContext(config, 'anonymous').user, { file: FILE });
});

test('the first of several files with an entry wins, and entries are not merged', () => {
  const first = parseKubeconfig('users: [{name: red, user: {token: one}}]\ncurrent-context: ""', '/a');
  const second = parseKubeconfig(
    'current-context: x\nusers: [{name: red, user: {token: two, as: jane}}, {name: blue, user: {token: three}}]',
    '/b',
  );
  const merged = mergeKubeconfigs([first, second, parseKubeconfig('current-context: y', '/c')]);
  assert.equal(merged.currentContext, 'x');
  assert.equal(merged.users.get('red')?.token, 'one');
  assert.equal(merged.users.get('red')?.impersonate, undefined);
  assert.equal(merged.users.get('blue')?.file, '/b');
  assert.equal(merged.file, '/a, /b, /c');
});

const mistakes: Record<string, { text: string; context?: string; message: RegExp }> = {
  'text that is not YAML names the file and the line, and quotes nothing of it': {
    text: 'users:\n- name: a\n  user: {token: s3cret\n',
    message:
      /^the kubeconfig \/home\/u\/\.kube\/config, line \d+, does not parse: [^"]*; correct the file at that line$/,
  },
  'a list that is none': {
    text: 'clusters: {}',
    message: /config, line 1, is not valid: clusters should be a list; correct that field/,
  },
  'a text that is a number': {
    text: 'users:\n- name: a\n  user:\n    token: 12345\n',
    message: /line 4, is not valid: users\[0\]\.user\.token should be a text/,
  },
  'a name twice': {
    text: 'users:\n- name: a\n- name: a\n',
    message: /line 3, is not valid: users\[1\]\.name is "a" for a second time/,
  },
  'an entry without a name': {
    text: 'contexts:\n- context: {}\n',
    message: /line 2, is not valid: contexts\[0\]\.name is missing/,
  },
  'a file that is a list': { text: '- a\n', message: /the file should be a mapping/ },
  'an unknown context names those that exist': {
    text: full,
    context: 'dev',
    message: /^the kubeconfig \/home\/u\/\.kube\/config has no context "dev"; use one of anonymous, prod$/,
  },
  'no current context': {
    text: 'contexts: [{name: b, context: {}}, {name: a, context: {}}]',
    message: /has no current-context; set it, or give --context NAME, one of a, b/,
  },
  'a context whose cluster is missing': {
    text: 'contexts: [{name: a, context: {cluster: x}}]\nclusters: [{name: y, cluster: {}}]',
    context: 'a',
    message: /the context "a" in .* names the cluster "x", which does not exist; correct it to one of y/,
  },
  'a context whose user is missing': {
    text: 'contexts: [{name: a, context: {cluster: x, user: u}}]\nclusters: [{name: x, cluster: {}}]',
    context: 'a',
    message: /names the user "u", which does not exist; add it under users/,
  },
  'an empty file': { text: '', message: /has no current-context; add a context to it/ },
};

for (const [name, { text, context, message }] of Object.entries(mistakes)) {
  test(`a mistake in a kubeconfig is one clear sentence: ${name}`, () => {
    assert.throws(
      () => selectContext(parseKubeconfig(text, FILE), context),
      (error: Error) => {
        assert.ok(isConfigError(error));
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /s3cret|\n/);
        assert.equal(error.file, FILE);
        return true;
      },
    );
  });
}
