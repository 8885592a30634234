// The programs as JavaScript: one module for each, and shared chunks, so that a command loads only the code that it uses.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { build, type OutputFile, type Plugin } from 'esbuild';

export interface Bundle {
  /** By the name of the module, without `.js`: the source that it begins with. */
  readonly entries: Readonly<Record<string, string>>;
  /** Where the modules go, all in one folder. */
  readonly folder: string;
  /** Where a folder is that modules look into at run time, seen from the modules. */
  folderAt(path: string): string;
  /** Values of names that the sources declare and the build knows. */
  readonly constants: Readonly<Record<string, unknown>>;
}

/** Bundles until no program, worker or file is named that is not there too. Resolves with the files that the modules were made of. */
export async function bundle({ entries, folder, folderAt, constants }: Bundle): Promise<readonly string[]> {
  const programs = new Map(Object.entries(entries));
  const named = new Map(Object.entries(entries).map(([name, file]) => [file, name]));
  mkdirSync(join(folder, 'files'), { recursive: true });
  let outputs: readonly OutputFile[] = [];
  let inputs: readonly string[] = [];
  for (let known = -1; known !== programs.size; ) {
    known = programs.size;
    const built = await build({
      entryPoints: Object.fromEntries(programs),
      outdir: folder,
      write: false,
      metafile: true,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      // Stacks name functions, and sizes matter.
      minifySyntax: true,
      minifyWhitespace: true,
      legalComments: 'none',
      // Only a checkout builds the page of the console; a package has it built.
      external: ['esbuild'],
      // See packages/kube/src/crd/define-kind.ts.
      define: {
        CAPSTAN_KINDS_ARE_CHECKED: 'true',
        ...Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, JSON.stringify(value)])),
      },
      chunkNames: 'chunk-[hash]',
      // Packages in CommonJS that are bundled may ask for a built-in module by name.
      banner: {
        js: "import{createRequire as requireFrom}from'node:module';const require=requireFrom(import.meta.url);",
      },
      plugins: [filesBesideSources({ folder, folderAt, programs, named }), lazyBuiltins()],
      logLevel: 'warning',
    });
    outputs = built.outputFiles;
    // Inputs that were left out as unused do not count.
    inputs = Object.values(built.metafile.outputs).flatMap((output) => Object.keys(output.inputs));
  }
  for (const { path, contents } of outputs) writeFileSync(path, contents);
  return [...new Set(inputs)];
}

/** Without it, modules that a source requires by name are bundled. */
const REQUIRE = /^const require = createRequire\(import\.meta\.url\);$/m;
const BESIDE = /new URL\('([^']+)', import\.meta\.url\)/g;

/** The files that sources find beside themselves by `new URL(…, import.meta.url)`: data is copied, programs and workers are bundled too. */
function filesBesideSources(
  options: Pick<Bundle, 'folder' | 'folderAt'> & { programs: Map<string, string>; named: Map<string, string> },
): Plugin {
  const { folder, folderAt, programs, named } = options;
  const replace = (source: string, specifier: string): string => {
    const path = resolve(dirname(source), specifier);
    if (specifier.endsWith('/')) return folderAt(path);
    if (/\.(?:ts|mjs)$/.test(path)) {
      const name = named.get(path) ?? basename(path).replace(/\.\w+$/, '');
      if (programs.get(name) !== undefined && programs.get(name) !== path)
        throw new Error(`two programs would be ${name}.js: ${programs.get(name)} and ${path}; rename one of them`);
      programs.set(name, path);
      named.set(path, name);
      return `./${name}.js`;
    }
    const bytes = readFileSync(path);
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 8);
    const copy = `files/${digest}-${basename(path)}`;
    writeFileSync(join(folder, copy), bytes);
    return `./${copy}`;
  };
  return {
    name: 'files beside sources',
    setup(building) {
      building.onLoad({ filter: /\.(?:ts|mjs)$/ }, ({ path }) => {
        if (path.includes('/node_modules/') && !relative(process.cwd(), path).startsWith('packages')) return undefined;
        const text = readFileSync(path, 'utf8');
        if (/import\.meta\.(?:dirname|filename)/.test(text))
          throw new Error(
            `${path}: names a file by its folder, which a bundle does not have; use new URL('…', import.meta.url)`,
          );
        const contents = text.replace(REQUIRE, '').replaceAll(BESIDE, (_whole, specifier: string) => {
          const found = replace(path, specifier);
          return `new URL('${found}', import.meta.url)`;
        });
        return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
      });
    },
  };
}

/**
 * Takes `node:http` without evaluating the members of it that are not used. A static import evaluates all of them, and one loads
 * the client that Node.js brings along: 11 MB of memory in each process, for a client that no program uses.
 */
function lazyBuiltins(): Plugin {
  return {
    name: 'lazy builtins',
    setup(building) {
      building.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
        kind === 'import-statement' ? { path: 'node:http', namespace: 'lazy builtin' } : undefined,
      );
      building.onLoad({ filter: /.*/, namespace: 'lazy builtin' }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
        loader: 'js',
      }));
    },
  };
}
