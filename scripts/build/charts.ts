import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BUILT_IN_OPERATORS, type Files, helmChart, kustomizeBase } from '@capstan/cli/install';

/** Writes the chart to `chart/capstan` and the base to `kustomize` below a folder. */
export async function writePackages(root: string, folder: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'apps/capstan/package.json'), 'utf8')) as { version: string };
  const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { description: string };
  const operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
  const options = { operators, version, description };
  write(join(folder, 'chart', 'capstan'), helmChart(options));
  write(join(folder, 'kustomize'), kustomizeBase(options));
}

function write(folder: string, files: Files): void {
  rmSync(folder, { recursive: true, force: true });
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
