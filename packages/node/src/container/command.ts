import type { Container } from '@capstan/kube';
import type { KnownImage } from '../images/image-table.ts';
import { expand } from './expand.ts';
import type { Substitute } from './substitution.ts';

/** Returns the program to run: the pod's command and args if it gives them, else the image's. */
export function argvOf(
  { command = [], args = [] }: Pick<Container, 'command' | 'args'>,
  image: KnownImage,
  variables: Readonly<Record<string, string>>,
  substitute: Substitute,
): string[] {
  const given = (texts: readonly string[]) => texts.map((text) => substitute.text(expand(text, variables)));
  const own = (texts: readonly string[]) => texts.map((text) => expand(text, variables));
  const rest = args.length > 0 ? given(args) : command.length > 0 ? [] : own(image.cmd ?? []);
  const [program, ...first] = command;
  const begin =
    program === undefined
      ? own(image.entrypoint)
      : [...(image.programs?.[program] ?? [substitute.text(expand(program, variables))]), ...given(first)];
  return [...begin, ...rest, ...own(image.extraArgs ?? [])];
}
