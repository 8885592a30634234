// npm run chart: the Helm chart in dist/chart/capstan and the base for kustomize in dist/kustomize.
import { dirname, join } from 'node:path';
import { writePackages } from './build/charts.ts';

const root = dirname(import.meta.dirname);
await writePackages(root, join(root, 'dist'));
console.log(
  'dist/chart/capstan: helm install capstan dist/chart/capstan --namespace capstan-system --create-namespace',
);
console.log('dist/kustomize: kubectl apply --server-side -k dist/kustomize');
