import { parseAllDocuments } from 'yaml';
import { schemas } from '../runtime/render/render.test-support.ts';
import { type ConvertOptions, convertFiles } from './convert.ts';

export function convert(text: string, options: Partial<ConvertOptions> = {}) {
  const { texts, findings } = convertFiles([{ name: 'in.yaml', text }], { schemas, ...options });
  const messages = (level: string) => findings.filter((one) => one.level === level).map(({ message }) => message);
  return { text: texts[0] ?? '', findings, warnings: messages('warning'), notes: messages('note') };
}

export const documentsOf = <T>(text: string) =>
  parseAllDocuments(text, { merge: true }).map((document) => document.toJS() as T);

export const controllerConfig = (rest: string, name = 'debug') => `apiVersion: pkg.crossplane.io/v1alpha1
kind: ControllerConfig
metadata:
  name: ${name}
${rest}`;

export const provider = (spec: string, name = 'p') => `apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: ${name}
spec:
${spec}`;

export const using = (name = 'p', config = 'debug') =>
  provider(`  package: registry.example.org/p:v1\n  controllerConfigRef:\n    name: ${config}\n`, name);

export const used = (name = 'p', config = 'debug') =>
  provider(
    `  package: registry.example.org/p:v1\n  runtimeConfigRef:\n    apiVersion: pkg.crossplane.io/v1beta1\n    kind: DeploymentRuntimeConfig\n    name: ${config}\n`,
    name,
  );
