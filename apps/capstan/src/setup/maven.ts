import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from './peer.ts';
import { runProgram } from './run-program.ts';

/** As Maven names it: `group:artifact:version`. */
export type Coordinates = string;

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

export function hasMaven(): boolean {
  return spawnSync('mvn', ['--version']).status === 0;
}

/** Puts jars and all that they need into a folder; repositories and mirrors are those of the user's own settings. */
export function copyWithDependencies(wanted: readonly Coordinates[], folder: string, report: Report): Promise<boolean> {
  return inProject(wanted, (project) => {
    const options = ['-DincludeScope=runtime', `-DoutputDirectory=${folder}`];
    return maven(project, [`${PLUGIN}:copy-dependencies`, ...options], report);
  });
}

/** Unpacks an archive (`group:artifact:version:type:classifier`); false, without a word, when it cannot be had. */
export function unpack(archive: Coordinates, folder: string): Promise<boolean> {
  return inProject([], (project) =>
    maven(project, [`${PLUGIN}:unpack`, `-Dartifact=${archive}`, `-DoutputDirectory=${folder}`], () => undefined),
  );
}

async function maven(project: string, args: readonly string[], report: Report): Promise<boolean> {
  const options = ['-q', '-B', '-U', '-Dstyle.color=never', '-f', join(project, 'pom.xml')];
  const { code, stdout, stderr } = await runProgram('mvn', [...options, ...args]);
  if (code !== 0) report(`${stdout}${stderr}`.trim());
  return code === 0;
}

async function inProject<T>(wanted: readonly Coordinates[], use: (project: string) => Promise<T>): Promise<T> {
  const project = mkdtempSync(join(tmpdir(), 'capstan-maven-'));
  try {
    writeFileSync(join(project, 'pom.xml'), pom(wanted));
    return await use(project);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

function pom(wanted: readonly Coordinates[]): string {
  const dependencies = wanted.map((coordinates) => {
    const [group, artifact, version] = coordinates.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>dev.capstan</groupId><artifactId>setup-real</artifactId><version>1</version>
<dependencies>${dependencies.join('')}</dependencies></project>`;
}
