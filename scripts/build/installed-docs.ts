// The pages of docs/ as a user of the package reads them: a checkout names programs by npm, and files from its root.
const PROGRAMS = 'capstan|crossplane|gimbal|kroxylicious|sesame|subctl|submariner';

/** Returns the page in the form for the installed package. A tutorial begins with the installation, in a folder of its own. */
export function installedForm(page: string, text: string, version: string): string {
  const plain = text
    .replaceAll(new RegExp(`npm run (?:-s )?(${PROGRAMS}) -- `, 'g'), '$1 ')
    .replaceAll(/\bnpm start\b/g, 'capstan up --demo')
    .replaceAll('a clone of this repository', 'the package of Capstan')
    .replaceAll('Nothing is installed and nothing leaves your machine.', 'Nothing leaves your machine.');
  const isTutorial = plain.startsWith('# Tutorial:');
  const inBlocks = plain.replaceAll(/^```sh\n[\s\S]*?^```$|^ {4}\S.*$/gm, (block) =>
    block
      .replaceAll(EXAMPLE, BUILT)
      .replaceAll(/(?<= )(operators\/\w+\/demo|docs\/examples)\b/g, 'node_modules/capstan/$1')
      .replaceAll(/^export KUBECONFIG=/gm, isTutorial ? `${PATH}\nexport KUBECONFIG=` : '$&'),
  );
  if (!isTutorial) return inBlocks;
  return inBlocks.replace('## Start\n', `## Start\n\n${installation(page, version)}`);
}

/** The folder of the examples as JavaScript, beside their sources. */
export const BUILT_EXAMPLES = 'built';
const EXAMPLE = /(?<= )docs\/examples\/([\w-]+)\.ts\b/g;
const BUILT = `node_modules/capstan/docs/examples/${BUILT_EXAMPLES}/$1.js`;

/** Returns the source of an example with the command that runs it in a project that has the package. */
export function installedExample(source: string): string {
  return source.replaceAll(EXAMPLE, BUILT);
}

const PATH = 'export PATH="$PWD/node_modules/.bin:$PATH"';

function installation(page: string, version: string): string {
  const folder = `capstan-${page.replace(/\.md$/, '')}`;
  const commands = [
    `mkdir ${folder} && cd ${folder}`,
    `npm install --no-audit --no-fund ../capstan-${version}.tgz`,
    PATH,
  ];
  return `The package goes into an empty folder, and everything else happens there:

\`\`\`sh
${commands.join('\n')}
\`\`\`
`;
}
