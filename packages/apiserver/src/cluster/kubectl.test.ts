// The real kubectl against this server: commands as people type them, with their output. Ages, uids and the like are written as <…> below.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '@capstan/kube';
import { seeded } from '../server.test-support.ts';
import { type Cluster, startCluster } from './start-cluster.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

const FILES = {
  'web.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1"}]}
`,
  'web2.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:2"}]}
`,
  'unknown.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: unknown}
dota: {a: b}
`,
  'crd.yaml': `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer, minimum: 1}}
            x-kubernetes-validations: [{rule: "self.size < 10", message: too big}]
`,
  'widget.yaml': 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n',
  'bad-widget.yaml': 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: bad}\nspec: {size: 12}\n',
};

type Expected = string | RegExp;
const commands: [line: string, code: number, out: Expected, err?: Expected][] = [
  ['version', 0, /^Server Version: v1\.\d+\.\d+\+capstan$/m, /./],
  [
    'get ns',
    0,
    'NAME              STATUS   AGE\ndefault           Active   <age>\nkube-node-lease   Active   <age>\nkube-public       Active   <age>\nkube-system       Active   <age>\n',
  ],
  ['create namespace shop', 0, 'namespace/shop created\n'],
  ['create namespace shop', 1, '', 'Error from server (AlreadyExists): namespaces "shop" already exists\n'],
  ['create configmap a --from-literal=x=1', 0, 'configmap/a created\n'],
  ['create secret generic s --from-literal=p=q', 0, 'secret/s created\n'],
  ['get configmap a -o jsonpath={.data.x}', 0, '1'],
  ['get secret s -o jsonpath={.data.p}', 0, 'cQ=='],
  ['get configmap nothing', 1, '', 'Error from server (NotFound): configmaps "nothing" not found\n'],
  ['get nothings', 1, '', 'error: the server doesn\'t have a resource type "nothings"\n'],
  ['apply -f web.yaml', 0, 'deployment.apps/web created\n'],
  ['apply -f web.yaml', 0, 'deployment.apps/web unchanged\n'],
  ['diff -f web2.yaml', 1, /^-.*image: nginx:1\n\+.*image: nginx:2$/m],
  ['apply -f web2.yaml', 0, 'deployment.apps/web configured\n'],
  ['apply --server-side -f web.yaml', 0, 'deployment.apps/web serverside-applied\n'],
  [
    'apply --server-side --field-manager=other -f web2.yaml',
    1,
    '',
    /Apply failed with 1 conflict: conflict with "kubectl": \.spec\.template\.spec\.containers\[name="main"\]\.image/,
  ],
  ['apply --server-side --force-conflicts -f web.yaml', 0, 'deployment.apps/web serverside-applied\n'],
  ['get deploy', 0, 'NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    0/2     0            0           <age>\n'],
  ['scale deploy web --replicas=3', 0, 'deployment.apps/web scaled\n'],
  ['get deploy web -o jsonpath={.spec.replicas}', 0, '3'],
  ['label deploy web tier=front', 0, 'deployment.apps/web labeled\n'],
  ['get deploy -l tier=front -o name', 0, 'deployment.apps/web\n'],
  ['annotate deploy web note=hi', 0, 'deployment.apps/web annotated\n'],
  ['patch deploy web -p {"spec":{"replicas":1}}', 0, 'deployment.apps/web patched\n'],
  ['set image deploy/web main=nginx:3', 0, 'deployment.apps/web image updated\n'],
  ['describe deploy web', 0, /^Name: +web$[^]*^Replicas: +1 desired/m],
  ['explain deployment.spec.replicas', 0, /^FIELD: replicas <integer>$/m],
  ['apply --validate=strict -f unknown.yaml', 1, '', /strict decoding error: unknown field "dota"/],
  ['apply -f crd.yaml', 0, 'customresourcedefinition.apiextensions.k8s.io/widgets.example.com created\n'],
  [
    'wait --for=condition=Established crd/widgets.example.com --timeout=10s',
    0,
    'customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met\n',
  ],
  ['apply -f widget.yaml', 0, 'widget.example.com/w created\n'],
  ['get wd', 0, 'NAME   SIZE\nw      3\n'],
  ['apply -f bad-widget.yaml', 1, '', /The Widget "bad" is invalid: spec: Invalid value: .*too big/],
  ['auth can-i create deployments', 0, 'yes\n'],
  ['auth whoami -o jsonpath={.status.userInfo.username}', 0, 'kubernetes-admin'],
  ['auth can-i list secrets --as jane', 1, 'no\n'],
  [
    'get secrets --as jane',
    1,
    '',
    'Error from server (Forbidden): secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "default"\n',
  ],
  ['create role reader --verb=get,list --resource=secrets', 0, 'role.rbac.authorization.k8s.io/reader created\n'],
  ['create rolebinding jane --role=reader --user=jane', 0, 'rolebinding.rbac.authorization.k8s.io/jane created\n'],
  ['get secrets --as jane -o name', 0, 'secret/s\n'],
  ['create token default', 0, /^[\w-]+\.[\w-]+\.[\w-]+$/],
  ['get cm --chunk-size=1 -A -o name', 0, /^configmap\/a\n/],
  ['get --raw /readyz', 0, 'ok'],
  ['--context two get configmaps -n default -o name', 0, 'configmap/kube-root-ca.crt\n'],
  ['delete deploy web', 0, 'deployment.apps "web" deleted\n'],
  ['delete namespace shop --timeout=20s', 0, 'namespace "shop" deleted\n'],
];

describe('kubectl', { skip: hasKubectl ? false : 'kubectl is not installed; install it to run this test' }, () => {
  let cluster: Cluster;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'capstan-kubectl-'));
    cluster = await startCluster({
      clock: systemClock,
      random: seeded(5),
      data: join(folder, 'data'),
      port: 0,
      clusters: ['one', 'two'],
    });
    await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig);
    for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
  });
  after(async () => {
    await cluster.close();
    await rm(folder, { recursive: true });
  });

  for (const [line, code, out, err = ''] of commands) {
    it(line, async () => {
      const ran = await kubectl(line.split(' '));
      const shown = JSON.stringify(ran);
      same(normal(ran.out), out, shown);
      same(ran.err, err, shown);
      assert.equal(ran.code, code, shown);
    });
  }

  function kubectl(args: string[]): Promise<{ code: number; out: string; err: string }> {
    return new Promise((resolve) => {
      const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: join(folder, 'kubeconfig') };
      execFile('kubectl', args, { cwd: folder, env }, (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code ?? 1);
        resolve({ code, out: stdout, err: stderr });
      });
    });
  }
});

function same(found: string, expected: Expected, message: string): void {
  if (typeof expected === 'string') assert.equal(found, expected, message);
  else assert.match(found, expected, message);
}

/** In the last column of a table: 3s, 2m10s. */
function normal(text: string): string {
  return text.replace(/ (?:\d+[smh]){1,2}$/gm, ' <age>');
}
