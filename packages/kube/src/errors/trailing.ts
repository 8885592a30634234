/**
 * The text without the characters of the set at its end. A pattern such as `/\/+$/` takes quadratic time for a long run that is not at the end:
 * it tries every place of the run.
 */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
