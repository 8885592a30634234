/** Fills in `$(NAME)`; `$$(NAME)` stands for the text itself, and a name that is not known stays as it is. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^()]*)\)/g, (whole: string, name: string | undefined) => {
    if (name === undefined) return '$';
    return Object.hasOwn(variables, name) ? (variables[name] ?? '') : whole;
  });
}
