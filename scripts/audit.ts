// npm run audit: known weaknesses of the modules that are shipped, where the registry in use answers such questions.
import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8' });
const report = parsed(stdout);
if (report?.metadata === undefined) {
  console.log(`npm audit is left out: the registry in use does not offer it (${report?.message ?? 'no answer'})`);
} else {
  const { total, ...levels } = report.metadata.vulnerabilities;
  const found = Object.entries(levels).filter(([, count]) => count > 0);
  console.log(
    total === 0
      ? 'npm audit: nothing is known'
      : `npm audit: ${found.map(([level, count]) => `${count} ${level}`).join(', ')}; see npm audit --omit=dev`,
  );
  process.exitCode = total === 0 ? 0 : 1;
}

interface Report {
  readonly message?: string;
  readonly metadata?: { readonly vulnerabilities: { readonly total: number } & Readonly<Record<string, number>> };
}

function parsed(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report;
  } catch {
    return undefined;
  }
}
