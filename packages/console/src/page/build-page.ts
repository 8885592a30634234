// Builds the page from the sources of a checkout with esbuild, in about half a second. Names of files carry a hash of their content.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OutputFile } from 'esbuild';
import { checkBudget, type PageSizes } from './page-budget.ts';
import { INDEX, NONCE_PLACE, type PageFile } from './page-files.ts';

const CLIENT = fileURLToPath(new URL('../client/', import.meta.url));
const OUT = '/assets';

export interface BuiltPage {
  /** The document, its style sheet, the first script and the scripts that load later. */
  readonly files: readonly PageFile[];
  /** The sources of it, from the working directory: modules of npm among them. */
  readonly inputs: readonly string[];
  readonly sizes: PageSizes;
}

export async function buildPage(client: string = CLIENT): Promise<BuiltPage> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    entryPoints: { main: join(client, 'main.tsx'), style: join(client, 'styles/index.css') },
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2024',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name].[hash]',
    chunkNames: 'chunk.[hash]',
    outdir: OUT,
    write: false,
    metafile: true,
    legalComments: 'none',
    logLevel: 'silent',
  });
  const files = outputFiles.map(({ path, contents }: OutputFile) => ({ path, bytes: contents }));
  const named = (start: string) => files.find(({ path }) => path.startsWith(`${OUT}/${start}.`))?.path ?? '';
  const page = [{ path: INDEX, bytes: Buffer.from(documentOf(named('main'), named('style'))) }, ...files];
  const sizes = checkBudget(page, metafile.outputs);
  return { files: page, inputs: Object.keys(metafile.inputs), sizes };
}

/** The document: no data, no inline script. */
function documentOf(script: string, style: string): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta name="csp-nonce" content="${NONCE_PLACE}">`,
    '<title>Capstan</title>',
    '<link rel="icon" href="data:,">',
    `<link rel="stylesheet" href="${style}">`,
    `<script type="module" src="${script}"></script>`,
    '</head>',
    '<body><noscript>The console needs JavaScript.</noscript><div id="console"></div></body>',
    '</html>',
    '',
  ].join('\n');
}
