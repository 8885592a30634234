// Translates texts of a container to the machine: paths of its mounts to their folders, names of Services to their addresses, and the
// replacements of the image table.
import type { Service } from '@capstan/kube';
import type { KnownImage } from '../images/image-table.ts';
import { expand } from './expand.ts';

export interface SubstitutionOptions {
  image: KnownImage;
  /** From a path in the container to where that is on the machine. */
  paths: ReadonlyMap<string, string>;
  services: readonly Service[];
  namespace: string;
  variables: Readonly<Record<string, string>>;
}

/** The replacements in arguments and environment, and in files (where paths and, if the table asks for it, the rest apply). */
export interface Substitute {
  text(value: string): string;
  file(value: string): string;
}

export function createSubstitute(options: SubstitutionOptions): Substitute {
  const { image, variables } = options;
  const hosts = hostReplacer(options);
  const paths = pathReplacer(options.paths);
  const table = (image.substitute ?? []).map(({ from, to }) => ({ from, to: expand(to, variables) }));
  const replaced = (text: string) => table.reduce((rest, { from, to }) => rest.replaceAll(from, to), hosts(text));
  return {
    text: (value) => replaced(paths(value)),
    file: (value) => (image.substituteInFiles === true ? replaced(paths(value)) : value),
  };
}

function hostReplacer(options: SubstitutionOptions): (text: string) => string {
  const where = options.image.resolveServices ?? true;
  if (where === false) return (text) => text;
  const replace = serviceNames(options);
  if (where === true) return replace;
  const inLine = (line: string) => (where.test(line) ? replace(line) : line);
  return (text) => text.split('\n').map(inLine).join('\n');
}

/** Longer paths first; only where a path begins and ends, so that `/etc` does not change `/etcetera` or `/srv/etc`. */
function pathReplacer(paths: ReadonlyMap<string, string>): (text: string) => string {
  const sorted = [...paths].toSorted(([a], [b]) => b.length - a.length).filter(([path]) => path !== '/' && path !== '');
  if (sorted.length === 0) return (text) => text;
  const pattern = sorted.map(([path]) => path.replace(/\/$/, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const found = new RegExp(`(?<![\\w./-])(?:${pattern})(?![\\w.-])`, 'g');
  const targets = new Map(sorted.map(([path, target]) => [path.replace(/\/$/, ''), target]));
  return (text) => text.replace(found, (path) => targets.get(path) ?? path);
}

/** `web.shop.svc.cluster.local`, `web.shop.svc` and `web.shop`; `web` alone only where it stands as a host in a URL. */
function serviceNames({ services, namespace }: SubstitutionOptions): (text: string) => string {
  const addresses = new Map<string, string>();
  for (const { metadata, spec } of services) {
    const address = spec?.clusterIP;
    if (address && address !== 'None') addresses.set(`${metadata.name}.${metadata.namespace}`, address);
  }
  if (addresses.size === 0) return (text) => text;
  return (text) =>
    text
      .replace(
        /(?<![\w.-])([a-z0-9-]+)\.([a-z0-9-]+)(?:\.svc(?:\.cluster\.local)?)?\.?(?![\w.-])/g,
        (whole: string, name: string, space: string) => {
          return addresses.get(`${name}.${space}`) ?? whole;
        },
      )
      .replace(/(?<=:\/\/)([a-z0-9-]+)(?=[:/]|$)/g, (whole) => addresses.get(`${whole}.${namespace}`) ?? whole);
}
