/** The candidate that a misspelt key most likely stands for; undefined when none is near. */
export function nearest(text: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(text.length / 3)) + 1;
  // Keys mix both styles, so the style alone is no distance.
  const plain = (value: string) => value.toLowerCase().replaceAll('-', '');
  for (const candidate of candidates) {
    const distance = editDistance(plain(text), plain(candidate));
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

function editDistance(left: string, right: string): number {
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const change = (last[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, change));
    }
    last = current;
  }
  return last[right.length] ?? 0;
}
